#include "harness/report/coverage.h"

#include <fmt/format.h>

#include <algorithm>

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

}  // namespace pathproof::report
