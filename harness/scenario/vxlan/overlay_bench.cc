#include "harness/scenario/vxlan/overlay_bench.h"

#include <fmt/ranges.h>
#include <netinet/in.h>

#include <algorithm>
#include <future>

#include "dataplane/port/device_name.h"
#include "harness/agent/device_info.h"
#include "harness/agent/name_servers.h"
#include "harness/agent/offload_frames.h"
#include "harness/agent/path_events.h"
#include "harness/lab/link_changes.h"
#include "harness/ports/open.h"
#include "harness/process/at_once.h"
#include "harness/scenario/device_facts.h"
#include "harness/scenario/measures.h"
#include "harness/setting/cures.h"

namespace pathproof::scenario {
namespace {

constexpr std::uint16_t kTransferPort = 5001;
constexpr std::uint16_t kDnsPort = 53;
constexpr std::uint64_t kTransferBytes = 1'000'000;
// A SYN is sent again after 1 s: each probe that fails had two packets or more to fail with.
constexpr std::chrono::milliseconds kProbeTimeout{2000};

std::uint64_t state_at(const softnic::WireReport& wire, judge::Layer layer,
                       judge::ChecksumState state) {
    const std::size_t row = judge::index_of(layer);
    const auto column = static_cast<std::size_t>(state);
    return wire.directions[0].checksums[row][column] + wire.directions[1].checksums[row][column];
}

void take_wire(const softnic::WireReport& wire, OverlayFacts& facts) {
    using judge::ChecksumState, judge::Depth, judge::Protocol;
    for (const softnic::WireTally& tally : wire.directions) {
        facts.frames += tally.received;
        facts.not_carried += tally.not_forwarded;
        facts.too_long += tally.too_long;
        facts.handed_partial += tally.handed_partial;
        facts.completed += tally.completed;
        facts.completed_by_value += tally.completed_by_value;
        facts.bad_frames += tally.bad_frames;
    }
    facts.not_carried += wire.tester_lost;
    facts.bad_outer_udp = state_at(wire, {Depth::kOuter, Protocol::kUdp}, ChecksumState::kBad);
    facts.bad_inner_udp = state_at(wire, {Depth::kInner, Protocol::kUdp}, ChecksumState::kBad);
    facts.bad_inner_tcp = state_at(wire, {Depth::kInner, Protocol::kTcp}, ChecksumState::kBad);
    facts.bad_inner_icmp = state_at(wire, {Depth::kInner, Protocol::kIcmp}, ChecksumState::kBad);
    facts.good_inner_icmp = state_at(wire, {Depth::kInner, Protocol::kIcmp}, ChecksumState::kGood);
    for (const std::string& objection : wire.objections) {
        facts.objection += (facts.objection.empty() ? "" : "; ") + objection;
    }
}

}  // namespace

Result<std::unique_ptr<OverlayBench>> OverlayBench::build(Context& context, Carrier carrier) {
    std::unique_ptr<OverlayBench> bench(new OverlayBench(context));
    bench->lab_ = TRY(context.lab.overlay(context.journal));
    const lab::OverlayNames& names = bench->names();
    using lab::HostRole;
    for (auto [agent, role] : {std::pair{&bench->node_a_, HostRole::kNodeA},
                               {&bench->node_b_, HostRole::kNodeB},
                               {&bench->pod_a_, HostRole::kPodA},
                               {&bench->pod_b_, HostRole::kPodB}}) {
        *agent = bench->lab_->hosts().shared_agent(role);
    }
    TRY(bench->open_wire(carrier));
    context.measured.know_dpdk(bench->tester_->dpdk_version());

    agent::DnsServerOptions dns;
    dns.listen = {names.pod_b_address, kDnsPort};
    dns.address = frame::IpAddress::v4(0xC6336401);  // 198.51.100.1, documentation range
    dns.address6 = *frame::parse_ip("2001:db8::1");
    TRY(bench->pod_b_->start_dns_server(dns));
    TRY(bench->pod_b_->start_transfer_server({names.pod_b_address, kTransferPort}));
    return bench;
}

Status OverlayBench::open_wire(Carrier carrier) {
    const bool fast = carrier == Carrier::kFast;
    std::vector<port::PortRequest> ports{{"u0", port::af_packet_device(names().tester_port_a)},
                                         {"u1", port::af_packet_device(names().tester_port_b)}};
    std::vector<port::PortRequest> of_user;
    const std::optional<lab::PortPlan> plan = lab_->port_plan();
    if (fast) {
        ports[1] = TRY(ports::choose_port("af_xdp:" + names().tester_port_b, names().tester));
    }
    if (plan) {
        ports[0] = TRY(ports::choose_port(names().tester_port_a, names().tester, plan->queues,
                                          &plan->addresses));
        of_user.push_back(ports[0]);
    } else if (fast) {
        ports[0] = TRY(ports::choose_port("af_xdp:" + names().tester_port_a, names().tester));
    }
    tester_ = TRY(ports::open_tester({.netns = names().tester,
                                      .ports = ports,
                                      .worker_cpus = {context_.options.cpus.back()},
                                      .hugepages = context_.options.hugepages},
                                     of_user, context_.journal));
    return {};
}

Result<bool> OverlayBench::feature(const std::string& device, const std::string& feature) {
    std::vector<bool> states;
    for (const auto& node : {&node_a_, &node_b_}) {
        const auto features = TRY((*node)->features(device));
        for (const agent::Feature& each : features) {
            if (each.name == feature) {
                states.push_back(each.active);
            }
        }
    }
    if (states.size() != 2 || states[0] != states[1]) {
        return fail(ErrorCode::kFailed, "feature {} of {} is not the same on both nodes", feature,
                    device);
    }
    return static_cast<bool>(states[0]);
}

// The toggles last: a cure of the run's must not stand in their way.
setting::Settings OverlayBench::settings_of(const OverlayPoint& point) const {
    using lab::HostRole;
    setting::Settings settings = lab_->tunnel(point.udp_checksum);
    if (point.masquerade) {
        settings.push_back(lab_->outer_snat());
    }
    return both(
        both(std::move(settings), context_.options.cure),
        {setting::feature(HostRole::kDut, names().vxlan, setting::kTunnelChecksums, point.vxlan_tx),
         setting::feature(HostRole::kDut, names().underlay, "tx", point.underlay_tx)});
}

Status OverlayBench::set(const OverlayPoint& point, std::optional<bool> super_frames) {
    setting::Settings settings = settings_of(point);
    for (const char* word : lab::kSuperFrameWords) {
        if (super_frames) {
            settings.push_back(
                setting::feature(lab::HostRole::kClient, "eth0", word, *super_frames));
        }
    }
    return lab_->set_anew(settings);
}

Status OverlayBench::change(const OverlayPoint& point) {
    return lab_->hosts().set(settings_of(point), lab::Flows::kKeep);
}

Result<OverlayBench::Reading> OverlayBench::read() {
    Reading reading;
    const std::array<agent::Client*, 4> hosts = this->hosts();
    constexpr std::array<std::size_t, 4> kEach{0, 1, 2, 3};
    TRY(process::at_once(kEach, [&](std::size_t host) -> Status {
        reading.counters[host] = TRY(hosts[host]->counters());
        if (host < reading.conntrack.size()) {
            reading.conntrack[host] = TRY(hosts[host]->conntrack_stats());
        }
        return {};
    }));
    return reading;
}

// The tunnel's flows from conntrack's events, which tell of entries that are gone by now as well.
Status OverlayBench::take_flows(OverlayObservation& seen) {
    for (const auto& [node, address] : {std::pair{node_a_.get(), names().node_a_address},
                                        {node_b_.get(), names().node_b_address}}) {
        const auto log = TRY(node->stop_events());
        for (const netfilter::Event& event : log.events) {
            const netfilter::Entry& entry = event.entry;
            const bool leaves = entry.original.source.address == address;
            if (event.kind == netfilter::EventKind::kNew) {
                seen.nat_entries.push_back(entry);
                seen.facts.tunnel_flows += leaves ? 1 : 0;
                seen.facts.translated +=
                    leaves && entry.reply.destination.port != entry.original.source.port ? 1 : 0;
            }
            seen.facts.deleted +=
                event.kind == netfilter::EventKind::kDestroy && event.cause_port != 0 ? 1 : 0;
        }
        if (log.overruns != 0) {
            seen.facts.objection = "conntrack's events came faster than they could be read";
        }
    }
    return {};
}

// Sums the drops of all hosts; if one host's drops are unknown, keeps the reason and no count.
Status OverlayBench::take_drops(OverlayFacts& facts) {
    for (agent::Client* host : hosts()) {
        const auto seen = TRY(host->stop_path_watch());
        if (facts.drops_unknown.empty()) {
            facts.drops_unknown = !seen.untraced.empty() ? seen.untraced : seen.drops.scope_reason;
        }
        for (const drops::DropCount& count : drops::by_reason(seen.drops.counts)) {
            facts.drops[count.reason] += count.packets;
        }
    }
    if (!facts.drops_unknown.empty()) {
        facts.drops.clear();
    }
    return {};
}

Result<OverlayObservation> OverlayBench::observe(const OverlayPoint& point, const std::string& id) {
    for (agent::Client* node : {node_a_.get(), node_b_.get()}) {
        TRY(node->start_events(
            {.protocol = IPPROTO_UDP, .original_destination_port = names().vxlan_port}));
    }
    TRY(process::at_once(hosts(), [](agent::Client* host) { return host->start_path_watch(); }));
    const auto before = TRY(read());
    softnic::WirePlan plan;
    plan.mode = point.wire;
    plan.tunnel_ports = {names().vxlan_port};
    plan.keep_bad_frames = 2048;  // all of them: a failing cell has a few dozen
    TRY(tester_->start_wire(plan));

    const frame::IpAddress peer = names().pod_b_address;
    agent::Client& pod = *pod_a_;
    auto ping = std::async(std::launch::async, [&] { return pod.ping({.destination = peer}); });
    const auto look_up = [&](bool tcp) {
        return pod.dns_lookup({.server = {peer, kDnsPort},
                               .name = "service.pathproof.test",
                               .tcp = tcp,
                               .timeout = kProbeTimeout});
    };
    auto dns_udp = std::async(std::launch::async, look_up, false);
    auto dns_tcp = std::async(std::launch::async, look_up, true);
    auto transfer = std::async(std::launch::async, [&] {
        return pod.tcp_transfer(
            {.server = {peer, kTransferPort}, .bytes = kTransferBytes, .timeout = kProbeTimeout});
    });
    const Result<agent::ProbeResult> outcomes[] = {ping.get(), dns_udp.get(), dns_tcp.get(),
                                                   transfer.get()};

    const std::string evidence = evidence_path(context_.options.out_dir, id + ".pcapng");
    const auto wire = TRY(tester_->stop_wire(evidence));
    for (const auto& outcome : outcomes) {
        TRY(outcome);
    }
    const auto after = TRY(read());
    OverlayObservation seen{.facts = {.id = id, .point = point},
                            .node_a = agent::delta(before.counters[0], after.counters[0]),
                            .node_b = agent::delta(before.counters[1], after.counters[1]),
                            .pod_a = agent::delta(before.counters[2], after.counters[2]),
                            .pod_b = agent::delta(before.counters[3], after.counters[3]),
                            .nat_entries = {},
                            .capture = wire.kept.empty() ? "" : evidence};
    OverlayFacts& facts = seen.facts;
    facts.ping = *outcomes[0];
    facts.dns_udp = *outcomes[1];
    facts.dns_tcp = *outcomes[2];
    facts.transfer = *outcomes[3];
    take_wire(wire, facts);
    TRY(take_flows(seen));
    facts.checksums = join::join_checksums(wire.kept, seen.nat_entries, plan.tunnel_ports);
    for (const agent::CounterSet* node : {&seen.node_a, &seen.node_b}) {
        facts.node_udp_errors += value_in(*node, "Udp.InCsumErrors");
        facts.too_big += value_in(*node, "Ip.FragFails");
        facts.links_down += value_in(*node, names().underlay + ".carrier_down_count");
    }
    for (const agent::CounterSet* pod_counters : {&seen.pod_a, &seen.pod_b}) {
        facts.pod_tcp_errors += value_in(*pod_counters, "Tcp.InCsumErrors");
        facts.pod_udp_errors += value_in(*pod_counters, "Udp.InCsumErrors");
    }
    for (std::size_t node = 0; node < before.conntrack.size(); ++node) {
        const auto rose = [&](const char* counter) {
            return netfilter::total(after.conntrack[node], counter) -
                   netfilter::total(before.conntrack[node], counter);
        };
        // nf_conntrack_in() counts a packet that found no room as dropped; a clash counts as
        // insert_failed as well.
        facts.table_full += rose("drop") - std::min(rose("drop"), rose("insert_failed"));
    }
    TRY(take_drops(facts));
    for (agent::Client* node : {node_a_.get(), node_b_.get()}) {
        const auto device = TRY(node->device(names().underlay));
        facts.underlay_mtu =
            facts.underlay_mtu == 0 ? device.mtu : std::min(facts.underlay_mtu, device.mtu);
        const auto tunnel = TRY(node->device(names().vxlan));
        // RFC 7348: outer IPv4, UDP, VXLAN and inner Ethernet headers.
        constexpr std::uint32_t kVxlanOverIpv4 = 50;
        facts.tunnel_packet = std::max(facts.tunnel_packet, tunnel.mtu + kVxlanOverIpv4);
    }
    return seen;
}

Status OverlayBench::send_load(std::optional<std::uint16_t> datagram_bytes,
                               std::chrono::milliseconds lasting, bool gso, LoadPhase& phase) {
    constexpr std::uint16_t kSink = 5002;  // nobody listens: the kernel counts what comes (NoPorts)
    constexpr std::uint16_t kPorts = 16;
    constexpr std::size_t kMostSegments = 40;
    constexpr std::size_t kMostBytes = 60'000;
    constexpr unsigned kStreams = 4;
    constexpr std::uint64_t kBytesEachMillisecond = 50'000'000 / 1000 / kStreams;
    const frame::IpAddress peer = names().pod_b_address;
    if (datagram_bytes) {
        const std::size_t segments =
            gso ? std::min(kMostSegments, kMostBytes / *datagram_bytes) : std::size_t{1};
        agent::DatagramOptions options{
            .source = {}, .destination = {peer, kSink}, .source_ports = kPorts, .lasting = lasting};
        options.source.address = names().pod_a_address;
        options.payloads.emplace_back(segments * *datagram_bytes, std::uint8_t{0x5a});
        options.segment_bytes = gso ? *datagram_bytes : std::uint16_t{0};
        const auto sent = pod_a_->send_datagrams(options);
        return sent ? Status() : pass_on(sent.error());
    }
    std::vector<std::future<Result<agent::ProbeResult>>> streams;
    for (unsigned n = 0; n < kStreams; ++n) {
        streams.push_back(std::async(std::launch::async, [&] {
            return pod_a_->tcp_transfer(
                {.server = {peer, kTransferPort},
                 .bytes = kBytesEachMillisecond * static_cast<std::uint64_t>(lasting.count()),
                 .timeout = kProbeTimeout});
        }));
    }
    std::vector<Result<agent::ProbeResult>> ended;
    for (auto& stream : streams) {
        ended.push_back(stream.get());
    }
    for (const auto& one : ended) {
        const agent::ProbeResult& seen = TRY(one);
        ++phase.streams;
        phase.streams_complete += seen.ok ? 1 : 0;
        phase.stream_bytes += seen.received;
        phase.stream_seconds = std::max(phase.stream_seconds, seen.milliseconds / 1e3);
    }
    return {};
}

Result<LoadPhase> OverlayBench::load(const LoadPoint& what,
                                     std::optional<std::uint16_t> datagram_bytes,
                                     std::chrono::milliseconds lasting,
                                     std::vector<verdict::EvidenceFile>& evidence) {
    LoadPhase phase{.name = datagram_bytes ? fmt::format("udp-{}", *datagram_bytes) : "tcp"};
    for (agent::Client* node : {node_a_.get(), node_b_.get()}) {
        TRY(node->start_events(
            {.protocol = IPPROTO_UDP, .original_destination_port = names().vxlan_port}));
    }
    const auto before = TRY(pod_b_->counters());
    TRY(tester_->start_wire(
        {.mode = what.point.wire, .tunnel_ports = {names().vxlan_port}, .keep_bad_frames = 64}));
    const Status sent = send_load(datagram_bytes, lasting, what.gso, phase);
    const std::string name = what.id + "." + phase.name + ".pcapng";
    const auto wire = TRY(tester_->stop_wire(evidence_path(context_.options.out_dir, name)));
    TRY(sent);
    const agent::CounterSet arrived = agent::delta(before, TRY(pod_b_->counters()));
    phase.datagrams_arrived =
        value_in(arrived, "Udp.NoPorts") + value_in(arrived, "Udp.InDatagrams");
    phase.seconds = wire.seconds;
    for (const softnic::WireTally& tally : wire.directions) {
        phase.frames += tally.received - tally.truncated;
        phase.bytes += tally.bytes;
        phase.not_carried += tally.not_forwarded;
        phase.bad_frames += tally.bad_frames;
    }
    phase.lost = wire.tester_lost;
    phase.bad_outer_udp =
        state_at(wire, {judge::Depth::kOuter, judge::Protocol::kUdp}, judge::ChecksumState::kBad);
    if (wire.partial) {
        phase.trouble = fmt::format("{}", fmt::join(wire.objections, "; "));
    }
    OverlayObservation seen;
    TRY(take_flows(seen));
    phase.flows = seen.facts.tunnel_flows;
    phase.translated = seen.facts.translated;
    phase.stale_port = join::stale_port_frames(wire.wrong_sources, seen.nat_entries);
    phase.trouble = phase.trouble.empty() ? seen.facts.objection : phase.trouble;
    if (!wire.kept.empty()) {
        evidence.push_back({"evidence/" + name,
                            "the first frames with a wrong checksum as they left "
                            "the wire (pcapng; tcpdump, Wireshark)"});
    }
    return phase;
}

Status OverlayBench::describe() {
    if (const lab::RoleFacts facts = lab_->facts(); !facts.empty()) {
        context_.measured.know(role_facts(facts, "What the overlay is made of"));
    }
    for (const std::string& device : {names().underlay, names().vxlan}) {
        TRY(know_device(context_.measured, *node_a_, device,
                        "DUT device " + device + " (node A; node B has its twin)"));
    }
    if (context_.profile) {
        auto group = TRY(profile_facts(*node_a_, names().underlay, *context_.profile));
        context_.measured.know(std::move(group));
    }
    context_.measured.know(port_facts(tester_->ports(), "Tester ports of the overlay lab"));
    return {};
}

}  // namespace pathproof::scenario
