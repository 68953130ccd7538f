#include "harness/bench/lanes/dataplane_bench.h"

namespace pathproof::bench {
namespace {

// Starting a program with its EAL and pool, and ending it.
constexpr double kStartSeconds = 0.9;
// Rate of the ledger's proof on a machine of this age.
constexpr double kProofPacketsPerSecond = 8e6;

}  // namespace

double DataplaneStep::round_seconds(double lane_seconds) const {
    return lanes * (lane_seconds + kStartSeconds);
}

std::vector<DataplaneStep> dataplane_steps(std::uint64_t ledger_packets) {
    const double proof = static_cast<double>(ledger_packets) / kProofPacketsPerSecond;
    return {
        {.id = "generator", .rounds = 7, .lanes = 6, .run = bench_generator},
        {.id = "verify", .rounds = 7, .lanes = 2, .run = bench_verify},
        {.id = "loop", .rounds = 7, .lanes = 4, .run = bench_loop},
        {.id = "ledger", .rounds = 0, .once_seconds = 2 + proof, .run = bench_ledger},
        {.id = "veth", .rounds = 7, .once_seconds = 1, .lanes = 9, .run = bench_veth},
        {.id = "answers", .rounds = 7, .once_seconds = 1, .lanes = 10, .run = bench_answers},
        {.id = "growth", .rounds = 3, .lanes = 17, .run = bench_growth},
    };
}

}  // namespace pathproof::bench
