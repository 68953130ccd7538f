// The Prometheus project's own parsers (Debian package python3-prometheus-client), which refuse
// what their specifications do not allow.
#pragma once

#include <string>

#include "harness/metrics/exposition.h"

namespace pathproof::metrics::test {

// Each sample as the parser understood it, a line each, in the order of the text:
//   FAMILY TYPE SAMPLE {label=value,...} VALUE
// Fails the test, with the parser's words, when it refuses the text.
std::string parsed(const std::string& text, Dialect dialect);

}  // namespace pathproof::metrics::test
