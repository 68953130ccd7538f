// An intake reports the same of frames of a known shape as when it looks at each frame on its own.
#include <fmt/format.h>

#include <boost/test/unit_test.hpp>

#include "tests/how_many.h"
#include "tests/load/taken_frames.h"

using namespace pathproof;
using namespace pathproof::load;
using frame::Family;
using frame::TrafficClass;

namespace {

// A shape is learned from one of the first frames.
constexpr std::size_t kLearning = 24;

SourcePlan pairs(Family family, Envelope envelope, std::uint16_t bytes = 0) {
    SourcePlan plan = plan_of(TrafficClass::kDnsA, family, envelope);
    plan.mix = {{.traffic = TrafficClass::kDnsA, .frame_bytes = bytes},
                {.traffic = TrafficClass::kDnsAaaa, .frame_bytes = bytes}};
    return plan;
}

SourcePlan plain_udp(Family family, Envelope envelope, std::uint16_t bytes) {
    SourcePlan plan = plan_of(TrafficClass::kUdp, family, envelope);
    plan.mix = {{.traffic = TrafficClass::kUdp, .frame_bytes = bytes}};
    return plan;
}

// Gives UDP frames the length of the DNS queries beside them.
SourcePlan udp_and_dns() {
    SourcePlan plan = pairs(Family::kIpv4, Envelope::kNone, 128);
    plan.mix.push_back({.traffic = TrafficClass::kUdp, .frame_bytes = 128});
    return plan;
}

SourcePlan without_outer_checksum() {
    SourcePlan plan = pairs(Family::kIpv4, Envelope::kVxlan);
    plan.spec.tunnel->outer.transport_checksum = frame::ChecksumMode::kZero;
    return plan;
}

SourcePlan with_suffix(const std::string& suffix) {
    SourcePlan plan = pairs(Family::kIpv4, Envelope::kNone);
    plan.suffix = suffix;
    return plan;
}

// If set, the intake knows what was sent, too: the quick way must then see what the general way
// sees.
bool compared = false;

IntakePlan intake_plan(const SourcePlan& plan) {
    IntakePlan made = frames_expected();
    made.suffix = plan.suffix;
    if (compared) {
        made.sent = plan;
    }
    return made;
}

// The intake that keeps evidence looks at each frame on its own.
TrackedIntake looking_at_each(const SourcePlan& plan) {
    IntakePlan made = intake_plan(plan);
    made.frames_around = 1;
    return intake_of(made);
}

std::string described(const IntakeTotals& totals) {
    const judge::ReceiveTally& received = totals.received;
    std::string text = fmt::format(
        "received {} answers {} bad {} malformed {} other {} icmp {} stale {} quick {}\n",
        received.received, received.answers, received.bad_checksum, received.malformed,
        received.other_traffic, received.icmp_errors, totals.stale, totals.quick);
    for (const auto& layer : totals.checksums) {
        text += fmt::format("{} {} {} {}; ", layer[0], layer[1], layer[2], layer[3]);
    }
    for (const RxFlagCounts& flags : {totals.ip_flags, totals.l4_flags}) {
        text += fmt::format("\nflags {} {} {} {} {}", flags.good_on_good, flags.good_on_bad,
                            flags.bad_on_good, flags.bad_on_bad, flags.unknown);
    }
    for (const ClassTotals& one : totals.classes) {
        const judge::LatencySummary latency = one.latency.summary();
        text += fmt::format("\nclass {} {} {} {} {} {}, {} times {}..{} median {}", one.unique,
                            one.duplicates, one.reordered, one.late, one.wrong, one.damaged,
                            latency.count, latency.min_ns, latency.max_ns, latency.p50_ns);
    }
    for (const WrongField& field : totals.wrong_fields) {
        text += field.frames > 0 ? fmt::format("\n{} {}", field.name, field.frames) : "";
    }
    for (const judge::SequenceTotals& stream : totals.streams) {
        text += fmt::format("\nstream {} {} {} {} {} {} {}", stream.unique, stream.duplicates,
                            stream.reordered, stream.too_old, stream.highest, stream.furthest,
                            stream.overtaken);
    }
    return text;
}

// An intake that took the frames, and of which one that looked at each said the same.
TrackedIntake taken_alike(const SourcePlan& plan, const std::vector<Frame>& frames) {
    TrackedIntake intake = intake_of(intake_plan(plan));
    TrackedIntake slow = looking_at_each(plan);
    take(intake, frames);
    take(slow, frames);
    BOOST_TEST(described(intake.totals()) == described(slow.totals()));
    return intake;
}

struct Case {
    std::string name;
    SourcePlan plan;
};

std::vector<Case> cases() {
    return {{"IPv4", pairs(Family::kIpv4, Envelope::kNone)},
            {"IPv6", pairs(Family::kIpv6, Envelope::kNone)},
            {"VLAN", pairs(Family::kIpv4, Envelope::kVlan)},
            {"QinQ, IPv6", pairs(Family::kIpv6, Envelope::kQinQ)},
            {"VXLAN", pairs(Family::kIpv4, Envelope::kVxlan)},
            {"VXLAN without outer checksum", without_outer_checksum()},
            {"512 bytes", pairs(Family::kIpv4, Envelope::kNone, 512)},
            {"VXLAN, 300 bytes", pairs(Family::kIpv4, Envelope::kVxlan, 300)},
            {"UDP, 60 bytes", plain_udp(Family::kIpv4, Envelope::kNone, 60)},
            {"UDP, 128 bytes", plain_udp(Family::kIpv4, Envelope::kNone, 128)},
            {"UDP, 82 bytes, IPv6, VLAN", plain_udp(Family::kIpv6, Envelope::kVlan, 82)},
            {"UDP, 140 bytes in VXLAN", plain_udp(Family::kIpv4, Envelope::kVxlan, 140)},
            {"UDP, 1000 bytes", plain_udp(Family::kIpv4, Envelope::kNone, 1'000)}};
}

}  // namespace

BOOST_AUTO_TEST_SUITE(known_shape)

BOOST_AUTO_TEST_CASE(frames_that_look_alike_are_known_soon_and_counted_as_if_looked_at_each) {
    for (const Case& one : cases()) {
        BOOST_TEST_CONTEXT(one.name) {
            const std::vector<Frame> frames = made(one.plan, 1'000);
            const IntakePlan plan = intake_plan(one.plan);
            TrackedIntake intake = intake_of(plan);
            TrackedIntake slow = looking_at_each(one.plan);
            Returns returns(plan.streams, plan.late_after);
            intake.tell(&returns);
            take(intake, frames);
            take(slow, frames);
            BOOST_TEST(intake.totals().known >= frames.size() - kLearning);
            BOOST_TEST(slow.totals().known == 0u);
            BOOST_TEST(described(intake.totals()) == described(slow.totals()));
            BOOST_TEST(intake.totals().received.answers == frames.size());
            BOOST_TEST(returns.of_stream(0).all == frames.size());
        }
    }
}

// The question's end decides which bytes are compared and how the rest is summed.
BOOST_AUTO_TEST_CASE(suffixes_of_every_length_give_shapes_that_see_each_changed_byte) {
    for (std::size_t letters = 1; letters <= 60; ++letters) {
        const SourcePlan plan = with_suffix(std::string(letters, 'z'));
        BOOST_TEST_CONTEXT(letters << " letters") {
            std::vector<Frame> frames = made(plan, kLearning + 200);
            for (std::size_t i = kLearning; i < frames.size(); ++i) {
                frames[i][i % frames[i].size()] ^= 0x04;
            }
            BOOST_TEST(taken_alike(plan, frames).totals().known > 0u);
        }
    }
}

bool is_of_time(const Case& one, const Frame& frame, std::size_t byte) {
    const bool udp = one.plan.mix[0].traffic == TrafficClass::kUdp;
    const std::size_t at = payload_at(frame) + (udp ? 8 : frame::kDnsHeaderBytes + 12);
    return byte >= at && byte < at + (udp ? 8u : 12u);
}

// Frame by frame, so that what one bit does is not hidden by another; with all checksums put right
// for each second time, so that it is not the sum that tells.
void check_each_bit() {
    for (const Case& one : cases()) {
        const std::vector<Frame> frames = made(one.plan, kLearning + 2);
        const std::vector<Frame> first(frames.begin(), frames.end() - 2);
        const std::size_t bits = std::min<std::size_t>(frames[0].size(), 150) * 8;
        // An odd number, so that it comes to each of a byte's.
        const std::size_t step = bits / test::how_many(bits) | 1;
        TrackedIntake intake = intake_of(intake_plan(one.plan));
        TrackedIntake slow = looking_at_each(one.plan);
        for (std::size_t bit = 0; bit < bits; bit += step) {
            Frame changed = frames[kLearning];
            changed[bit / 8] ^= static_cast<std::uint8_t>(1u << bit % 8);
            for (const Frame& frame : {changed, sealed(changed)}) {
                intake.reset();
                slow.reset();
                take(intake, first);
                take(slow, first);
                BOOST_REQUIRE_MESSAGE(
                    intake.totals().known > 0,
                    fmt::format("{}: nothing is known before bit {} of byte {}: {}", one.name,
                                bit % 8, bit / 8, described(intake.totals())));
                take(intake, {frame, frames[kLearning + 1]});
                take(slow, {frame, frames[kLearning + 1]});
                BOOST_REQUIRE_MESSAGE(
                    described(intake.totals()) == described(slow.totals()),
                    fmt::format("{}: bit {} of byte {}:\n{}\nis not\n{}", one.name, bit % 8,
                                bit / 8, described(intake.totals()), described(slow.totals())));
                // Not even one bit goes unseen; a time is what it is within the trial.
                const bool seen = intake.totals().streams[0].unique <= first.size() + 1 ||
                                  intake.totals().received.bad_checksum > 0 ||
                                  intake.totals().received.malformed > 0 ||
                                  totals_of(intake, TrafficClass::kDnsA).wrong +
                                          totals_of(intake, TrafficClass::kDnsAaaa).wrong +
                                          totals_of(intake, TrafficClass::kUdp).wrong >
                                      0 ||
                                  frame == frames[kLearning] ||
                                  is_of_time(one, frames[kLearning], bit / 8);
                BOOST_REQUIRE_MESSAGE(
                    !compared || seen,
                    fmt::format("{}: bit {} of byte {} is not seen:\n{}", one.name, bit % 8,
                                bit / 8, described(intake.totals())));
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(each_bit_of_a_frame_is_judged_as_if_it_were_looked_at_on_its_own) {
    check_each_bit();
    compared = true;
    check_each_bit();
    compared = false;
}

// The checksum of an IPv4 header whose right value is 0: 0xffff sums up and is wrong.
Frame with_all_ones(Frame frame, std::size_t header) {
    const auto word = [&](std::size_t at) -> unsigned { return frame[at] * 256u + frame[at + 1]; };
    // The identification takes up what the checksum was.
    const unsigned sum = word(header + 4) + word(header + 10);
    const unsigned id = sum % 0xffff;
    frame[header + 4] = static_cast<std::uint8_t>(id >> 8);
    frame[header + 5] = static_cast<std::uint8_t>(id & 0xff);
    frame[header + 10] = frame[header + 11] = 0xff;
    return frame;
}

BOOST_AUTO_TEST_CASE(a_header_checksum_of_all_ones_is_wrong_as_it_is_elsewhere) {
    for (const auto& [plan, header] :
         {std::pair{pairs(Family::kIpv4, Envelope::kNone), 14u},
          std::pair{pairs(Family::kIpv4, Envelope::kVxlan), 64u},
          std::pair{without_outer_checksum(), 64u}, std::pair{without_outer_checksum(), 14u}}) {
        std::vector<Frame> frames = made(plan, 200);
        for (std::size_t i = 100; i < 150; ++i) {
            frames[i] = with_all_ones(frames[i], header);
        }
        const TrackedIntake intake = taken_alike(plan, frames);
        BOOST_TEST(intake.totals().known >= 100u);
        BOOST_TEST(intake.totals().received.bad_checksum == 50u);
    }
}

BOOST_AUTO_TEST_CASE(a_query_to_the_port_of_a_tunnel_is_no_query) {
    const SourcePlan plan = pairs(Family::kIpv4, Envelope::kNone);
    std::vector<Frame> frames = made(plan, 200);
    for (std::size_t i = 100; i < 150; ++i) {
        frames[i][36] = 4789 >> 8;
        frames[i][37] = 4789 & 0xff;
        frames[i] = sealed(frames[i]);
    }
    const TrackedIntake intake = taken_alike(plan, frames);
    BOOST_TEST(intake.totals().known >= 100u);
    BOOST_TEST(intake.totals().received.answers == 150u);
}

BOOST_AUTO_TEST_CASE(numbers_in_any_order_late_and_stale_ones_are_entered_alike) {
    const SourcePlan plan = pairs(Family::kIpv4, Envelope::kNone);
    std::vector<Frame> frames = made(plan, 600);
    std::swap(frames[200], frames[230]);
    std::swap(frames[300], frames[301]);
    frames[400] = frames[399];
    frames.erase(frames.begin() + 450, frames.begin() + 470);
    frames.insert(frames.begin() + 500, frames.begin() + 100, frames.begin() + 140);
    for (const std::uint64_t now_ns : {kSent + 1, kSent + 70'000, kSent + 9'000'000'000}) {
        for (const std::uint64_t began_ns : {std::uint64_t{0}, kSent + 500}) {
            TrackedIntake intake = intake_of(intake_plan(plan));
            TrackedIntake slow = looking_at_each(plan);
            intake.reset(began_ns);
            slow.reset(began_ns);
            take(intake, frames, now_ns);
            take(slow, frames, now_ns);
            BOOST_TEST(intake.totals().known > frames.size() / 2);
            BOOST_TEST(described(intake.totals()) == described(slow.totals()));
        }
    }
}

BOOST_AUTO_TEST_CASE(what_the_port_says_of_checksums_is_counted_frame_by_frame) {
    const SourcePlan plan = pairs(Family::kIpv4, Envelope::kNone);
    const std::vector<Frame> frames = made(plan, 320);
    TrackedIntake intake = intake_of(intake_plan(plan));
    TrackedIntake slow = looking_at_each(plan);
    constexpr std::uint64_t kSaid[] = {0, RTE_MBUF_F_RX_IP_CKSUM_GOOD,
                                       RTE_MBUF_F_RX_IP_CKSUM_GOOD | RTE_MBUF_F_RX_L4_CKSUM_BAD};
    for (std::size_t part = 0; part < 10; ++part) {
        const std::vector<Frame> some(frames.begin() + static_cast<std::ptrdiff_t>(32 * part),
                                      frames.begin() + static_cast<std::ptrdiff_t>(32 * part + 32));
        take(intake, some, kNow, {.flags = kSaid[part / 2 % 3]});
        take(slow, some, kNow, {.flags = kSaid[part / 2 % 3]});
    }
    BOOST_TEST(intake.totals().known > 0u);
    BOOST_TEST(described(intake.totals()) == described(slow.totals()));
    BOOST_TEST(intake.totals().l4_flags.bad_on_good > 0u);
}

BOOST_AUTO_TEST_CASE(streams_that_arrive_mixed_are_told_apart) {
    SourcePlan plan = pairs(Family::kIpv4, Envelope::kNone);
    const std::vector<Frame> some = made(plan, 300);
    plan.stream = 1;
    const std::vector<Frame> others = made(plan, 300);
    std::vector<Frame> mixed;
    for (std::size_t i = 0; i < some.size(); ++i) {
        mixed.push_back(some[i]);
        mixed.push_back(others[i]);
    }
    IntakePlan both = frames_expected();
    both.streams = 2;
    TrackedIntake intake = intake_of(both);
    take(intake, mixed);
    BOOST_TEST(intake.totals().known >= mixed.size() - kLearning);
    for (const judge::SequenceTotals& stream : intake.totals().streams) {
        BOOST_TEST(stream.unique == some.size());
        BOOST_TEST(stream.duplicates + stream.reordered == 0u);
    }
    // One stream more than the run has.
    TrackedIntake one = intake_of(frames_expected());
    take(one, some);
    take(one, others);
    BOOST_TEST(one.totals().received.answers == some.size());
    BOOST_TEST(one.totals().received.other_traffic == others.size());
}

// A shape per length: one of them is known, the other looked at, and none taken for the other.
BOOST_AUTO_TEST_CASE(udp_and_questions_of_one_length_are_told_apart) {
    for (const bool with_sent : {false, true}) {
        compared = with_sent;
        const SourcePlan plan = udp_and_dns();
        std::vector<Frame> frames = made(plan, 900);
        // One UDP frame gets the number of a question.
        const auto udp = std::ranges::find_if(frames, [](const Frame& frame) {
            return frame[payload_at(frame)] == frame::kStampMagic >> 8 &&
                   frame[payload_at(frame) + 1] == (frame::kStampMagic & 0xff);
        });
        BOOST_REQUIRE(udp != frames.end());
        Frame other = *udp;
        other[payload_at(other) + 7] ^= 1;
        frames.push_back(sealed(other));
        const TrackedIntake intake = taken_alike(plan, frames);
        BOOST_TEST(intake.totals().known > 0u);
        BOOST_TEST(totals_of(intake, TrafficClass::kUdp).unique > 250u);
        BOOST_TEST(totals_of(intake, TrafficClass::kDnsAaaa).unique > 250u);
    }
    compared = false;
}

// A DNS message that has a binary stamp's bytes in front is a message.
BOOST_AUTO_TEST_CASE(a_question_that_looks_like_a_binary_stamp_is_a_question) {
    const SourcePlan plan = plain_udp(Family::kIpv4, Envelope::kNone, 128);
    std::vector<Frame> frames = made(plan, 300);
    const Frame question = made(pairs(Family::kIpv4, Envelope::kNone, 128), 1)[0];
    const std::size_t from = payload_at(question);
    BOOST_REQUIRE(payload_at(frames[0]) == from);
    for (std::size_t i = 200; i < 220; ++i) {
        std::copy(question.begin() + static_cast<std::ptrdiff_t>(from + 12), question.end(),
                  frames[i].begin() + static_cast<std::ptrdiff_t>(from + 12));
        frames[i][from + 4] = 0;
        frames[i][from + 5] = 1;  // of the number; for a message, one question
        frames[i] = sealed(frames[i]);
    }
    const TrackedIntake intake = taken_alike(plan, frames);
    BOOST_TEST(intake.totals().known > 0u);
    BOOST_TEST(totals_of(intake, TrafficClass::kDnsA).duplicates == 20u);  // of number 0
}

BOOST_AUTO_TEST_SUITE_END()
