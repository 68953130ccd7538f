// The ledger's proof as a process: frames with known faults, and what was found of them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "dataplane/base/result.h"

namespace pathproof::bench {

struct LedgerJob {
    std::uint64_t frames = 50'000'000;
    std::uint64_t seed = 1;
    int cpu = 0;
    enum class Path : std::uint8_t { kPlain, kVxlan } path = Path::kPlain;
    bool operator==(const LedgerJob&) const = default;
};

// Faults injected into the frames, and those that the receiver found.
struct LedgerOutcome {
    std::uint64_t sent = 0;
    struct Kind {
        std::uint64_t injected = 0;
        std::uint64_t found = 0;
        bool operator==(const Kind&) const = default;
    };
    Kind missing;  // lost and corrupted: neither comes back whole
    Kind duplicates;
    Kind reordered;
    Kind furthest;  // greatest distance of a reordered frame, in frames
    Kind corrupted;
    double seconds = 0;
    std::vector<std::string> errors;  // a sentence for each figure that differs
    bool operator==(const LedgerOutcome&) const = default;
};

// Errors: what the EAL and the proof say; kFailed when it was stopped before its end.
Result<LedgerOutcome> run_ledger_job(const LedgerJob& job);

std::string to_text(const LedgerJob& job);
Result<LedgerJob> parse_ledger_job(const std::string& text);
std::string to_text(const LedgerOutcome& outcome);
Result<LedgerOutcome> parse_ledger_outcome(const std::string& text);

}  // namespace pathproof::bench
