// Messages between the controller and the tester process: the fields of options, plans and reports.
#pragma once

#include "dataplane/judge/pair_report.h"
#include "dataplane/pairs/pair_plan.h"
#include "dataplane/port/port.h"
#include "dataplane/softnic/wire.h"
#include "harness/message/archive.h"
#include "harness/tester/client.h"

namespace pathproof::port {

ENUM_VALUES(Evidence, 3)
ENUM_VALUES(PortOffloads, 2)
ENUM_VALUES(PortHears, 2)

FIELDS(PortInfo, name, device, driver, evidence, mac, link_mbps, numa_node, tx_offloads,
       rx_offloads)
FIELDS(PortRequest, name, device, tx_offloads, offloads, pool_mbufs, queues, xdp_interface,
       send_buffer_bytes, hears)
FIELDS(PortCounters, rx_packets, tx_packets, rx_missed, rx_no_mbuf, rx_errors, tx_errors,
       tx_by_interface)

}  // namespace pathproof::port

namespace pathproof::frame {

PACKED_FIELDS(OffloadRequest, mbuf_flags, port_offloads, outer_l2_len, outer_l3_len, l2_len, l3_len,
              l4_len, segment_bytes)

}  // namespace pathproof::frame

namespace pathproof::pairs {

ENUM_VALUES(Departure, 3)

FIELDS(VxlanCarrier, vni, source_mac, destination_mac, source, destination, udp_checksum)
FIELDS(PairMember, port, source_mac, destination_mac, first_client, source_port_offset, qtype,
       carrier)
FIELDS(PairPlan, pairs, pairs_per_second, departure, skew, members, service, warm_up, least_read,
       suffix, first_source_port, source_ports, answer_timeout, drain, late_share_allowed, seed,
       keep_bad_frames)

}  // namespace pathproof::pairs

namespace pathproof::traffic {

PACKED_FIELDS(ExchangeFrame, bytes, request, vlan_tci, buffers)
FIELDS(ExchangePlan, from, to, frames, quiet)
FIELDS(FrameRefusal, index, reason)
PACKED_FIELDS(ArrivedFrame, bytes, mbuf_flags, packet_type, vlan_tci)
FIELDS(ExchangeReport, refusals, arrived, objections)
FIELDS(RecordPlan, port, most_frames, most_bytes)
FIELDS(RecordEnd, expected, quiet, longest)
FIELDS(Recording, frames, received, left_out, cut, tester_lost)
FIELDS(AnswerRule, suffix, qtype, rcode, addresses, cname, delay, loss, truncated)
FIELDS(ResponderPlan, port, rules, seed)

}  // namespace pathproof::traffic

namespace pathproof::judge {

ENUM_VALUES(QueryState, kQueryStates)
ENUM_VALUES(ChecksumState, 4)
ENUM_VALUES(Depth, 3)
ENUM_VALUES(Protocol, kProtocolCount)

PACKED_FIELDS(Layer, depth, protocol)
PACKED_FIELDS(ChecksumFinding, layer, state, field_offset, wire, right)
PACKED_FIELDS(QueryRecord, pair, member, state, duplicates, server_saw, server, seen_client,
              answer_source, sent_ns, answered_ns)
FIELDS(ReceiveTally, received, answers, bad_checksum, malformed, other_traffic, icmp_errors)
FIELDS(Departures, sent, late, worst_late_ns, skew_p50_ns, skew_p99_ns, refused)
FIELDS(LatencySummary, count, min_ns, p50_ns, p99_ns, max_ns)
FIELDS(KeptFrame, port, time_ns, bytes, finding)
FIELDS(PairReport, records, departures, client, server, checksums, bad_frames, misdelivered_frames,
       latency, ports, tester_lost, seconds, objections, disturbances)

}  // namespace pathproof::judge

namespace pathproof::judge {

FIELDS(LatencyBins, bins, counts, min_ns, max_ns, bias_ns)

// A histogram travels as its contents.
inline void to_json(nlohmann::json& out, const LatencyHistogram& histogram) {
    out = message::encode(histogram.contents());
}
inline void from_json(const nlohmann::json& in, LatencyHistogram& histogram) {
    LatencyBins contents;
    message::Reader::read(in, contents);
    histogram = LatencyHistogram::of(contents);
}

}  // namespace pathproof::judge

namespace pathproof::load {

FIELDS(OwnBias, floor_ns, single_ns, burst_ns, hand_over_ns, poll_ns)

}  // namespace pathproof::load

namespace pathproof::measure {

FIELDS(FrameShare, bytes, weight)
FIELDS(PathLoad, from, to, queues, frames, source_mac, destination_mac, source, destination, flows,
       seed, allow, drain, offered_tolerance)

}  // namespace pathproof::measure

namespace pathproof::search {

FIELDS(TrialInput::Change, load_pps, duration)
FIELDS(TrialInput, load_pps, duration, frames, change)
FIELDS(TrialOutput, input, offered_pps, sent, lost, duplicates, reordered, bad_checksums, latency,
       trial_seconds, overhead_seconds, tester_limit, limited_by_stalls, objection, disturbance,
       partial, last_loss)

}  // namespace pathproof::search

namespace pathproof::softnic {

ENUM_VALUES(WireMode, 2)
ENUM_VALUES(Direction, 2)

FIELDS(WirePlan, mode, tunnel_ports, keep_bad_frames)
FIELDS(WireFrame, direction, time_ns, bytes, bad)
FIELDS(WireTally, received, bytes, forwarded, not_forwarded, malformed, truncated, too_long,
       handed_partial, completed, completed_by_value, bad_frames, checksums)
FIELDS(WrongSource, direction, on_wire, right_for, frames)
FIELDS(WireReport, mode, directions, kept, wrong_sources, wrong_sources_left_out, ports,
       tester_lost, seconds, started_unix_ns, objections, partial)
FIELDS(NicCounters, tx_handed_over, tx_refused, tx_frames, tx_super_frames, wire_dropped, rx_frames,
       rx_dropped, rx_csum_bad, rx_ip_csum_bad, rx_l4_csum_bad, rx_outer_ip_csum_bad,
       rx_outer_l4_csum_bad, refused_by)
FIELDS(NicLinkTally, taken, delivered, not_taken, no_buffer, nic, fault_hits)
FIELDS(NicLinkReport, directions, objections)

}  // namespace pathproof::softnic

namespace pathproof::tester {

FIELDS(SoftwareNic, faults, seed)
FIELDS(TesterOptions, netns, ports, worker_cpus, hugepages, software_nic)
FIELDS(Opened, dpdk_version, ports)
FIELDS(LoadEnd, bias, clock_ppm)

}  // namespace pathproof::tester
