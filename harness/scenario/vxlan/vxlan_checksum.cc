// vxlan-checksum: pods on a VXLAN overlay lose TCP and DNS while ping works.
//
// Set:  tx offload of the vxlan device, outer UDP checksum, outer SNAT, tx offload of the underlay,
//       and a wire that is a healthy NIC or one that leaves partial checksums.
// Sent: ICMP echo, DNS over UDP, DNS over TCP and a 1 MB transfer from pod to pod.
// Seen: every checksum that crosses the wire, the peers' InCsumErrors, and conntrack's tuples of
//       the tunnel's flows.

#include <nlohmann/json.hpp>

#include "harness/process/json_text.h"
#include "harness/scenario/measures.h"
#include "harness/scenario/vxlan/overlay_bench.h"
#include "harness/scenario/vxlan/overlay_load.h"
#include "harness/setting/cures.h"

namespace pathproof::scenario {
namespace {

using verdict::Cell;
using verdict::CellVerdict;

constexpr const char* kCureFeature = setting::kTunnelChecksums;
constexpr OptionRow kLoadSeconds{
    "load-seconds",
    "in place of the matrix: pods send UDP of three sizes and TCP as fast as they can, for so many "
    "seconds each, with and without super-frames, before and after the cure",
    60, true};

// The matrix, and then the same symptom by another cause: a wire that does not complete what the
// sender left to it.
std::vector<OverlayPoint> overlay_points() {
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
    for (const bool masquerade : {false, true}) {
        for (const bool underlay_tx : {true, false}) {
            points.push_back(
                {true, true, masquerade, underlay_tx, softnic::WireMode::kPassThrough});
        }
    }
    return points;
}

void keep_failure(const Context& context, OverlayObservation& seen) {
    OverlayFacts& cell = seen.facts;
    std::string conntrack;
    for (const netfilter::Entry& entry : seen.nat_entries) {
        conntrack += process::to_text(nlohmann::json(entry)) + "\n";
    }
    const std::string counters =
        "# node-a\n" + counters_text(seen.node_a) + "# node-b\n" + counters_text(seen.node_b) +
        "# pod-a\n" + counters_text(seen.pod_a) + "# pod-b\n" + counters_text(seen.pod_b);
    const std::string& out = context.options.out_dir;
    if (!seen.capture.empty()) {
        cell.evidence.push_back({"evidence/" + cell.id + ".pcapng",
                                 "the frames with a wrong checksum as they left the wire (pcapng; "
                                 "tcpdump, Wireshark)"});
    }
    keep_evidence(out, cell.id + ".conntrack.json",
                  "conntrack entries of the tunnel's flows, both nodes (JSON lines)", conntrack,
                  cell.evidence);
    keep_evidence(out, cell.id + ".counters.txt",
                  "snmp, netstat and device counters that changed, as deltas", counters,
                  cell.evidence);
}

// Measures one point without setting it, under `id`.
Status measure(Context& context, OverlayBench& bench, const OverlayPoint& point,
               const std::string& id, std::vector<OverlayFacts>& measured) {
    context.progress.step(id);
    auto seen = TRY(bench.observe(point, id));
    const Cell cell = judge_overlay(seen.facts);
    if (cell.verdict != CellVerdict::kPass || seen.facts.bad_frames != 0) {
        keep_failure(context, seen);
    }
    context.measured.add(judge_overlay(seen.facts));  // with its evidence
    measured.push_back(std::move(seen.facts));
    return {};
}

// Fails, is cured by one flag, is healthy, and fails again once the flag is back: the flag is the
// cause.
Status run_cure(Context& context, OverlayBench& bench, std::vector<OverlayFacts>& measured,
                bool& flag_restored) {
    TRY(bench.set(kSuspect));
    const std::string device = bench.names().vxlan;
    const auto before = TRY(bench.feature(device, kCureFeature));
    for (const auto& [id, on] : {std::pair{kFlagOff, false}, {kFlagBack, before}}) {
        OverlayPoint point = kSuspect;
        point.vxlan_tx = on;
        TRY(bench.change(point));
        TRY(asked_for(context.options, id) ? measure(context, bench, point, id, measured)
                                           : Status());
    }
    const auto after = bench.feature(device, kCureFeature);
    flag_restored = after && *after == before;
    return {};
}

std::vector<std::string> vxlan_checksum_cells() {
    std::vector<std::string> ids;
    for (const OverlayPoint& point : overlay_points()) {
        ids.push_back(point.id());
    }
    ids.insert(ids.end(), {kFlagOff, kFlagBack});
    return ids;
}

Result<verdict::ScenarioResult> run_vxlan_checksum(Context& context) {
    if (const std::uint64_t seconds = context.options.number(kLoadSeconds.name, 0); seconds > 0) {
        return run_overlay_load(context, static_cast<unsigned>(seconds));
    }
    const std::size_t steps_of_cure = count_asked(context.options, {kFlagOff, kFlagBack});
    std::vector<OverlayPoint> points = overlay_points();
    std::erase_if(points, [&](const OverlayPoint& point) {
        // The cure is tried on the suspect, once that was seen to fail.
        const bool for_cure = point == kSuspect && steps_of_cure != 0;
        return !for_cure && !asked_for(context.options, point.id());
    });
    context.progress.begin(context.scenario->id, points.size() + steps_of_cure);

    auto bench = TRY(OverlayBench::build(context));
    TRY(bench->describe());
    std::vector<OverlayFacts> measured;
    OverlayNaming naming{.vxlan = bench->names().vxlan, .underlay = bench->names().underlay};
    bool cure_due = false;
    for (const OverlayPoint& point : points) {
        TRY(bench->set(point));
        TRY(measure(context, *bench, point, point.id(), measured));
        if (point == kSuspect) {
            cure_due = steps_of_cure != 0 && shows_stale_port(measured.back());
            context.progress.leave_out(cure_due ? 0 : steps_of_cure);
        }
    }
    if (cure_due) {
        TRY(run_cure(context, *bench, measured, naming.flag_restored));
    }
    verdict::ScenarioResult result;
    conclude_vxlan_checksum(measured, naming, result);
    return result;
}

}  // namespace

Scenario vxlan_checksum_scenario() {
    return {
        "vxlan-checksum",
        "VXLAN overlay: ping works, TCP and DNS time out",
        "Do packets between pods keep right checksums when tunnel checksum offload meets NAT of "
        "the outer header?",
        lab::Role::kOverlay,
        run_vxlan_checksum,
        vxlan_checksum_cells,
        Scenario::When::kAlways,
        {kLoadSeconds}};
}

}  // namespace pathproof::scenario
