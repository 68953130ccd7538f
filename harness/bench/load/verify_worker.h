// Measures the cost of judging received frames, as a process: the same loop with and without it,
// slice by slice in turn, so that both see the same machine.
#pragma once

#include <cstdint>
#include <string>

#include "dataplane/base/result.h"
#include "harness/bench/load/load_job.h"

namespace pathproof::bench {

// Cycles of the time-stamp counter a frame: lowest deciles over slices of about a millisecond,
// which a process that takes the CPU away for a moment does not reach.
struct VerifyOutcome {
    double loop = 0;      // made, sent over a ring, received, freed
    double judged = 0;    // and every checksum verified, entered in ledger and histogram
    double compared = 0;  // and every byte held against what was sent
    std::uint64_t frames = 0;
    std::uint64_t missing = 0;        // of the judged ones
    std::uint64_t wrong = 0;          // of the compared ones
    std::uint64_t bad_checksums = 0;  // likewise
    double frame_bytes = 0;

    double judging() const { return judged - loop; }
    double comparing() const { return compared - judged; }
    bool operator==(const VerifyOutcome&) const = default;
};

// Runs on one net_ring port; of the job only the CPUs, the envelope, the flows and the time count.
Result<VerifyOutcome> run_verify_job(const LoadJob& job);

std::string to_text(const VerifyOutcome& outcome);
Result<VerifyOutcome> parse_verify_outcome(const std::string& text);

}  // namespace pathproof::bench
