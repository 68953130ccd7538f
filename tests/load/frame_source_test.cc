#include "dataplane/load/frame_source.h"

#include <boost/test/unit_test.hpp>
#include <map>
#include <random>
#include <set>
#include <tuple>

#include "dataplane/frame/dns.h"
#include "tests/how_many.h"
#include "tests/load/made_frames.h"
#include "tests/load/sources.h"

BOOST_AUTO_TEST_SUITE(frame_source)

using namespace pathproof;
using namespace pathproof::load;
using frame::Family;
using frame::TrafficClass;

namespace {

constexpr Envelope kEnvelopes[] = {Envelope::kNone, Envelope::kVlan, Envelope::kQinQ,
                                   Envelope::kVxlan};

frame::PacketView innermost(const Frame& frame) {
    return parsed(frame).innermost();
}

std::uint64_t expected_time(TrafficClass traffic, std::uint64_t ns) {
    ns &= frame::kStampTimeMask;
    return traffic == TrafficClass::kTcpSyn ? ns & 0x3fffffffc00 : ns;
}

frame::DnsQuestion question_of(const Frame& frame) {
    frame::DnsReader reader(innermost(frame).payload(frame));
    const auto question = reader.next_question();
    BOOST_REQUIRE(question);
    while (reader.next_record()) {
    }
    BOOST_TEST((reader.defect() == frame::DnsDefect::kNone));
    BOOST_TEST(reader.offset() == innermost(frame).payload_length);
    return *question;
}

// Every checksum right, and the stamps in order.
void check_frames(const SourcePlan& plan, TrafficClass traffic, std::size_t count,
                  std::uint64_t first_ns) {
    FrameSource source = source_of(plan);
    // Bursts of an odd length begin and end at any place of 256 sequences.
    const std::vector<Frame> frames = next_frames(source, count, 31, first_ns);
    BOOST_REQUIRE_EQUAL(frames.size(), count);
    for (std::size_t i = 0; i < count; ++i) {
        BOOST_REQUIRE(is_right(frames[i]));
        const std::optional<frame::Stamp> stamp = stamp_of(frames[i]);
        BOOST_REQUIRE(stamp);
        BOOST_REQUIRE_EQUAL(stamp->sequence, i);
        BOOST_REQUIRE_EQUAL(stamp->stream, plan.stream);
        BOOST_REQUIRE_EQUAL(stamp->sent_ns, expected_time(traffic, first_ns + i / 31 * 1'000));
    }
}

}  // namespace

BOOST_AUTO_TEST_CASE(every_class_in_every_envelope_and_size_has_right_checksums_and_stamps) {
    std::mt19937_64 random(20'261'121);
    for (const TrafficClass traffic : kMade) {
        for (const Family family : kFamilies) {
            for (const Envelope envelope : kEnvelopes) {
                for (const std::uint16_t bytes :
                     std::initializer_list<std::uint16_t>{0, 207, 208, 512, 1'518, 1'519, 9'234}) {
                    BOOST_TEST_CONTEXT(name(traffic) << " family " << int(family) << " envelope "
                                                     << int(envelope) << " bytes " << bytes) {
                        SourcePlan plan = plan_of(traffic, family, envelope);
                        plan.mix[0].frame_bytes = bytes;
                        plan.seed = random();
                        plan.stream = static_cast<std::uint8_t>(random() % frame::kMostStreams);
                        plan.flow = {.flows = 1 + random() % 700,
                                     .first_port = static_cast<std::uint16_t>(random() % 60'000),
                                     .ports = static_cast<std::uint16_t>(1 + random() % 50)};
                        if (envelope == Envelope::kVxlan && random() % 2 == 0) {
                            plan.outer_source_ports = {49'152, 65'535, 50'000};
                        }
                        check_frames(plan, traffic, 300, random() & frame::kStampTimeMask >> 1);
                    }
                }
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(thousands_of_frames_of_each_class_stay_right) {
    for (const TrafficClass traffic : kMade) {
        for (const Envelope envelope : {Envelope::kNone, Envelope::kVxlan}) {
            SourcePlan plan = plan_of(traffic, Family::kIpv4, envelope);
            plan.flow = {.flows = 70'000, .first_port = 1'024, .ports = 64'000};
            check_frames(plan, traffic, test::how_many(70'000), 0x0000'f0f0'1234'5678);
        }
    }
}

BOOST_AUTO_TEST_CASE(frames_have_the_size_asked_for) {
    for (const TrafficClass traffic : kMade) {
        SourcePlan plan = plan_of(traffic, Family::kIpv6, Envelope::kVxlan);
        plan.mix[0].frame_bytes = 777;
        FrameSource source = source_of(plan);
        BOOST_TEST(next_frames(source, 1)[0].size() == 777u);
        BOOST_TEST(source.longest_frame() == 777);
        BOOST_TEST(source.mean_frame_bytes() == 777.0);
    }
}

BOOST_AUTO_TEST_CASE(the_shortest_frame_is_what_ethernet_carries_at_least) {
    FrameSource source = source_of(plan_of(TrafficClass::kUdp));
    BOOST_TEST(next_frames(source, 1)[0].size() == 60u);
}

BOOST_AUTO_TEST_CASE(queries_ask_for_the_type_of_their_class_under_the_suffix) {
    const std::pair<TrafficClass, std::uint16_t> types[] = {
        {TrafficClass::kDnsA, frame::kDnsTypeA}, {TrafficClass::kDnsAaaa, frame::kDnsTypeAaaa}};
    for (const auto& [traffic, type] : types) {
        SourcePlan plan = plan_of(traffic);
        plan.suffix = "load.example";
        plan.stream = 3;
        FrameSource source = source_of(plan);
        const Frame frame = next_frames(source, 300, 32, 0xabcdef).at(299);
        const frame::DnsQuestion question = question_of(frame);
        BOOST_TEST(question.name.to_text() == "q0000012b.d000000abf117.load.example");
        BOOST_TEST(question.type == type);
        BOOST_TEST(question.query_class == frame::kDnsClassIn);
    }
}

BOOST_AUTO_TEST_CASE(padding_of_queries_is_an_edns_option) {
    SourcePlan plan = plan_of(TrafficClass::kDnsA);
    plan.mix[0].frame_bytes = 512;
    FrameSource source = source_of(plan);
    const Frame frame = next_frames(source, 1)[0];
    frame::DnsReader reader(innermost(frame).payload(frame));
    const auto record = reader.next_record();
    BOOST_REQUIRE(record);
    BOOST_TEST(record->type == 41);
    BOOST_REQUIRE_GE(record->data.size(), 4u);
    BOOST_TEST(record->data[1] == 12);  // RFC 7830
    BOOST_TEST(record->data[2] * 256u + record->data[3] == record->data.size() - 4);
}

BOOST_AUTO_TEST_CASE(a_syn_has_mss_and_timestamps_and_no_data) {
    FrameSource source = source_of(plan_of(TrafficClass::kTcpSyn));
    const Frame frame = next_frames(source, 1)[0];
    const frame::PacketView packet = innermost(frame);
    BOOST_TEST(packet.destination_port == 53);
    BOOST_TEST(packet.payload_length == 0u);
    BOOST_TEST(frame[packet.transport_offset + 13] == 0x02);
    BOOST_TEST(frame[packet.transport_offset + 20] == 2);
}

BOOST_AUTO_TEST_CASE(background_traffic_keeps_away_from_the_dns_port) {
    FrameSource source = source_of(plan_of(TrafficClass::kUdp));
    BOOST_TEST(innermost(next_frames(source, 1)[0]).destination_port == 7);
}

BOOST_AUTO_TEST_CASE(no_two_queries_are_alike) {
    SourcePlan plan = plan_of(TrafficClass::kDnsA);
    plan.flow = {.flows = 300, .first_port = 20'000, .ports = 100};
    FrameSource source = source_of(plan);
    std::set<std::tuple<frame::Endpoint, std::uint16_t, std::string>> seen;
    std::set<std::uint16_t> ids;
    for (const Frame& frame : next_frames(source, 20'000)) {
        const frame::DnsReader reader(innermost(frame).payload(frame));
        ids.insert(reader.header().id);
        seen.emplace(innermost(frame).source_endpoint(), reader.header().id,
                     question_of(frame).name.to_text());
    }
    BOOST_TEST(seen.size() == 20'000u);
    // 20,000 draws out of 65,536 leave 17,200 different ones, give or take some 50.
    BOOST_TEST(ids.size() > 16'900u);
    BOOST_TEST(ids.size() < 17'500u);
}

BOOST_AUTO_TEST_CASE(dns_ids_follow_from_seed_stream_and_sequence) {
    SourcePlan plan = plan_of(TrafficClass::kDnsA);
    plan.seed = 77;
    plan.stream = 5;
    FrameSource source = source_of(plan);
    const frame::StampIds ids(77, 5);
    for (const Frame& frame : next_frames(source, 1'000)) {
        const frame::DnsReader reader(innermost(frame).payload(frame));
        BOOST_REQUIRE_EQUAL(reader.header().id, ids.of(stamp_of(frame)->sequence));
    }
}

BOOST_AUTO_TEST_CASE(all_flows_are_visited_in_turn) {
    for (const TrafficClass traffic : kMade) {
        for (const Family family : kFamilies) {
            SourcePlan plan = plan_of(traffic, family);
            plan.flow = {.flows = 350, .first_port = 40'000, .ports = 100};
            FrameSource source = source_of(plan);
            const std::vector<Frame> frames = next_frames(source, 700);
            for (std::size_t i = 0; i < frames.size(); ++i) {
                const std::size_t flow = i % 350;
                const frame::PacketView packet = innermost(frames[i]);
                BOOST_REQUIRE_EQUAL(packet.source_port, 40'000 + flow % 100);
                BOOST_REQUIRE(packet.source == plan.spec.packet.source.address.plus(
                                                   static_cast<std::uint32_t>(flow / 100)));
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(senders_share_the_flows_out) {
    for (const std::uint16_t ports : std::initializer_list<std::uint16_t>{1, 2, 3, 7, 100}) {
        std::map<frame::Endpoint, unsigned> visits;
        for (std::uint64_t sender = 0; sender < 3; ++sender) {
            SourcePlan plan = plan_of(TrafficClass::kUdp);
            plan.flow = {.flows = 301, .first_port = 5'000, .ports = ports};
            plan.first_flow = sender;
            plan.flow_step = 3;
            FrameSource source = source_of(plan);
            const std::size_t own = (301 - sender + 2) / 3;
            for (const Frame& frame : next_frames(source, 2 * own, 7)) {
                ++visits[innermost(frame).source_endpoint()];
            }
        }
        BOOST_TEST(visits.size() == 301u);
        for (const auto& [endpoint, count] : visits) {
            BOOST_REQUIRE_EQUAL(count, 2u);
        }
    }
}

BOOST_AUTO_TEST_CASE(outer_source_ports_are_used_in_turn) {
    SourcePlan plan = plan_of(TrafficClass::kDnsA, Family::kIpv4, Envelope::kVxlan);
    plan.outer_source_ports = {50'001, 50'002, 60'000};
    FrameSource source = source_of(plan);
    const std::vector<Frame> frames = next_frames(source, 100, 5);
    for (std::size_t i = 0; i < frames.size(); ++i) {
        BOOST_REQUIRE_EQUAL(parsed(frames[i]).outer.source_port, plan.outer_source_ports[i % 3]);
    }
}

BOOST_AUTO_TEST_CASE(without_a_list_the_outer_source_port_is_the_specification_s) {
    SourcePlan plan = plan_of(TrafficClass::kDnsA, Family::kIpv4, Envelope::kVxlan);
    FrameSource source = source_of(plan);
    BOOST_TEST(parsed(next_frames(source, 1)[0]).outer.source_port == 5'000);
}

BOOST_AUTO_TEST_CASE(pairs_share_their_5_tuple_and_follow_each_other) {
    for (const std::size_t burst : {1u, 2u, 7u, 32u}) {
        SourcePlan plan = plan_of(TrafficClass::kDnsA);
        plan.pairing = SourcePlan::Pairing::kPairs;
        plan.flow = {.flows = 30, .first_port = 9'000, .ports = 7};
        FrameSource source = source_of(plan);
        const std::vector<Frame> frames = next_frames(source, 1'201, burst);
        for (std::size_t i = 0; i < frames.size(); ++i) {
            BOOST_REQUIRE(is_right(frames[i]));
            const frame::PacketView packet = innermost(frames[i]);
            const std::size_t flow = i / 2 % 30;
            BOOST_REQUIRE_EQUAL(packet.source_port, 9'000 + flow % 7);
            BOOST_REQUIRE(packet.source == plan.spec.packet.source.address.plus(
                                               static_cast<std::uint32_t>(flow / 7)));
            BOOST_REQUIRE_EQUAL(question_of(frames[i]).type,
                                i % 2 == 0 ? frame::kDnsTypeA : frame::kDnsTypeAaaa);
            BOOST_REQUIRE_EQUAL(stamp_of(frames[i])->sequence, i);
        }
        BOOST_TEST(source.made()[std::size_t(TrafficClass::kDnsA)] == 601u);
        BOOST_TEST(source.made()[std::size_t(TrafficClass::kDnsAaaa)] == 600u);
    }
}

BOOST_AUTO_TEST_CASE(shares_of_a_mix_are_exact_and_pairs_stay_together) {
    SourcePlan plan = plan_of(TrafficClass::kDnsA);
    plan.pairing = SourcePlan::Pairing::kPairs;
    plan.mix = {{.traffic = TrafficClass::kDnsA, .weight = 70},
                {.traffic = TrafficClass::kTcpSyn, .weight = 10},
                {.traffic = TrafficClass::kIcmpEcho, .weight = 5},
                {.traffic = TrafficClass::kUdp, .weight = 15, .frame_bytes = 1'000}};
    FrameSource source = source_of(plan);
    const std::vector<Frame> frames = next_frames(source, 4'000);
    ClassCounts expected{};
    expected[std::size_t(TrafficClass::kDnsA)] = 1'400;
    expected[std::size_t(TrafficClass::kDnsAaaa)] = 1'400;
    expected[std::size_t(TrafficClass::kTcpSyn)] = 400;
    expected[std::size_t(TrafficClass::kIcmpEcho)] = 200;
    expected[std::size_t(TrafficClass::kUdp)] = 600;
    BOOST_TEST(source.made() == expected, boost::test_tools::per_element());
    std::size_t bytes = 0;
    for (std::size_t i = 0; i < frames.size(); ++i) {
        BOOST_REQUIRE(is_right(frames[i]));
        BOOST_REQUIRE_EQUAL(stamp_of(frames[i])->sequence, i);
        bytes += frames[i].size();
        const bool aaaa = innermost(frames[i]).destination_port == 53 &&
                          innermost(frames[i]).transport == frame::Transport::kUdp &&
                          question_of(frames[i]).type == frame::kDnsTypeAaaa;
        if (aaaa) {
            BOOST_REQUIRE(innermost(frames[i]).source_endpoint() ==
                          innermost(frames[i - 1]).source_endpoint());
        }
    }
    BOOST_TEST(source.mean_frame_bytes() == static_cast<double>(bytes) / 4'000);
    BOOST_TEST(source.longest_frame() == 1'000);
}

BOOST_AUTO_TEST_CASE(another_time_keeps_checksums_right) {
    for (const TrafficClass traffic : kMade) {
        for (const Family family : kFamilies) {
            for (const Envelope envelope : kEnvelopes) {
                FrameSource source = source_of(plan_of(traffic, family, envelope));
                Mbufs mbufs(32);
                std::uint64_t time = 1;
                for (unsigned turn = 0; turn < 200; ++turn) {
                    source.fill(mbufs.all(), time);
                    time = time * 6'364'136'223'846'793'005 + 1'442'695'040'888'963'407;
                    source.restamp(mbufs.all(), time);
                    const Frame frame = bytes_of(*mbufs.all()[turn % 32]);
                    BOOST_REQUIRE(is_right(frame));
                    BOOST_REQUIRE_EQUAL(stamp_of(frame)->sent_ns, expected_time(traffic, time));
                    BOOST_REQUIRE_EQUAL(stamp_of(frame)->sequence, turn * 32 + turn % 32);
                }
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(a_frame_with_another_time_is_the_frame_made_at_that_time) {
    for (const TrafficClass traffic : kMade) {
        const SourcePlan plan = plan_of(traffic, Family::kIpv4, Envelope::kVxlan);
        FrameSource late = source_of(plan);
        FrameSource restamped = source_of(plan);
        Mbufs a(32);
        Mbufs b(32);
        late.fill(a.all(), 987'654'321);
        restamped.fill(b.all(), 123);
        restamped.restamp(b.all(), 987'654'321);
        for (std::size_t i = 0; i < 32; ++i) {
            BOOST_TEST(bytes_of(*a.all()[i]) == bytes_of(*b.all()[i]),
                       boost::test_tools::per_element());
        }
    }
}

BOOST_AUTO_TEST_CASE(what_is_taken_back_does_not_count_as_made) {
    SourcePlan plan = plan_of(TrafficClass::kDnsA);
    plan.pairing = SourcePlan::Pairing::kPairs;
    plan.mix = {{.traffic = TrafficClass::kDnsA, .weight = 1},
                {.traffic = TrafficClass::kUdp, .weight = 1}};
    FrameSource source = source_of(plan);
    Mbufs mbufs(32);
    source.fill(mbufs.all(), 1);
    const ClassCounts made = source.made();
    BOOST_TEST(made[std::size_t(TrafficClass::kDnsA)] == 8u);
    BOOST_TEST(made[std::size_t(TrafficClass::kDnsAaaa)] == 8u);
    BOOST_TEST(made[std::size_t(TrafficClass::kUdp)] == 16u);
    source.take_back(mbufs.all().last(30));
    std::uint64_t left = 0;
    for (const std::uint64_t count : source.made()) {
        left += count;
    }
    BOOST_TEST(left == 2u);
    source.take_back(mbufs.all().first(2));
    BOOST_TEST(source.made() == ClassCounts{}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(the_same_seed_gives_the_same_bytes) {
    SourcePlan plan = plan_of(TrafficClass::kDnsA);
    FrameSource one = source_of(plan);
    FrameSource two = source_of(plan);
    plan.seed = 2;
    FrameSource other = source_of(plan);
    const std::vector<Frame> frames = next_frames(one, 300);
    BOOST_TEST((frames == next_frames(two, 300, 17, 5'000'000)) == false);  // other bursts
    FrameSource three = source_of(plan_of(TrafficClass::kDnsA));
    BOOST_TEST((frames == next_frames(three, 300)));
    BOOST_TEST((frames != next_frames(other, 300)));
}

BOOST_AUTO_TEST_SUITE_END()
