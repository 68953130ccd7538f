// Figures that text and JSON of a result both need.
#pragma once

#include <cstdint>
#include <vector>

#include "dataplane/load/load_run.h"

namespace pathproof::cli {

// One class of traffic, as it left and as it came back.
struct ClassFigures {
    frame::TrafficClass traffic{};
    std::uint64_t sent = 0;
    const load::ClassTotals* came = nullptr;

    // sent = as sent + late + wrong + damaged + missing.
    std::uint64_t missing() const { return sent > came->arrived() ? sent - came->arrived() : 0; }
};
// Returns the figures of each class that was sent or came.
std::vector<ClassFigures> class_figures(const load::TrialReport& report);

// Adds up the totals of all streams.
judge::SequenceTotals all_streams(const load::TrialReport& report);

// Returns the fields that were not as they had to be, with their numbers of frames, most first.
std::vector<load::WrongField> wrong_fields(const load::TrialReport& report);

inline double us(std::int64_t ns) {
    return static_cast<double>(ns) / 1e3;
}

}  // namespace pathproof::cli
