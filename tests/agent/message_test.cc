#include "harness/agent/message.h"

#include <boost/test/unit_test.hpp>
#include <nlohmann/json.hpp>

using namespace pathproof;
using namespace pathproof::agent;
using nlohmann::json;

namespace {

frame::Endpoint endpoint(const char* text) {
    return frame::parse_endpoint(text).value();
}
frame::IpAddress ip(const char* text) {
    return frame::parse_ip(text).value();
}

// Through the text, as between two processes.
json sent(const json& message) {
    return json::parse(message.dump());
}

}  // namespace

BOOST_AUTO_TEST_SUITE(messages)

BOOST_AUTO_TEST_CASE(results_come_back_as_they_were) {
    const std::vector<Feature> features{{"rx-checksum", true, false, true, false},
                                        {"tx-lockless", false, true, false, true}};
    BOOST_TEST((sent(features).get<std::vector<Feature>>() == features));

    const FeatureChange change{"tx-tcp-segmentation", true, false, false};
    const auto change_back = sent(change).get<FeatureChange>();
    BOOST_TEST(change_back.name == change.name);
    BOOST_TEST((change_back.before && !change_back.after && !change_back.asked));

    const ProbeResult probe{true, "2 answers in 0.4 ms", 0.4, 2, ~std::uint64_t{0}};
    const auto probe_back = sent(probe).get<ProbeResult>();
    BOOST_TEST(probe_back.outcome == probe.outcome);
    BOOST_TEST(probe_back.milliseconds == probe.milliseconds);
    BOOST_TEST((probe_back.ok && probe_back.sent == 2 && probe_back.received == probe.received));
}

BOOST_AUTO_TEST_CASE(a_device_comes_back_with_statistics_in_their_order) {
    DeviceInfo info;
    info.name = "vxlan.calico";
    info.driver = "vxlan";
    info.mac = frame::parse_mac("02:00:00:00:00:01").value();
    info.permanent_mac = frame::parse_mac("02:00:00:00:00:02").value();
    info.mtu = 1450;
    info.link_up = true;
    info.statistics = {{"z", 1}, {"a", 2}, {"z", 3}};
    const auto back = device_from_json(sent(device_to_json(info)));
    BOOST_REQUIRE(back);
    BOOST_TEST(back->name == info.name);
    BOOST_TEST((back->mac == info.mac && back->permanent_mac == info.permanent_mac));
    BOOST_TEST((back->statistics == info.statistics));
    BOOST_TEST(back->speed_mbps == -1);
    BOOST_TEST((!back->pcie && back->numa_node == -1));
    info.pcie = PcieLink{.linked = {8, 4}, .device = {16, 8}, .slot = {}};
    info.numa_node = 1;
    const auto linked = device_from_json(sent(device_to_json(info)));
    BOOST_TEST((linked->pcie == info.pcie));
    BOOST_TEST(linked->numa_node == 1);
    info.permanent_mac.reset();
    BOOST_TEST(!device_from_json(sent(device_to_json(info)))->permanent_mac);
}

BOOST_AUTO_TEST_CASE(requests_come_back_as_they_were) {
    const auto ping = ping_from_json(sent(ping_to_json({.destination = ip("2001:db8::7"),
                                                        .count = 9,
                                                        .payload_bytes = 1400,
                                                        .interval = milliseconds(3)})));
    BOOST_REQUIRE(ping);
    BOOST_TEST((ping->destination == ip("2001:db8::7") && ping->count == 9 &&
                ping->payload_bytes == 1400));
    BOOST_TEST((ping->interval == milliseconds(3) && ping->timeout == milliseconds(1000)));

    const auto lookup = lookup_from_json(sent(lookup_to_json(
        {.server = endpoint("[2001:db8::1]:53"), .name = "a.test", .tcp = true, .attempts = 2})));
    BOOST_REQUIRE(lookup);
    BOOST_TEST(
        (lookup->server == endpoint("[2001:db8::1]:53") && lookup->tcp && lookup->attempts == 2));

    const auto transfer = transfer_from_json(
        sent(transfer_to_json({.server = endpoint("198.18.0.1:9"), .bytes = 1ULL << 40})));
    BOOST_REQUIRE(transfer);
    BOOST_TEST((transfer->server == endpoint("198.18.0.1:9") && transfer->bytes == 1ULL << 40));

    const auto server =
        dns_server_from_json(sent(dns_server_to_json({.listen = endpoint("198.18.0.1:53"),
                                                      .address = ip("203.0.113.1"),
                                                      .address6 = ip("2001:db8::2"),
                                                      .delay = milliseconds(1500)})));
    BOOST_REQUIRE(server);
    BOOST_TEST((server->address6 == ip("2001:db8::2") && server->delay == milliseconds(1500)));

    const ConntrackFilter filter = filter_from_json(sent(filter_to_json(
        {.protocol = std::uint8_t{17}, .original_destination_port = std::uint16_t{53}})));
    BOOST_TEST((filter.protocol == 17 && filter.original_destination_port == 53));
    BOOST_TEST(!filter.births_only);
    BOOST_TEST(filter_from_json(sent(filter_to_json({.births_only = true}))).births_only);
    BOOST_TEST(!filter_from_json(sent(filter_to_json({}))).protocol);
}

BOOST_AUTO_TEST_CASE(an_event_log_comes_back_as_it_was) {
    netfilter::EventLog log;
    log.overruns = 3;
    log.events.resize(2);
    log.events[1].kind = netfilter::EventKind::kDestroy;
    log.events[1].time_ns = 1763692000123456789;
    log.events[1].entry.id = 77;
    log.events[1].entry.status = netfilter::status::kNatClash;
    log.events[1].entry.original.source = endpoint("198.18.0.2:4000");
    const netfilter::EventLog back = event_log_from_json(sent(event_log_to_json(log)));
    BOOST_TEST(back.overruns == 3U);
    BOOST_REQUIRE(back.events.size() == 2U);
    BOOST_TEST((back.events[1].entry == log.events[1].entry));
    BOOST_TEST(back.events[1].time_ns == log.events[1].time_ns);
    BOOST_TEST((back.events[1].kind == netfilter::EventKind::kDestroy));
}

BOOST_AUTO_TEST_CASE(what_is_asked_of_a_dns_path_and_what_it_says_come_back_as_they_were) {
    const DnsmasqOptions dnsmasq{.addresses = {ip("203.0.113.2"), ip("169.254.20.10")},
                                 .upstream = endpoint("127.0.0.1:10053"),
                                 .cache_size = 7,
                                 .max_tcp_connections = 200,
                                 .dns_forward_max = 1500};
    const auto started = dnsmasq_from_json(sent(dnsmasq_to_json(dnsmasq)));
    BOOST_REQUIRE(started.has_value());
    BOOST_TEST((started->addresses == dnsmasq.addresses));
    BOOST_TEST((started->upstream == dnsmasq.upstream));
    BOOST_TEST(started->cache_size == 7U);
    BOOST_TEST(started->max_tcp_connections == 200U);
    BOOST_TEST(started->dns_forward_max == 1500U);
    const DnsmasqReport said{.ended = "dnsmasq ended (exit status 2): no",
                             .workers = 20,
                             .said = DnsmasqWorkers{.in_use = 20, .highest = 20, .most = 20},
                             .log = {"one", "two"}};
    const auto told = dnsmasq_report_from_json(sent(dnsmasq_report_to_json(said)));
    BOOST_TEST((told.ended == said.ended && told.workers == said.workers &&
                told.said == said.said && told.log == said.log));
    BOOST_TEST(!dnsmasq_report_from_json(sent(dnsmasq_report_to_json({}))).said.has_value());

    const auto forwards =
        forwarder_from_json(sent(forwarder_to_json({.listen = endpoint("198.18.0.1:53"),
                                                    .upstream = endpoint("203.0.113.2:53"),
                                                    .prefer_udp = true,
                                                    .max_idle = 10})));
    BOOST_REQUIRE(forwards.has_value());
    BOOST_TEST((forwards->listen == endpoint("198.18.0.1:53")));
    BOOST_TEST((forwards->upstream == endpoint("203.0.113.2:53")));
    BOOST_TEST(forwards->prefer_udp);
    BOOST_TEST(forwards->max_idle == 10U);
    const ForwarderReport did{
        .queries = 1,
        .answered = 2,
        .servfail = 3,
        .dials = 4,
        .most_open = 5,
        .idle = 6,
        .refusal = "connection refused",
        .tries = {{1, 40'001, 50'001, 7, 8, true, ForwarderTry::Outcome::kGivenUp}}};
    const auto back = forwarder_report_from_json(sent(forwarder_report_to_json(did)));
    BOOST_TEST((back.queries == 1 && back.answered == 2 && back.servfail == 3 && back.dials == 4 &&
                back.most_open == 5 && back.idle == 6 && back.refusal == did.refusal));
    BOOST_TEST((back.tries == did.tries));

    const TcpQueue queue{.connections = {{endpoint("198.18.0.1:50001"), 1, 2, 3, 4}},
                         .most_waiting = 33,
                         .looks = 9};
    const auto queued = tcp_queue_from_json(sent(tcp_queue_to_json(queue)));
    BOOST_REQUIRE(queued.has_value());
    BOOST_TEST((queued->connections == queue.connections));
    BOOST_TEST(queued->most_waiting == 33U);
    BOOST_TEST(queued->looks == 9U);

    const DnsLoadOptions asked{.server = endpoint("198.18.0.1:53"),
                               .name = "svc.test",
                               .own_names = true,
                               .asks = DnsLoadOptions::Asks::kPairTogether,
                               .lookups = 80,
                               .per_second = 0.5,
                               .timeout = milliseconds(7)};
    const auto load = load_from_json(sent(load_to_json(asked)));
    BOOST_REQUIRE(load.has_value());
    BOOST_TEST((load->server == asked.server && load->name == asked.name && load->own_names &&
                load->asks == asked.asks && load->lookups == 80 && load->per_second == 0.5 &&
                load->timeout == asked.timeout));
    json request = load_to_json(asked);
    request["lookups"] = 12'001;
    BOOST_TEST((load_from_json(request).error().code == ErrorCode::kBadInput));
    request = load_to_json(asked);
    request["per_second"] = -1;
    BOOST_TEST((load_from_json(request).error().code == ErrorCode::kBadInput));
    DnsLoadReport report;
    report.lookups = {{40'001, 1763692000123456789, 2, 1, 5, 111, 0.75}};
    BOOST_TEST(
        (load_report_from_json(sent(load_report_to_json(report))).lookups == report.lookups));
}

BOOST_AUTO_TEST_CASE(connects_and_what_came_of_them_come_back_as_they_were) {
    const auto server = closing_server_from_json(sent(closing_server_to_json(
        {.listen = endpoint("203.0.113.2:80"), .closes_first = Closer::kClient})));
    BOOST_REQUIRE(server);
    BOOST_TEST(
        (server->listen == endpoint("203.0.113.2:80") && server->closes_first == Closer::kClient));
    const ConnectsOptions asked{.server = endpoint("203.0.113.2:80"),
                                .count = 70'000,
                                .per_second = 0.5,
                                .closes_first = Closer::kClient,
                                .timeout = milliseconds(7),
                                .asks_after = milliseconds(5)};
    const auto options = connects_from_json(sent(connects_to_json(asked)));
    BOOST_REQUIRE(options);
    BOOST_TEST((options->server == asked.server && options->count == asked.count &&
                options->per_second == asked.per_second &&
                options->closes_first == asked.closes_first && options->timeout == asked.timeout &&
                options->asks_after == asked.asks_after));
    json request = connects_to_json(asked);
    request["closes_first"] = "nobody";
    BOOST_TEST((connects_from_json(request).error().code == ErrorCode::kBadInput));
    request = connects_to_json(asked);
    request["count"] = 100'001;
    BOOST_TEST((connects_from_json(request).error().code == ErrorCode::kBadInput));
    request = connects_to_json(asked);
    request["per_second"] = 0;
    BOOST_TEST((connects_from_json(request).error().code == ErrorCode::kBadInput));

    ConnectsReport report{.seconds = 2.5, .worst_late_ms = 1.25, .left_open = 4};
    report.connects = {{1763692000123456789, 40'001, 0, 0.75}, {5, 0, 110, 10'000, "hello", 104}};
    const ConnectsReport back = connects_report_from_json(sent(connects_report_to_json(report)));
    BOOST_TEST((back.connects == report.connects));
    BOOST_TEST((back.seconds == 2.5 && back.worst_late_ms == 1.25 && back.left_open == 4));
}

BOOST_AUTO_TEST_CASE(wrong_addresses_and_durations_are_bad_input) {
    json request = transfer_to_json({.server = endpoint("198.18.0.1:9")});
    request["server"] = "198.18.0.1";
    BOOST_TEST((transfer_from_json(request).error().code == ErrorCode::kBadInput));
    request = transfer_to_json({.server = endpoint("198.18.0.1:9")});
    request["timeout_ms"] = -1;
    BOOST_TEST((transfer_from_json(request).error().code == ErrorCode::kBadInput));
    request["timeout_ms"] = 3'600'001;
    BOOST_TEST(!transfer_from_json(request));
    request.erase("timeout_ms");
    BOOST_CHECK_THROW((void)transfer_from_json(request), json::exception);
}

BOOST_AUTO_TEST_SUITE_END()
