// dpdk-testpmd as a lane: started on one virtual device, stopped after a while, and what it says of
// itself.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "dataplane/base/result.h"
#include "harness/bench/cores.h"
#include "harness/bench/measured_program.h"
#include "harness/bench/rounds.h"

namespace pathproof::bench {

struct TestpmdJob {
    std::string vdev;                                                     // "net_null0,no-rx=1"
    std::string mode;                                                     // "txonly", "flowgen"
    enum class Flows : std::uint8_t { kOne, kMany } flows = Flows::kOne;  // --txonly-multi-flow
    std::uint16_t frame_bytes = 64;  // flowgen: it has no other
    std::string netns;
};

// Statistics that `testpmd -i --record-core-cycles` prints at `stop`.
struct TestpmdReport {
    double cycles_per_packet = 0;
    double tsc_mhz = 0;
    std::uint64_t sent = 0;
    std::uint64_t received = 0;
    std::uint64_t dropped = 0;  // the driver would not take them
};

// kFailed when the text ends before the statistics.
Result<TestpmdReport> parse_testpmd(const std::string& text);

// `-l` and the rest: the main lcore on one CPU, the forwarding one on the other.
std::vector<std::string> testpmd_command(const TestpmdJob& job, const Cores& cores);

// Waits for its prompt. kFailed when it ends before, kUnavailable when it takes too long.
Status wait_until_it_forwards(MeasuredProgram& program);

// Lets it forward for this long. Figures: "cycles", "mpps" (of the lcore's own cycles), "sent".
// An error when it sent nothing, or received where the device must receive nothing: net_null
// without no-rx=1 hands out frames of its own, which flowgen then frees in the time that is
// measured.
Result<Measurement> run_testpmd(const TestpmdJob& job, const Cores& cores,
                                std::chrono::milliseconds duration);

}  // namespace pathproof::bench
