// vxlan-checksum: pods on a VXLAN overlay lose TCP and DNS while ping works.
//
// Set:  tx offload of the vxlan device, outer UDP checksum, outer SNAT, tx offload of the underlay, and a wire that is
//       a healthy NIC or one that leaves partial checksums.
// Sent: ICMP echo, DNS over UDP, DNS over TCP and a 1 MB transfer from pod to pod.
// Seen: every checksum that crosses the wire, the peers' InCsumErrors, and conntrack's tuples of the tunnel's flows.

#include <chrono>

#include "harness/scenario/measures.h"
#include "harness/scenario/overlay_bench.h"

namespace pathproof::scenario {
namespace {

using judge::Depth;
using judge::Layer;
using judge::Protocol;
using verdict::Cell;
using verdict::CellVerdict;

constexpr Layer kOuterUdp{Depth::kOuter, Protocol::kUdp};
constexpr Layer kInnerUdp{Depth::kInner, Protocol::kUdp};
constexpr Layer kInnerTcp{Depth::kInner, Protocol::kTcp};
constexpr Layer kInnerIcmp{Depth::kInner, Protocol::kIcmp};
constexpr const char* kCureFeature = "tx-checksum-ip-generic";

// The point at which the kernel's own arithmetic goes wrong; every control differs from it in one toggle.
constexpr OverlayPoint kSuspect{};

std::vector<OverlayPoint> matrix() {
    std::vector<OverlayPoint> points;
    for (const bool vxlan_tx : {true, false}) {
        for (const bool udp_checksum : {true, false}) {
            for (const bool masquerade : {false, true}) {
                for (const bool underlay_tx : {true, false}) {
                    points.push_back({vxlan_tx, udp_checksum, masquerade, underlay_tx,
                                      softnic::WireMode::kHealthyNic});
                }
            }
        }
    }
    return points;
}

// The same symptom by another cause: a wire that does not complete what the sender left to it.
std::vector<OverlayPoint> broken_wire_points() {
    std::vector<OverlayPoint> points;
    for (const bool masquerade : {false, true}) {
        for (const bool underlay_tx : {true, false}) {
            points.push_back({true, true, masquerade, underlay_tx, softnic::WireMode::kPassThrough});
        }
    }
    return points;
}

verdict::Measure probe_measure(const std::string& name, const std::string& label,
                               const agent::ProbeResult& probe) {
    return {.name = name, .label = label, .value = probe.ok, .unit = "", .note = probe.outcome};
}

std::vector<verdict::Measure> measures_of(const OverlayObservation& seen) {
    return {
        probe_measure("probe_icmp", "ping", seen.ping),
        probe_measure("probe_dns_udp", "DNS over UDP", seen.dns_udp),
        probe_measure("probe_dns_tcp", "DNS over TCP", seen.dns_tcp),
        probe_measure("probe_tcp_1mb", "1 MB over TCP", seen.transfer),
        count_of("wire_frames", "frames that crossed the wire",
                 seen.wire.directions[0].received + seen.wire.directions[1].received, "frames"),
        count_of("wire_bad_frames", "of them with a wrong checksum", seen.bad_frames(), "frames"),
        count_of("wire_bad_outer_udp", "wrong outer UDP checksums", seen.bad_at(kOuterUdp)),
        count_of("wire_bad_inner_udp", "wrong inner UDP checksums", seen.bad_at(kInnerUdp)),
        count_of("wire_bad_inner_tcp", "wrong inner TCP checksums", seen.bad_at(kInnerTcp)),
        count_of("wire_bad_inner_icmp", "wrong inner ICMP checksums", seen.bad_at(kInnerIcmp)),
        count_of("wire_good_inner_icmp", "right inner ICMP checksums", seen.good_at(kInnerIcmp)),
        count_of("wire_completed", "partial checksums completed by the wire",
                 seen.wire.directions[0].completed + seen.wire.directions[1].completed),
        count_of("peer_udp_in_csum_errors", "Udp.InCsumErrors of the nodes",
                 seen.node_errors("Udp.InCsumErrors")),
        count_of("pod_tcp_in_csum_errors", "Tcp.InCsumErrors of the pods", seen.pod_errors("Tcp.InCsumErrors")),
        count_of("pod_udp_in_csum_errors", "Udp.InCsumErrors of the pods", seen.pod_errors("Udp.InCsumErrors")),
        count_of("cause_stale_port", "wrong values that are right for the port before NAT",
                 seen.checksums.stale_port),
        count_of("cause_left_partial", "wrong values that are a bare pseudo-header sum",
                 seen.checksums.left_partial),
        count_of("cause_unexplained", "wrong values that fit neither", seen.checksums.unexplained),
    };
}

// One word a cause, in a fixed order; empty when nothing is wrong or nothing fits.
std::string causes_of(const join::ChecksumFindings& findings) {
    std::string causes;
    for (const auto& [found, cause] :
         {std::pair{findings.stale_port_named, join::ChecksumCause::kStalePort},
          {findings.left_partial_named, join::ChecksumCause::kLeftPartial}}) {
        if (found) {
            causes += (causes.empty() ? "" : "+") + std::string(join::name(cause));
        }
    }
    return causes;
}

std::string survivors(const OverlayObservation& seen) {
    std::string alive;
    std::string dead;
    for (const auto& [probe, word] : {std::pair{&seen.ping, "ping"}, {&seen.dns_udp, "DNS over UDP"},
                                      {&seen.dns_tcp, "DNS over TCP"}, {&seen.transfer, "the TCP transfer"}}) {
        std::string& list = probe->ok ? alive : dead;
        list += (list.empty() ? "" : ", ") + std::string(word);
    }
    if (dead.empty()) {
        return "every probe works";
    }
    return (alive.empty() ? "nothing works" : alive + (seen.ping.ok && alive == "ping" ? " works" : " work")) +
           "; failing: " + dead;
}

void judge_cell(const OverlayObservation& seen, Cell& cell) {
    const std::uint64_t received = seen.wire.directions[0].received + seen.wire.directions[1].received;
    const std::uint64_t not_forwarded =
        seen.wire.directions[0].not_forwarded + seen.wire.directions[1].not_forwarded;
    if (seen.wire.tester_lost != 0 || not_forwarded != 0 || received == 0) {
        cell.verdict = CellVerdict::kError;
        cell.reason = fmt::format("the wire itself lost frames ({} dropped by its ports, {} not forwarded, {} received)",
                                  seen.wire.tester_lost, not_forwarded, received);
        return;
    }
    cell.cause = causes_of(seen.checksums);
    if (seen.probes_ok() && seen.bad_frames() == 0) {
        cell.verdict = CellVerdict::kPass;
        return;
    }
    cell.verdict = CellVerdict::kFail;
    cell.reason = fmt::format("{}; {} of {} frames carry a wrong checksum", survivors(seen), seen.bad_frames(),
                              received);
    if (!cell.cause.empty()) {
        cell.reason += ": " + cell.cause;
    } else {
        cell.reason += seen.bad_frames() == 0 ? ": not a checksum fault" : ": no cause fits";
    }
}

Status keep_failure(const Context& context, const OverlayObservation& seen, Cell& cell) {
    std::string conntrack;
    for (const netfilter::Entry& entry : seen.nat_entries) {
        conntrack += nlohmann::json(entry).dump() + "\n";
    }
    const std::string counters = "# node-a\n" + counters_text(seen.node_a) + "# node-b\n" +
                                 counters_text(seen.node_b) + "# pod-a\n" + counters_text(seen.pod_a) +
                                 "# pod-b\n" + counters_text(seen.pod_b);
    const std::string& out = context.options.out_dir;
    if (!seen.capture.empty()) {
        cell.evidence.push_back({"evidence/" + cell.id + ".pcapng",
                                 "the frames with a wrong checksum as they left the wire (pcapng; tcpdump, Wireshark)"});
    }
    for (const auto& [suffix, description, content] :
         {std::tuple{".conntrack.json", "conntrack entries of the tunnel's flows, both nodes (JSON lines)", conntrack},
          {".counters.txt", "snmp, netstat and device counters that changed, as deltas", counters}}) {
        const auto kept = keep_evidence(out, cell.id + suffix, description, content);
        if (!kept) {
            return pass_on(kept.error());
        }
        cell.evidence.insert(cell.evidence.end(), kept->begin(), kept->end());
    }
    return {};
}

// Measures one point without setting it, under `id`.
Result<Cell> measure(Context& context, OverlayBench& bench, const OverlayPoint& point, const std::string& id,
                     OverlayObservation* keep = nullptr) {
    context.progress.step(id);
    auto seen = bench.observe(point.wire, id);
    if (!seen) {
        return pass_on(seen.error());
    }
    Cell cell{.id = id, .toggles = point.toggles(), .reason = "", .cause = "", .measures = measures_of(*seen)};
    judge_cell(*seen, cell);
    if (cell.verdict == CellVerdict::kFail) {
        if (const Status kept = keep_failure(context, *seen, cell); !kept) {
            return pass_on(kept.error());
        }
    }
    if (keep != nullptr) {
        *keep = std::move(*seen);
    }
    return cell;
}

verdict::Proof packet_proof(const OverlayObservation& seen) {
    verdict::Proof proof{
        .title = "Packet by packet: the wrong outer checksum is the right one for the source port before NAT",
        .columns = {"on the wire (after NAT)", "carries", "checksum on the wire", "right value",
                    "conntrack's original tuple", "right value for that tuple", "equal"},
        .rows = {},
        .conclusion = ""};
    std::uint64_t equal = 0;
    std::uint64_t looked_at = 0;
    for (const join::ChecksumProof& each : seen.checksums.proofs) {
        if (each.layer != kOuterUdp) {
            continue;
        }
        const bool same = each.cause == join::ChecksumCause::kStalePort;
        ++looked_at;
        equal += same ? 1 : 0;
        if (proof.rows.size() < 12) {
            proof.rows.push_back({each.on_wire, each.carries, fmt::format("0x{:04x}", each.wire),
                                  fmt::format("0x{:04x}", each.right),
                                  each.original.empty() ? "no entry" : each.original,
                                  each.original.empty() ? "-" : fmt::format("0x{:04x}", each.predicted),
                                  same ? "yes" : "no"});
        }
    }
    proof.conclusion =
        fmt::format("{} of {} wrong outer UDP checksums equal the value for conntrack's original tuple.", equal,
                    looked_at);
    return proof;
}

struct Experiment {
    std::vector<Cell> cells;
    std::vector<Cell> controls;
    std::vector<verdict::Proof> proofs;
    OverlayObservation failing;  // at kSuspect
    bool suspect_failed = false;
    bool cured = false;
    bool fails_again = false;
    bool flag_back = false;
};

Status run_matrix(Context& context, OverlayBench& bench, Experiment& experiment) {
    std::vector<OverlayPoint> points = matrix();
    const std::vector<OverlayPoint> broken = broken_wire_points();
    points.insert(points.end(), broken.begin(), broken.end());
    for (const OverlayPoint& point : points) {
        if (!asked_for(context.options, point.id())) {
            continue;
        }
        if (const Status set = bench.set(point); !set) {
            return set;
        }
        OverlayObservation seen;
        auto cell = measure(context, bench, point, point.id(), &seen);
        if (!cell) {
            return pass_on(cell.error());
        }
        if (point.id() == kSuspect.id()) {
            experiment.suspect_failed = cell->verdict == CellVerdict::kFail && !cell->cause.empty();
            experiment.failing = std::move(seen);
        }
        experiment.cells.push_back(std::move(*cell));
    }
    return {};
}

// Fails, is cured by one flag, is healthy, and fails again once the flag is back: the flag is the cause.
Status run_cure(Context& context, OverlayBench& bench, Experiment& experiment) {
    if (const Status set = bench.set(kSuspect); !set) {
        return set;
    }
    const std::string device = bench.names().vxlan;
    const auto before = bench.feature(device, kCureFeature);
    if (!before) {
        return pass_on(before.error());
    }
    struct Step {
        const char* id;
        bool on;
    };
    for (const Step step : {Step{"cure.flag-off", false}, Step{"cure.flag-back-on", *before}}) {
        if (const Status set = bench.set_feature(device, kCureFeature, step.on); !set) {
            return set;
        }
        OverlayPoint point = kSuspect;
        point.vxlan_tx = step.on;
        auto cell = measure(context, bench, point, step.id);
        if (!cell) {
            return pass_on(cell.error());
        }
        cell->toggles.emplace_back("cure, applied to the running lab",
                                   step.on ? "flag back on" : "ethtool -K vx tx-checksum-ip-generic off");
        (step.on ? experiment.fails_again : experiment.cured) =
            cell->verdict == (step.on ? CellVerdict::kFail : CellVerdict::kPass);
        experiment.cells.push_back(std::move(*cell));
    }
    const auto after = bench.feature(device, kCureFeature);
    experiment.flag_back = after && *after == *before;
    return {};
}

// The matrix's own points that differ from kSuspect in one toggle which takes the cause away.
void pick_controls(Experiment& experiment) {
    OverlayPoint no_nat = kSuspect;
    no_nat.masquerade = false;
    OverlayPoint no_checksum = kSuspect;
    no_checksum.udp_checksum = false;
    OverlayPoint no_offload = kSuspect;
    no_offload.vxlan_tx = false;
    OverlayPoint software_under_broken_wire = no_nat;
    software_under_broken_wire.wire = softnic::WireMode::kPassThrough;
    for (const OverlayPoint& point : {no_nat, no_checksum, no_offload, software_under_broken_wire}) {
        for (const Cell& cell : experiment.cells) {
            if (cell.id == point.id()) {
                experiment.controls.push_back(cell);
                experiment.controls.back().id = "control." + cell.id;
            }
        }
    }
}

const Cell* cell_named(const Experiment& experiment, const std::string& id) {
    for (const Cell& cell : experiment.cells) {
        if (cell.id == id) {
            return &cell;
        }
    }
    return nullptr;
}

bool any_cell(const std::vector<Cell>& cells, CellVerdict verdict) {
    for (const Cell& cell : cells) {
        if (cell.verdict == verdict) {
            return true;
        }
    }
    return false;
}

void explain(const Experiment& experiment, const lab::OverlayNames& names, verdict::ScenarioResult& result) {
    const OverlayObservation& seen = experiment.failing;
    result.before_cell = kSuspect.id();
    result.after_cell = "cure.flag-off";
    result.headline = fmt::format(
        "Between pods on the overlay, {}. The kernel sent {} of {} packets with a wrong outer UDP checksum; each of {} is "
        "the right one for the source port that the packet had before NAT.",
        survivors(seen), seen.bad_frames(),
        seen.wire.directions[0].received + seen.wire.directions[1].received,
        seen.checksums.stale_port == seen.bad_frames() ? "them" : fmt::format("{}", seen.checksums.stale_port));
    result.cause =
        "The outer UDP checksum is computed once, by local checksum offload, for the source port that the vxlan "
        "device chose. SNAT then changes that port, but because the packet's inner checksum is still to be completed "
        "(CHECKSUM_PARTIAL) the kernel takes the outer one to be unfinished too and leaves it alone. The receiving "
        "node drops the packet (Udp.InCsumErrors).";
    result.cure = fmt::format(
        "`ethtool -K {} tx-checksum-ip-generic off` on every node. Seen in this run: {}; with the flag back on {}.",
        names.vxlan, experiment.cured ? "all four probes work and no checksum is wrong" : "it did NOT help",
        experiment.fails_again ? "the failure is back" : "the failure did NOT come back");
    result.cure_shown = experiment.cured && experiment.fails_again && experiment.flag_back;
    if (seen.ping.ok) {
        result.explanation.push_back(fmt::format(
            "Why ping works: the kernel fills in an ICMP checksum itself, so nothing inside the packet is left to "
            "complete and the outer checksum is finished last, after NAT. All {} ICMP echo packets crossed the wire "
            "with right checksums inside and outside, while TCP and UDP on the same path died.",
            seen.good_at(kInnerIcmp)));
    }
    result.explanation.push_back(
        "What it takes: all three of tx offload on the vxlan device, an outer UDP checksum and SNAT that changes the "
        "outer source port. Each control below takes one of them away and is healthy.");
    OverlayPoint partial = kSuspect;
    partial.masquerade = false;
    partial.underlay_tx = true;
    partial.wire = softnic::WireMode::kPassThrough;
    if (const Cell* cell = cell_named(experiment, partial.id());
        cell != nullptr && cell->cause == join::name(join::ChecksumCause::kLeftPartial)) {
        result.explanation.push_back(
            "The second way to the same symptom was produced and told apart: a NIC (here the software wire) that does "
            "not complete partial checksums. There the wrong value is the bare pseudo-header sum, it needs no NAT, even "
            "ping through the tunnel dies, and the cure is `ethtool -K eth0 tx off` on the underlay device.");
    }
}

void conclude(const Experiment& experiment, const lab::OverlayNames& names, verdict::ScenarioResult& result) {
    result.unexplained = 0;
    for (const Cell& cell : experiment.cells) {
        for (const verdict::Measure& measure : cell.measures) {
            result.unexplained += measure.name == "cause_unexplained" ? measure.value.get<std::uint64_t>() : 0;
        }
        result.unexplained += cell.verdict == CellVerdict::kFail && cell.cause.empty() ? 1 : 0;
    }
    const bool control_fails = any_cell(experiment.controls, CellVerdict::kFail);
    if (any_cell(experiment.cells, CellVerdict::kError) || (control_fails && experiment.suspect_failed)) {
        result.verdict = verdict::ScenarioVerdict::kInconclusive;
        result.headline = control_fails ? "A control that lacks the cause fails too: the cause is not the one named."
                                        : "The harness itself lost frames: nothing is concluded.";
        return;
    }
    if (!experiment.suspect_failed) {
        result.verdict = verdict::ScenarioVerdict::kNotReproduced;
        result.headline = control_fails
                              ? "The overlay fails, but not by the stale outer checksum; see the cells."
                              : "This kernel carries every packet right at every point of the matrix that a healthy NIC serves.";
        return;
    }
    result.verdict = verdict::ScenarioVerdict::kReproduced;
    explain(experiment, names, result);
}

}  // namespace

std::vector<std::string> vxlan_checksum_cells() {
    std::vector<std::string> ids;
    for (const auto& points : {matrix(), broken_wire_points()}) {
        for (const OverlayPoint& point : points) {
            ids.push_back(point.id());
        }
    }
    ids.insert(ids.end(), {"cure.flag-off", "cure.flag-back-on"});
    return ids;
}

Result<verdict::ScenarioResult> run_vxlan_checksum(Context& context) {
    const auto began = std::chrono::steady_clock::now();
    verdict::ScenarioResult result;
    result.id = "vxlan-checksum";
    result.title = "VXLAN overlay: ping works, TCP and DNS time out";
    result.question =
        "Do packets between pods keep right checksums when tunnel checksum offload meets NAT of the outer header?";
    context.progress.begin(result.id, matrix().size() + broken_wire_points().size() + 2);

    auto bench = OverlayBench::build(context);
    if (!bench) {
        return pass_on(bench.error());
    }
    if (const Status described = (*bench)->describe(context.environment); !described) {
        return pass_on(described.error());
    }
    Experiment experiment;
    if (const Status ran = run_matrix(context, **bench, experiment); !ran) {
        return pass_on(ran.error());
    }
    if (experiment.suspect_failed) {
        experiment.proofs.push_back(packet_proof(experiment.failing));
        if (const Status cured = run_cure(context, **bench, experiment); !cured) {
            return pass_on(cured.error());
        }
    }
    pick_controls(experiment);
    conclude(experiment, (*bench)->names(), result);
    result.cells = std::move(experiment.cells);
    result.controls = std::move(experiment.controls);
    result.proofs = std::move(experiment.proofs);
    result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
    return result;
}

}  // namespace pathproof::scenario
