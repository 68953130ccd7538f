// The calibration of the instrument: every known fault planted in the software NIC, alone and in
// pairs, faults nobody knows, healthy frames, and judges that are broken themselves.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "dataplane/base/result.h"
#include "dataplane/calibration/healthy.h"
#include "dataplane/calibration/pairs.h"
#include "dataplane/calibration/score.h"

namespace pathproof::calibration {

// A run that was cut short for speed: pairs of rows' values, few healthy frames.
CalibrationOptions quick_options();

struct CalibrationResult {
    CalibrationOptions options;
    std::uint64_t send_rows = 0;
    std::uint64_t receive_rows = 0;
    std::uint64_t feasible_tuples = 0;
    std::vector<FaultScore> faults;
    std::vector<FaultScore> open_world;
    std::vector<PairScore> pairs;
    HealthyRun healthy;
    std::vector<MutantScore> mutants;
    double seconds = 0;

    // Rows of the fault list (F01, ...) of which every variant that was run is detected.
    std::size_t rows() const;
    std::size_t rows_detected() const;
    // Planted mechanism and names given: rows of the matrix.
    std::map<std::pair<std::string, std::string>, std::uint64_t> confusion() const;
    // Everything that is not as it must be, a sentence each; empty: passed.
    std::vector<std::string> failures() const;
    bool passed() const { return failures().empty(); }
};

// Deterministic in all but `seconds`, whatever the number of workers but for the share of each row
// in the healthy frames. Errors: a matrix that cannot be made.
Result<CalibrationResult> calibrate(const CalibrationOptions& options);

}  // namespace pathproof::calibration
