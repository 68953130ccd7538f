// RFC 2544 system recovery (26.5): how long a device goes on losing frames after an overload ends.
#pragma once

#include <vector>

#include "dataplane/search/trials.h"

namespace pathproof::search {

struct RecoveryPlan {
    double throughput_pps = 0;
    double max_load_pps = 0;  // of the medium or the tester
    double overload = 1.1;    // of the throughput, but not above the greatest load
    double relief = 0.5;      // of the overload, from the change on
    Nanoseconds overload_duration = std::chrono::seconds(60);  // RFC 2544: at least
    Nanoseconds relief_duration = std::chrono::seconds(10);
    unsigned repeats = 3;
};

struct RecoveryRun {
    Nanoseconds recovery{};   // from the change of load to when the last lost frame left
    std::uint64_t lost = 0;   // in both phases
    bool overloaded = false;  // frames were lost: there was something to recover from
    bool recovered = false;   // the last part of the relief lost nothing
    bool doubtful = false;
    bool tester_limited = false;
};

struct RecoveryResult {
    std::vector<RecoveryRun> runs;
    double overload_pps = 0;
    double relief_pps = 0;
    double average_seconds = 0;  // over the runs that were overloaded and recovered
    Ending ending = Ending::kNone;

    // Every run was overloaded, recovered and was the device's own doing.
    bool conclusive() const;
};

// Errors (kBadInput): loads, factors or durations that are not above 0.
Result<RecoveryResult> measure_recovery(const RecoveryPlan& plan, Trials& trials);
Nanoseconds longest_time(const RecoveryPlan& plan);

}  // namespace pathproof::search
