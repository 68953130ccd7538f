#include "harness/truth/separate.h"

#include <boost/test/unit_test.hpp>

#include "harness/truth/border.h"

BOOST_AUTO_TEST_SUITE(separate_suite)

using namespace pathproof;
using namespace pathproof::truth;
using matrix::InnerNetwork;
using matrix::InnerTransport;
using matrix::Row;
using matrix::Vlan;

namespace {

Sample sample(bool wrong, const Row& row, std::uint32_t frame_bytes, std::uint32_t segments = 1) {
    return {.row = row,
            .frame_bytes = frame_bytes,
            .payload_bytes = frame_bytes - 42,
            .segments = segments,
            .wrong = wrong};
}

const Row kPlain{};
const Row kTagged{.vlan = Vlan::kOne};
const Row kTcp{.transport = InnerTransport::kTcp};
const Row kTcp6{.network = InnerNetwork::kIpv6, .transport = InnerTransport::kTcp};
const Row kUdp6{.network = InnerNetwork::kIpv6};

struct Case {
    const char* name;
    std::vector<Sample> samples;
    std::string text;
};

}  // namespace

BOOST_AUTO_TEST_CASE(the_shortest_description_that_tells_wrong_from_right_is_given) {
    const std::vector<Case> cases = {
        {"everything", {sample(true, kPlain, 98), sample(true, kTcp, 1514)}, "all frames"},
        {"a length",
         {sample(false, kPlain, 98), sample(false, kTcp, 1400), sample(true, kPlain, 1514),
          sample(true, kTcp, 1500)},
         "frames of more than 1400 bytes (the same frames: more than 1358 bytes of data)"},
        {"a tag",
         {sample(true, kTagged, 98), sample(true, kTagged, 1514), sample(false, kPlain, 1514),
          sample(false, kPlain, 98)},
         "VLAN one"},
        {"a tag and a length",
         {sample(true, kTagged, 1514), sample(false, kTagged, 98), sample(false, kPlain, 1514),
          sample(false, kPlain, 98)},
         "frames of more than 98 bytes (the same frames: more than 56 bytes of data), VLAN one"},
        {"many segments",
         {sample(true, kTcp, 1514, 44), sample(true, kTcp6, 1514, 9), sample(false, kTcp, 1514, 4),
          sample(false, kTcp6, 1514, 2)},
         "more than 4 segments"},
        {"odd data",
         {sample(true, kPlain, 43), sample(true, kTcp, 1001), sample(true, kUdp6, 213),
          sample(false, kPlain, 98), sample(false, kTcp, 1514), sample(false, kUdp6, 42 + 17 + 1)},
         "an odd number of bytes of data"},
        {"one family of one protocol",
         {sample(true, kTcp6, 98), sample(true, kTcp6, 1514), sample(false, kTcp, 98),
          sample(false, kUdp6, 98), sample(false, kTcp, 1514), sample(false, kUdp6, 1514)},
         "network ipv6, transport tcp"},
    };
    for (const Case& each : cases) {
        const std::string seen = separate(each.samples).text;
        BOOST_TEST(seen == each.text, each.name << ": " << seen);
    }
}

BOOST_AUTO_TEST_CASE(a_last_segment_is_described_by_its_bytes) {
    const auto super = [](bool wrong, std::uint32_t last) {
        Sample one = sample(wrong, kTcp, 1514, 4);
        one.payload_bytes = 3 * 1460 + last;
        one.last_segment = last;
        return one;
    };
    const std::string shorter =
        separate(std::vector<Sample>{super(true, 1), super(true, 2), super(false, 731),
                                     super(false, 1459), sample(false, kPlain, 43)})
            .text;
    BOOST_TEST(shorter.find("less than 731 bytes in the last segment") != std::string::npos,
               shorter);
    const std::string odd =
        separate(std::vector<Sample>{super(true, 1), super(true, 731), super(false, 2),
                                     super(false, 1460), super(false, 128), super(true, 1459)})
            .text;
    BOOST_TEST(odd.find("an odd number of bytes in the last segment") != std::string::npos, odd);
    // Whole frames have none.
    const std::string whole =
        separate(std::vector<Sample>{sample(true, kPlain, 43), sample(false, kPlain, 44)}).text;
    BOOST_TEST(whole.find("last segment") == std::string::npos, whole);
}

BOOST_AUTO_TEST_CASE(choices_that_are_open_are_closed_by_frames_that_tell) {
    // Long frames with a tag: which of the two it is, and whether TCP has to do with it.
    const Row tagged_tcp{.vlan = Vlan::kOne, .transport = InnerTransport::kTcp};
    std::vector<Sample> samples = {sample(true, tagged_tcp, 1514), sample(false, kTcp, 98),
                                   sample(false, kPlain, 98)};
    const auto truth = [](const Sample& one) { return one.frame_bytes > 1400; };
    const auto tell = [&] {
        for (const OpenChoice& choice : open_choices(samples)) {
            for (const Row& row : {kPlain, kTagged, kTcp, tagged_tcp}) {
                for (const std::uint32_t bytes : {98U, 1514U}) {
                    Sample made = sample(false, row, bytes);
                    made.wrong = truth(made);
                    if (choice.tells(made)) {
                        samples.push_back(made);
                        return true;
                    }
                }
            }
        }
        return false;
    };
    int told = 0;
    while (told < 8 && tell()) {
        ++told;
    }
    BOOST_TEST(told >= 1);
    BOOST_TEST(told < 8);
    // Bytes of data and of the frame go together in these samples.
    const Description seen = separate(samples);
    BOOST_TEST(seen.text ==
               "frames of more than 98 bytes (the same frames: more than 56 bytes of data)");
    BOOST_TEST(seen.common.empty(), seen.common);
}

BOOST_AUTO_TEST_CASE(right_frames_of_the_same_description_are_counter_examples) {
    const Description seen = separate(std::vector<Sample>{
        sample(true, kTagged, 98), sample(false, kTagged, 98), sample(false, kPlain, 98)});
    BOOST_TEST(seen.text == "VLAN one (1 frame of that kind came right, for example VLAN one)");
    BOOST_TEST(seen.counter_examples == 1u);
}

BOOST_AUTO_TEST_CASE(frames_made_for_it_bring_the_border_to_one_byte) {
    std::vector<Sample> samples = {sample(false, kPlain, 298), sample(true, kPlain, 1514)};
    const Description first = separate(samples);
    BOOST_REQUIRE(first.border.has_value());
    BOOST_TEST(first.border->right == 298u);
    BOOST_TEST(first.border->wrong == 1514u);
    int tries = 0;
    const auto wrong_above_1498 = [&](std::uint32_t bytes) -> Result<std::optional<bool>> {
        ++tries;
        samples.push_back(sample(bytes > 1498, kPlain, bytes));
        return std::optional(bytes > 1498);
    };
    const auto found = find_border(*first.border, 16, wrong_above_1498);
    BOOST_REQUIRE(found);
    BOOST_TEST(found->right == 1498u);
    BOOST_TEST(found->wrong == 1499u);
    BOOST_TEST(tries <= 12);
    BOOST_TEST(separate(samples).text.starts_with("frames of more than 1498 bytes"),
               separate(samples).text);
}

BOOST_AUTO_TEST_CASE(a_border_that_no_frame_can_be_made_for_stays_as_it_is) {
    const Border border{Border::Of::kSegments, 4, 44};
    const auto none = [](std::uint32_t) -> Result<std::optional<bool>> {
        return std::optional<bool>();
    };
    const auto found = find_border(border, 16, none);
    BOOST_REQUIRE(found);
    BOOST_TEST(found->right == 4u);
    BOOST_TEST(found->wrong == 44u);
}

BOOST_AUTO_TEST_SUITE_END()
