#include "dataplane/measure/shortfall.h"

#include <algorithm>

#include "dataplane/load/self_check.h"

namespace pathproof::measure {
namespace {

using search::seconds;

// Seconds of the intended load that did not leave.
double seconds_missing(const search::TrialInput& input, const load::TrialReport& report,
                       double intended_seconds) {
    if (input.frames != 0) {
        return report.sending_seconds - intended_seconds - load::kEndsSeconds;
    }
    // The last frame may have been due at the very end.
    const double missing = input.load_pps * intended_seconds - static_cast<double>(report.sent) - 1;
    return missing / input.load_pps;
}

// Returns the average over the senders: each has its share of the load.
double seconds_lost_by_senders(const load::TrialReport& report) {
    double lost = 0;
    unsigned senders = 0;
    for (const load::WorkerHealth& worker : report.workers) {
        if (worker.sends) {
            lost += seconds_lost(worker);
            ++senders;
        }
    }
    return senders == 0 ? 0 : lost / senders;
}

}  // namespace

double offered_pps(const search::TrialInput& input, const load::TrialReport& report) {
    if (input.frames != 0 || input.load_pps <= 0 || report.partial) {
        return report.achieved_pps;
    }
    const double average = static_cast<double>(report.sent) / seconds(input.whole_duration());
    // One frame more may leave if the load makes no whole number of frames.
    return input.change ? average : std::min(average, input.load_pps);
}

double seconds_lost(const load::WorkerHealth& worker) {
    // Most of the time that a worker waits for its CPU it seems to stand still, too.
    return static_cast<double>(std::max(worker.waited_ns, worker.stalled_ns)) / 1e9;
}

Shortfall shortfall(const search::TrialInput& input, const load::TrialReport& report,
                    double tolerance) {
    if (input.load_pps <= 0 || input.change || report.partial) {
        return Shortfall::kTolerated;
    }
    const double intended = input.frames != 0 ? static_cast<double>(input.frames) / input.load_pps
                                              : seconds(input.duration);
    const double missing = seconds_missing(input, report, intended);
    const double tolerated = tolerance * intended;
    if (missing <= tolerated) {
        return Shortfall::kTolerated;
    }
    return missing - seconds_lost_by_senders(report) <= tolerated ? Shortfall::kStalls
                                                                  : Shortfall::kReach;
}

}  // namespace pathproof::measure
