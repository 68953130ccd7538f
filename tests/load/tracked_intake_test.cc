#include "dataplane/load/tracked_intake.h"

#include <boost/test/unit_test.hpp>
#include <functional>
#include <random>

#include "dataplane/base/be.h"
#include "dataplane/frame/dns.h"
#include "dataplane/traffic/reply.h"
#include "tests/frame/raw.h"
#include "tests/load/taken_frames.h"

using namespace pathproof;
using namespace pathproof::load;
using frame::Family;
using frame::TrafficClass;

namespace {

constexpr Envelope kEnvelopes[] = {Envelope::kNone, Envelope::kVlan, Envelope::kQinQ,
                                   Envelope::kVxlan};

std::size_t transport_at(const Frame& frame) {
    return parsed(frame).innermost().transport_offset;
}
Frame dns_answer(const Frame& query, frame::Rcode rcode = frame::Rcode::kNoError) {
    const frame::IpAddress address = frame::IpAddress::v4(0xc0000235);
    const frame::FrameView view = parsed(query);
    std::array<std::uint8_t, 512> message;
    const std::size_t size = frame::write_answer(message, view.innermost().payload(query),
                                                 {.rcode = rcode, .addresses = {&address, 1}});
    BOOST_REQUIRE(size > 0);
    Frame answer(2048);
    answer.resize(traffic::write_reply(answer, query, view, frame::Bytes(message).first(size)));
    BOOST_REQUIRE(!answer.empty());
    return answer;
}

Frame syn_answer(Frame frame, std::uint8_t flags) {
    const std::size_t at = transport_at(frame);
    const std::uint32_t acknowledged = frame::view<Be32>(frame, at + 4)->value() + 1;
    for (int i = 0; i < 4; ++i) {
        frame[at + 8 + static_cast<std::size_t>(i)] =
            static_cast<std::uint8_t>(acknowledged >> (24 - 8 * i));
    }
    frame[at + 13] = flags;
    // Timestamps lie behind kind and length, wherever the source put them.
    for (std::size_t i = at + 20; i + 10 <= frame.size(); ++i) {
        if (frame[i] == 8 && frame[i + 1] == 10) {
            std::copy_n(frame.begin() + static_cast<std::ptrdiff_t>(i) + 2, 4,
                        frame.begin() + static_cast<std::ptrdiff_t>(i) + 6);
            break;
        }
    }
    return sealed(frame);
}

Frame echo_reply(Frame frame) {
    const std::size_t at = transport_at(frame);
    frame[at] = frame[at] == 8 ? 0 : 129;
    return sealed(frame);
}

// Turns a frame round, as if its receiver had sent it back.
void turn_round(Frame& frame) {
    const frame::FrameView view = parsed(frame);
    const auto ip = frame.begin() + view.outer.network_offset;
    std::swap_ranges(ip + 12, ip + 16, ip + 16);
    if (view.outer.transport != frame::Transport::kIcmp) {
        const auto transport = frame.begin() + view.outer.transport_offset;
        std::swap_ranges(transport, transport + 2, transport + 2);
    }
}

Frame answer_to(TrafficClass traffic, const Frame& frame) {
    switch (traffic) {
        case TrafficClass::kDnsA:
        case TrafficClass::kDnsAaaa: return dns_answer(frame);
        case TrafficClass::kTcpSyn: return syn_answer(frame, 0x12);
        case TrafficClass::kIcmpEcho: return echo_reply(frame);
        case TrafficClass::kUdp:
        case TrafficClass::kReplay: break;
    }
    return frame;
}

void check_all_tracked(const TrackedIntake& intake, TrafficClass traffic, std::size_t count) {
    const IntakeTotals& totals = intake.totals();
    BOOST_TEST(totals.received.received == count);
    BOOST_TEST(totals.received.answers == count);
    BOOST_TEST(totals.received.balances());
    BOOST_TEST(totals.streams[0].unique == count);
    BOOST_TEST(totals.streams[0].highest == count);
    const ClassTotals& of_class = totals_of(intake, traffic);
    BOOST_TEST(of_class.unique == count);
    BOOST_TEST(of_class.duplicates + of_class.reordered + of_class.wrong + of_class.late == 0u);
    BOOST_TEST(of_class.latency.count() == count);
    // A TCP timestamp counts 1024 ns.
    const std::int64_t slack = traffic == TrafficClass::kTcpSyn ? 1'023 : 0;
    BOOST_TEST(of_class.latency.min_ns() >= 70'000);
    BOOST_TEST(of_class.latency.max_ns() <= 70'000 + slack);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(tracked_intake)

BOOST_AUTO_TEST_CASE(frames_of_every_class_and_envelope_are_tracked_as_they_were_sent) {
    for (const TrafficClass traffic : kMade) {
        for (const Family family : kFamilies) {
            for (const Envelope envelope : kEnvelopes) {
                BOOST_TEST_CONTEXT(name(traffic)
                                   << " family " << int(family) << " envelope " << int(envelope)) {
                    TrackedIntake intake = intake_of(frames_expected());
                    take(intake, made(plan_of(traffic, family, envelope), 300));
                    check_all_tracked(intake, traffic, 300);
                    BOOST_TEST(intake.totals().quick == 300u);
                }
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(answers_of_every_class_and_envelope_are_tracked_and_their_questions_are_not) {
    for (const TrafficClass traffic : kMade) {
        for (const Family family : kFamilies) {
            for (const Envelope envelope : kEnvelopes) {
                BOOST_TEST_CONTEXT(name(traffic)
                                   << " family " << int(family) << " envelope " << int(envelope)) {
                    const std::vector<Frame> sent = made(plan_of(traffic, family, envelope), 100);
                    std::vector<Frame> answers;
                    for (const Frame& frame : sent) {
                        answers.push_back(answer_to(traffic, frame));
                        BOOST_REQUIRE(is_right(answers.back()));
                    }
                    TrackedIntake intake = intake_of({});
                    take(intake, answers);
                    check_all_tracked(intake, traffic, 100);
                    if (traffic != TrafficClass::kUdp) {
                        take(intake, sent);
                        BOOST_TEST(intake.totals().received.other_traffic == 100u);
                        BOOST_TEST(intake.totals().received.balances());
                    }
                }
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(a_reset_connection_is_an_answer_without_a_time) {
    TrackedIntake intake = intake_of({});
    Frame frame = syn_answer(made(plan_of(TrafficClass::kTcpSyn), 1)[0], 0x14);
    const std::size_t at = transport_at(frame);
    std::fill(frame.begin() + static_cast<std::ptrdiff_t>(at) + 20,
              frame.begin() + static_cast<std::ptrdiff_t>(payload_at(frame)), std::uint8_t{1});
    take(intake, {sealed(frame)});
    BOOST_TEST(totals_of(intake, TrafficClass::kTcpSyn).unique == 1u);
    BOOST_TEST(totals_of(intake, TrafficClass::kTcpSyn).latency.count() == 0u);
}

BOOST_AUTO_TEST_CASE(what_is_said_of_mutated_frames_is_what_the_other_intake_says) {
    std::mt19937 random(7);
    std::vector<Frame> frames;
    for (const TrafficClass traffic : kMade) {
        for (const Family family : kFamilies) {
            for (const Envelope envelope : kEnvelopes) {
                for (Frame& frame : made(plan_of(traffic, family, envelope), 400)) {
                    if (random() % 3 != 0) {
                        frame[random() % frame.size()] ^= static_cast<std::uint8_t>(random());
                    }
                    if (random() % 8 == 0) {
                        frame.resize(random() % frame.size());
                    }
                    frames.push_back(std::move(frame));
                }
            }
        }
    }
    TrackedIntake intake = intake_of(frames_expected());
    judge::Intake reference({4789}, 0);
    for (const Frame& frame : frames) {
        if (const auto view = reference.admit(frame, 0, 0)) {
            reference.count_other(frame, *view);
        }
    }
    take(intake, frames);
    const judge::ReceiveTally& found = intake.totals().received;
    BOOST_TEST(found.balances());
    BOOST_TEST(found.bad_checksum == reference.tally().bad_checksum);
    BOOST_TEST(found.malformed == reference.tally().malformed);
    BOOST_TEST(found.answers + found.other_traffic == reference.tally().other_traffic);
    BOOST_TEST(found.bad_checksum > 1'000u);
    BOOST_TEST((intake.totals().checksums == reference.checksums()));
    BOOST_TEST(intake.take_bad_frames().size() == 64u);
}

BOOST_AUTO_TEST_CASE(losses_duplicates_and_reordering_are_counted_by_class_and_stream) {
    SourcePlan plan = plan_of(TrafficClass::kDnsA);
    plan.mix = {{.traffic = TrafficClass::kDnsA}, {.traffic = TrafficClass::kTcpSyn}};
    plan.stream = 2;
    const std::vector<Frame> sent = made(plan, 10);
    IntakePlan expected = frames_expected();
    expected.streams = 3;
    TrackedIntake intake = intake_of(expected);
    take(intake, {sent[0], sent[1], sent[4], sent[3], sent[3], sent[2], sent[4], sent[9]});
    const judge::SequenceTotals& stream = intake.totals().streams[2];
    BOOST_TEST(stream.unique == 6u);
    BOOST_TEST(stream.duplicates == 2u);
    BOOST_TEST(stream.reordered == 2u);
    BOOST_TEST(stream.highest == 10u);
    BOOST_TEST(intake.totals().streams[0].unique == 0u);
    std::uint64_t duplicates = 0;
    std::uint64_t reordered = 0;
    for (const ClassTotals& of_class : intake.totals().classes) {
        duplicates += of_class.duplicates;
        reordered += of_class.reordered;
        BOOST_TEST(of_class.latency.count() == of_class.unique);
    }
    BOOST_TEST(duplicates == 2u);
    BOOST_TEST(reordered == 2u);
    BOOST_TEST(totals_of(intake, TrafficClass::kTcpSyn).unique > 0u);
}

BOOST_AUTO_TEST_CASE(an_answer_with_another_id_or_an_error_is_wrong_and_has_no_latency) {
    const std::vector<Frame> sent = queries(3);
    Frame other_id = dns_answer(sent[1]);
    other_id[payload_at(other_id) + 1] ^= 4;
    TrackedIntake intake = intake_of({});
    take(intake,
         {dns_answer(sent[0]), sealed(other_id), dns_answer(sent[2], frame::Rcode::kServFail)});
    const ClassTotals& dns = totals_of(intake, TrafficClass::kDnsA);
    BOOST_TEST(dns.unique == 3u);
    BOOST_TEST(dns.wrong == 2u);
    BOOST_TEST(dns.latency.count() == 1u);
    // The id follows from the seed.
    TrackedIntake other_seed = intake_of({.seed = 2});
    take(other_seed, {dns_answer(sent[0])});
    BOOST_TEST(totals_of(other_seed, TrafficClass::kDnsA).wrong == 1u);
}

// Answers to queries for 203.0.113.2 have to come from there, to the port that asked, with the name
// as it was written.
BOOST_AUTO_TEST_CASE(answers_are_held_against_what_was_asked) {
    struct Fault {
        TrafficClass traffic;
        const char* field;  // empty: nothing is wrong
        std::function<void(Frame&)> change;
    };
    const auto at = [](const Frame& frame) { return transport_at(frame); };
    const auto flip = [](std::size_t (*base)(const Frame&), std::ptrdiff_t place, int bits) {
        return [=](Frame& frame) {
            frame[static_cast<std::size_t>(static_cast<std::ptrdiff_t>(base(frame)) + place)] ^=
                static_cast<std::uint8_t>(bits);
        };
    };
    constexpr auto kDns = TrafficClass::kDnsA;
    const Fault faults[] = {
        {kDns, "", [](Frame&) {}},
        {kDns, "", flip(at, -12, 1)},  // TTL
        {kDns, "source address", flip(at, -5, 1)},
        {kDns, "source port", flip(at, 1, 1)},
        {kDns, "destination address", flip(at, -1, 1)},
        {kDns, "destination port", flip(at, 3, 1)},
        {kDns, "dns.id", flip(payload_at, 1, 1)},
        {kDns, "dns.rcode", flip(payload_at, 3, 2)},
        {kDns, "dns.name", flip(payload_at, 13, 0x20)},
        {kDns, "dns.name", flip(payload_at, 40, 0x20)},
        {kDns, "dns.type",
         [](Frame& f) { f[payload_at(f) + 12 + 24 + 16 + 1] ^= frame::kDnsTypeAaaa ^ 1; }},
        {kDns, "", [](Frame& f) { f.back() ^= 1; }},  // any address will do
        {TrafficClass::kTcpSyn, "source address", flip(at, -5, 1)},
        {TrafficClass::kTcpSyn, "source port", flip(at, 1, 1)},
        {TrafficClass::kUdp, "payload", [](Frame& f) { f.back() ^= 1; }},
        {TrafficClass::kIcmpEcho, "source address", flip(at, -5, 1)},
        {TrafficClass::kIcmpEcho, "payload", [](Frame& f) { f.back() ^= 1; }},
        {TrafficClass::kIcmpEcho, "destination port", flip(at, 5, 1)}};
    for (const Fault& fault : faults) {
        SourcePlan plan = plan_of(fault.traffic);
        plan.background_port = 53;
        plan.mix[0].frame_bytes = fault.traffic == kDns ? std::uint16_t{0} : std::uint16_t{120};
        std::vector<Frame> answers;
        std::uint64_t planted = 0;
        for (const Frame& frame : made(plan, 100)) {
            Frame answer = answer_to(fault.traffic, frame);
            if (fault.traffic == TrafficClass::kUdp || fault.traffic == TrafficClass::kIcmpEcho ||
                fault.traffic == TrafficClass::kTcpSyn) {
                turn_round(answer);
            }
            if (answers.size() % 10 == 9) {
                fault.change(answer);
                ++planted;
            }
            answers.push_back(sealed(answer));
        }
        TrackedIntake intake = intake_of({.sent = plan});
        take(intake, answers);
        std::uint64_t named = 0;
        std::string all;
        for (const WrongField& one : intake.totals().wrong_fields) {
            named += one.name == fault.field ? one.frames : 0;
            all += one.frames > 0 ? one.name + " " : "";
        }
        std::uint64_t wrong = 0;
        for (const ClassTotals& one : intake.totals().classes) {
            wrong += one.wrong;
        }
        BOOST_TEST_CONTEXT(name(fault.traffic) << " " << fault.field << ": " << all) {
            BOOST_TEST(wrong == (*fault.field == 0 ? 0 : planted));
            BOOST_TEST(named == (*fault.field == 0 ? 0 : planted));
            BOOST_TEST(intake.totals().streams[0].unique == 100u);
            // In the class that asked: an answer of another type is not missing there as well.
            BOOST_TEST(totals_of(intake, fault.traffic).unique == 100u);
        }
    }
}

BOOST_AUTO_TEST_CASE(what_answers_say_is_held_against_rules) {
    const SourcePlan plan = plan_of(TrafficClass::kDnsA);
    std::vector<Frame> answers;
    for (const Frame& frame : made(plan, 200)) {
        answers.push_back(dns_answer(frame));
        if (answers.size() % 20 == 19) {
            answers.back().back() ^= 4;
            answers.back() = sealed(answers.back());
        }
    }
    judge::Expectation right;
    right.addresses = {frame::IpAddress::v4(0xc0000235)};
    TrackedIntake intake = intake_of({.sent = plan, .right_answers = {right}});
    take(intake, answers);
    BOOST_TEST(totals_of(intake, TrafficClass::kDnsA).wrong == 10u);
    BOOST_TEST(intake.totals().known > 100u);
    BOOST_TEST(!intake.take_wrong_frames().empty());
    right.rcode = frame::Rcode::kNxDomain;
    TrackedIntake none = intake_of({.sent = plan, .right_answers = {right}});
    take(none, answers);
    BOOST_TEST(totals_of(none, TrafficClass::kDnsA).wrong == 200u);
}

BOOST_AUTO_TEST_CASE(names_in_other_letters_and_frames_of_rarer_shape_are_tracked_too) {
    Frame upper = queries(1)[0];
    for (std::size_t i = payload_at(upper) + frame::kDnsHeaderBytes; i < upper.size(); ++i) {
        upper[i] = upper[i] >= 'a' && upper[i] <= 'z' ? upper[i] ^ 0x20 : upper[i];
    }
    SourcePlan options = plan_of(TrafficClass::kDnsA);
    options.spec.packet.ipv4_option_bytes = 8;
    SourcePlan extension = plan_of(TrafficClass::kUdp, Family::kIpv6);
    extension.spec.packet.extensions = {frame::Extension::kHopByHop};
    TrackedIntake intake = intake_of(frames_expected());
    take(intake, {sealed(upper), made(options, 2)[1], made(extension, 3)[2]});
    BOOST_TEST(intake.totals().streams[0].unique == 3u);
    BOOST_TEST(intake.totals().received.answers == 3u);
    BOOST_TEST(intake.totals().quick == 1u);
}

BOOST_AUTO_TEST_CASE(what_is_not_of_the_run_is_other_traffic) {
    SourcePlan foreign = plan_of(TrafficClass::kDnsA);
    foreign.suffix = "pathproof.tess";
    SourcePlan longer = plan_of(TrafficClass::kDnsA);
    longer.suffix = "pathproof.test.example";
    SourcePlan other_stream = plan_of(TrafficClass::kIcmpEcho);
    other_stream.stream = 1;
    Frame other_type = queries(1)[0];
    other_type[other_type.size() - 3] = 16;  // TXT
    Frame bad_digit = queries(1)[0];
    bad_digit[payload_at(bad_digit) + frame::kDnsHeaderBytes + 9] = 'g';
    Frame bad_time = queries(1)[0];
    bad_time[payload_at(bad_time) + frame::kDnsHeaderBytes + 12] = '/';
    const Frame arp = raw::ethernet(0x0806, raw::Octets(46));
    TrackedIntake intake = intake_of(frames_expected());
    take(intake, {made(foreign, 1)[0], made(longer, 1)[0], made(other_stream, 1)[0],
                  sealed(other_type), sealed(bad_digit), sealed(bad_time), arp});
    BOOST_TEST(intake.totals().received.other_traffic == 7u);
    BOOST_TEST(intake.totals().received.answers == 0u);
    BOOST_TEST(intake.totals().received.icmp_errors == 0u);
}

BOOST_AUTO_TEST_CASE(late_frames_are_unique_and_late_and_those_from_before_a_reset_are_stale) {
    IntakePlan plan = frames_expected();
    plan.late_after = std::chrono::microseconds(70);
    TrackedIntake intake = intake_of(plan);
    const std::vector<Frame> sent = queries(4);
    take(intake, {sent[0]}, kNow);
    take(intake, {sent[1]}, kNow + 1);
    BOOST_TEST(totals_of(intake, TrafficClass::kDnsA).unique == 2u);
    BOOST_TEST(totals_of(intake, TrafficClass::kDnsA).late == 1u);
    BOOST_TEST(totals_of(intake, TrafficClass::kDnsA).latency.count() == 2u);
    intake.reset(kSent + 1);
    BOOST_TEST(intake.totals().received.received == 0u);
    BOOST_TEST(intake.totals().streams.size() == 1u);
    take(intake, {sent[2]});
    BOOST_TEST(intake.totals().stale == 1u);
    BOOST_TEST(intake.totals().received.other_traffic == 1u);
    intake.reset(kSent);
    take(intake, {sent[3], sent[0]});
    BOOST_TEST(intake.totals().stale == 0u);
    BOOST_TEST(intake.totals().streams[0].unique == 2u);
    BOOST_TEST(totals_of(intake, TrafficClass::kDnsA).reordered == 1u);
}

BOOST_AUTO_TEST_CASE(a_time_ahead_of_the_clock_counts_as_no_time_at_all) {
    TrackedIntake intake = intake_of(frames_expected());
    take(intake, queries(1), kSent - 1'000);
    BOOST_TEST(totals_of(intake, TrafficClass::kDnsA).latency.max_ns() == 0);
    BOOST_TEST(totals_of(intake, TrafficClass::kDnsA).late == 0u);
}

BOOST_AUTO_TEST_CASE(a_frame_in_several_buffers_is_read_whole) {
    Frame frame = queries(1)[0];
    rte_mbuf parts[3] = {};
    const std::size_t cuts[] = {0, 20, 61, frame.size()};
    for (std::size_t i = 0; i < 3; ++i) {
        parts[i].buf_addr = frame.data() + cuts[i];
        parts[i].data_len = static_cast<std::uint16_t>(cuts[i + 1] - cuts[i]);
        parts[i].next = i < 2 ? &parts[i + 1] : nullptr;
    }
    parts[0].nb_segs = 3;
    parts[0].pkt_len = static_cast<std::uint32_t>(frame.size());
    rte_mbuf* burst[] = {&parts[0]};
    TrackedIntake intake = intake_of(frames_expected());
    intake.take(burst, 0, kNow);
    check_all_tracked(intake, TrafficClass::kDnsA, 1);
}

BOOST_AUTO_TEST_CASE(plans_that_cannot_be_are_refused_in_a_sentence) {
    const auto refusal = [](const IntakePlan& plan) {
        const auto intake = TrackedIntake::make(plan);
        BOOST_REQUIRE(!intake);
        return intake.error().message;
    };
    BOOST_TEST(refusal({.streams = 0}).find("0 streams") != std::string::npos);
    BOOST_TEST(refusal({.streams = 17}).find("17 streams") != std::string::npos);
    BOOST_TEST(refusal({.suffix = "a..b"}).find("suffix") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()
