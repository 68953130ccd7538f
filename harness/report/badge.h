// Looks and meanings of verdicts, in words: the same on a terminal, on the page and in CI's summaries.
#pragma once

#include <string>

#include "harness/verdict/result.h"

namespace pathproof::report {

struct Badge {
    const char* tone;    // "good", "bad", "warn", "mute"
    const char* symbol;  // does not need colour
    const char* word;
};

// The verdict that a run is headed by: its own, or that of the one scenario of a complete `repro`.
Badge headline_of(const verdict::RunResult& run);
Badge badge_of(verdict::CellVerdict verdict);
Badge badge_of(verdict::ScenarioVerdict verdict);
Badge badge_of(verdict::RunVerdict verdict);

// Returns what the run's verdict means, for someone who reads their first report.
std::string meaning(const verdict::RunResult& run);

// Returns what evidence of this class speaks of: "of the software path", "of this hardware".
const char* subject_of(const std::string& evidence_class);

}  // namespace pathproof::report
