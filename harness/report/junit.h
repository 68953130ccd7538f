// junit.xml: what CI systems read. One test suite a scenario, one test case a cell or control,
// and one for the verdict of the run.
#pragma once

#include <string>

#include "harness/verdict/result.h"

namespace pathproof::report {

// The document. A cell that fails inside a REPRODUCED scenario is a failure; FAIL of a control and
// ERROR are errors; SKIP is skipped; INCONCLUSIVE is an error, for CI must not pass on it.
std::string junit_xml(const verdict::RunResult& run);

}  // namespace pathproof::report
