#include "harness/agent/message.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

namespace pathproof::agent {
namespace {

using nlohmann::json;

constexpr std::int64_t kMostMilliseconds = 3'600'000;
constexpr std::uint32_t kMostConnects = 100'000;
constexpr std::uint32_t kMostLookups = 12'000;  // a descriptor each

// A duration of at most an hour; negative or longer ones are mistakes of the caller.
Result<milliseconds> duration(const json& in, const char* key) {
    const auto count = in.at(key).get<std::int64_t>();
    if (count < 0 || count > kMostMilliseconds) {
        return fail(ErrorCode::kBadInput, "{} must be 0 to {}, not {}", key, kMostMilliseconds,
                    count);
    }
    return milliseconds(count);
}

Result<frame::Endpoint> endpoint(const json& in, const char* key) {
    return frame::parse_endpoint(in.at(key).get<std::string>());
}

constexpr std::array<const char*, 3> kClosers = {"server", "client", "server asked"};

const char* closer_name(Closer closer) {
    return kClosers[static_cast<std::size_t>(closer)];
}

Result<Closer> closer(const json& in) {
    const auto name = in.at("closes_first").get<std::string>();
    const auto at = std::ranges::find(kClosers, name);
    if (at == kClosers.end()) {
        return fail(ErrorCode::kBadInput, "nobody of the name '{}' closes first", name);
    }
    return static_cast<Closer>(at - kClosers.begin());
}

Result<frame::IpAddress> address(const json& in, const char* key) {
    return frame::parse_ip(in.at(key).get<std::string>());
}

}  // namespace

void to_json(json& out, const Feature& feature) {
    out = {{"name", feature.name},
           {"active", feature.active},
           {"requested", feature.requested},
           {"available", feature.available},
           {"fixed", feature.never_changed}};
}

void from_json(const json& in, Feature& feature) {
    feature.name = in.at("name").get<std::string>();
    feature.active = in.at("active").get<bool>();
    feature.requested = in.at("requested").get<bool>();
    feature.available = in.at("available").get<bool>();
    feature.never_changed = in.at("fixed").get<bool>();
}

void to_json(json& out, const FeatureChange& change) {
    out = {{"name", change.name},
           {"before", change.before},
           {"after", change.after},
           {"asked", change.asked}};
}

void from_json(const json& in, FeatureChange& change) {
    change.name = in.at("name").get<std::string>();
    change.before = in.at("before").get<bool>();
    change.after = in.at("after").get<bool>();
    change.asked = in.at("asked").get<bool>();
}

void to_json(json& out, const ProbeResult& result) {
    out = {{"ok", result.ok},
           {"outcome", result.outcome},
           {"milliseconds", result.milliseconds},
           {"sent", result.sent},
           {"received", result.received}};
}

void from_json(const json& in, ProbeResult& result) {
    result.ok = in.at("ok").get<bool>();
    result.outcome = in.at("outcome").get<std::string>();
    result.milliseconds = in.at("milliseconds").get<double>();
    result.sent = in.at("sent").get<std::uint64_t>();
    result.received = in.at("received").get<std::uint64_t>();
}

json device_to_json(const DeviceInfo& info) {
    json out = {{"name", info.name},
                {"driver", info.driver},
                {"driver_version", info.driver_version},
                {"firmware", info.firmware},
                {"bus", info.bus},
                {"srcversion", info.srcversion},
                {"mac", frame::to_string(info.mac)},
                {"mtu", info.mtu},
                {"link_up", info.link_up},
                {"speed_mbps", info.speed_mbps},
                {"numa_node", info.numa_node},
                // Pairs, not an object: the order is the driver's, and names may repeat.
                {"statistics", info.statistics}};
    if (info.permanent_mac) {
        out["permanent_mac"] = frame::to_string(*info.permanent_mac);
    }
    if (info.pci) {
        out["pci"] = {info.pci->vendor, info.pci->device, info.pci->subsystem_vendor,
                      info.pci->subsystem_device};
    }
    if (info.pcie) {
        for (const PcieSpeed& speed : {info.pcie->linked, info.pcie->device, info.pcie->slot}) {
            out["pcie"].push_back({speed.gt_s, speed.lanes});
        }
    }
    return out;
}

Result<DeviceInfo> device_from_json(const json& in) {
    DeviceInfo info;
    info.name = in.at("name").get<std::string>();
    info.driver = in.at("driver").get<std::string>();
    info.driver_version = in.at("driver_version").get<std::string>();
    info.firmware = in.at("firmware").get<std::string>();
    info.bus = in.at("bus").get<std::string>();
    info.srcversion = in.at("srcversion").get<std::string>();
    if (in.contains("pci")) {
        const auto ids = in["pci"].get<std::array<std::string, 4>>();
        info.pci = PciIds{ids[0], ids[1], ids[2], ids[3]};
    }
    if (in.contains("pcie")) {
        const auto told = in["pcie"].get<std::array<std::pair<double, unsigned>, 3>>();
        const auto speed = [&](std::size_t at) {
            return PcieSpeed{told[at].first, told[at].second};
        };
        info.pcie = PcieLink{speed(0), speed(1), speed(2)};
    }
    info.numa_node = in.at("numa_node").get<int>();
    info.mtu = in.at("mtu").get<std::uint32_t>();
    info.link_up = in.at("link_up").get<bool>();
    info.speed_mbps = in.at("speed_mbps").get<std::int64_t>();
    info.statistics = in.at("statistics").get<decltype(info.statistics)>();
    const frame::MacAddress mac = TRY(frame::parse_mac(in.at("mac").get<std::string>()));
    info.mac = mac;
    if (in.contains("permanent_mac")) {
        const frame::MacAddress permanent =
            TRY(frame::parse_mac(in["permanent_mac"].get<std::string>()));
        info.permanent_mac = permanent;
    }
    return info;
}

json event_log_to_json(const netfilter::EventLog& log) {
    return {{"events", log.events}, {"overruns", log.overruns}};
}

netfilter::EventLog event_log_from_json(const json& in) {
    return {.events = in.at("events").get<std::vector<netfilter::Event>>(),
            .overruns = in.at("overruns").get<std::uint64_t>()};
}

// Of the drops only what is counted: not the last few one by one.
json path_events_to_json(const PathEvents& seen) {
    json out{{"untraced", seen.untraced},
             {"lost", seen.drops.lost},
             {"began_ns", seen.began_ns},
             {"backlog", seen.backlog}};
    for (const drops::DropCount& count : seen.drops.counts) {
        out["drops"].push_back({count.reason, count.location, count.protocol,
                                static_cast<int>(count.flow), count.packets});
    }
    for (const drops::Outage& outage : seen.outages) {
        out["outages"].push_back({outage.device, outage.from_ns, outage.until_ns});
    }
    return out;
}

PathEvents path_events_from_json(const json& in) {
    PathEvents seen{.untraced = in.at("untraced").get<std::string>(),
                    .began_ns = in.at("began_ns").get<std::int64_t>(),
                    .backlog = in.at("backlog").get<std::uint64_t>()};
    seen.drops.scope = drops::Scope::kNamespace;
    seen.drops.lost = in.at("lost").get<std::uint64_t>();
    for (const json& count : in.value("drops", json::array())) {
        seen.drops.counts.push_back({.reason = count.at(0).get<std::string>(),
                                     .location = count.at(1).get<std::string>(),
                                     .protocol = count.at(2).get<std::string>(),
                                     .flow = static_cast<drops::FlowState>(count.at(3).get<int>()),
                                     .packets = count.at(4).get<std::uint64_t>()});
    }
    for (const json& outage : in.value("outages", json::array())) {
        seen.outages.push_back({.device = outage.at(0).get<std::string>(),
                                .from_ns = outage.at(1).get<std::int64_t>(),
                                .until_ns = outage.at(2).get<std::int64_t>()});
    }
    return seen;
}

json ping_to_json(const PingOptions& options) {
    return {{"destination", frame::to_string(options.destination)},
            {"count", options.count},
            {"payload_bytes", options.payload_bytes},
            {"interval_ms", options.interval.count()},
            {"timeout_ms", options.timeout.count()}};
}

Result<PingOptions> ping_from_json(const json& in) {
    const auto destination = address(in, "destination");
    const auto interval = duration(in, "interval_ms");
    const auto timeout = duration(in, "timeout_ms");
    if (!destination) {
        return pass_on(destination.error());
    }
    if (!interval || !timeout) {
        return pass_on(interval ? timeout.error() : interval.error());
    }
    return PingOptions{.destination = *destination,
                       .count = in.at("count").get<unsigned>(),
                       .payload_bytes = in.at("payload_bytes").get<std::uint32_t>(),
                       .interval = *interval,
                       .timeout = *timeout};
}

json lookup_to_json(const DnsLookupOptions& options) {
    return {{"server", frame::to_string(options.server)},
            {"name", options.name},
            {"tcp", options.tcp},
            {"attempts", options.attempts},
            {"timeout_ms", options.timeout.count()}};
}

Result<DnsLookupOptions> lookup_from_json(const json& in) {
    const auto server = endpoint(in, "server");
    const auto timeout = duration(in, "timeout_ms");
    if (!server || !timeout) {
        return pass_on(server ? timeout.error() : server.error());
    }
    return DnsLookupOptions{.server = *server,
                            .name = in.at("name").get<std::string>(),
                            .tcp = in.at("tcp").get<bool>(),
                            .attempts = in.at("attempts").get<unsigned>(),
                            .timeout = *timeout};
}

json transfer_to_json(const TransferOptions& options) {
    return {{"server", frame::to_string(options.server)},
            {"bytes", options.bytes},
            {"timeout_ms", options.timeout.count()}};
}

Result<TransferOptions> transfer_from_json(const json& in) {
    const auto server = endpoint(in, "server");
    const auto timeout = duration(in, "timeout_ms");
    if (!server || !timeout) {
        return pass_on(server ? timeout.error() : server.error());
    }
    return TransferOptions{
        .server = *server, .bytes = in.at("bytes").get<std::uint64_t>(), .timeout = *timeout};
}

json dns_server_to_json(const DnsServerOptions& options) {
    return {{"listen", frame::to_string(options.listen)},
            {"address", frame::to_string(options.address)},
            {"address6", frame::to_string(options.address6)},
            {"delay_ms", options.delay.count()}};
}

Result<DnsServerOptions> dns_server_from_json(const json& in) {
    const auto listen = endpoint(in, "listen");
    const auto ipv4 = address(in, "address");
    const auto ipv6 = address(in, "address6");
    const auto delay = duration(in, "delay_ms");
    if (!listen || !delay) {
        return pass_on(listen ? delay.error() : listen.error());
    }
    if (!ipv4 || !ipv6) {
        return pass_on(ipv4 ? ipv6.error() : ipv4.error());
    }
    return DnsServerOptions{
        .listen = *listen, .address = *ipv4, .address6 = *ipv6, .delay = *delay};
}

json closing_server_to_json(const ClosingServerOptions& options) {
    return {{"listen", frame::to_string(options.listen)},
            {"closes_first", closer_name(options.closes_first)},
            {"greeting", options.greeting}};
}

Result<ClosingServerOptions> closing_server_from_json(const json& in) {
    const auto listen = TRY(endpoint(in, "listen"));
    const Closer closes_first = TRY(closer(in));
    return ClosingServerOptions{.listen = listen,
                                .closes_first = closes_first,
                                .greeting = in.at("greeting").get<std::string>()};
}

json connects_to_json(const ConnectsOptions& options) {
    return {{"server", frame::to_string(options.server)},
            {"count", options.count},
            {"per_second", options.per_second},
            {"closes_first", closer_name(options.closes_first)},
            {"timeout_ms", options.timeout.count()},
            {"asks_after_ms", options.asks_after.count()}};
}

Result<ConnectsOptions> connects_from_json(const json& in) {
    const auto server = TRY(endpoint(in, "server"));
    const auto timeout = TRY(duration(in, "timeout_ms"));
    const auto asks_after = TRY(duration(in, "asks_after_ms"));
    const Closer closes_first = TRY(closer(in));
    ConnectsOptions options{.server = server,
                            .count = in.at("count").get<std::uint32_t>(),
                            .per_second = in.at("per_second").get<double>(),
                            .closes_first = closes_first,
                            .timeout = timeout,
                            .asks_after = asks_after};
    if (options.count > kMostConnects || !(options.per_second > 0)) {
        return fail(ErrorCode::kBadInput,
                    "{} connections at {} a second: allowed are up to {}, at more than 0 a second",
                    options.count, options.per_second, kMostConnects);
    }
    return options;
}

// Each connection an array: there are thousands.
json connects_report_to_json(const ConnectsReport& report) {
    json connects = json::array();
    for (const Connect& each : report.connects) {
        connects.push_back(
            {each.start_ns, each.port, each.error, each.milliseconds, each.said, each.end});
    }
    return {{"connects", std::move(connects)},
            {"seconds", report.seconds},
            {"worst_late_ms", report.worst_late_ms},
            {"left_open", report.left_open}};
}

ConnectsReport connects_report_from_json(const json& in) {
    ConnectsReport report{.seconds = in.at("seconds").get<double>(),
                          .worst_late_ms = in.at("worst_late_ms").get<double>(),
                          .left_open = in.at("left_open").get<std::uint64_t>()};
    for (const json& each : in.at("connects")) {
        report.connects.push_back({.start_ns = each.at(0).get<std::int64_t>(),
                                   .port = each.at(1).get<std::uint16_t>(),
                                   .error = each.at(2).get<std::int32_t>(),
                                   .milliseconds = each.at(3).get<double>(),
                                   .said = each.at(4).get<std::string>(),
                                   .end = each.at(5).get<std::int32_t>()});
    }
    return report;
}

json dnsmasq_to_json(const DnsmasqOptions& options) {
    json addresses = json::array();
    for (const frame::IpAddress& each : options.addresses) {
        addresses.push_back(frame::to_string(each));
    }
    return {{"addresses", std::move(addresses)},
            {"upstream", frame::to_string(options.upstream)},
            {"cache_size", options.cache_size},
            {"max_tcp_connections", options.max_tcp_connections},
            {"dns_forward_max", options.dns_forward_max}};
}

Result<DnsmasqOptions> dnsmasq_from_json(const json& in) {
    DnsmasqOptions options{.addresses = {},
                           .upstream = {},
                           .cache_size = in.at("cache_size").get<std::uint32_t>(),
                           .max_tcp_connections = in.at("max_tcp_connections").get<std::uint32_t>(),
                           .dns_forward_max = in.at("dns_forward_max").get<std::uint32_t>()};
    for (const json& each : in.at("addresses")) {
        options.addresses.push_back(TRY(frame::parse_ip(each.get<std::string>())));
    }
    options.upstream = TRY(endpoint(in, "upstream"));
    return options;
}

json dnsmasq_report_to_json(const DnsmasqReport& report) {
    json out{{"ended", report.ended}, {"workers", report.workers}, {"log", report.log}};
    if (report.said) {
        out["said"] = {report.said->in_use, report.said->highest, report.said->most};
    }
    return out;
}

DnsmasqReport dnsmasq_report_from_json(const json& in) {
    DnsmasqReport report{.ended = in.at("ended").get<std::string>(),
                         .workers = in.at("workers").get<std::uint32_t>(),
                         .said = std::nullopt,
                         .log = in.at("log").get<std::vector<std::string>>()};
    if (in.contains("said")) {
        const auto said = in["said"].get<std::array<std::uint32_t, 3>>();
        report.said = {.in_use = said[0], .highest = said[1], .most = said[2]};
    }
    return report;
}

json tcp_queue_to_json(const TcpQueue& queue) {
    json connections = json::array();
    for (const TcpQueue::Connection& each : queue.connections) {
        connections.push_back({frame::to_string(each.peer), each.first_waiting_ns,
                               each.last_waiting_ns, each.accepted_ns, each.unacknowledged_ns});
    }
    return {{"connections", std::move(connections)},
            {"most_waiting", queue.most_waiting},
            {"looks", queue.looks}};
}

Result<TcpQueue> tcp_queue_from_json(const json& in) {
    TcpQueue queue{.connections = {},
                   .most_waiting = in.at("most_waiting").get<std::uint32_t>(),
                   .looks = in.at("looks").get<std::uint64_t>()};
    for (const json& each : in.at("connections")) {
        const auto peer = TRY(frame::parse_endpoint(each.at(0).get<std::string>()));
        queue.connections.push_back({.peer = peer,
                                     .first_waiting_ns = each.at(1).get<std::int64_t>(),
                                     .last_waiting_ns = each.at(2).get<std::int64_t>(),
                                     .accepted_ns = each.at(3).get<std::int64_t>(),
                                     .unacknowledged_ns = each.at(4).get<std::int64_t>()});
    }
    return queue;
}

json forwarder_to_json(const ForwarderOptions& options) {
    return {{"listen", frame::to_string(options.listen)},
            {"upstream", frame::to_string(options.upstream)},
            {"prefer_udp", options.prefer_udp},
            {"max_idle", options.max_idle}};
}

Result<ForwarderOptions> forwarder_from_json(const json& in) {
    const auto listen = TRY(endpoint(in, "listen"));
    const auto upstream = TRY(endpoint(in, "upstream"));
    return ForwarderOptions{.listen = listen,
                            .upstream = upstream,
                            .prefer_udp = in.at("prefer_udp").get<bool>(),
                            .max_idle = in.at("max_idle").get<std::uint32_t>()};
}

json forwarder_report_to_json(const ForwarderReport& report) {
    json tries = json::array();
    for (const ForwarderTry& each : report.tries) {
        tries.push_back({each.query, each.client_port, each.port, each.start_ns, each.end_ns,
                         each.connected, static_cast<int>(each.outcome)});
    }
    return {{"queries", report.queries},     {"answered", report.answered},
            {"servfail", report.servfail},   {"dials", report.dials},
            {"most_open", report.most_open}, {"idle", report.idle},
            {"refusal", report.refusal},     {"tries", std::move(tries)}};
}

ForwarderReport forwarder_report_from_json(const json& in) {
    ForwarderReport report{.queries = in.at("queries").get<std::uint32_t>(),
                           .answered = in.at("answered").get<std::uint32_t>(),
                           .servfail = in.at("servfail").get<std::uint32_t>(),
                           .dials = in.at("dials").get<std::uint32_t>(),
                           .most_open = in.at("most_open").get<std::uint32_t>(),
                           .idle = in.at("idle").get<std::uint32_t>(),
                           .refusal = in.at("refusal").get<std::string>(),
                           .tries = {}};
    for (const json& each : in.at("tries")) {
        report.tries.push_back(
            {.query = each.at(0).get<std::uint32_t>(),
             .client_port = each.at(1).get<std::uint16_t>(),
             .port = each.at(2).get<std::uint16_t>(),
             .start_ns = each.at(3).get<std::int64_t>(),
             .end_ns = each.at(4).get<std::int64_t>(),
             .connected = each.at(5).get<bool>(),
             .outcome = static_cast<ForwarderTry::Outcome>(each.at(6).get<std::uint8_t>())});
    }
    return report;
}

json load_to_json(const DnsLoadOptions& options) {
    return {{"server", frame::to_string(options.server)},
            {"name", options.name},
            {"own_names", options.own_names},
            {"asks", static_cast<int>(options.asks)},
            {"lookups", options.lookups},
            {"per_second", options.per_second},
            {"timeout_ms", options.timeout.count()}};
}

Result<DnsLoadOptions> load_from_json(const json& in) {
    const auto server = TRY(endpoint(in, "server"));
    const auto timeout = TRY(duration(in, "timeout_ms"));
    DnsLoadOptions options{.server = server,
                           .name = in.at("name").get<std::string>(),
                           .own_names = in.at("own_names").get<bool>(),
                           .asks = static_cast<DnsLoadOptions::Asks>(in.at("asks").get<int>()),
                           .lookups = in.at("lookups").get<std::uint32_t>(),
                           .per_second = in.at("per_second").get<double>(),
                           .timeout = timeout};
    if (options.lookups > kMostLookups || !(options.per_second >= 0)) {
        return fail(ErrorCode::kBadInput, "{} lookups at {} a second: allowed are up to {}",
                    options.lookups, options.per_second, kMostLookups);
    }
    return options;
}

// Each lookup an array: there are thousands.
json load_report_to_json(const DnsLoadReport& report) {
    json lookups = json::array();
    for (const DnsLoadReport::Lookup& each : report.lookups) {
        lookups.push_back({each.port, each.start_ns, each.asked, each.answered, each.rcode,
                           each.error, each.milliseconds});
    }
    return {{"lookups", std::move(lookups)}};
}

DnsLoadReport load_report_from_json(const json& in) {
    DnsLoadReport report;
    for (const json& each : in.at("lookups")) {
        report.lookups.push_back({.port = each.at(0).get<std::uint16_t>(),
                                  .start_ns = each.at(1).get<std::int64_t>(),
                                  .asked = each.at(2).get<std::uint8_t>(),
                                  .answered = each.at(3).get<std::uint8_t>(),
                                  .rcode = each.at(4).get<std::uint8_t>(),
                                  .error = each.at(5).get<std::int32_t>(),
                                  .milliseconds = each.at(6).get<double>()});
    }
    return report;
}

json fill_to_json(const ConntrackFill& what) {
    return {{"from", frame::to_string(what.from)},
            {"to", frame::to_string(what.to)},
            {"ports", what.ports},
            {"count", what.count},
            {"assured", what.assured}};
}

Result<ConntrackFill> fill_from_json(const json& in) {
    const auto from = TRY(frame::parse_ip(in.at("from").get<std::string>()));
    const auto to = TRY(frame::parse_endpoint(in.at("to").get<std::string>()));
    ConntrackFill what{.from = from,
                       .to = to,
                       .ports = in.at("ports").get<std::uint16_t>(),
                       .count = in.at("count").get<std::uint32_t>(),
                       .assured = in.at("assured").get<bool>()};
    if (what.ports == 0 || what.from.family != what.to.address.family) {
        return fail(ErrorCode::kBadInput,
                    "entries need at least one port, and two addresses of one family");
    }
    return what;
}

json filter_to_json(const ConntrackFilter& filter) {
    json out = json::object();
    if (filter.protocol) {
        out["protocol"] = *filter.protocol;
    }
    if (filter.original_destination_port) {
        out["original_destination_port"] = *filter.original_destination_port;
    }
    if (filter.births_only) {
        out["births_only"] = true;
    }
    return out;
}

ConntrackFilter filter_from_json(const json& in) {
    ConntrackFilter filter;
    if (in.contains("protocol")) {
        filter.protocol = in["protocol"].get<std::uint8_t>();
    }
    if (in.contains("original_destination_port")) {
        filter.original_destination_port = in["original_destination_port"].get<std::uint16_t>();
    }
    filter.births_only = in.value("births_only", false);
    return filter;
}

}  // namespace pathproof::agent
