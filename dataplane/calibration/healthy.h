// Frames with nothing wrong: how often the judge objects all the same, and whether a judge that
// makes mistakes would.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "dataplane/base/result.h"
#include "dataplane/calibration/look_alikes.h"
#include "dataplane/calibration/material.h"
#include "dataplane/calibration/row_run.h"
#include "dataplane/judge/verifier.h"

namespace pathproof::calibration {

struct HealthyRun {
    std::uint64_t frames = 0;  // judged, no two made from the same payload
    std::uint64_t alarms = 0;
    std::uint64_t lossy = 0;  // of the frames: sent over a wire that loses, repeats and reorders
    std::array<std::uint64_t, kLookAlikes> look_alikes{};  // of the frames, by kind
    std::vector<std::string> examples;                     // of alarms, a few

    void add(const HealthyRun& other);
    // Upper bound of the rate of false alarms at 95 % (rule of three); 1 without frames.
    double upper_bound() const;
};

// The rows of the material with new payloads, again and again until there are enough frames,
// through a healthy software NIC and past all judges; every frame on the wire once more as a
// look-alike where it can be made one. On a wire that loses, repeats and reorders the judges may
// say so and nothing else, and nothing but that of a counter that counts what is good.
Result<HealthyRun> run_healthy(const Material& material, const CalibrationOptions& options);

// A judge with a mistake against healthy frames: it has to object to some.
struct MutantScore {
    judge::OracleMistake mistake = judge::OracleMistake::kNone;
    std::uint64_t frames = 0;
    std::uint64_t alarms = 0;
    // Returns whether there was an alarm if, and only if, there was a mistake.
    bool as_it_must() const {
        return (alarms > 0) == (mistake != judge::OracleMistake::kNone) && frames > 0;
    }
};
// All mistakes of the oracle, and the oracle without one (first).
std::vector<MutantScore> score_mutants(const Material& material);

}  // namespace pathproof::calibration
