#include "harness/monitor/backend.h"

#include "harness/verdict/interval.h"

namespace pathproof::monitor {
namespace {

BackendVerdict verdict_of(const BackendHealth& health, const BackendRules& rules) {
    if (health.judged < rules.enough) {
        return BackendVerdict::kTooFew;
    }
    const double unanswered = health.unanswered_fraction();
    if (unanswered > rules.dead_share) {
        return health.refused >= rules.refusals ? BackendVerdict::kRefusing : BackendVerdict::kDead;
    }
    if (unanswered > rules.lossy_share) {
        return BackendVerdict::kLossy;
    }
    return health.median_answer_ns.value_or(0) > rules.slow_after_ns ? BackendVerdict::kSlow
                                                                     : BackendVerdict::kHealthy;
}

}  // namespace

const char* name(BackendVerdict verdict) {
    switch (verdict) {
        case BackendVerdict::kHealthy: return "healthy";
        case BackendVerdict::kSlow: return "slow";
        case BackendVerdict::kLossy: return "lossy";
        case BackendVerdict::kRefusing: return "refusing";
        case BackendVerdict::kDead: return "dead";
        case BackendVerdict::kTooFew: return "too few";
    }
    return "too few";
}

double BackendHealth::unanswered_fraction() const {
    return judged == 0 ? 0 : static_cast<double>(unanswered) / static_cast<double>(judged);
}

void judge(BackendHealth& health, const BackendRules& rules) {
    health.unanswered_share = verdict::fraction_interval(health.unanswered, health.judged);
    health.verdict = verdict_of(health, rules);
}

}  // namespace pathproof::monitor
