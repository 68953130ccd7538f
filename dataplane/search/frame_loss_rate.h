// RFC 2544 frame loss rate (26.3): the curve of loss over load, from the greatest load down.
#pragma once

#include <vector>

#include "dataplane/search/trials.h"

namespace pathproof::search {

struct LossCurvePlan {
    double max_load_pps = 0;
    double step = 0.1;  // of the greatest load; RFC 2544: 0.1 or finer
    Nanoseconds trial_duration = std::chrono::seconds(60);
};

struct LossPoint {
    double share = 0;  // of the greatest load
    double load_pps = 0;
    double offered_pps = 0;
    double loss_ratio = 0;
    std::uint64_t sent = 0;
    std::uint64_t lost = 0;
    bool tester_limited = false;
    bool doubtful = false;
};

struct LossCurve {
    std::vector<LossPoint> points;  // greatest load first
    // Two loads one after the other lost nothing, as RFC 2544 wants it before the end.
    bool clean_end = false;
    // A lower load lost a greater share than a higher one: the device is not monotone.
    bool monotone = true;
    Ending ending = Ending::kNone;

    // Ends clean, and no point is the tester's or doubtful.
    bool conclusive() const;
};

// Errors (kBadInput): a step that is not above 0 and at most 0.1, a greatest load of 0 or less.
Result<LossCurve> measure_loss_curve(const LossCurvePlan& plan, Trials& trials);
Nanoseconds longest_time(const LossCurvePlan& plan);

}  // namespace pathproof::search
