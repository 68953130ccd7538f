// vxlan-checksum --load
//
// Set:  as the matrix does; and whether the pods hand super-frames (TSO, GSO) to the tunnel.
// Sent: UDP of several sizes and TCP streams from pod to pod, as fast as they go, for some seconds each.
// Seen: every checksum of every frame, by the wire over AF_XDP; conntrack's tuples of the tunnel's flows;
//       what came to the far pod.

#include "harness/scenario/vxlan/overlay_load.h"

#include "harness/scenario/measures.h"
#include "harness/scenario/vxlan/overlay_bench.h"
#include "harness/setting/cures.h"

namespace pathproof::scenario {
namespace {

constexpr const char* kLoadFlag = setting::kTunnelChecksums;
// Bytes of data: the shortest frames, a middle size, and what fits a tunnel's MTU of 1450 whole.
constexpr std::uint16_t kDatagramBytes[] = {18, 512, 1400};

Status measure_load(Context& context, OverlayBench& bench, const LoadPoint& what,
                    std::chrono::milliseconds lasting, std::vector<LoadFacts>& measured) {
    context.progress.step(what.id);
    TRY(bench.set(what.point, what.gso));
    LoadFacts facts{.what = what, .link_mbps = bench.link_mbps()};
    for (const std::uint16_t bytes : kDatagramBytes) {
        auto phase = TRY(bench.load(what, bytes, lasting, facts.evidence));
        facts.phases.push_back(std::move(phase));
    }
    auto streams = TRY(bench.load(what, std::nullopt, lasting, facts.evidence));
    facts.phases.push_back(std::move(streams));
    context.measured.add(judge_load(facts));
    measured.push_back(std::move(facts));
    return {};
}

}  // namespace

Result<verdict::ScenarioResult> run_overlay_load(Context& context, unsigned seconds) {
    std::vector<LoadPoint> points = load_points();
    context.progress.begin(context.scenario->id, points.size());
    auto bench = TRY(OverlayBench::build(context, OverlayBench::Carrier::kFast));
    TRY(bench->describe());
    const OverlayNaming naming{.vxlan = bench->names().vxlan, .underlay = bench->names().underlay};
    const auto before = TRY(bench->feature(bench->names().vxlan, kLoadFlag));
    std::vector<LoadFacts> measured;
    for (const LoadPoint& point : points) {
        TRY(measure_load(context, *bench, point, std::chrono::seconds(seconds), measured));
    }
    OverlayPoint as_found = points.back().point;
    as_found.vxlan_tx = before;
    TRY(bench->change(as_found));
    OverlayNaming after = naming;
    const auto restored = bench->feature(bench->names().vxlan, kLoadFlag);
    after.flag_restored = restored && *restored == before;
    verdict::ScenarioResult result;
    conclude_load(measured, after, result);
    return result;
}

}  // namespace pathproof::scenario
