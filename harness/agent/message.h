// What the controller and the agent tell each other: the fields of requests and results, and what a
// request must not ask for.
#pragma once

#include "harness/agent/client.h"
#include "harness/message/archive.h"
#include "harness/verdict/result.h"

namespace pathproof::frame {

PACKED_FIELDS(VirtioRequest, flags, gso_type, header_length, gso_size, csum_start, csum_offset)

}  // namespace pathproof::frame

namespace pathproof::netfilter {

ENUM_VALUES(EventKind, 3)
ENUM_VALUES(ZoneDirection, 3)

PACKED_FIELDS(Tuple::Icmp, type, code, id)
PACKED_FIELDS(Tuple, source, destination, protocol, icmp)
PACKED_FIELDS(Counters, packets, bytes)
PACKED_FIELDS(Entry, id, original, reply, status, timeout_s, mark, mark_reported, zone,
              zone_direction, protocol_state, helper, labels, original_counters, reply_counters,
              started_ns, stopped_ns, use, security_context)
PACKED_FIELDS(Event, kind, time_ns, entry, cause_port, kernel_time_ns, missed)
FIELDS(EventLog, events, overruns, unreadable)
FIELDS(TableSize, entries, maximum)

}  // namespace pathproof::netfilter

namespace pathproof::drops {

ENUM_VALUES(Scope, 2)
ENUM_VALUES(FlowState, 5)

FIELDS(DropCount, reason, location, protocol, flow, packets)

// Not the last few drops one by one.
FIELDS(DropSummary, scope, scope_reason, lost, counts)
FIELDS(Outage, device, from_ns, until_ns)

}  // namespace pathproof::drops

namespace pathproof::verdict {

ENUM_VALUES(Fact::Status, 3)

FIELDS(Fact, name, value, status, source)
FIELDS(FactGroup, title, facts)

}  // namespace pathproof::verdict

namespace pathproof::agent {

ENUM_VALUES(TrialOutcome, kTrialOutcomes)
ENUM_VALUES(HostChange::Kind, 5)
ENUM_VALUES(HostChange::Allowed, 3)
ENUM_VALUES(Closer, 3)
ENUM_VALUES(ForwarderTry::Outcome, 6)
ENUM_VALUES(DnsLoadOptions::Asks, 3)
ENUM_VALUES(ChecksumStatus, 3)
ENUM_VALUES(UdpChecksum, 2)

FIELDS(Feature, name, active, requested, available, never_changed)
FIELDS(FeatureChange, name, before, after, asked)
FIELDS(FeatureTrial, name, wanted, outcome, reason, along)
FIELDS(HostChange, kind, device, name, value, undo, allowed)
FIELDS(PciIds, vendor, device, subsystem_vendor, subsystem_device)
FIELDS(PcieSpeed, gt_s, lanes)
FIELDS(PcieLink, linked, device, slot)
FIELDS(DeviceInfo, name, driver, driver_version, firmware, bus, srcversion, pci, pcie, numa_node,
       mac, permanent_mac, mtu, link_up, speed_mbps, statistics)
FIELDS(ProbeResult, ok, outcome, milliseconds, sent, received)
FIELDS(PingOptions, destination, count, payload_bytes, interval, timeout)
FIELDS(DnsLookupOptions, server, name, tcp, attempts, timeout)
FIELDS(TransferOptions, server, bytes, timeout)
FIELDS(DnsServerOptions, listen, address, address6, delay)
FIELDS(ClosingServerOptions, listen, closes_first, greeting)
FIELDS(ConnectsOptions, server, count, per_second, closes_first, timeout, asks_after)

inline Status check(const ConnectsOptions& options) {
    constexpr std::uint32_t kMostConnects = 100'000;
    if (options.count > kMostConnects || !(options.per_second > 0)) {
        return fail(ErrorCode::kBadInput,
                    "{} connections at {} a second: allowed are up to {}, at more than 0 a second",
                    options.count, options.per_second, kMostConnects);
    }
    return {};
}

PACKED_FIELDS(Connect, start_ns, port, error, milliseconds, said, end)
FIELDS(ConnectsReport, connects, seconds, worst_late_ms, left_open)
FIELDS(DnsmasqOptions, addresses, upstream, cache_size, max_tcp_connections, dns_forward_max)
FIELDS(DnsmasqWorkers, in_use, highest, most)
FIELDS(DnsmasqReport, ended, workers, said, log)
PACKED_FIELDS(TcpQueue::Connection, peer, first_waiting_ns, last_waiting_ns, accepted_ns,
              unacknowledged_ns)
FIELDS(TcpQueue, connections, most_waiting, looks)
FIELDS(ForwarderOptions, listen, upstream, prefer_udp, max_idle)
PACKED_FIELDS(ForwarderTry, query, client_port, port, start_ns, end_ns, connected, outcome)
FIELDS(ForwarderReport, queries, answered, servfail, dials, most_open, idle, refusal, tries)
FIELDS(DnsLoadOptions, server, name, own_names, asks, lookups, per_second, timeout)

inline Status check(const DnsLoadOptions& options) {
    constexpr std::uint32_t kMostLookups = 12'000;  // a descriptor each
    if (options.lookups > kMostLookups || !(options.per_second >= 0)) {
        return fail(ErrorCode::kBadInput, "{} lookups at {} a second: allowed are up to {}",
                    options.lookups, options.per_second, kMostLookups);
    }
    return {};
}

PACKED_FIELDS(DnsLoadReport::Lookup, port, start_ns, asked, answered, rcode, error, milliseconds)
FIELDS(DnsLoadReport, lookups)
FIELDS(ConntrackFill, from, to, ports, count, assured)

inline Status check(const ConntrackFill& fill) {
    if (fill.ports == 0 || fill.from.family != fill.to.address.family) {
        return fail(ErrorCode::kBadInput,
                    "entries need at least one port, and two addresses of one family");
    }
    return {};
}

FIELDS(ConntrackFilter, protocol, original_destination_port, births_only)
FIELDS(PathEvents, drops, untraced, outages, began_ns, backlog)
PACKED_FIELDS(OffloadFrame, bytes, request)
FIELDS(SendRefusal, index, reason)
FIELDS(SendReport, sent, refusals)
PACKED_FIELDS(CapturedFrame, bytes, length, checksum, request, vlan_tci, time_ns)
FIELDS(CaptureOptions, device, most_frames, most_bytes, tcp_flags)

inline Status check(const CaptureOptions& options) {
    constexpr std::uint32_t kMostFrameBytes = 65'550;
    constexpr std::uint32_t kMostFrames = 1'000'000;
    if (options.most_frames > kMostFrames || options.most_bytes > kMostFrameBytes) {
        return fail(ErrorCode::kBadInput, "{} frames of {} bytes are over {} of {}",
                    options.most_frames, options.most_bytes, kMostFrames, kMostFrameBytes);
    }
    return {};
}

FIELDS(Capture, frames, left_out, dropped)
FIELDS(DatagramOptions, source, destination, payloads, source_ports, segment_bytes, checksum)

}  // namespace pathproof::agent
