// junit.xml: what CI systems read. One test suite a scenario, one test case a cell or control,
// and one for the verdict of the run.
#pragma once

#include <string>

#include "harness/verdict/result.h"

namespace pathproof::report {

// The document of a run that ends with `exit_code`: with 0 nothing of it is red, for CI reads
// either. FAIL is a failure then where the run was to fail (exit code not 0), else, as the failure
// that was looked for and found, no more than a property; FAIL of a control, ERROR and
// INCONCLUSIVE are errors, or with exit code 0 skipped, as SKIP is.
std::string junit_xml(const verdict::RunResult& run, int exit_code);

}  // namespace pathproof::report
