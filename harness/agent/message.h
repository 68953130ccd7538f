// What the controller and the agent tell each other: the fields of requests and results, and what a
// request must not ask for.
#pragma once

#include "harness/agent/client.h"
#include "harness/message/archive.h"
#include "harness/verdict/result.h"

// fields() is found by the namespace of what it lists.
namespace pathproof::frame {

template <typename Archive>
void fields(Archive& archive, VirtioRequest& request) {
    archive("flags", request.flags);
    archive("gso_type", request.gso_type);
    archive("hdr_len", request.header_length);
    archive("gso_size", request.gso_size);
    archive("csum_start", request.csum_start);
    archive("csum_offset", request.csum_offset);
}

}  // namespace pathproof::frame

namespace pathproof::netfilter {

template <typename Archive>
void fields(Archive& archive, Tuple::Icmp& icmp) {
    archive("type", icmp.type);
    archive("code", icmp.code);
    archive("id", icmp.id);
}

template <typename Archive>
void fields(Archive& archive, Tuple& tuple) {
    archive("source", tuple.source);
    archive("destination", tuple.destination);
    archive("protocol", tuple.protocol);
    archive("icmp", tuple.icmp);
}

template <typename Archive>
void fields(Archive& archive, Counters& counters) {
    archive("packets", counters.packets);
    archive("bytes", counters.bytes);
}

template <typename Archive>
void fields(Archive& archive, Entry& entry) {
    archive("id", entry.id);
    archive("original", entry.original);
    archive("reply", entry.reply);
    archive("status", entry.status);
    archive("timeout_s", entry.timeout_s);
    archive("mark", entry.mark);
    archive("mark_reported", entry.mark_reported);
    archive("zone", entry.zone);
    archive("zone_direction", entry.zone_direction);
    archive("protocol_state", entry.protocol_state);
    archive("helper", entry.helper);
    archive("labels", entry.labels);
    archive("original_counters", entry.original_counters);
    archive("reply_counters", entry.reply_counters);
    archive("started_ns", entry.started_ns);
    archive("stopped_ns", entry.stopped_ns);
    archive("use", entry.use);
    archive("security_context", entry.security_context);
}

template <typename Archive>
void fields(Archive& archive, Event& event) {
    archive("kind", event.kind);
    archive("time_ns", event.time_ns);
    archive("entry", event.entry);
    archive("cause_port", event.cause_port);
    archive("kernel_time_ns", event.kernel_time_ns);
    archive("missed", event.missed);
}

template <typename Archive>
void fields(Archive& archive, EventLog& log) {
    archive("events", log.events);
    archive("overruns", log.overruns);
    archive("unreadable", log.unreadable);
}

template <typename Archive>
void fields(Archive& archive, TableSize& table) {
    archive("entries", table.entries);
    archive("maximum", table.maximum);
}

}  // namespace pathproof::netfilter

namespace pathproof::drops {

template <typename Archive>
void fields(Archive& archive, DropCount& count) {
    archive("reason", count.reason);
    archive("location", count.location);
    archive("protocol", count.protocol);
    archive("flow", count.flow);
    archive("packets", count.packets);
}

// Not the last few drops one by one.
template <typename Archive>
void fields(Archive& archive, DropSummary& drops) {
    archive("scope", drops.scope);
    archive("scope_reason", drops.scope_reason);
    archive("lost", drops.lost);
    archive("counts", drops.counts);
}

template <typename Archive>
void fields(Archive& archive, Outage& outage) {
    archive("device", outage.device);
    archive("from_ns", outage.from_ns);
    archive("until_ns", outage.until_ns);
}

}  // namespace pathproof::drops

namespace pathproof::verdict {

template <typename Archive>
void fields(Archive& archive, Fact& fact) {
    archive("name", fact.name);
    archive("value", fact.value);
    archive("status", fact.status);
    archive("source", fact.source);
}

template <typename Archive>
void fields(Archive& archive, FactGroup& group) {
    archive("title", group.title);
    archive("facts", group.facts);
}

}  // namespace pathproof::verdict

namespace pathproof::agent {

template <typename Archive>
void fields(Archive& archive, Feature& feature) {
    archive("name", feature.name);
    archive("active", feature.active);
    archive("requested", feature.requested);
    archive("available", feature.available);
    archive("fixed", feature.never_changed);
}

template <typename Archive>
void fields(Archive& archive, FeatureChange& change) {
    archive("name", change.name);
    archive("before", change.before);
    archive("after", change.after);
    archive("asked", change.asked);
}

template <typename Archive>
void fields(Archive& archive, FeatureTrial& trial) {
    archive("name", trial.name);
    archive("wanted", trial.wanted);
    archive("outcome", trial.outcome);
    archive("reason", trial.reason);
    archive("along", trial.along);
}

template <typename Archive>
void fields(Archive& archive, HostChange& change) {
    archive("kind", change.kind);
    archive("device", change.device);
    archive("name", change.name);
    archive("value", change.value);
    archive("undo", change.undo);
    archive("allowed", change.allowed);
}

template <typename Archive>
void fields(Archive& archive, PciIds& ids) {
    archive("vendor", ids.vendor);
    archive("device", ids.device);
    archive("subsystem_vendor", ids.subsystem_vendor);
    archive("subsystem_device", ids.subsystem_device);
}

template <typename Archive>
void fields(Archive& archive, PcieSpeed& speed) {
    archive("gt_s", speed.gt_s);
    archive("lanes", speed.lanes);
}

template <typename Archive>
void fields(Archive& archive, PcieLink& link) {
    archive("linked", link.linked);
    archive("device", link.device);
    archive("slot", link.slot);
}

template <typename Archive>
void fields(Archive& archive, DeviceInfo& info) {
    archive("name", info.name);
    archive("driver", info.driver);
    archive("driver_version", info.driver_version);
    archive("firmware", info.firmware);
    archive("bus", info.bus);
    archive("srcversion", info.srcversion);
    archive("pci", info.pci);
    archive("pcie", info.pcie);
    archive("numa_node", info.numa_node);
    archive("mac", info.mac);
    archive("permanent_mac", info.permanent_mac);
    archive("mtu", info.mtu);
    archive("link_up", info.link_up);
    archive("speed_mbps", info.speed_mbps);
    archive("statistics", info.statistics);
}

template <typename Archive>
void fields(Archive& archive, ProbeResult& result) {
    archive("ok", result.ok);
    archive("outcome", result.outcome);
    archive("milliseconds", result.milliseconds);
    archive("sent", result.sent);
    archive("received", result.received);
}

template <typename Archive>
void fields(Archive& archive, PingOptions& options) {
    archive("destination", options.destination);
    archive("count", options.count);
    archive("payload_bytes", options.payload_bytes);
    archive("interval_ms", options.interval);
    archive("timeout_ms", options.timeout);
}

template <typename Archive>
void fields(Archive& archive, DnsLookupOptions& options) {
    archive("server", options.server);
    archive("name", options.name);
    archive("tcp", options.tcp);
    archive("attempts", options.attempts);
    archive("timeout_ms", options.timeout);
}

template <typename Archive>
void fields(Archive& archive, TransferOptions& options) {
    archive("server", options.server);
    archive("bytes", options.bytes);
    archive("timeout_ms", options.timeout);
}

template <typename Archive>
void fields(Archive& archive, DnsServerOptions& options) {
    archive("listen", options.listen);
    archive("address", options.address);
    archive("address6", options.address6);
    archive("delay_ms", options.delay);
}

template <typename Archive>
void fields(Archive& archive, ClosingServerOptions& options) {
    archive("listen", options.listen);
    archive("closes_first", options.closes_first);
    archive("greeting", options.greeting);
}

template <typename Archive>
void fields(Archive& archive, ConnectsOptions& options) {
    archive("server", options.server);
    archive("count", options.count);
    archive("per_second", options.per_second);
    archive("closes_first", options.closes_first);
    archive("timeout_ms", options.timeout);
    archive("asks_after_ms", options.asks_after);
}

inline Status check(const ConnectsOptions& options) {
    constexpr std::uint32_t kMostConnects = 100'000;
    if (options.count > kMostConnects || !(options.per_second > 0)) {
        return fail(ErrorCode::kBadInput,
                    "{} connections at {} a second: allowed are up to {}, at more than 0 a second",
                    options.count, options.per_second, kMostConnects);
    }
    return {};
}

template <typename Archive>
void fields(Archive& archive, Connect& connect) {
    archive("start_ns", connect.start_ns);
    archive("port", connect.port);
    archive("error", connect.error);
    archive("milliseconds", connect.milliseconds);
    archive("said", connect.said);
    archive("end", connect.end);
}

template <typename Archive>
void fields(Archive& archive, ConnectsReport& report) {
    archive("connects", report.connects);
    archive("seconds", report.seconds);
    archive("worst_late_ms", report.worst_late_ms);
    archive("left_open", report.left_open);
}

template <typename Archive>
void fields(Archive& archive, DnsmasqOptions& options) {
    archive("addresses", options.addresses);
    archive("upstream", options.upstream);
    archive("cache_size", options.cache_size);
    archive("max_tcp_connections", options.max_tcp_connections);
    archive("dns_forward_max", options.dns_forward_max);
}

template <typename Archive>
void fields(Archive& archive, DnsmasqWorkers& workers) {
    archive("in_use", workers.in_use);
    archive("highest", workers.highest);
    archive("most", workers.most);
}

template <typename Archive>
void fields(Archive& archive, DnsmasqReport& report) {
    archive("ended", report.ended);
    archive("workers", report.workers);
    archive("said", report.said);
    archive("log", report.log);
}

template <typename Archive>
void fields(Archive& archive, TcpQueue::Connection& connection) {
    archive("peer", connection.peer);
    archive("first_waiting_ns", connection.first_waiting_ns);
    archive("last_waiting_ns", connection.last_waiting_ns);
    archive("accepted_ns", connection.accepted_ns);
    archive("unacknowledged_ns", connection.unacknowledged_ns);
}

template <typename Archive>
void fields(Archive& archive, TcpQueue& queue) {
    archive("connections", queue.connections);
    archive("most_waiting", queue.most_waiting);
    archive("looks", queue.looks);
}

template <typename Archive>
void fields(Archive& archive, ForwarderOptions& options) {
    archive("listen", options.listen);
    archive("upstream", options.upstream);
    archive("prefer_udp", options.prefer_udp);
    archive("max_idle", options.max_idle);
}

template <typename Archive>
void fields(Archive& archive, ForwarderTry& each) {
    archive("query", each.query);
    archive("client_port", each.client_port);
    archive("port", each.port);
    archive("start_ns", each.start_ns);
    archive("end_ns", each.end_ns);
    archive("connected", each.connected);
    archive("outcome", each.outcome);
}

template <typename Archive>
void fields(Archive& archive, ForwarderReport& report) {
    archive("queries", report.queries);
    archive("answered", report.answered);
    archive("servfail", report.servfail);
    archive("dials", report.dials);
    archive("most_open", report.most_open);
    archive("idle", report.idle);
    archive("refusal", report.refusal);
    archive("tries", report.tries);
}

template <typename Archive>
void fields(Archive& archive, DnsLoadOptions& options) {
    archive("server", options.server);
    archive("name", options.name);
    archive("own_names", options.own_names);
    archive("asks", options.asks);
    archive("lookups", options.lookups);
    archive("per_second", options.per_second);
    archive("timeout_ms", options.timeout);
}

inline Status check(const DnsLoadOptions& options) {
    constexpr std::uint32_t kMostLookups = 12'000;  // a descriptor each
    if (options.lookups > kMostLookups || !(options.per_second >= 0)) {
        return fail(ErrorCode::kBadInput, "{} lookups at {} a second: allowed are up to {}",
                    options.lookups, options.per_second, kMostLookups);
    }
    return {};
}

template <typename Archive>
void fields(Archive& archive, DnsLoadReport::Lookup& lookup) {
    archive("port", lookup.port);
    archive("start_ns", lookup.start_ns);
    archive("asked", lookup.asked);
    archive("answered", lookup.answered);
    archive("rcode", lookup.rcode);
    archive("error", lookup.error);
    archive("milliseconds", lookup.milliseconds);
}

template <typename Archive>
void fields(Archive& archive, DnsLoadReport& report) {
    archive("lookups", report.lookups);
}

template <typename Archive>
void fields(Archive& archive, ConntrackFill& fill) {
    archive("from", fill.from);
    archive("to", fill.to);
    archive("ports", fill.ports);
    archive("count", fill.count);
    archive("assured", fill.assured);
}

inline Status check(const ConntrackFill& fill) {
    if (fill.ports == 0 || fill.from.family != fill.to.address.family) {
        return fail(ErrorCode::kBadInput,
                    "entries need at least one port, and two addresses of one family");
    }
    return {};
}

template <typename Archive>
void fields(Archive& archive, ConntrackFilter& filter) {
    archive("protocol", filter.protocol);
    archive("original_destination_port", filter.original_destination_port);
    archive("births_only", filter.births_only);
}

template <typename Archive>
void fields(Archive& archive, PathEvents& seen) {
    archive("drops", seen.drops);
    archive("untraced", seen.untraced);
    archive("outages", seen.outages);
    archive("began_ns", seen.began_ns);
    archive("backlog", seen.backlog);
}

template <typename Archive>
void fields(Archive& archive, OffloadFrame& frame) {
    archive("bytes", frame.bytes);
    archive("request", frame.request);
}

template <typename Archive>
void fields(Archive& archive, SendRefusal& refusal) {
    archive("index", refusal.index);
    archive("reason", refusal.reason);
}

template <typename Archive>
void fields(Archive& archive, SendReport& report) {
    archive("sent", report.sent);
    archive("refusals", report.refusals);
}

template <typename Archive>
void fields(Archive& archive, CapturedFrame& frame) {
    archive("bytes", frame.bytes);
    archive("length", frame.length);
    archive("checksum", frame.checksum);
    archive("request", frame.request);
    archive("vlan_tci", frame.vlan_tci);
    archive("time_ns", frame.time_ns);
}

template <typename Archive>
void fields(Archive& archive, CaptureOptions& options) {
    archive("device", options.device);
    archive("most_frames", options.most_frames);
    archive("most_bytes", options.most_bytes);
    archive("tcp_flags", options.tcp_flags);
}

inline Status check(const CaptureOptions& options) {
    constexpr std::uint32_t kMostFrameBytes = 65'550;
    constexpr std::uint32_t kMostFrames = 1'000'000;
    if (options.most_frames > kMostFrames || options.most_bytes > kMostFrameBytes) {
        return fail(ErrorCode::kBadInput, "{} frames of {} bytes are over {} of {}",
                    options.most_frames, options.most_bytes, kMostFrames, kMostFrameBytes);
    }
    return {};
}

template <typename Archive>
void fields(Archive& archive, Capture& capture) {
    archive("frames", capture.frames);
    archive("left_out", capture.left_out);
    archive("dropped", capture.dropped);
}

template <typename Archive>
void fields(Archive& archive, DatagramOptions& options) {
    archive("source", options.source);
    archive("destination", options.destination);
    archive("payloads", options.payloads);
    archive("source_ports", options.source_ports);
    archive("segment_bytes", options.segment_bytes);
    archive("checksum", options.checksum);
}

}  // namespace pathproof::agent

namespace pathproof::message {

// There are thousands of each.
template <>
inline constexpr bool kPacked<netfilter::Tuple::Icmp> = true;
template <>
inline constexpr bool kPacked<netfilter::Tuple> = true;
template <>
inline constexpr bool kPacked<netfilter::Counters> = true;
template <>
inline constexpr bool kPacked<netfilter::Entry> = true;
template <>
inline constexpr bool kPacked<netfilter::Event> = true;
template <>
inline constexpr bool kPacked<agent::Connect> = true;
template <>
inline constexpr bool kPacked<agent::TcpQueue::Connection> = true;
template <>
inline constexpr bool kPacked<agent::ForwarderTry> = true;
template <>
inline constexpr bool kPacked<agent::DnsLoadReport::Lookup> = true;
template <>
inline constexpr bool kPacked<agent::OffloadFrame> = true;
template <>
inline constexpr bool kPacked<agent::CapturedFrame> = true;
template <>
inline constexpr bool kPacked<frame::VirtioRequest> = true;

template <>
inline constexpr std::size_t kValues<agent::TrialOutcome> = agent::kTrialOutcomes;
template <>
inline constexpr std::size_t kValues<agent::HostChange::Kind> = 5;
template <>
inline constexpr std::size_t kValues<agent::HostChange::Allowed> = 3;
template <>
inline constexpr std::size_t kValues<agent::Closer> = 3;
template <>
inline constexpr std::size_t kValues<agent::ForwarderTry::Outcome> = 6;
template <>
inline constexpr std::size_t kValues<agent::DnsLoadOptions::Asks> = 3;
template <>
inline constexpr std::size_t kValues<agent::ChecksumStatus> = 3;
template <>
inline constexpr std::size_t kValues<agent::UdpChecksum> = 2;
template <>
inline constexpr std::size_t kValues<verdict::Fact::Status> = 3;
template <>
inline constexpr std::size_t kValues<netfilter::EventKind> = 3;
template <>
inline constexpr std::size_t kValues<netfilter::ZoneDirection> = 3;
template <>
inline constexpr std::size_t kValues<drops::Scope> = 2;
template <>
inline constexpr std::size_t kValues<drops::FlowState> = 5;

}  // namespace pathproof::message
