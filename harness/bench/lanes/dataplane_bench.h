// The benchmark of the data plane beside the usual packet generators. Each lane is a process of its
// own, pinned like its peers'; what needs namespaces makes them through the journal.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "dataplane/base/result.h"
#include "harness/bench/cores.h"
#include "harness/bench/experiment.h"
#include "harness/bench/peers/tools.h"
#include "harness/bench/rounds.h"
#include "harness/lab/journal.h"

namespace pathproof::bench {

struct DataplaneBench {
    lab::Journal* journal = nullptr;  // none: no namespaces can be made
    std::string no_namespaces;        // why not
    std::string binary;               // of pathproof
    Cores cores;
    Tools tools;
    double seconds = 1;  // that each lane sends in each round
    std::uint64_t ledger_packets = 50'000'000;
    std::uint64_t seed = 1;
    RoundPlan plan;
};

// Measures the cost of a frame for the sending lcore, on a device that takes all and gives nothing.
Result<Experiment> bench_generator(const DataplaneBench& bench);
// Measures the cost of judging a received frame beyond receiving it.
Result<Experiment> bench_verify(const DataplaneBench& bench);
// One lcore that sends, receives and judges.
Result<Experiment> bench_loop(const DataplaneBench& bench);
// Checks that each lost, duplicated, reordered and corrupted frame is found, and nothing else.
Result<Experiment> bench_ledger(const DataplaneBench& bench);
// Through the kernel: a veth pair with a counting sink behind it.
Result<Experiment> bench_veth(const DataplaneBench& bench);
// Queries that come back answered.
Result<Experiment> bench_answers(const DataplaneBench& bench);
// Measures how the cost grows with flows, sizes, lcores and envelopes, and the cores that line
// rates take.
Result<Experiment> bench_growth(const DataplaneBench& bench);

// A benchmark of those above, as it is chosen on the command line.
struct DataplaneStep {
    std::string id;
    unsigned rounds = 7;
    // Returns the time of one round, in seconds: an estimate to plan with, as is `once_seconds`,
    // the time that is spent once.
    double round_seconds(double lane_seconds) const;
    double once_seconds = 0;
    unsigned lanes = 0;
    Result<Experiment> (*run)(const DataplaneBench&) = nullptr;
};
std::vector<DataplaneStep> dataplane_steps(std::uint64_t ledger_packets);

}  // namespace pathproof::bench
