#include "harness/tester/messages.h"

#include <boost/test/unit_test.hpp>

#include "dataplane/port/port_request.h"

using namespace pathproof;
using namespace pathproof::tester;
using message::decode;
using message::encode;
using nlohmann::json;
using namespace std::chrono_literals;

namespace {

frame::IpAddress ip(const char* text) {
    return *frame::parse_ip(text);
}
frame::Endpoint endpoint(const char* text) {
    return *frame::parse_endpoint(text);
}
frame::MacAddress mac(const char* text) {
    return *frame::parse_mac(text);
}

// Through text, as it goes through the socket.
template <typename T>
T there_and_back(const T& value) {
    const auto back = decode<T>(json::parse(encode(value).dump()));
    BOOST_REQUIRE_MESSAGE(back, back.error().message);
    return *back;
}

// Each field differs from its default, so that one left out shows.
pairs::PairPlan a_plan() {
    pairs::PairPlan plan;
    plan.pairs = 12345678901;
    plan.pairs_per_second = 0.1;
    plan.departure = pairs::Departure::kInTurn;
    plan.skew = -250ns;
    plan.members[0] = {.port = 1,
                       .source_mac = mac("02:00:00:00:00:01"),
                       .destination_mac = mac("02:00:00:00:00:02"),
                       .first_client = ip("198.18.0.7"),
                       .source_port_offset = 3,
                       .qtype = 28,
                       .carrier = pairs::VxlanCarrier{.vni = 42,
                                                      .source_mac = mac("02:00:00:00:00:03"),
                                                      .destination_mac = mac("02:00:00:00:00:04"),
                                                      .source = endpoint("198.51.100.1:5000"),
                                                      .destination = endpoint("198.51.100.2:4789"),
                                                      .udp_checksum = false}};
    plan.members[1] = {.port = 2, .first_client = ip("2001:db8::7"), .qtype = 1};
    plan.service = endpoint("[2001:db8::10]:53");
    plan.suffix = "other.test";
    plan.first_source_port = 1024;
    plan.source_ports = 64000;
    plan.answer_timeout = 1500ms;
    plan.drain = 7ms;
    plan.late_share_allowed = 0.5;
    plan.seed = 0xffffffffffffffff;
    plan.keep_bad_frames = 3;
    return plan;
}

judge::ChecksumFinding a_finding() {
    return {.layer = {judge::Depth::kInner, judge::Protocol::kIcmpv6},
            .state = judge::ChecksumState::kBad,
            .field_offset = 90,
            .wire = 0xbd67,
            .right = 0x4e7f};
}

port::PortCounters counters(std::uint64_t from) {
    return {from, from + 1, from + 2, from + 3, from + 4, from + 5, from + 6};
}

judge::PairReport a_report() {
    judge::PairReport report;
    report.records.push_back({.pair = 4000000000,
                              .member = 1,
                              .state = judge::QueryState::kWrongSource,
                              .duplicates = 2,
                              .server_saw = 255,
                              .server = endpoint("203.0.113.2:53"),
                              .seen_client = endpoint("[2001:db8::1]:10001"),
                              .answer_source = endpoint("203.0.113.3:53"),
                              .sent_ns = 123456789012,
                              .answered_ns = -1});
    report.records.push_back({});
    report.departures = {10, 2, -3, 4, 5, 6};
    report.client = {21, 22, 23, 24, 25, 26};
    report.server = {31, 32, 33, 34, 35, 36};
    report.checksums[14][3] = 77;
    report.bad_frames.push_back(
        {.port = 1, .time_ns = 99, .bytes = {0, 1, 0xfe}, .finding = a_finding()});
    report.misdelivered_frames.push_back({.port = 2, .time_ns = 98, .bytes = {9}});
    report.latency = {1, 2, 3, 4, 5};
    report.ports = {counters(40), counters(50)};
    report.tester_lost = 6;
    report.seconds = 1.25;
    report.objections = {"late departures 12 %"};
    return report;
}

softnic::WireReport a_wire_report() {
    softnic::WireReport report;
    report.mode = softnic::WireMode::kPassThrough;
    report.directions[1] = {.received = 10,
                            .bytes = 640,
                            .forwarded = 7,
                            .not_forwarded = 3,
                            .malformed = 1,
                            .truncated = 2,
                            .too_long = 4,
                            .handed_partial = 5,
                            .completed = 6,
                            .completed_by_value = 7,
                            .bad_frames = 8};
    report.directions[0].checksums[2][1] = 9;
    report.kept.push_back({.direction = softnic::Direction::kBToA,
                           .time_ns = 5,
                           .bytes = {0xab},
                           .bad = {a_finding(), a_finding()}});
    report.ports = {counters(1), counters(2)};
    report.tester_lost = 8;
    report.seconds = 2.5;
    report.started_unix_ns = 1795000000123456789;
    report.objections = {"port u0 lost 8 frames itself", "another"};
    return report;
}

// A field whose value is lost, or which is not sent at all, makes the two texts differ.
template <typename T>
void check_report(const T& report) {
    const json once = encode(report);
    BOOST_TEST(encode(there_and_back(report)).dump() == once.dump());
    BOOST_TEST(once.dump() != encode(T()).dump());
}

}  // namespace

BOOST_AUTO_TEST_CASE(an_exchange_goes_there_and_back) {
    traffic::ExchangePlan plan{.from = 2, .to = 3, .quiet = 7ms};
    plan.frames.push_back({.bytes = {1, 2, 255},
                           .request = {.mbuf_flags = 0xfedcba9876543210,
                                       .port_offloads = 3,
                                       .outer_l2_len = 4,
                                       .outer_l3_len = 5,
                                       .l2_len = 6,
                                       .l3_len = 7,
                                       .l4_len = 8,
                                       .segment_bytes = 9},
                           .vlan_tci = 10,
                           .buffers = {1, 2}});
    BOOST_TEST((there_and_back(plan) == plan));
    const traffic::ExchangeReport report{
        .refusals = {{2, "no"}},
        .arrived = {{.bytes = {3}, .mbuf_flags = 4, .packet_type = 5, .vlan_tci = 6}},
        .objections = {"lost"}};
    BOOST_TEST((there_and_back(report) == report));
}

BOOST_AUTO_TEST_CASE(a_software_nic_goes_there_and_back) {
    TesterOptions options;
    options.ports = {{.name = "a", .device = "b", .offloads = port::PortOffloads::kAll}};
    options.software_nic = SoftwareNic{.faults = {"tx.inner.l4.PSEUDO"}, .seed = 9};
    const TesterOptions back = there_and_back(options);
    BOOST_TEST((back.software_nic == options.software_nic));
    BOOST_TEST((back.ports.front().offloads == port::PortOffloads::kAll));
    softnic::NicLinkReport report{.objections = {"lost"}};
    report.directions[1] = {.taken = 1,
                            .delivered = 2,
                            .not_taken = 3,
                            .no_buffer = 4,
                            .nic = {.tx_frames = 5, .rx_frames = 6, .rx_csum_bad = 7},
                            .fault_hits = {8, 9}};
    report.directions[1].nic.refused_by[3] = 10;
    const softnic::NicLinkReport same = there_and_back(report);
    BOOST_TEST((same.directions[1].nic == report.directions[1].nic));
    BOOST_TEST((same.directions[1].fault_hits == report.directions[1].fault_hits));
    BOOST_TEST(same.directions[1].delivered == 2u);
    BOOST_TEST(same.directions[1].not_taken == 3u);
    BOOST_TEST((same.objections == report.objections));
}

BOOST_AUTO_TEST_CASE(a_recording_goes_there_and_back) {
    const traffic::RecordPlan plan{.port = 3, .most_frames = 4, .most_bytes = 1ull << 40};
    BOOST_TEST((there_and_back(plan) == plan));
    const traffic::RecordEnd end{.expected = 1ull << 63, .quiet = 7ns, .longest = 48h};
    BOOST_TEST((there_and_back(end) == end));
    const traffic::Recording recording{
        .frames = {{0, 1, 255}, {}, {9}}, .received = 7, .left_out = 4, .cut = 2, .tester_lost = 5};
    check_report(recording);
    const traffic::Recording back = there_and_back(recording);
    BOOST_TEST((back.frames == recording.frames));
    BOOST_TEST(back.received == 7u);
    BOOST_TEST(back.left_out == 4u);
    BOOST_TEST(back.cut == 2u);
    BOOST_TEST(back.tester_lost == 5u);
    json message = encode(recording);
    message["frames"][0] = "0g";
    BOOST_TEST(!decode<traffic::Recording>(message));
    message = encode(end);
    message["quiet"] = "soon";
    BOOST_TEST(!decode<traffic::RecordEnd>(message));
    message = encode(plan);
    message.erase("most_bytes");
    BOOST_TEST(!decode<traffic::RecordPlan>(message));
}

BOOST_AUTO_TEST_CASE(plans_and_options_come_back_as_they_were_sent) {
    BOOST_TEST((there_and_back(a_plan()) == a_plan()));
    BOOST_TEST((there_and_back(pairs::PairPlan()) == pairs::PairPlan()));
    const traffic::ResponderPlan responder{
        .port = 2,
        .rules = {{.suffix = "x.test",
                   .qtype = 28,
                   .rcode = 3,
                   .addresses = {ip("192.0.2.7"), ip("2001:db8::9")},
                   .cname = "y.test",
                   .delay = 1500ms,
                   .loss = 0.25,
                   .truncated = true},
                  {}},
        .seed = 9};
    BOOST_TEST((there_and_back(responder) == responder));
    const softnic::WirePlan wire{.mode = softnic::WireMode::kPassThrough,
                                 .tunnel_ports = {8472, 4789},
                                 .keep_bad_frames = 1};
    BOOST_TEST((there_and_back(wire) == wire));
    const TesterOptions options{
        .netns = "pp-x",
        .ports = {{.name = "u0", .device = "net_null", .tx_offloads = 1ull << 63}},
        .worker_cpus = {1, 1, 0},
        .hugepages = true};
    const TesterOptions back = there_and_back(options);
    BOOST_TEST(back.netns == "pp-x");
    BOOST_REQUIRE(back.ports.size() == 1u);
    BOOST_TEST(back.ports[0].device == "net_null");
    BOOST_TEST(back.ports[0].tx_offloads == 1ull << 63);
    BOOST_TEST(back.worker_cpus == (std::vector<int>{1, 1, 0}));
    BOOST_TEST(back.hugepages);
}

BOOST_AUTO_TEST_CASE(a_pair_report_comes_back_as_it_was_sent) {
    check_report(a_report());
    const judge::PairReport back = there_and_back(a_report());
    BOOST_REQUIRE(back.records.size() == 2u);
    BOOST_TEST(back.records[0].pair == 4000000000u);
    BOOST_TEST((back.records[0].state == judge::QueryState::kWrongSource));
    BOOST_TEST((back.records[0].seen_client == endpoint("[2001:db8::1]:10001")));
    BOOST_TEST(back.records[0].sent_ns == 123456789012);
    BOOST_TEST(back.records[1].answered_ns == -1);
    BOOST_TEST((back.bad_frames[0].finding.layer == a_finding().layer));
    BOOST_TEST(back.bad_frames[0].finding.wire == 0xbd67);
    BOOST_TEST(back.bad_frames[0].bytes == (std::vector<std::uint8_t>{0, 1, 0xfe}));
    BOOST_TEST(back.misdelivered_frames[0].time_ns == 98);
    BOOST_TEST(back.checksums[14][3] == 77u);
    BOOST_TEST((back.ports[1] == counters(50)));
    BOOST_TEST(back.seconds == 1.25);
}

BOOST_AUTO_TEST_CASE(a_wire_report_comes_back_as_it_was_sent) {
    check_report(a_wire_report());
    const softnic::WireReport back = there_and_back(a_wire_report());
    BOOST_TEST((back.mode == softnic::WireMode::kPassThrough));
    BOOST_TEST(back.directions[1].too_long == 4u);
    BOOST_TEST(back.directions[0].checksums[2][1] == 9u);
    BOOST_TEST((back.kept[0].direction == softnic::Direction::kBToA));
    BOOST_TEST(back.kept[0].bad.size() == 2u);
    BOOST_TEST(back.started_unix_ns == 1795000000123456789);
    BOOST_TEST(back.objections.size() == 2u);
}

BOOST_AUTO_TEST_CASE(what_a_tester_says_of_itself_comes_back) {
    const Opened opened{.dpdk_version = "DPDK 22.11",
                        .ports = {{.name = "u0",
                                   .device = "net_af_packet0",
                                   .driver = "net_af_packet",
                                   .evidence = port::Evidence::kVirtual,
                                   .mac = mac("02:00:00:00:00:09"),
                                   .link_mbps = 10,
                                   .tx_offloads = {"MULTI_SEGS"},
                                   .rx_offloads = {"VLAN_STRIP", "X"}}}};
    const Opened back = there_and_back(opened);
    BOOST_TEST(back.dpdk_version == opened.dpdk_version);
    BOOST_TEST((back.ports == opened.ports));
}

BOOST_AUTO_TEST_CASE(many_records_stay_small_enough_to_send) {
    judge::PairReport report = a_report();
    report.records.assign(200'000, report.records[0]);
    const std::string text = encode(report).dump();
    BOOST_TEST(text.size() < 200'000u * 120u);
    BOOST_TEST(there_and_back(report).records.size() == 200'000u);
}

BOOST_AUTO_TEST_CASE(messages_that_do_not_fit_are_refused_with_a_reason) {
    const auto refused = [](const char* field, const json& value) {
        json message = encode(a_plan());
        message[field] = value;
        const auto plan = decode<pairs::PairPlan>(message);
        BOOST_REQUIRE(!plan);
        BOOST_TEST((plan.error().code == ErrorCode::kBadInput));
        return plan.error().message;
    };
    BOOST_TEST(refused("departure", 3).find("enum") != std::string::npos);
    BOOST_TEST(refused("service", "nowhere").find("address") != std::string::npos);
    BOOST_TEST(refused("source_ports", 70000).find("range") != std::string::npos);
    BOOST_TEST(refused("source_ports", -1).find("range") != std::string::npos);
    BOOST_TEST(refused("source_ports", 1.5).find("whole number") != std::string::npos);
    BOOST_TEST(refused("pairs", "many").find("whole number") != std::string::npos);
    BOOST_TEST(refused("members", json::array()).find("length") != std::string::npos);
    refused("pairs_per_second", nullptr);
    json message = encode(a_plan());
    message.erase("seed");
    BOOST_TEST(!decode<pairs::PairPlan>(message));
    BOOST_TEST(!decode<pairs::PairPlan>(json::array()));
    BOOST_TEST(!decode<judge::PairReport>(json(7)));
    json wire = encode(a_wire_report());
    wire["kept"][0]["bytes"] = "0g";
    BOOST_TEST(!decode<softnic::WireReport>(wire));
    wire["kept"][0]["bytes"] = "012";
    BOOST_TEST(!decode<softnic::WireReport>(wire));
}
