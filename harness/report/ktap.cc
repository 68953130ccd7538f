#include "harness/report/ktap.h"

#include <fmt/format.h>

#include "harness/report/certificate.h"
#include "harness/report/outcome.h"
#include "harness/report/text.h"
#include "harness/verdict/preflight.h"

namespace pathproof::report {
namespace {

using namespace verdict;

// Puts a text on one line, and escapes what would read as a directive.
std::string on_a_line(const std::string& text) {
    std::string line = wrap(text, std::string::npos, 0);
    for (std::size_t at = 0; (at = line.find('#', at)) != std::string::npos; at += 2) {
        line.insert(at, "\\");
    }
    return line;
}

const char* directive_of(const Case& one) {
    if (one.outcome != Outcome::kSkipped) {
        return "";
    }
    return one.is_accepted_failure() ? " # XFAIL " : " # SKIP ";
}

std::string case_line(std::size_t number, const Case& one) {
    const std::string said = on_a_line(message_of(one));
    std::string text;
    if (is_red(one.outcome)) {
        text = fmt::format("    # {}: {}\n", name(one.cell->verdict), said);
    }
    return text + fmt::format("    {}ok {} {}{}{}\n", is_red(one.outcome) ? "not " : "", number,
                              on_a_line(one.cell->id), directive_of(one),
                              one.outcome == Outcome::kSkipped ? said : "");
}

// Escapes a text for a table's field: no markup, no end of the field.
std::string field(const std::string& text) {
    std::string out;
    for (const char letter : on_a_line(text)) {
        if (std::string_view("\\`*_{}[]<>()|!&~").find(letter) != std::string_view::npos) {
            out += '\\';
        }
        out += letter;
    }
    return out;
}

}  // namespace

std::string ktap(const RunResult& run, int exit_code) {
    std::string text = fmt::format("KTAP version 1\n1..{}\n", run.scenarios.size() + 1);
    std::size_t number = 0;
    for (const ScenarioResult& scenario : run.scenarios) {
        const std::vector<Case> cases = cases_of(scenario, exit_code);
        Tally counts;
        counts.add(cases);
        text += fmt::format("    KTAP version 1\n    # Subtest: {}\n    1..{}\n",
                            on_a_line(scenario.id), cases.size());
        for (std::size_t at = 0; at < cases.size(); ++at) {
            text += case_line(at + 1, cases[at]);
        }
        const std::string condition = on_a_line(condition_of(cases));
        std::string directive;
        if (nothing_executed(cases)) {
            directive = " # SKIP nothing of it was run";
        } else if (!condition.empty()) {
            directive = " # XFAIL condition: " + condition;
        }
        text += fmt::format("# {}: {}: {}\n{}ok {} {}{}\n", on_a_line(scenario.id),
                            name(scenario.verdict), on_a_line(scenario.headline),
                            counts.failures + counts.errors != 0 ? "not " : "", ++number,
                            on_a_line(scenario.id), directive);
    }
    const bool red = is_red(outcome_of_run(exit_code));
    return text +
           fmt::format("# {}\n{}ok {} run\n", name(run.verdict), red ? "not " : "", number + 1);
}

std::string summary_markdown(const RunResult& run, int exit_code) {
    std::string text =
        fmt::format("## pathproof: {} (exit code {})\n\n", name(run.verdict), exit_code);
    for (const std::string& reason : run.reasons) {
        text += "- " + field(reason) + "\n";
    }
    text +=
        "\n| scenario | verdict | cells | failures | errors | skipped or accepted |\n"
        "|---|---|---:|---:|---:|---:|\n";
    std::string failures;
    std::string conditions;
    for (const ScenarioResult& scenario : run.scenarios) {
        const std::vector<Case> cases = cases_of(scenario, exit_code);
        Tally counts;
        counts.add(cases);
        text += fmt::format("| {} | {} | {} | {} | {} | {} |\n", field(scenario.id),
                            name(scenario.verdict), counts.tests, counts.failures, counts.errors,
                            counts.skipped);
        for (const Case& one : cases) {
            if (is_red(one.outcome)) {
                failures +=
                    fmt::format("| {} | {} | {} |\n", field(finding_id(scenario.id, *one.cell)),
                                name(one.cell->verdict), field(message_of(one)));
            }
        }
        if (const std::string condition = condition_of(cases); !condition.empty()) {
            conditions += fmt::format("| {} | {} |\n", field(scenario.id), field(condition));
        }
    }
    text += failures.empty() ? "" : "\n| cell | verdict | reason |\n|---|---|---|\n" + failures;
    text += conditions.empty()
                ? ""
                : "\n| condition of | its failures end with |\n|---|---|\n" + conditions;
    if (run.preflight) {
        text += "\n| cable | frames pass |\n|---|---|\n";
        for (const Preflight::Cable& cable : run.preflight->cables) {
            text += fmt::format("| {} - {} | {} |\n", field(cable.port), field(cable.device),
                                name(cable.proof));
        }
        text += "\n| preflight | of | what | found |\n|---|---|---|---|\n";
        for (const Preflight::Check& check : run.preflight->checks) {
            text += fmt::format("| {} | {} | {} | {} |\n", field(check.outcome), field(check.of),
                                field(check.what), field(check.found));
        }
    }
    text += "\n| certificate | |\n|---|---|\n";
    for (const auto& [name, value] : certificate_rows(run)) {
        text += fmt::format("| {} | {} |\n", field(name), field(value));
    }
    return text + fmt::format(
                      "\nThis report relates only to the items tested. Evidence class: {}. "
                      "Repeat: {}\n",
                      field(run.evidence_class), field(run.repeat_command));
}

}  // namespace pathproof::report
