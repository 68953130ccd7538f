// What the controller and the tester process say to each other: the fields of options, plans and
// reports.
#pragma once

#include "dataplane/judge/pair_report.h"
#include "dataplane/port/port.h"
#include "dataplane/softnic/wire.h"
#include "dataplane/traffic/pair_plan.h"
#include "harness/message/archive.h"
#include "harness/tester/client.h"

// fields() is found by the namespace of what it lists.
namespace pathproof::port {

template <typename Archive>
void fields(Archive& archive, PortInfo& info) {
    archive("name", info.name);
    archive("device", info.device);
    archive("driver", info.driver);
    archive("evidence", info.evidence);
    archive("mac", info.mac);
    archive("link_mbps", info.link_mbps);
    archive("link_up", info.link_up);
    archive("duplex", info.duplex);
    archive("speed", info.speed);
    archive("numa_node", info.numa_node);
    archive("spreading", info.spreading);
    archive("tx_offloads", info.tx_offloads);
    archive("rx_offloads", info.rx_offloads);
}

template <typename Archive>
void fields(Archive& archive, PortCounters& counters) {
    archive("rx_packets", counters.rx_packets);
    archive("tx_packets", counters.tx_packets);
    archive("rx_missed", counters.rx_missed);
    archive("rx_no_mbuf", counters.rx_no_mbuf);
    archive("rx_errors", counters.rx_errors);
    archive("tx_errors", counters.tx_errors);
    archive("tx_refused", counters.tx_refused);
    archive("tx_by_interface", counters.tx_by_interface);
}

}  // namespace pathproof::port

namespace pathproof::frame {

template <typename Archive>
void fields(Archive& archive, OffloadRequest& request) {
    archive("mbuf_flags", request.mbuf_flags);
    archive("port_offloads", request.port_offloads);
    archive("outer_l2_len", request.outer_l2_len);
    archive("outer_l3_len", request.outer_l3_len);
    archive("l2_len", request.l2_len);
    archive("l3_len", request.l3_len);
    archive("l4_len", request.l4_len);
    archive("segment_bytes", request.segment_bytes);
}

}  // namespace pathproof::frame

namespace pathproof::traffic {

template <typename Archive>
void fields(Archive& archive, ExchangeFrame& frame) {
    archive("bytes", frame.bytes);
    archive("request", frame.request);
    archive("vlan_tci", frame.vlan_tci);
    archive("buffers", frame.buffers);
}

template <typename Archive>
void fields(Archive& archive, ExchangePlan& plan) {
    archive("from", plan.from);
    archive("to", plan.to);
    archive("frames", plan.frames);
    archive("quiet_ns", plan.quiet);
}

template <typename Archive>
void fields(Archive& archive, FrameRefusal& refusal) {
    archive("index", refusal.index);
    archive("reason", refusal.reason);
}

template <typename Archive>
void fields(Archive& archive, ArrivedFrame& frame) {
    archive("bytes", frame.bytes);
    archive("mbuf_flags", frame.mbuf_flags);
    archive("packet_type", frame.packet_type);
    archive("vlan_tci", frame.vlan_tci);
}

template <typename Archive>
void fields(Archive& archive, ExchangeReport& report) {
    archive("sent", report.sent);
    archive("refusals", report.refusals);
    archive("arrived", report.arrived);
    archive("from", report.from);
    archive("to", report.to);
    archive("objections", report.objections);
}

template <typename Archive>
void fields(Archive& archive, VxlanCarrier& carrier) {
    archive("vni", carrier.vni);
    archive("source_mac", carrier.source_mac);
    archive("destination_mac", carrier.destination_mac);
    archive("source", carrier.source);
    archive("destination", carrier.destination);
    archive("udp_checksum", carrier.udp_checksum);
}

template <typename Archive>
void fields(Archive& archive, PairMember& member) {
    archive("port", member.port);
    archive("source_mac", member.source_mac);
    archive("destination_mac", member.destination_mac);
    archive("first_client", member.first_client);
    archive("source_port_offset", member.source_port_offset);
    archive("qtype", member.qtype);
    archive("carrier", member.carrier);
}

template <typename Archive>
void fields(Archive& archive, RecordPlan& plan) {
    archive("port", plan.port);
    archive("most_frames", plan.most_frames);
    archive("most_bytes", plan.most_bytes);
}

template <typename Archive>
void fields(Archive& archive, RecordEnd& end) {
    archive("expected", end.expected);
    archive("quiet_ns", end.quiet);
    archive("longest_ns", end.longest);
}

template <typename Archive>
void fields(Archive& archive, Recording& recording) {
    archive("frames", recording.frames);
    archive("received", recording.received);
    archive("left_out", recording.left_out);
    archive("cut", recording.cut);
    archive("tester_lost", recording.tester_lost);
}

template <typename Archive>
void fields(Archive& archive, PairPlan& plan) {
    archive("pairs", plan.pairs);
    archive("pairs_per_second", plan.pairs_per_second);
    archive("departure", plan.departure);
    archive("skew_ns", plan.skew);
    archive("members", plan.members);
    archive("service", plan.service);
    archive("warm_up", plan.warm_up);
    archive("suffix", plan.suffix);
    archive("first_source_port", plan.first_source_port);
    archive("source_ports", plan.source_ports);
    archive("answer_timeout_ns", plan.answer_timeout);
    archive("drain_ns", plan.drain);
    archive("late_share_allowed", plan.late_share_allowed);
    archive("seed", plan.seed);
    archive("keep_bad_frames", plan.keep_bad_frames);
}

template <typename Archive>
void fields(Archive& archive, AnswerRule& rule) {
    archive("suffix", rule.suffix);
    archive("qtype", rule.qtype);
    archive("rcode", rule.rcode);
    archive("addresses", rule.addresses);
    archive("cname", rule.cname);
    archive("delay_ns", rule.delay);
    archive("loss", rule.loss);
    archive("truncated", rule.truncated);
}

template <typename Archive>
void fields(Archive& archive, ResponderPlan& plan) {
    archive("port", plan.port);
    archive("rules", plan.rules);
    archive("seed", plan.seed);
}

}  // namespace pathproof::traffic

namespace pathproof::judge {

template <typename Archive>
void fields(Archive& archive, Layer& layer) {
    archive("depth", layer.depth);
    archive("protocol", layer.protocol);
}

template <typename Archive>
void fields(Archive& archive, ChecksumFinding& finding) {
    archive("layer", finding.layer);
    archive("state", finding.state);
    archive("field_offset", finding.field_offset);
    archive("wire", finding.wire);
    archive("right", finding.right);
}

template <typename Archive>
void fields(Archive& archive, QueryRecord& record) {
    archive("pair", record.pair);
    archive("member", record.member);
    archive("state", record.state);
    archive("duplicates", record.duplicates);
    archive("server_saw", record.server_saw);
    archive("server", record.server);
    archive("seen_client", record.seen_client);
    archive("answer_source", record.answer_source);
    archive("sent_ns", record.sent_ns);
    archive("answered_ns", record.answered_ns);
}

template <typename Archive>
void fields(Archive& archive, ReceiveTally& tally) {
    archive("received", tally.received);
    archive("answers", tally.answers);
    archive("bad_checksum", tally.bad_checksum);
    archive("malformed", tally.malformed);
    archive("other_traffic", tally.other_traffic);
    archive("icmp_errors", tally.icmp_errors);
}

template <typename Archive>
void fields(Archive& archive, Departures& departures) {
    archive("sent", departures.sent);
    archive("late", departures.late);
    archive("worst_late_ns", departures.worst_late_ns);
    archive("skew_p50_ns", departures.skew_p50_ns);
    archive("skew_p99_ns", departures.skew_p99_ns);
    archive("refused", departures.refused);
}

template <typename Archive>
void fields(Archive& archive, LatencySummary& latency) {
    archive("count", latency.count);
    archive("min_ns", latency.min_ns);
    archive("p50_ns", latency.p50_ns);
    archive("p99_ns", latency.p99_ns);
    archive("max_ns", latency.max_ns);
}

template <typename Archive>
void fields(Archive& archive, KeptFrame& frame) {
    archive("port", frame.port);
    archive("time_ns", frame.time_ns);
    archive("bytes", frame.bytes);
    archive("finding", frame.finding);
}

template <typename Archive>
void fields(Archive& archive, PairReport& report) {
    archive("records", report.records);
    archive("departures", report.departures);
    archive("client", report.client);
    archive("server", report.server);
    archive("checksums", report.checksums);
    archive("bad_frames", report.bad_frames);
    archive("misdelivered_frames", report.misdelivered_frames);
    archive("latency", report.latency);
    archive("ports", report.ports);
    archive("tester_lost", report.tester_lost);
    archive("seconds", report.seconds);
    archive("objections", report.objections);
}

}  // namespace pathproof::judge

namespace pathproof::softnic {

template <typename Archive>
void fields(Archive& archive, WirePlan& plan) {
    archive("port_a", plan.port_a);
    archive("port_b", plan.port_b);
    archive("mode", plan.mode);
    archive("tunnel_ports", plan.tunnel_ports);
    archive("keep_bad_frames", plan.keep_bad_frames);
}

template <typename Archive>
void fields(Archive& archive, WireFrame& frame) {
    archive("direction", frame.direction);
    archive("time_ns", frame.time_ns);
    archive("bytes", frame.bytes);
    archive("bad", frame.bad);
}

template <typename Archive>
void fields(Archive& archive, WireTally& tally) {
    archive("received", tally.received);
    archive("forwarded", tally.forwarded);
    archive("not_forwarded", tally.not_forwarded);
    archive("malformed", tally.malformed);
    archive("truncated", tally.truncated);
    archive("too_long", tally.too_long);
    archive("handed_partial", tally.handed_partial);
    archive("completed", tally.completed);
    archive("completed_by_value", tally.completed_by_value);
    archive("bad_frames", tally.bad_frames);
    archive("checksums", tally.checksums);
}

template <typename Archive>
void fields(Archive& archive, WireReport& report) {
    archive("mode", report.mode);
    archive("directions", report.directions);
    archive("kept", report.kept);
    archive("ports", report.ports);
    archive("tester_lost", report.tester_lost);
    archive("seconds", report.seconds);
    archive("started_unix_ns", report.started_unix_ns);
    archive("objections", report.objections);
    archive("partial", report.partial);
}

template <typename Archive>
void fields(Archive& archive, NicCounters& counters) {
    archive("tx_handed_over", counters.tx_handed_over);
    archive("tx_refused", counters.tx_refused);
    archive("tx_frames", counters.tx_frames);
    archive("tx_super_frames", counters.tx_super_frames);
    archive("wire_dropped", counters.wire_dropped);
    archive("rx_frames", counters.rx_frames);
    archive("rx_dropped", counters.rx_dropped);
    archive("rx_csum_bad", counters.rx_csum_bad);
    archive("rx_ip_csum_bad", counters.rx_ip_csum_bad);
    archive("rx_l4_csum_bad", counters.rx_l4_csum_bad);
    archive("rx_outer_ip_csum_bad", counters.rx_outer_ip_csum_bad);
    archive("rx_outer_l4_csum_bad", counters.rx_outer_l4_csum_bad);
    archive("refused_by", counters.refused_by);
}

template <typename Archive>
void fields(Archive& archive, NicLinkTally& tally) {
    archive("taken", tally.taken);
    archive("delivered", tally.delivered);
    archive("not_taken", tally.not_taken);
    archive("no_buffer", tally.no_buffer);
    archive("nic", tally.nic);
    archive("fault_hits", tally.fault_hits);
}

template <typename Archive>
void fields(Archive& archive, NicLinkReport& report) {
    archive("nic", report.nic);
    archive("directions", report.directions);
    archive("ports", report.ports);
    archive("objections", report.objections);
}

}  // namespace pathproof::softnic

namespace pathproof::tester {

// What the tester says of itself once its ports are open.
struct Opened {
    std::string dpdk_version;
    std::vector<port::PortInfo> ports;
};

template <typename Archive>
void fields(Archive& archive, SoftwareNic& nic) {
    archive("faults", nic.faults);
    archive("seed", nic.seed);
}

template <typename Archive>
void fields(Archive& archive, PortRequest& request) {
    archive("name", request.name);
    archive("device", request.device);
    archive("tx_offloads", request.tx_offloads);
    archive("offloads", request.offloads);
    archive("pool_mbufs", request.pool_mbufs);
    archive("queues", request.queues);
}

template <typename Archive>
void fields(Archive& archive, TesterOptions& options) {
    archive("netns", options.netns);
    archive("ports", options.ports);
    archive("worker_cpus", options.worker_cpus);
    archive("hugepages", options.hugepages);
    archive("memory_mib", options.memory_mib);
    archive("software_nic", options.software_nic);
}

template <typename Archive>
void fields(Archive& archive, Opened& opened) {
    archive("dpdk_version", opened.dpdk_version);
    archive("ports", opened.ports);
}

}  // namespace pathproof::tester

namespace pathproof::message {

template <>
inline constexpr bool kPacked<judge::QueryRecord> = true;
template <>
inline constexpr bool kPacked<judge::ChecksumFinding> = true;
template <>
inline constexpr bool kPacked<judge::Layer> = true;

template <>
inline constexpr std::size_t kValues<port::Evidence> = 3;
template <>
inline constexpr std::size_t kValues<port::PortInfo::Duplex> = 3;
template <>
inline constexpr std::size_t kValues<port::PortInfo::Speed> = 3;
template <>
inline constexpr std::size_t kValues<traffic::Departure> = 3;
template <>
inline constexpr std::size_t kValues<judge::QueryState> = judge::kQueryStates;
template <>
inline constexpr std::size_t kValues<judge::ChecksumState> = 4;
template <>
inline constexpr std::size_t kValues<judge::Depth> = 3;
template <>
inline constexpr std::size_t kValues<judge::Protocol> = judge::kProtocolCount;
template <>
inline constexpr std::size_t kValues<softnic::WireMode> = 2;
template <>
inline constexpr std::size_t kValues<softnic::Direction> = 2;

template <>
inline constexpr bool kPacked<traffic::ExchangeFrame> = true;
template <>
inline constexpr bool kPacked<frame::OffloadRequest> = true;
template <>
inline constexpr bool kPacked<traffic::ArrivedFrame> = true;
template <>
inline constexpr std::size_t kValues<tester::PortOffloads> = 2;

}  // namespace pathproof::message
