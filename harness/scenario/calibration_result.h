// The calibration of the instrument in a scenario's result: what it proves, and as the report shows
// it.
#pragma once

#include <future>

#include "dataplane/calibration/calibration.h"
#include "harness/scenario/scenario.h"
#include "harness/verdict/truth_table.h"

namespace pathproof::scenario {

verdict::Calibration to_verdict(const calibration::CalibrationResult& result);

// Adds the table, and a control that is an ERROR unless all that was planted was seen, named and
// located and no healthy frame objected to. An instrument that failed proves nothing: then the
// scenario is INCONCLUSIVE, whatever it found.
void attach(const Result<calibration::CalibrationResult>& calibration,
            verdict::ScenarioResult& result);

// The quick calibration with one seed for all runs, on the run's CPUs, beside a scenario: with the CPU
// time that nobody else wants (SCHED_IDLE), until somebody waits for it.
class CalibrationBeside {
  public:
    explicit CalibrationBeside(const Options& options);
    CalibrationBeside(const CalibrationBeside&) = delete;
    CalibrationBeside& operator=(const CalibrationBeside&) = delete;
    ~CalibrationBeside();

    // Waits for its end, and attaches it.
    void attach_to(Context& context, verdict::ScenarioResult& result);

  private:
    std::future<Result<calibration::CalibrationResult>> running_;
};

}  // namespace pathproof::scenario
