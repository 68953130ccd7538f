// A calibration as the report shows it.
#pragma once

#include "dataplane/calibration/calibration.h"
#include "harness/verdict/truth_table.h"

namespace pathproof::scenario {

verdict::Calibration to_verdict(const calibration::CalibrationResult& result);

}  // namespace pathproof::scenario
