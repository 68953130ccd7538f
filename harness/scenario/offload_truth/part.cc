#include "harness/scenario/offload_truth/part.h"

namespace pathproof::scenario {

using verdict::CellVerdict;

TrafficSeen confirmed(const TrafficSeen& first, TrafficSeen second) {
    verdict::Cell& cell = second.cell;
    const bool shown = cell.verdict == CellVerdict::kFail &&
                       second.seen.names == first.seen.names && second.frames_of == first.frames_of;
    if (!shown && (cell.verdict == CellVerdict::kFail || cell.verdict == CellVerdict::kPass)) {
        cell.verdict = CellVerdict::kInconclusive;
        cell.reason = "seen once, not confirmed: " + first.cell.reason;
        cell.cause.clear();
    }
    return second;
}

Result<TrafficSeen> observe_traffic(Context& context, TruthBench& bench, const std::string& id,
                                    const std::function<Result<TrafficSeen>()>& observe,
                                    truth::TruthRun& run, verdict::ScenarioResult& result) {
    context.progress.step(id);
    TrafficSeen point = TRY(observe());
    verdict::Cell& cell = point.cell;
    if (cell.verdict == CellVerdict::kFail) {
        const TrafficSeen first = point;
        point = confirmed(first, TRY(observe()));
    }
    if (cell.verdict != CellVerdict::kPass && cell.verdict != CellVerdict::kFail) {
        point.seen.observed = verdict::Observed::kNotTested;
        point.seen.note = cell.reason;
    }
    if (cell.verdict == CellVerdict::kInconclusive) {
        run.values.hidden.push_back(fmt::format("{}: {}", cell.id, cell.reason));
    }
    if (!point.bad.empty()) {
        bench.keep(point.bad, point.explanation, cell);
    }
    result.cells.push_back(cell);
    return point;
}

}  // namespace pathproof::scenario
