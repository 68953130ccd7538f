#include "tests/metrics/strict_parser.h"

#include <boost/test/unit_test.hpp>

#include "harness/process/program.h"

namespace pathproof::metrics::test {
namespace {

constexpr const char* kProgram = R"(
import sys
if sys.argv[1] == 'openmetrics':
    from prometheus_client.openmetrics.parser import text_string_to_metric_families
else:
    from prometheus_client.parser import text_string_to_metric_families
text = sys.stdin.buffer.read().decode('utf-8')
for family in text_string_to_metric_families(text):
    for sample in family.samples:
        labels = ','.join('%s=%s' % pair for pair in sample.labels.items())
        print(family.name, family.type, sample.name, '{' + labels + '}', '%g' % sample.value)
)";

}  // namespace

std::string parsed(const std::string& text, Dialect dialect) {
    // Debian's own interpreter is the one that has Debian's module.
    const auto ran =
        process::run_program({"/usr/bin/python3", "-c", kProgram,
                              dialect == Dialect::kOpenMetrics ? "openmetrics" : "prometheus"},
                             {.input = text});
    BOOST_REQUIRE_MESSAGE(ran, ran.error().message);
    BOOST_REQUIRE_MESSAGE(ran->exit_status == 0, ran->err << "\n" << text);
    return ran->out;
}

}  // namespace pathproof::metrics::test
