// The run as the kernel's selftests print theirs, and as a page of a CI job shows it.
#pragma once

#include <string>

#include "harness/verdict/result.h"

namespace pathproof::report {

// KTAP version 1 (Documentation/dev-tools/ktap.rst): a subtest for each scenario, a line for each
// cell and control, and the run's verdict last. A known failure is XFAIL. Says what junit_xml says.
std::string ktap(const verdict::RunResult& run, int exit_code);

// Markdown: the verdict, a table of the scenarios, and what failed with its cause. The same counts.
std::string summary_markdown(const verdict::RunResult& run, int exit_code);

}  // namespace pathproof::report
