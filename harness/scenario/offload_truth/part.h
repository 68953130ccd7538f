// One loop for all parts of the truth table: points of a device's features, each set, sent through,
// judged and, if it is wrong, observed once more.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "harness/scenario/first_error.h"
#include "harness/scenario/offload_truth/cells.h"
#include "harness/scenario/offload_truth/feature_switch.h"

namespace pathproof::scenario {

// Frames of each row and setting. Names need three different payloads.
inline constexpr std::uint32_t kProbesQuick = 3;
inline constexpr std::uint32_t kProbesFull = 4;

// An outcome has a `setting` and how the device took it, `taken`.
template <typename Outcome>
struct Part {
    std::string id;                     // "tx", "rx": of its cells
    std::vector<std::string> features;  // that its points set
    std::vector<truth::Setting> points;
    std::function<Status(Outcome&)> judge;  // sends as well
};

template <typename Outcome>
struct PartRun {
    std::vector<agent::Feature> as_found;
    std::vector<Outcome> outcomes;  // one a point
    verdict::Cell put_back;
};

// Whatever becomes of it, the features are put back.
template <typename Outcome>
Result<PartRun<Outcome>> run_part(TruthBench& bench, const Part<Outcome>& part) {
    auto features = TRY(FeatureSwitch::take(bench.host(), bench.device().name, part.features));
    PartRun<Outcome> run{.as_found = features.as_found()};
    const Status judged = [&]() -> Status {
        for (const truth::Setting& point : part.points) {
            Outcome& outcome = run.outcomes.emplace_back();
            outcome.setting = point;
            outcome.taken = TRY(features.set(point));
            TRY(part.judge(outcome));
            TRY(features.look_again(outcome.taken));
        }
        return {};
    }();
    const auto left = features.put_back();
    TRY(first_error(judged, left));
    run.put_back = put_back_cell(part.id + ".flags-put-back", *left);
    return run;
}

// Outcome of one observation of traffic through a kernel device.
struct TrafficSeen {
    verdict::Cell cell;
    verdict::Observation seen;
    std::vector<matrix::FrameBytes> bad;
    std::string explanation;  // of these frames
    // Number of frames under each name. A second observation must show the same numbers: frames
    // lost by chance do not.
    std::map<std::string, std::uint64_t> frames_of = {};
};

// Returns the second of two observations, the first of which failed. It is INCONCLUSIVE if it does
// not show the same again.
TrafficSeen confirmed(const TrafficSeen& first, TrafficSeen second);

// Observes, and once more if that fails. Adds the cell with its evidence, and says of what is not
// confirmed that it could not be judged.
Result<TrafficSeen> observe_traffic(Context& context, TruthBench& bench, const std::string& id,
                                    const std::function<Result<TrafficSeen>()>& observe,
                                    truth::TruthRun& run, verdict::ScenarioResult& result);

}  // namespace pathproof::scenario
