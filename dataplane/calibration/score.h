// One planted fault against the judge: was it seen, called by its name, found where it must show.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "dataplane/calibration/effects.h"
#include "dataplane/calibration/names.h"

namespace pathproof::calibration {

enum class Score : std::uint8_t { kYes, kNo, kNotApplicable };

constexpr Score yes_if(bool yes) {
    return yes ? Score::kYes : Score::kNo;
}

struct FaultScore {
    std::string id;    // "F02"
    std::string text;  // dir.layer.field.MECH@predicate!rate
    Score detected = Score::kNo;
    Score named = Score::kNo;    // n/a: the algebra has no name, and none was given
    Score located = Score::kNo;  // fails in exactly the rows that must fail
    std::string given;           // names given, those of most rows first
    std::uint64_t rows = 0;      // run
    std::uint64_t must_fail = 0;
    std::uint64_t failed = 0;
    std::vector<std::string> missed;             // rows that must fail and did not
    std::vector<std::string> extra;              // rows that failed and must not
    std::vector<std::string> wrongly_named;      // "PSEUDO in row '...'"
    Effect effect;                               // frames
    std::uint64_t caught = 0;                    // frames objected to
    std::map<std::string, std::uint64_t> names;  // given: rows, beside an exact one as well
    std::uint64_t exact = 0;                     // rows named exactly
    std::uint64_t open = 0;   // rows in which several names fit, or too few payloads differ
    std::uint64_t alias = 0;  // rows in which another fault gives the same bytes
    std::string note;
};

// The faults' number of differing frames below which the matrix has a hole.
inline constexpr std::uint64_t kLeastKills = 3;

// Scores the model at rate 1 in all rows of its direction: tx and wire faults in those that are
// sent, rx faults in those that are received. `free_fields`: see matrix::TxCell.
FaultScore score_fault(const softnic::FaultModel& model, const Material& material,
                       std::uint64_t seed, const matrix::FreeFields& free_fields);

}  // namespace pathproof::calibration
