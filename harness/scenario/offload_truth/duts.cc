#include "harness/scenario/offload_truth/duts.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>

namespace pathproof::scenario {
namespace {

using verdict::Cell;
using verdict::CellVerdict;
using verdict::Observation;
using verdict::Observed;
using verdict::ScenarioVerdict;
using verdict::TruthRow;
using verdict::TruthTable;

constexpr std::size_t kLastBytes = 800;

// Ranks observations by urgency; the highest must not be overlooked.
int urgency_of(Observed observed) {
    switch (observed) {
        case Observed::kWrong: return 5;
        case Observed::kByDesign: return 4;
        case Observed::kNoClaim: return 3;
        case Observed::kRight: return 2;
        // Some kinds of frames the kernel refuses for any device.
        case Observed::kRefused: return 1;
        case Observed::kNotTested: break;
    }
    return 0;
}

bool is_offered(const TruthRow& row) {
    return row.advertised != "not there" && row.advertised != "off [fixed]";
}

// Over all conditions: the worst, with the frames of all.
Observation worst_of(const TruthRow& row) {
    Observation worst{.note = row.observed.empty() ? "" : row.observed.front().note};
    for (const Observation& seen : row.observed) {
        const std::uint64_t frames = worst.frames + seen.frames;
        const std::uint64_t wrong = worst.wrong + seen.wrong;
        if (urgency_of(seen.observed) > urgency_of(worst.observed)) {
            worst = seen;
        }
        worst.frames = frames;
        worst.wrong = wrong;
    }
    return worst;
}

// Returns the name of the DUT's cell among those of all; empty: none.
std::string named(const DutResult& dut, const std::string& cell) {
    return cell.empty() ? "" : dut.name + "." + cell;
}

Observation observation_of(const DutResult& dut, const TruthRow& check) {
    for (const TruthTable& table : dut.result.truth_tables) {
        const auto row = std::ranges::find_if(table.rows, [&](const TruthRow& each) {
            return each.offload == check.offload && each.direction == check.direction;
        });
        if (row != table.rows.end() && is_offered(*row)) {
            Observation worst = worst_of(*row);
            worst.cell = named(dut, worst.cell);
            return worst;
        }
        if (row != table.rows.end()) {
            return {.observed = Observed::kNotTested, .note = "not offered"};
        }
    }
    return {.observed = Observed::kNotTested,
            .note = dut.failure ? dut.failure->reason : "not offered"};
}

std::string end_of(const std::string& log) {
    std::string end = log.substr(log.size() - std::min(log.size(), kLastBytes));
    std::ranges::replace(end, '\n', ' ');
    return end;
}

void take_over(DutResult& dut, verdict::ScenarioResult& all) {
    verdict::ScenarioResult& one = dut.result;
    if (dut.failure) {
        one.cells.push_back(std::move(*dut.failure));
    }
    for (auto* cells : {&one.cells, &one.controls}) {
        for (Cell& cell : *cells) {
            cell.id = cell.id.empty() ? dut.name : dut.name + "." + cell.id;
            cell.toggles.insert(cell.toggles.begin(), {"NIC", dut.name});
        }
    }
    for (TruthTable& table : one.truth_tables) {
        table.title = dut.name + ": " + table.title;
        for (TruthRow& row : table.rows) {
            for (Observation& seen : row.observed) {
                seen.cell = named(dut, seen.cell);
            }
        }
    }
    if (all.before_cell.empty()) {
        all.before_cell = named(dut, one.before_cell);
        all.after_cell = named(dut, one.after_cell);
    }
    for (const std::string& paragraph : one.explanation) {
        all.explanation.push_back(dut.name + ": " + paragraph);
    }
    std::ranges::move(one.cells, std::back_inserter(all.cells));
    std::ranges::move(one.controls, std::back_inserter(all.controls));
    std::ranges::move(one.truth_tables, std::back_inserter(all.truth_tables));
}

std::string headline_of(const DutResult& dut) {
    if (!dut.failure) {
        return fmt::format("{}: {}", dut.name, dut.result.headline);
    }
    const std::string& why = dut.failure->reason;
    return fmt::format(
        "{}: {}: {}{}", dut.name,
        dut.failure->verdict == CellVerdict::kSkip ? "not tested" : "not judged to the end", why,
        why.ends_with('.') ? "" : ".");
}

}  // namespace

Cell unjudged_cell(const Error& error, const std::string& log) {
    const bool cannot = error.code == ErrorCode::kNotSupported;
    Cell cell{.id = "", .toggles = {}, .reason = error.message};
    cell.verdict = cannot ? CellVerdict::kSkip : CellVerdict::kError;
    if (!cannot && !log.empty()) {
        cell.reason += "; the last lines of its console: " + end_of(log);
    }
    return cell;
}

TruthTable side_by_side(const std::vector<DutResult>& duts) {
    TruthTable table{.title = "Drivers side by side",
                     .device =
                         "each offload under the worst of its conditions; the tables of each "
                         "driver follow"};
    for (const DutResult& dut : duts) {
        table.conditions.push_back(dut.name);
        for (const TruthTable& own : dut.result.truth_tables) {
            for (const TruthRow& row : own.rows) {
                const bool known = std::ranges::any_of(table.rows, [&](const TruthRow& each) {
                    return each.offload == row.offload && each.direction == row.direction;
                });
                if (!known) {
                    table.rows.push_back({.offload = row.offload, .direction = row.direction});
                }
            }
        }
    }
    for (TruthRow& row : table.rows) {
        for (const DutResult& dut : duts) {
            row.observed.push_back(observation_of(dut, row));
        }
    }
    return table;
}

void conclude_duts(std::vector<DutResult> duts, verdict::ScenarioResult& result) {
    std::vector<std::string> headlines, causes, cures;
    bool defect = false, shown = true, doubt = false;
    if (duts.size() > 1) {
        result.truth_tables.push_back(side_by_side(duts));
    }
    for (DutResult& dut : duts) {
        const verdict::ScenarioResult& one = dut.result;
        const bool found = !dut.failure && one.verdict == ScenarioVerdict::kDefectFound;
        const bool skipped = dut.failure && dut.failure->verdict == CellVerdict::kSkip;
        defect |= found;
        shown &= !found || one.cure_shown;
        doubt |= !found && !skipped && one.verdict != ScenarioVerdict::kNoDefectFound;
        headlines.push_back(headline_of(dut));
        if (found && !one.cause.empty()) {
            causes.push_back(dut.name + ": " + one.cause);
        }
        if (found && !one.cure.empty()) {
            cures.push_back(dut.name + ": " + one.cure);
        }
    }
    const bool none =
        std::ranges::all_of(duts, [](const DutResult& dut) { return dut.failure.has_value(); });
    result.verdict = ScenarioVerdict::kNoDefectFound;
    if (defect) {
        result.verdict = ScenarioVerdict::kDefectFound;
    } else if (doubt || none) {
        result.verdict = ScenarioVerdict::kInconclusive;
    }
    result.headline = fmt::format("{}", fmt::join(headlines, " "));
    result.cause = fmt::format("{}", fmt::join(causes, " "));
    result.cure = fmt::format("{}", fmt::join(cures, " "));
    result.cure_shown = defect && shown;
    for (DutResult& dut : duts) {
        take_over(dut, result);
    }
}

}  // namespace pathproof::scenario
