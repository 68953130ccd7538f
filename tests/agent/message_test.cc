#include <boost/test/unit_test.hpp>
#include <limits>
#include <nlohmann/json.hpp>

#include "harness/agent/connects.h"
#include "harness/agent/conntrack.h"
#include "harness/agent/device_info.h"
#include "harness/agent/dns_load_report.h"
#include "harness/agent/forwarder_report.h"
#include "harness/agent/host_change.h"
#include "harness/agent/name_servers.h"
#include "harness/agent/needs.h"
#include "harness/agent/offload_features.h"
#include "harness/agent/path_events.h"
#include "harness/agent/pcie.h"
#include "harness/agent/probes.h"
#include "harness/agent/tcp_queue_report.h"
#include "harness/drops/summary.h"
#include "harness/message/calls.h"
#include "harness/netfilter/entry.h"

BOOST_AUTO_TEST_SUITE(messages)

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
template <typename T>
T sent(const T& value) {
    const auto back = message::decode<T>(json::parse(message::encode(value).dump()));
    BOOST_REQUIRE_MESSAGE(back, back.error().message);
    return *back;
}

// Returns the error for a value with one field of its JSON replaced.
template <typename T>
ErrorCode refusal(const T& value, const char* field, const json& by) {
    json request = message::encode(value);
    request[field] = by;
    const auto read = message::decode<T>(request);
    BOOST_REQUIRE(!read);
    return read.error().code;
}

}  // namespace

BOOST_AUTO_TEST_CASE(results_come_back_as_they_were) {
    const std::vector<Feature> features{{"rx-checksum", true, false, true, false},
                                        {"tx-lockless", false, true, false, true}};
    BOOST_TEST((sent(features) == features));

    const FeatureChange change{"tx-tcp-segmentation", true, false, false};
    const auto change_back = sent(change);
    BOOST_TEST(change_back.name == change.name);
    BOOST_TEST((change_back.before && !change_back.after && !change_back.asked));

    const ProbeResult probe{true, "2 answers in 0.4 ms", 0.4, 2, ~std::uint64_t{0}};
    const auto probe_back = sent(probe);
    BOOST_TEST(probe_back.outcome == probe.outcome);
    BOOST_TEST(probe_back.milliseconds == probe.milliseconds);
    BOOST_TEST((probe_back.ok && probe_back.sent == 2 && probe_back.received == probe.received));
}

BOOST_AUTO_TEST_CASE(a_device_comes_back_with_statistics_in_their_order) {
    DeviceInfo info;
    info.name = "vxlan.calico";
    info.driver = "vxlan";
    info.mac = frame::parse_mac("02:00:00:00:00:01").value();
    info.mtu = 1450;
    info.link_up = true;
    info.statistics = {{"z", 1}, {"a", 2}, {"z", 3}};
    const DeviceInfo back = sent(info);
    BOOST_TEST(back.name == info.name);
    BOOST_TEST((back.mac == info.mac));
    BOOST_TEST((back.statistics == info.statistics));
    BOOST_TEST(back.speed_mbps == -1);
    BOOST_TEST((!back.pci && !back.pcie && back.numa_node == -1));
    info.pci = PciIds{"0x8086", "0x10d3", "0x8086", "0x0001"};
    info.pcie = PcieLink{.linked = {8, 4}, .device = {16, 8}, .slot = {}};
    info.numa_node = 1;
    const DeviceInfo linked = sent(info);
    BOOST_TEST((linked.pcie == info.pcie && linked.pci == info.pci));
    BOOST_TEST(linked.numa_node == 1);
}

BOOST_AUTO_TEST_CASE(requests_come_back_as_they_were) {
    const auto ping = sent(PingOptions{.destination = ip("2001:db8::7"),
                                       .count = 9,
                                       .payload_bytes = 1400,
                                       .interval = milliseconds(3)});
    BOOST_TEST(
        (ping.destination == ip("2001:db8::7") && ping.count == 9 && ping.payload_bytes == 1400));
    BOOST_TEST((ping.interval == milliseconds(3) && ping.timeout == milliseconds(1000)));

    const auto lookup = sent(DnsLookupOptions{
        .server = endpoint("[2001:db8::1]:53"), .name = "a.test", .tcp = true, .attempts = 2});
    BOOST_TEST((lookup.server == endpoint("[2001:db8::1]:53") && lookup.name == "a.test" &&
                lookup.tcp && lookup.attempts == 2));

    const auto transfer =
        sent(TransferOptions{.server = endpoint("198.18.0.1:9"), .bytes = 1ULL << 40});
    BOOST_TEST((transfer.server == endpoint("198.18.0.1:9") && transfer.bytes == 1ULL << 40));

    const auto server = sent(DnsServerOptions{.listen = endpoint("198.18.0.1:53"),
                                              .address = ip("203.0.113.1"),
                                              .address6 = ip("2001:db8::2"),
                                              .delay = milliseconds(1500)});
    BOOST_TEST((server.address6 == ip("2001:db8::2") && server.delay == milliseconds(1500)));

    const auto filter = sent(ConntrackFilter{.protocol = std::uint8_t{17},
                                             .original_destination_port = std::uint16_t{53}});
    BOOST_TEST((filter.protocol == 17 && filter.original_destination_port == 53));
    BOOST_TEST(!filter.births_only);
    BOOST_TEST(sent(ConntrackFilter{.births_only = true}).births_only);
    BOOST_TEST(!sent(ConntrackFilter{}).protocol);

    const auto fill = sent(ConntrackFill{.from = ip("198.18.0.1"),
                                         .to = endpoint("203.0.113.2:53"),
                                         .ports = 3,
                                         .count = 9,
                                         .assured = false});
    BOOST_TEST((fill.from == ip("198.18.0.1") && fill.to == endpoint("203.0.113.2:53") &&
                fill.ports == 3 && fill.count == 9 && !fill.assured));
    BOOST_TEST((refusal(fill, "ports", 0) == ErrorCode::kBadInput));
    BOOST_TEST((refusal(fill, "from", "2001:db8::1") == ErrorCode::kBadInput));

    const auto change = sent(HostChange{.kind = HostChange::Kind::kSteering,
                                        .device = "d0",
                                        .name = "n",
                                        .value = "3",
                                        .undo = "u",
                                        .allowed = HostChange::Allowed::kIsMissing});
    BOOST_TEST((change.kind == HostChange::Kind::kSteering && change.device == "d0" &&
                change.name == "n" && change.value == "3" && change.undo == "u" &&
                change.allowed == HostChange::Allowed::kIsMissing));
    BOOST_TEST((refusal(change, "kind", 9) == ErrorCode::kBadInput));

    const Needs needs{.probe = {"ipvsadm", "-L"}, .package = "ipvsadm", .kernel = "IPVS"};
    BOOST_TEST((sent(needs) == needs));
}

BOOST_AUTO_TEST_CASE(what_a_path_watch_saw_comes_back_as_it_was) {
    PathEvents seen{.untraced = "why", .began_ns = 7, .backlog = 9};
    seen.drops.scope = drops::Scope::kNamespace;
    seen.drops.lost = 2;
    seen.drops.counts = {
        {"NETFILTER_DROP", "nf_hook_slow+0xa7", "ip/udp", drops::FlowState::kNewPastNat, 5}};
    seen.outages = {{.device = "d0", .from_ns = 1, .until_ns = 2}};
    const PathEvents back = sent(seen);
    BOOST_TEST((back.drops.scope == seen.drops.scope && back.drops.lost == 2 &&
                back.drops.counts == seen.drops.counts));
    BOOST_TEST((back.untraced == "why" && back.began_ns == 7 && back.backlog == 9));
    BOOST_REQUIRE(back.outages.size() == 1U);
    BOOST_TEST((back.outages[0].device == "d0" && back.outages[0].from_ns == 1 &&
                back.outages[0].until_ns == 2));
}

BOOST_AUTO_TEST_CASE(an_event_log_comes_back_as_it_was) {
    netfilter::EventLog log;
    log.overruns = 3;
    log.unreadable = 4;
    log.events.resize(2);
    netfilter::Event& event = log.events[1];
    event = {.kind = netfilter::EventKind::kDestroy,
             .time_ns = 1763692000123456789,
             .entry = {.id = 77,
                       .original = {endpoint("198.18.0.2:4000"), endpoint("10.96.0.10:53"), 17, {}},
                       .reply = {endpoint("[2001:db8::1]:53"), endpoint("198.18.0.2:4001"), 58,
                                 netfilter::Tuple::Icmp{128, 1, 9}},
                       .status = netfilter::status::kNatClash,
                       .timeout_s = 29,
                       .mark = 5,
                       .mark_reported = true,
                       .zone = 6,
                       .zone_direction = netfilter::ZoneDirection::kReply,
                       .protocol_state = "ESTABLISHED",
                       .helper = "ftp",
                       .labels = {0x10, 0xff},
                       .original_counters = netfilter::Counters{7, 8},
                       .reply_counters = netfilter::Counters{9, 10},
                       .started_ns = 11,
                       .stopped_ns = 12,
                       .use = 13,
                       .security_context = "kernel_t"},
             .cause_port = 14,
             .kernel_time_ns = 15,
             .missed = true};
    const netfilter::EventLog back = sent(log);
    BOOST_TEST((back.overruns == 3U && back.unreadable == 4U));
    BOOST_REQUIRE(back.events.size() == 2U);
    BOOST_TEST((back.events[0].entry == log.events[0].entry));
    BOOST_TEST((back.events[1].entry == event.entry));
    BOOST_TEST((back.events[1].kind == event.kind && back.events[1].time_ns == event.time_ns));
    BOOST_TEST((back.events[1].cause_port == 14U && back.events[1].kernel_time_ns == 15U));
    BOOST_TEST((!back.events[0].missed && back.events[1].missed));
}

BOOST_AUTO_TEST_CASE(what_is_asked_of_a_dns_path_and_what_it_says_come_back_as_they_were) {
    const DnsmasqOptions dnsmasq{.addresses = {ip("203.0.113.2"), ip("169.254.20.10")},
                                 .upstream = endpoint("127.0.0.1:10053"),
                                 .cache_size = 7,
                                 .max_tcp_connections = 200,
                                 .dns_forward_max = 1500};
    const auto started = sent(dnsmasq);
    BOOST_TEST((started.addresses == dnsmasq.addresses));
    BOOST_TEST((started.upstream == dnsmasq.upstream));
    BOOST_TEST(started.cache_size == 7U);
    BOOST_TEST(started.max_tcp_connections == 200U);
    BOOST_TEST(started.dns_forward_max == 1500U);
    const DnsmasqReport said{.ended = "dnsmasq ended (exit status 2): no",
                             .workers = 20,
                             .said = DnsmasqWorkers{.in_use = 20, .highest = 20, .most = 20},
                             .log = {"one", "two"}};
    const auto told = sent(said);
    BOOST_TEST((told.ended == said.ended && told.workers == said.workers &&
                told.said == said.said && told.log == said.log));
    BOOST_TEST(!sent(DnsmasqReport{}).said.has_value());

    const auto forwards = sent(ForwarderOptions{.listen = endpoint("198.18.0.1:53"),
                                                .upstream = endpoint("203.0.113.2:53"),
                                                .prefer_udp = true,
                                                .max_idle = 10});
    BOOST_TEST((forwards.listen == endpoint("198.18.0.1:53")));
    BOOST_TEST((forwards.upstream == endpoint("203.0.113.2:53")));
    BOOST_TEST(forwards.prefer_udp);
    BOOST_TEST(forwards.max_idle == 10U);
    const ForwarderReport did{
        .queries = 1,
        .answered = 2,
        .servfail = 3,
        .dials = 4,
        .most_open = 5,
        .idle = 6,
        .refusal = "connection refused",
        .tries = {{1, 40'001, 50'001, 7, 8, true, ForwarderTry::Outcome::kRubbish}}};
    const auto back = sent(did);
    BOOST_TEST((back.queries == 1 && back.answered == 2 && back.servfail == 3 && back.dials == 4 &&
                back.most_open == 5 && back.idle == 6 && back.refusal == did.refusal));
    BOOST_TEST((back.tries == did.tries));

    const TcpQueue queue{.connections = {{endpoint("198.18.0.1:50001"), 1, 2, 3, 4}},
                         .most_waiting = 33,
                         .looks = 9};
    const auto queued = sent(queue);
    BOOST_TEST((queued.connections == queue.connections));
    BOOST_TEST(queued.most_waiting == 33U);
    BOOST_TEST(queued.looks == 9U);

    const DnsLoadOptions asked{.server = endpoint("198.18.0.1:53"),
                               .name = "svc.test",
                               .own_names = true,
                               .asks = DnsLoadOptions::Asks::kPairTogether,
                               .lookups = 80,
                               .per_second = 0.5,
                               .timeout = milliseconds(7)};
    const auto load = sent(asked);
    BOOST_TEST((load.server == asked.server && load.name == asked.name && load.own_names &&
                load.asks == asked.asks && load.lookups == 80 && load.per_second == 0.5 &&
                load.timeout == asked.timeout));
    BOOST_TEST((refusal(asked, "lookups", 12'001) == ErrorCode::kBadInput));
    BOOST_TEST((refusal(asked, "per_second", -1) == ErrorCode::kBadInput));
    DnsLoadReport report;
    report.lookups = {{.port = 40'001,
                       .start_ns = 1763692000123456789,
                       .asked = 2,
                       .answered = 1,
                       .truncated = 1,
                       .rcode = 5,
                       .error = 111,
                       .milliseconds = 0.75}};
    BOOST_TEST((sent(report).lookups == report.lookups));
}

BOOST_AUTO_TEST_CASE(connects_and_what_came_of_them_come_back_as_they_were) {
    const auto server = sent(ClosingServerOptions{.listen = endpoint("203.0.113.2:80"),
                                                  .closes_first = Closer::kClient});
    BOOST_TEST(
        (server.listen == endpoint("203.0.113.2:80") && server.closes_first == Closer::kClient));
    const ConnectsOptions asked{.server = endpoint("203.0.113.2:80"),
                                .count = 70'000,
                                .per_second = 0.5,
                                .closes_first = Closer::kClient,
                                .timeout = milliseconds(7),
                                .asks_after = milliseconds(5)};
    const auto options = sent(asked);
    BOOST_TEST((options.server == asked.server && options.count == asked.count &&
                options.per_second == asked.per_second &&
                options.closes_first == asked.closes_first && options.timeout == asked.timeout &&
                options.asks_after == asked.asks_after));
    BOOST_TEST((refusal(asked, "closes_first", "nobody") == ErrorCode::kBadInput));
    BOOST_TEST((refusal(asked, "closes_first", 3) == ErrorCode::kBadInput));
    BOOST_TEST((refusal(asked, "count", 100'001) == ErrorCode::kBadInput));
    BOOST_TEST((refusal(asked, "per_second", 0) == ErrorCode::kBadInput));

    ConnectsReport report{.seconds = 2.5, .worst_late_ms = 1.25, .left_open = 4};
    report.connects = {{1763692000123456789, 40'001, 0, 0.75}, {5, 0, 110, 10'000, "hello", 104}};
    const ConnectsReport back = sent(report);
    BOOST_TEST((back.connects == report.connects));
    BOOST_TEST((back.seconds == 2.5 && back.worst_late_ms == 1.25 && back.left_open == 4));
}

BOOST_AUTO_TEST_CASE(wrong_addresses_and_durations_are_bad_input) {
    const TransferOptions options{.server = endpoint("198.18.0.1:9")};
    BOOST_TEST((refusal(options, "server", "198.18.0.1") == ErrorCode::kBadInput));
    BOOST_TEST((refusal(options, "timeout", -1) == ErrorCode::kBadInput));
    BOOST_TEST((refusal(options, "timeout", 3'600'001) == ErrorCode::kBadInput));
    json request = message::encode(options);
    request.erase("timeout");
    BOOST_TEST(!message::decode<TransferOptions>(request));
}

// An operation reads its arguments from the request and answers with the function's result.
BOOST_AUTO_TEST_CASE(a_function_is_an_operation) {
    const auto run = message::operation(
        [](const std::string& device, unsigned count, const DnsLoadOptions& options) {
            return count == 0 ? Result<std::string>(fail(ErrorCode::kNotFound, "none"))
                              : Result<std::string>(device + options.name);
        });
    const json load = message::encode(DnsLoadOptions{.name = "x"});
    BOOST_TEST(run({"d0", 1, load}).value() == "d0x");
    BOOST_TEST((run({"d0", 0, load}).error().code == ErrorCode::kNotFound));
    BOOST_TEST((run({"d0", -1, load}).error().code == ErrorCode::kBadInput));
    BOOST_TEST((run({"d0", 1, 7}).error().code == ErrorCode::kBadInput));
    BOOST_CHECK_THROW((void)run({"d0", 1}), json::exception);
    BOOST_CHECK_THROW((void)run({{"device", "d0"}}), json::exception);
    json greedy = load;
    greedy["lookups"] = 12'001;
    BOOST_TEST((run({"d0", 1, greedy}).error().code == ErrorCode::kBadInput));
    const auto status = message::operation(
        [](bool well) { return well ? Status() : Status(fail(ErrorCode::kKernelLacks, "no")); });
    BOOST_TEST(status({true}).value().is_null());
    BOOST_TEST((status({false}).error().code == ErrorCode::kKernelLacks));
}

BOOST_AUTO_TEST_CASE(numbers_are_packed_into_as_few_bytes_as_they_need) {
    using netfilter::Counters;
    BOOST_TEST(message::encode(Counters{}) == "0000");
    BOOST_TEST(message::encode(Counters{.packets = 127, .bytes = 128}) == "7f8001");
    const Counters most{.packets = ~std::uint64_t{0}, .bytes = std::uint64_t{1} << 63};
    BOOST_TEST((sent(most) == most));
    for (const std::int64_t time :
         {std::int64_t{0}, std::int64_t{-1}, std::numeric_limits<std::int64_t>::min(),
          std::numeric_limits<std::int64_t>::max()}) {
        BOOST_TEST(sent(netfilter::Event{.time_ns = time}).time_ns == time);
    }
}

BOOST_AUTO_TEST_CASE(bytes_that_are_no_packed_value_are_refused) {
    const auto refused = [](const char* bytes, const char* why) {
        const auto read = message::decode<std::vector<netfilter::Counters>>(bytes);
        BOOST_REQUIRE(!read);
        BOOST_TEST((read.error().code == ErrorCode::kBadInput));
        BOOST_TEST(read.error().message.find(why) != std::string::npos, read.error().message);
    };
    refused("010", "hexadecimal");
    refused("0g", "hexadecimal");
    refused("", "ends too early");
    refused("0105", "ends too early");
    refused("ffffffff0f0500", "ends too early");  // a list of four thousand millions
    refused("01050000", "behind the last value");
    refused("0105ffffffffffffffffff02", "64 bits");
    BOOST_TEST(!message::decode<std::vector<netfilter::Counters>>(json::array()));

    // A value that is cut short anywhere is refused. One with another byte somewhere is read or
    // refused, and nothing worse happens.
    const std::string whole = message::encode(std::vector<netfilter::Event>(
        2,
        {.kind = netfilter::EventKind::kDestroy,
         .entry = {.original = {endpoint("198.18.0.2:4000"), endpoint("[2001:db8::1]:53"), 17, {}},
                   .protocol_state = "ESTABLISHED",
                   .labels = {0x10, 0xff},
                   .reply_counters = netfilter::Counters{9, 10}}}));
    for (std::size_t size = 0; size < whole.size(); ++size) {
        BOOST_TEST(!message::decode<std::vector<netfilter::Event>>(whole.substr(0, size)));
    }
    std::size_t taken = 0;
    for (std::size_t at = 0; at < whole.size(); ++at) {
        std::string changed = whole;
        changed[at] = changed[at] == 'f' ? '0' : 'f';
        taken += message::decode<std::vector<netfilter::Event>>(changed) ? 1 : 0;
    }
    BOOST_TEST((taken > 0 && taken < whole.size()));
}

// The texts come from another host, and go to terminals and into reports.
BOOST_AUTO_TEST_CASE(packed_texts_are_as_harmless_as_those_in_json) {
    netfilter::Entry entry;
    entry.helper = "a\x1b[2J\x7f\xc2\x9b";
    entry.protocol_state = "b\xff\xc3";
    entry.security_context = "caf\xc3\xa9";
    const auto back = sent(entry);
    BOOST_TEST(back.helper == "a?[2J???");
    BOOST_TEST(back.protocol_state == "b\xef\xbf\xbd\xef\xbf\xbd");
    BOOST_TEST(back.security_context == entry.security_context);
    BOOST_CHECK_NO_THROW(json(back).dump());
}

BOOST_AUTO_TEST_SUITE_END()
