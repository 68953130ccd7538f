// Proves the ledger: frames of a source go through a path that loses, doubles, delays and damages
// some of them, burst by burst into an intake, and what the intake found is held against what was
// done. One core, no port.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "dataplane/base/result.h"
#include "dataplane/load/impairment.h"
#include "dataplane/load/load_plan.h"
#include "dataplane/load/tracked_intake.h"

namespace pathproof::load {

struct LedgerProofPlan {
    std::uint64_t frames = 50'000'000;
    SourcePlan source;
    // Shares and distance; the seed is the source's.
    ImpairmentPlan impairment = {.loss = 1e-4,
                                 .duplication = 1e-4,
                                 .reordering = 1e-4,
                                 .corruption = 1e-4,
                                 .most_distance = Impairment::kMostDistance};
};
// DNS A and AAAA between addresses for benchmarks and documentation.
enum class ProofPath : std::uint8_t { kPlain, kVxlan };
LedgerProofPlan ledger_proof_plan(std::uint64_t frames, std::uint64_t seed, ProofPath path);

struct LedgerProof {
    std::uint64_t sent = 0;
    ImpairmentCounts injected;
    IntakeTotals found;
    double seconds = 0;
    bool partial = false;  // stopped before its end
    // One sentence for each figure that is not what was injected.
    std::vector<std::string> errors;

    std::uint64_t missing() const { return sent - found.streams.back().unique; }
    std::uint64_t bad() const { return found.received.bad_checksum + found.received.malformed; }
};

// The EAL must have been started: the frames lie in a pool of its memory. Errors: no memory for the
// pool, a plan that the source or the impairment refuses.
Result<LedgerProof> run_ledger_proof(const LedgerProofPlan& plan, const std::atomic<bool>& stop);

}  // namespace pathproof::load
