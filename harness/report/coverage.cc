#include "harness/report/coverage.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "dataplane/base/join_each.h"
#include "harness/report/html_parts.h"
#include "harness/report/text.h"

namespace pathproof::report {
namespace {

using namespace verdict;

constexpr std::initializer_list<Became> kAll = {
    Became::kFailed, Became::kUnstable,    Became::kNoVerdict, Became::kSkipped,
    Became::kNotRun, Became::kNotTestable, Became::kPassed};

bool ran(Became became) {
    return became == Became::kFailed || became == Became::kUnstable ||
           became == Became::kNoVerdict || became == Became::kPassed;
}

Became became(const Cell& cell) {
    switch (cell.verdict) {
        case CellVerdict::kPass: return Became::kPassed;
        case CellVerdict::kFail: return Became::kFailed;
        case CellVerdict::kUnstable: return Became::kUnstable;
        case CellVerdict::kSkip: return Became::kSkipped;
        case CellVerdict::kError:
        case CellVerdict::kInconclusive: break;
    }
    return Became::kNoVerdict;
}

void add(Coverage& coverage, Became became, const std::string& reason, const std::string& cell) {
    const auto found = std::ranges::find_if(coverage.parts, [&](const Part& part) {
        return part.became == became && part.reason == reason;
    });
    Part& part = found != coverage.parts.end()
                     ? *found
                     : coverage.parts.emplace_back(Part{became, reason, {}});
    part.cells.push_back(cell);
}

// A link to a cell, with what a baseline says of its failure.
std::string link_html(const ScenarioResult& scenario, const std::string& id) {
    const Cell* cell = find_cell(scenario, id);
    if (cell == nullptr) {
        return escape_markup(id);
    }
    const char* expected = !fails(cell->verdict)  ? ""
                           : !cell->known.empty() ? " (known)"
                           : cell->fresh          ? " (new)"
                                                  : "";
    return fmt::format(R"(<a href="#{}">{}</a>{})", escape_markup(cell_id(scenario.id, *cell)),
                       escape_markup(id), expected);
}

std::string part_html(const ScenarioResult& scenario, const Part& part) {
    const std::string cells =
        join_each(part.cells, [&](const std::string& id) { return link_html(scenario, id); });
    return fmt::format(
        "<li><details><summary>{}: {} {}{}</summary><p class=\"id\">{}</p></details></li>",
        escape_markup(scenario.id), part.cells.size(), name(part.became),
        part.reason.empty() ? "" : ": " + markup_with_code(part.reason), cells);
}

}  // namespace

const char* name(Became became) {
    switch (became) {
        case Became::kFailed: return "failed";
        case Became::kUnstable: return "unstable";
        case Became::kNoVerdict: return "without a verdict";
        case Became::kSkipped: return "skipped";
        case Became::kNotRun: return "not run";
        case Became::kNotTestable: return "not testable here";
        case Became::kPassed: break;
    }
    return "passed";
}

std::size_t Coverage::count(Became became) const {
    std::size_t sum = 0;
    for (const Part& part : parts) {
        sum += part.became == became ? part.cells.size() : 0;
    }
    return sum;
}

std::size_t Coverage::executed() const {
    return planned - count(Became::kSkipped) - count(Became::kNotRun);
}

Coverage coverage_of(const ScenarioResult& scenario) {
    Coverage coverage;
    for (const Cell& cell : all_cells(scenario)) {
        const Became so = became(cell);
        add(coverage, so, so == Became::kSkipped ? cell.reason : "", cell.id);
        ++coverage.planned;
    }
    for (const std::string& id : scenario.planned) {
        if (find_cell(scenario, id) == nullptr) {
            add(coverage, Became::kNotRun, "", id);
            ++coverage.planned;
        }
    }
    for (const TruthTable& table : scenario.truth_tables) {
        for (const TruthRow& row : table.rows) {
            for (std::size_t at = 0; at < std::min(row.observed.size(), table.conditions.size());
                 ++at) {
                if (row.observed[at].observed == Observed::kNotTested) {
                    add(coverage, Became::kNotTestable, row.observed[at].note,
                        fmt::format("{} ({}, {})", row.offload, row.direction,
                                    table.conditions[at]));
                }
            }
        }
    }
    std::ranges::stable_sort(coverage.parts, {}, &Part::became);
    return coverage;
}

std::string coverage_text(const Coverage& coverage) {
    std::string text =
        fmt::format("{} planned, {} executed", coverage.planned, coverage.executed());
    std::string executed;
    std::string left;
    for (const Became so : kAll) {
        const std::size_t count = coverage.count(so);
        std::string& line = ran(so) ? executed : left;
        if (count != 0) {
            line += fmt::format("{}{} {}", line.empty() ? "" : ", ", count, name(so));
        }
    }
    return text + (executed.empty() ? "" : ": " + executed) + (left.empty() ? "" : "; " + left);
}

std::string coverage_html(const RunResult& run) {
    if (run.scenarios.empty()) {
        return "";
    }
    std::string rows;
    std::string lists;
    for (const ScenarioResult& scenario : run.scenarios) {
        const Coverage coverage = coverage_of(scenario);
        rows +=
            fmt::format(R"(<tr><th scope="row"><a href="#{}">{}</a></th><td>{}</td><td>{}</td>)",
                        escape_markup(scenario.id), escape_markup(scenario.id), coverage.planned,
                        coverage.executed());
        for (const Became so : kAll) {
            rows += fmt::format("<td>{}</td>", coverage.count(so));
        }
        rows += "</tr>";
        for (const Part& part : coverage.parts) {
            lists += part_html(scenario, part);
        }
    }
    std::vector<std::string> heads = {"scenario", "planned", "executed"};
    std::ranges::transform(kAll, std::back_inserter(heads), [](Became so) { return name(so); });
    return R"(<section class="block" id="coverage"><h3>What was planned, and what became of it</h3>)" +
           table_html("What was planned", heads, rows) + R"(<ul class="coverage">)" + lists +
           "</ul></section>";
}

}  // namespace pathproof::report
