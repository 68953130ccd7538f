#include "dataplane/search/trial.h"

#include <algorithm>
#include <cmath>

namespace pathproof::search {

double TrialOutput::intended() const {
    if (input.frames != 0) {
        return static_cast<double>(input.frames);
    }
    if (input.load_pps <= 0) {
        return static_cast<double>(sent);
    }
    const double after =
        input.change ? input.change->load_pps * seconds(input.change->duration) : 0;
    return input.load_pps * seconds(input.duration) + after;
}

double TrialOutput::loss_ratio() const {
    const auto left = static_cast<double>(sent);
    const auto missing = static_cast<double>(lost);
    if (tester_limit.empty()) {
        return sent == 0 ? 0 : missing / left;
    }
    const double whole = std::max(intended(), left);
    return whole <= 0 ? 0 : (missing + whole - left) / whole;
}

Status check_loads(double min_pps, double max_pps) {
    if (!(min_pps > 0) || !(min_pps < max_pps) || !std::isfinite(max_pps)) {
        return fail(ErrorCode::kBadInput,
                    "the least load ({} frames/s) must be above 0 and below the greatest ({})",
                    min_pps, max_pps);
    }
    return {};
}

}  // namespace pathproof::search
