#include "harness/report/junit.h"

#include <fmt/format.h>

#include "harness/report/text.h"

namespace pathproof::report {
namespace {

using namespace verdict;

using Role = Cell::Role;
enum class Outcome { kPassed, kFailure, kError, kSkipped };

// A control that fails and a demonstration that does not show what it must are no fault of the
// system.
Outcome red_outcome_of(const Cell& cell, Role role) {
    switch (cell.verdict) {
        case CellVerdict::kPass: return Outcome::kPassed;
        case CellVerdict::kFail:
            return !cell.known.empty()                                      ? Outcome::kSkipped
                   : role == Role::kControl || role == Role::kDemonstration ? Outcome::kError
                                                                            : Outcome::kFailure;
        case CellVerdict::kError:
        case CellVerdict::kInconclusive: return Outcome::kError;
        case CellVerdict::kSkip: return Outcome::kSkipped;
    }
    return Outcome::kError;
}

// What CI is to make of a cell of a run with this exit code.
struct Reading {
    int exit_code = 0;

    Outcome operator()(const Cell& cell, Role role) const {
        const Outcome red = red_outcome_of(cell, role);
        return exit_code != 0             ? red
               : red == Outcome::kFailure ? Outcome::kPassed
               : red == Outcome::kError   ? Outcome::kSkipped
                                          : red;
    }
};

struct Tally {
    std::size_t tests = 0;
    std::size_t failures = 0;
    std::size_t errors = 0;
    std::size_t skipped = 0;

    void add(Outcome outcome) {
        ++tests;
        failures += outcome == Outcome::kFailure ? 1 : 0;
        errors += outcome == Outcome::kError ? 1 : 0;
        skipped += outcome == Outcome::kSkipped ? 1 : 0;
    }
};

Tally tally(const ScenarioResult& scenario, const Reading& outcome_of) {
    Tally counts;
    for (const Cell& cell : scenario.cells) {
        counts.add(outcome_of(cell, cell.role));
    }
    for (const Cell& control : scenario.controls) {
        counts.add(outcome_of(control, role_among_controls(control)));
    }
    return counts;
}

std::string counts_xml(const Tally& counts) {
    return fmt::format(R"(tests="{}" failures="{}" errors="{}" skipped="{}")", counts.tests,
                       counts.failures, counts.errors, counts.skipped);
}

std::string property(const std::string& name, const std::string& value) {
    return fmt::format("      <property name=\"{}\" value=\"{}\"/>\n", escape_markup(name),
                       escape_markup(value));
}

std::string measure_value(const Measure& measure) {
    return measure.value.text();
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
        all += property("measure." + measure.name, measure_value(measure));
    }
    for (const EvidenceFile& file : cell.evidence) {
        all += property("attachment", file.path);
    }
    return "      <properties>\n" + all + "      </properties>\n";
}

std::string message(const Cell& cell, Role role) {
    if (!cell.known.empty()) {
        return "known failure: " + cell.known + ": " + cell.reason;
    }
    if (cell.verdict != CellVerdict::kFail) {
        return cell.reason;
    }
    return role == Role::kControl
               ? "a control shows the failure, so the scenario proves nothing: " + cell.reason
           : role == Role::kDemonstration
               ? "the tool's own demonstration does not show what it must: " + cell.reason
               : cell.reason;
}

std::string outcome_xml(const Cell& cell, Role role, Outcome outcome) {
    const std::string said = escape_markup(message(cell, role));
    switch (outcome) {
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

std::string case_xml(const ScenarioResult& scenario, const Cell& cell, Role role,
                     const Reading& outcome_of) {
    return fmt::format("    <testcase classname=\"{}.{}\" name=\"{}\">\n{}{}    </testcase>\n",
                       escape_markup(scenario.id), role == Role::kMatrix ? "cell" : name(role),
                       escape_markup(cell.id), properties_of(cell),
                       outcome_xml(cell, role, outcome_of(cell, role)));
}

std::string suite_xml(const RunResult& run, const ScenarioResult& scenario,
                      const Reading& outcome_of) {
    std::string xml =
        fmt::format("  <testsuite name=\"{}\" {} time=\"{:.3f}\" timestamp=\"{}\">\n",
                    escape_markup(scenario.id), counts_xml(tally(scenario, outcome_of)),
                    scenario.seconds, escape_markup(run.started_at));
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
    for (const Cell& cell : scenario.cells) {
        xml += case_xml(scenario, cell, cell.role, outcome_of);
    }
    for (const Cell& control : scenario.controls) {
        xml += case_xml(scenario, control, role_among_controls(control), outcome_of);
    }
    return xml + "  </testsuite>\n";
}

// The verdict of the run as a test case of its own: a run that executed nothing must not look
// green.
Outcome run_outcome(int exit_code) {
    return exit_code == 0 ? Outcome::kPassed : exit_code == 1 ? Outcome::kFailure : Outcome::kError;
}

std::string run_suite_xml(const RunResult& run, Outcome outcome) {
    Tally counts;
    counts.add(outcome);
    std::string said;
    for (const std::string& reason : run.reasons) {
        said += (said.empty() ? "" : "; ") + reason;
    }
    std::string body;
    if (outcome != Outcome::kPassed) {
        body = fmt::format("      <{} type=\"{}\" message=\"{}\"/>\n",
                           outcome == Outcome::kFailure ? "failure" : "error", name(run.verdict),
                           escape_markup(said));
    }
    return fmt::format(
        "  <testsuite name=\"run\" {} time=\"{:.3f}\" timestamp=\"{}\">\n"
        "    <testcase classname=\"run\" name=\"verdict\">\n{}    </testcase>\n  </testsuite>\n",
        counts_xml(counts), run.seconds, escape_markup(run.started_at), body);
}

}  // namespace

std::string junit_xml(const RunResult& run, int exit_code) {
    const Reading outcome_of{exit_code};
    Tally all;
    all.add(run_outcome(exit_code));
    std::string suites = run_suite_xml(run, run_outcome(exit_code));
    for (const ScenarioResult& scenario : run.scenarios) {
        const Tally counts = tally(scenario, outcome_of);
        all.tests += counts.tests;
        all.failures += counts.failures;
        all.errors += counts.errors;
        all.skipped += counts.skipped;
        suites += suite_xml(run, scenario, outcome_of);
    }
    return fmt::format(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"pathproof\" {} "
        "time=\"{:.3f}\">\n{}</testsuites>\n",
        counts_xml(all), run.seconds, suites);
}

}  // namespace pathproof::report
