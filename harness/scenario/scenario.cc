#include "harness/scenario/scenario.h"

#include "harness/scenario/calibration_result.h"

namespace pathproof::scenario {
namespace {

Result<verdict::ScenarioResult> run_calibrated_offload_truth(Context& context) {
    auto result = run_offload_truth(context);
    if (result && context.options.calibrate == Calibrate::kQuick) {
        calibrate_instrument(context, *result);
    }
    return result;
}

}  // namespace

const std::vector<Scenario>& all_scenarios() {
    static const std::vector<Scenario> scenarios = {
        {"vxlan-checksum", "VXLAN overlay: wrong outer checksums under NAT", run_vxlan_checksum},
        {"dns-race", "A/AAAA pairs racing inside conntrack", run_dns_race},
        {"offload-truth", "What each offload really does to the frames on the wire", run_calibrated_offload_truth},
    };
    return scenarios;
}

const Scenario* find_scenario(const std::string& id) {
    for (const Scenario& scenario : all_scenarios()) {
        if (id == scenario.id) {
            return &scenario;
        }
    }
    return nullptr;
}

}  // namespace pathproof::scenario
