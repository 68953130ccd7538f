// Wrong frames among right ones of many kinds: the description that separates them.
#include "dataplane/follow/description.h"

#include <boost/test/unit_test.hpp>

#include "dataplane/base/random.h"
#include "tests/follow/path.h"

namespace pathproof::follow {
namespace {

using frame::Family;
using frame::Transport;

// Properties of a mixed frame.
struct Kind {
    unsigned number = 0;
    std::size_t payload = 0;
    bool v6 = false;
    bool tcp = false;
    bool tagged = false;
    bool marked = false;  // DSCP
    std::uint16_t port = 0;
};

struct Mixed {
    Kind kind;
    Octets bytes;
};

std::vector<Mixed> mixed_frames(unsigned count) {
    std::vector<Mixed> all;
    Random random(7);
    for (unsigned number = 0; number < count; ++number) {
        Kind kind{.number = number,
                  .payload = 10 + random.below(1400),
                  .v6 = random.below(2) == 0,
                  .tcp = random.below(3) == 0,
                  .tagged = random.below(4) == 0,
                  .marked = random.below(5) == 0,
                  .port = static_cast<std::uint16_t>(5000 + random.below(6))};
        frame::FrameSpec spec = spec_of(kind.tcp ? Transport::kTcp : Transport::kUdp, kind.payload,
                                        number, kind.v6 ? Family::kIpv6 : Family::kIpv4);
        spec.packet.destination.port = kind.port;
        spec.packet.tcp_sequence = number * 10'000;
        spec.packet.traffic_class = kind.marked ? 0xb8 : 0;
        if (kind.tagged) {
            tag(spec);
        }
        all.push_back({kind, render(spec)});
    }
    return all;
}

// The sentence about these frames where those that are wrong are lost.
std::vector<Finding> located(unsigned count, const std::function<bool(const Mixed&)>& is_wrong) {
    Frames in, out;
    std::int64_t now = 1'700'000'000'000'000'000;
    for (const Mixed& one : mixed_frames(count)) {
        now += 100'000;
        in.push_back({now, one.bytes});
        if (!is_wrong(one)) {
            out.push_back({now + 50'000, one.bytes});
        }
    }
    return follow(in, out, {}).findings;
}

}  // namespace

BOOST_AUTO_TEST_CASE(wrong_frames_are_told_from_right_ones_by_the_fewest_conditions) {
    struct Case {
        const char* expected;  // how the description begins
        std::function<bool(const Mixed&)> is_wrong;
    };
    const std::vector<Case> cases = {
        {"frames of more than 1", [](const Mixed& one) { return one.bytes.size() > 1200; }},
        {"frames of less than 1", [](const Mixed& one) { return one.bytes.size() < 160; }},
        {"frames with an odd length", [](const Mixed& one) { return one.kind.payload % 2 == 1; }},
        {"frames with a payload that 8 divides",
         [](const Mixed& one) { return one.kind.payload % 8 == 0; }},
        {"frames with a VLAN tag", [](const Mixed& one) { return one.kind.tagged; }},
        {"frames to port 5003", [](const Mixed& one) { return one.kind.port == 5003; }},
        {"IPv6 frames", [](const Mixed& one) { return one.kind.v6; }},
        {"frames of traffic class 0xb8", [](const Mixed& one) { return one.kind.marked; }},
        {"frames to port 5001, of traffic class 0xb8",
         [](const Mixed& one) { return one.kind.marked && one.kind.port == 5001; }},
        {"frames of 4",
         [](const Mixed& one) { return one.bytes.size() >= 400 && one.bytes.size() <= 700; }},
    };
    for (const Case& each : cases) {
        const auto findings = located(3000, each.is_wrong);
        BOOST_TEST_CONTEXT(each.expected) {
            BOOST_TEST(!findings.empty());
            for (const Finding& finding : findings) {
                BOOST_TEST(finding.description.text.starts_with(each.expected), finding.located);
                BOOST_TEST(finding.description.wrong_that_fit == finding.count);
                BOOST_TEST(finding.description.right_that_fit == 0U);
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(conditions_that_hold_together_are_both_named) {
    const auto findings =
        located(3000, [](const Mixed& one) { return one.kind.tagged && one.bytes.size() > 1000; });
    for (const Finding& finding : findings) {
        const std::string& text = finding.description.text;
        BOOST_TEST(text.find("with a VLAN tag") != std::string::npos, finding.located);
        BOOST_TEST(text.find(" bytes") != std::string::npos, text);
        BOOST_TEST_REQUIRE(finding.description.rules.size() == 1U);
        BOOST_TEST(finding.description.rules[0].conditions.size() == 2U);
        BOOST_TEST(finding.description.right_that_fit == 0U);
    }
}

// A tree of two leaves: no single description fits them.
BOOST_AUTO_TEST_CASE(wrong_frames_of_two_sorts_are_described_as_one_or_the_other) {
    const auto findings = located(
        3000, [](const Mixed& one) { return one.kind.port == 5003 || one.bytes.size() > 1300; });
    BOOST_TEST(!findings.empty());
    for (const Finding& finding : findings) {
        BOOST_TEST_REQUIRE(finding.description.rules.size() == 2U);
        BOOST_TEST(finding.description.text.find("to port 5003") != std::string::npos);
        BOOST_TEST(finding.description.text.find(", or frames") != std::string::npos);
        BOOST_TEST(finding.description.wrong_that_fit == finding.count);
        BOOST_TEST(finding.description.right_that_fit == 0U);
    }
}

BOOST_AUTO_TEST_CASE(counter_examples_and_what_is_left_out_are_counted_and_named) {
    // Two of three tagged ones, and two that are lost for another reason.
    const auto findings = located(3000, [](const Mixed& one) {
        const bool plain = !one.kind.tagged && !one.kind.tcp && !one.kind.v6;
        return (one.kind.tagged && one.kind.number % 3 != 0) ||
               (plain && one.kind.number > 1000 && one.kind.number < 1010);
    });
    BOOST_TEST(!findings.empty());
    bool left_out = false;
    for (const Finding& finding : findings) {
        const Description& description = finding.description;
        BOOST_TEST(description.text.starts_with("frames with a VLAN tag"), finding.located);
        BOOST_TEST(description.right_that_fit > 50U);
        BOOST_TEST(description.counter_example.number != 0U);
        left_out = left_out || description.left_out.number != 0;
        BOOST_TEST(description.wrong_that_fit + 10 >= finding.count);
        BOOST_TEST(finding.located.find(" are wrong, ") != std::string::npos);
    }
    BOOST_TEST(left_out);
}

BOOST_AUTO_TEST_CASE(losses_at_random_have_no_description) {
    Random random(3);
    for (int round = 0; round < 10; ++round) {
        const auto findings = located(1000, [&](const Mixed&) { return random.below(20) == 0; });
        BOOST_TEST(!findings.empty());
        for (const Finding& finding : findings) {
            BOOST_TEST(finding.located.empty(), finding.located);
        }
    }
}

BOOST_AUTO_TEST_CASE(a_stretch_of_one_kind_and_a_period_of_it_are_said) {
    unsigned count = 0;
    const auto is_plain = [](const Kind& kind) { return !kind.v6 && !kind.tcp && !kind.tagged; };
    auto findings =
        located(1000, [&](const Mixed& one) { return is_plain(one.kind) && count++ % 5 == 2; });
    BOOST_TEST_REQUIRE(findings.size() == 1U);
    BOOST_TEST(findings[0].located.find("every 5th frame of IPv4 UDP") != std::string::npos,
               findings[0].located);
    findings = located(1000, [&](const Mixed& one) {
        return is_plain(one.kind) && one.kind.number > 400 && one.kind.number < 450;
    });
    BOOST_TEST_REQUIRE(findings.size() == 1U);
    BOOST_TEST(
        findings[0].located.find("frames one behind the other, within 0.00") != std::string::npos,
        findings[0].located);
}

// More kinds than are held: what varies most is given up, and the rest is told all the same.
BOOST_AUTO_TEST_CASE(kinds_beyond_memory_are_told_apart_by_fewer_traits) {
    TraitTable table(1000);
    for (unsigned number = 0; number < 20'000; ++number) {
        frame::FrameSpec spec = spec_of(Transport::kUdp, number % 50, number);
        spec.packet.source.port = static_cast<std::uint16_t>(number);
        const Octets bytes = render(spec);
        const CapturedFrame frame{.piece = {},
                                  .bytes = bytes,
                                  .length = static_cast<std::uint32_t>(bytes.size()),
                                  .number = number + 1};
        table.add(number % 50 > 40 ? 2 : 0, read_packet(frame, {}));
    }
    BOOST_TEST(!table.told().test(bit(Trait::kSourcePort)));
    BOOST_TEST(table.told().test(bit(Trait::kFrameBytes)));
    const Description description = describe(table.of(2), table.of(0), table.told(),
                                             [](std::uint32_t) { return std::string(); });
    BOOST_TEST(description.wrong == 20'000U / 50 * 9);
    BOOST_TEST(description.text.starts_with("frames of more than 82 bytes"), description.text);
}

}  // namespace pathproof::follow
