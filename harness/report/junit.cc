#include "harness/report/junit.h"

#include <fmt/ranges.h>

#include "harness/report/outcome.h"
#include "harness/report/text.h"

namespace pathproof::report {
namespace {

using namespace verdict;

std::string counts_xml(const Tally& counts) {
    return fmt::format(R"(tests="{}" failures="{}" errors="{}" skipped="{}")", counts.tests,
                       counts.failures, counts.errors, counts.skipped);
}

std::string property(const std::string& name, const std::string& value) {
    return fmt::format("      <property name=\"{}\" value=\"{}\"/>\n", escape_markup(name),
                       escape_markup(value));
}

std::string properties_of(const Cell& cell) {
    std::string all;
    for (const auto& [axis, value] : cell.toggles) {
        all += property("toggle." + axis, value);
    }
    if (!cell.cause.empty()) {
        all += property("cause", cell.cause);
    }
    all += property("verdict", name(cell.verdict));
    for (const Measure& measure : cell.measures) {
        all += property("measure." + measure.name, measure.value.text());
    }
    if (cell.runs) {
        all += property("repetitions", std::to_string(cell.runs->n));
        all += property("repetitions.failed", std::to_string(cell.runs->failed));
    }
    for (const EvidenceFile& file : cell.evidence) {
        all += property("attachment", file.path);
    }
    return "      <properties>\n" + all + "      </properties>\n";
}

std::string outcome_xml(const Case& one) {
    const Cell& cell = *one.cell;
    const std::string said = escape_markup(message_of(one));
    switch (one.outcome) {
        case Outcome::kPassed: return "";
        case Outcome::kFailure:
            return fmt::format("      <failure type=\"{}\" message=\"{}\"/>\n",
                               escape_markup(cell.cause.empty() ? "FAIL" : cell.cause), said);
        case Outcome::kError:
            return fmt::format("      <error type=\"{}\" message=\"{}\"/>\n", name(cell.verdict),
                               said);
        case Outcome::kSkipped: return fmt::format("      <skipped message=\"{}\"/>\n", said);
    }
    return "";
}

std::string case_xml(const ScenarioResult& scenario, const Case& one) {
    const std::string time =
        one.cell->seconds ? fmt::format(" time=\"{:.3f}\"", *one.cell->seconds) : "";
    return fmt::format(
        "    <testcase classname=\"{}.{}\" name=\"{}\"{}>\n{}{}    </testcase>\n",
        escape_markup(scenario.id), one.role == Cell::Role::kMatrix ? "cell" : name(one.role),
        escape_markup(one.cell->id), time, properties_of(*one.cell), outcome_xml(one));
}

std::string suite_xml(const RunResult& run, const ScenarioResult& scenario,
                      const std::vector<Case>& cases) {
    Tally counts;
    counts.add(cases);
    std::string xml = fmt::format("  <testsuite name=\"{}\" {} time=\"{:.3f}\" timestamp=\"{}\">\n",
                                  escape_markup(scenario.id), counts_xml(counts), scenario.seconds,
                                  escape_markup(run.started_at));
    xml += "    <properties>\n" + property("evidence_class", run.evidence_class) +
           property("seed", std::to_string(run.seed)) + property("command", run.command) +
           property("repeat_command", run.repeat_command) + property("version", run.version) +
           property("lab", run.lab) + property("run_verdict", name(run.verdict)) +
           property("verdict", name(scenario.verdict)) + property("cause", scenario.cause) +
           property("cure", scenario.cure);
    for (const EvidenceFile& file : scenario.evidence) {
        xml += property("attachment", file.path);
    }
    xml += "    </properties>\n";
    for (const Case& one : cases) {
        xml += case_xml(scenario, one);
    }
    return xml + "  </testsuite>\n";
}

// The verdict of the run as a test case of its own.
std::string run_suite_xml(const RunResult& run, Outcome outcome) {
    Tally counts;
    counts.add(outcome);
    std::string body;
    if (outcome != Outcome::kPassed) {
        body = fmt::format("      <{} type=\"{}\" message=\"{}\"/>\n",
                           outcome == Outcome::kFailure ? "failure" : "error", name(run.verdict),
                           escape_markup(fmt::format("{}", fmt::join(run.reasons, "; "))));
    }
    return fmt::format(
        "  <testsuite name=\"run\" {} time=\"{:.3f}\" timestamp=\"{}\">\n"
        "    <testcase classname=\"run\" name=\"verdict\">\n{}    </testcase>\n  </testsuite>\n",
        counts_xml(counts), run.seconds, escape_markup(run.started_at), body);
}

}  // namespace

std::string junit_xml(const RunResult& run, int exit_code) {
    Tally all;
    all.add(outcome_of_run(exit_code));
    std::string suites = run_suite_xml(run, outcome_of_run(exit_code));
    for (const ScenarioResult& scenario : run.scenarios) {
        const std::vector<Case> cases = cases_of(scenario, exit_code);
        all.add(cases);
        suites += suite_xml(run, scenario, cases);
    }
    return fmt::format(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"pathproof\" {} "
        "time=\"{:.3f}\">\n{}</testsuites>\n",
        counts_xml(all), run.seconds, suites);
}

}  // namespace pathproof::report
