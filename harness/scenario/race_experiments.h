// The three experiments of dns-race. Each runs on a nat-box bench, with its negative controls and its cure.
#pragma once

#include <string>
#include <vector>

#include "harness/scenario/nat_bench.h"

namespace pathproof::scenario {

struct RaceExperiment {
    bool reproduced = false;
    bool cure_shown = false;
    std::string headline;
    std::string cause;
    std::string cure;
    std::vector<std::string> explanation;
    std::vector<verdict::Cell> cells;
    std::vector<verdict::Cell> controls;
    std::vector<verdict::Proof> proofs;
    std::vector<verdict::Chart> charts;
    std::uint64_t unexplained = 0;
};

// Two packets of one 5-tuple, by two CPUs, by a VXLAN carrier with two outer ports, by list receive on one CPU.
Result<RaceExperiment> run_same_tuple(Context& context, NatBench& bench);
// Two clients, one source port, one server behind MASQUERADE.
Result<RaceExperiment> run_snat_collision(Context& context, NatBench& bench);
// Same-tuple pairs whose server answers later than a resolved clash lives.
Result<RaceExperiment> run_late_answer(Context& context, NatBench& bench);

// How many steps each announces.
inline constexpr std::size_t kSameTupleSteps = 8;
inline constexpr std::size_t kSnatCollisionSteps = 3;
inline constexpr std::size_t kLateAnswerSteps = 4;

// Shared by the experiments.

// Fills a cell's measures from an outcome; an outcome with objections makes it an ERROR.
verdict::Cell race_cell(const std::string& id, std::vector<std::pair<std::string, std::string>> toggles,
                        const PairOutcome& outcome);
// Files for a failed cell: conntrack events of the first stories and the per-CPU counters.
Status keep_race_evidence(const Context& context, const PairOutcome& outcome, verdict::Cell& cell);
// The queries that did not end well, each beside the event that tells why.
verdict::Proof story_proof(const std::string& title, const PairOutcome& outcome);

}  // namespace pathproof::scenario
