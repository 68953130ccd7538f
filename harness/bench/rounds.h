// The protocol of every benchmark: lanes that take turns, round by round, so that what drifts on
// the machine drifts for all of them.
//
// Each round runs every lane once, in order in even rounds and backwards in odd ones (ABBA). The
// first round warms caches up and is not kept. A reading taken while others used the CPUs is
// rejected and counted; rounds go on until each lane has enough clean readings or the limit is
// reached. A lane that fails takes nothing from the others: why it failed stands beside its
// readings. A lane run under two names (A/A) shows what difference is none.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "dataplane/base/result.h"
#include "harness/bench/contention.h"
#include "harness/bench/statistics.h"

namespace pathproof::bench {

// Figures of one lane in one round by name: "wall_s", "lines".
using Figures = std::map<std::string, double>;

struct Measurement {
    Figures figures;
    std::optional<double> waiting_share;  // see Contention
    std::string objection;  // what the lane itself has against its figures; empty: nothing
};

struct Lane {
    std::string id;      // "conntrack-list": what scripts read
    std::string title;   // "conntrack -L": what people read
    std::string note;    // what it does, one sentence
    std::string absent;  // not empty: it cannot be run, and this says why ("not measured: ...")
    std::function<Result<Measurement>()> run;
};

struct Reading {
    Figures figures;
    Contention contention;
    std::string objection;  // not empty: rejected
};

// A round in which a lane gave no figures.
struct FailedRun {
    unsigned round = 0;  // 0: the warm-up
    std::string why;
};

struct LaneResult {
    std::string id;
    std::string title;
    std::string note;
    std::string absent;
    std::vector<Reading> readings;    // in the order taken, without the warm-up
    std::vector<FailedRun> failures;  // in the order of the rounds
    // True if no clean reading was left, and the user preferred contended readings to none.
    bool from_contended = false;

    std::size_t rejected() const;
    // One figure of the readings that count, in the order taken.
    std::vector<double> values(const std::string& figure) const;
};

struct RoundPlan {
    unsigned rounds = 7;
    unsigned most_rounds = 14;  // with those that were rejected
    enum class Contended { kReject, kUseWhenNothingElse } contended = Contended::kReject;
    // Called before each lane of each round; round 0 is the warm-up.
    std::function<void(unsigned round, const Lane& lane)> progress;
    // Called when a lane failed.
    std::function<void(const Lane& lane, const FailedRun& run)> failed;
    // Reads the CPUs' clock; tests put their own in its place.
    std::function<Result<CpuClock>()> clock = read_cpu_clock;
};

// A lane that has only ever failed is left out after its third time. Errors: the clock cannot be
// read.
Result<std::vector<LaneResult>> run_rounds(const std::vector<Lane>& lanes, const RoundPlan& plan);

}  // namespace pathproof::bench
