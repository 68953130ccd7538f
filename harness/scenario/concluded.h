// What scenarios share whose cells are plain values: how their cells are run, and what of their
// conclusions does not depend on what they look for.
#pragma once

#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "harness/scenario/model/tell.h"
#include "harness/scenario/scenario.h"
#include "harness/verdict/interval.h"
#include "harness/verdict/result.h"

namespace pathproof::scenario {

using CellRole = verdict::Cell::Role;
using Clauses = std::vector<std::string>;

// Adds a clause where its count is not zero.
template <typename... Args>
void tell(Clauses& clauses, std::uint64_t count, fmt::format_string<Args...> text, Args&&... args) {
    if (count != 0) {
        clauses.push_back(fmt::format(text, std::forward<Args>(args)...));
    }
}

// The same of a clause whose first value is the count.
template <typename... Args>
void tell_count(Clauses& clauses, std::uint64_t count,
                fmt::format_string<std::uint64_t&, Args...> text, Args&&... args) {
    tell(clauses, count, text, count, std::forward<Args>(args)...);
}

inline std::string in_a_row(const Clauses& clauses, const char* between = ", ") {
    return fmt::format("{}", fmt::join(clauses, between));
}

// "7 of 15", "none of 15".
inline std::string some_of(std::uint64_t hits, std::uint64_t trials) {
    return hits == 0 ? fmt::format("none of {}", trials) : fmt::format("{} of {}", hits, trials);
}

// What a cell sets (with an id, a label and a role), what was seen in it, and its evidence; of a cell
// without the cure, once more after it, the story of one flow that failed.
template <typename What, typename Seen>
struct Measurement {
    What what;
    Seen seen;
    std::vector<verdict::EvidenceFile> evidence;
    std::optional<verdict::Proof> timeline = std::nullopt;
};

// Gives a cell what its id says: the role ("control.", "cure."; all others are of the matrix), and
// whether it comes again once its cure was taken away (".after-cure").
template <typename What>
void give_role(What& cell) {
    cell.again = has_part(cell.id, "after-cure");
    cell.role = cell.id.starts_with("control.") ? CellRole::kControl
                : cell.id.starts_with("cure.")  ? CellRole::kCure
                                                : CellRole::kMatrix;
}

template <typename What>
std::vector<What> with_roles(std::vector<What> cells) {
    std::ranges::for_each(cells, give_role<What>);
    return cells;
}

template <typename What>
std::vector<std::string> ids_of(const std::vector<What>& cells) {
    std::vector<std::string> ids;
    std::ranges::transform(cells, std::back_inserter(ids), &What::id);
    return ids;
}

// Of a plan's cells.
template <auto plan>
std::vector<std::string> ids() {
    return ids_of(plan());
}

// Runs those cells of a plan that are asked for on a bench (of the context; it has an open() and a
// measure()), up to the first that cannot be measured, and concludes. What the kernel lacks for the
// bench (kKernelLacks) makes all cells SKIP.
template <typename Bench, auto plan>
Result<verdict::ScenarioResult> run_cells(Context& context) {
    if (context.scenario->conclusions != nullptr) {
        context.scenario->conclusions();  // before anything is set
    }
    auto asked = plan();
    std::erase_if(asked, [&](const auto& cell) { return !asked_for(context.options, cell.id); });
    context.progress.begin(context.scenario->id, asked.size());
    Bench bench(context);
    if (const Status opened = bench.open(); !opened) {
        return opened.error().code == ErrorCode::kKernelLacks
                   ? not_run(*context.scenario, opened.error().message)
                   : Result<verdict::ScenarioResult>(pass_on(opened.error()));
    }
    std::vector<decltype(bench.measure(asked.front()))> cells;
    for (const auto& what : asked) {
        context.progress.step(what.id);
        cells.push_back(bench.measure(what));
        verdict::Cell cell = conclude(cells.back().what, cells.back().seen);
        cell.evidence = cells.back().evidence;
        context.measured.add(cell);
        if (cell.verdict == verdict::CellVerdict::kError) {
            break;
        }
    }
    verdict::ScenarioResult result = conclude(cells);
    for (auto& cell : cells) {
        if (cell.timeline && result.verdict == verdict::ScenarioVerdict::kReproduced) {
            result.proofs.push_back(std::move(*cell.timeline));
        }
    }
    return result;
}

template <auto conclusions>
constexpr auto program_of() -> const model::Program& (*)() {
    if constexpr (conclusions == nullptr) {
        return nullptr;
    } else {
        return []() -> const model::Program& { return conclusions().program(); };
    }
}

// The row of a scenario of the NAT path whose cells are a plan, and its conclusions data.
template <typename Bench, auto plan, auto conclusions = nullptr>
Scenario nat_path_scenario(const char* id, const char* title, const char* question,
                           std::vector<OptionRow> options = {}) {
    return {id,
            title,
            question,
            lab::Role::kNatPath,
            run_cells<Bench, plan>,
            ids<plan>,
            Scenario::When::kAsked,
            std::move(options),
            program_of<conclusions>()};
}

// A cell beside what is said of it. The measured one must outlive it.
template <typename Measured>
struct ConcludedCell {
    const Measured* measured = nullptr;
    verdict::Cell cell;
    const auto& what() const { return measured->what; }
    const auto& seen() const { return measured->seen; }
    bool is(CellRole role) const { return what().role == role; }
    bool passes() const { return cell.verdict == verdict::CellVerdict::kPass; }
};

template <typename Measured>
std::vector<ConcludedCell<Measured>> conclude_each(const std::vector<Measured>& measured) {
    std::vector<ConcludedCell<Measured>> cells;
    for (const Measured& each : measured) {
        cells.push_back({&each, conclude(each.what, each.seen)});
        cells.back().cell.evidence = each.evidence;
    }
    return cells;
}

// end(verdict, cause, reason) gives the cell with them.
inline auto ending(verdict::Cell& cell) {
    return [&cell](verdict::CellVerdict verdict, std::string cause, std::string reason) {
        cell.verdict = verdict;
        cell.cause = std::move(cause);
        cell.reason = std::move(reason);
        return cell;
    };
}

// Null where there is none.
template <typename Cells, typename Wanted>
const typename Cells::value_type* first_of(const Cells& cells, const Wanted& wanted) {
    const auto at = std::ranges::find_if(cells, wanted);
    return at == cells.end() ? nullptr : &*at;
}

// Whether a cell was not measured, and then it says why: what the kernel lacks for it, what the tester
// objects to, or that nothing was tried.
inline bool not_measured(verdict::Cell& cell, const std::string& lacks, const Clauses& objections,
                         std::uint64_t tried = 1, const char* nothing_tried = "") {
    using verdict::CellVerdict;
    const bool measured = lacks.empty() && objections.empty() && tried != 0;
    if (!measured) {
        cell.verdict = !lacks.empty()        ? CellVerdict::kSkip
                       : !objections.empty() ? CellVerdict::kError
                                             : CellVerdict::kInconclusive;
        cell.reason = !lacks.empty()        ? lacks
                      : !objections.empty() ? "no result: " + objections.front()
                                            : nothing_tried;
    }
    return !measured;
}

// The cell with that id, or null.
template <typename Cells>
const typename Cells::value_type* by_id(const Cells& cells, const std::string& id) {
    return first_of(cells, [&](const auto& each) { return each.cell.id == id; });
}

// What keeps everything from being concluded; empty: nothing. `own` tells of a cell of the matrix that
// fails whether it does so by nothing but what the scenario looks for.
template <typename Cells, typename Own>
Clauses hindrances(const Cells& cells, const Own& own) {
    std::vector<JudgedCell> judged;
    for (const auto& each : cells) {
        judged.push_back({&each.cell, own(each)});
    }
    return hindrances(judged);
}

// Concludes nothing where anything hinders it; else `tell`, of the `first` cell that failed by what
// the scenario looks for, or that it was not reproduced where there is none (null).
template <typename Cells, typename Own, typename Tell>
void conclude_from(const Cells& cells, const Own& own, const typename Cells::value_type* first,
                   const Tell& tell, const std::string& otherwise,
                   verdict::ScenarioResult& result) {
    if (const Clauses hindered = hindrances(cells, own); !hindered.empty()) {
        result.headline = "Nothing is concluded: " + in_a_row(hindered, "; ") + ".";
    } else if (first != nullptr) {
        result.verdict = verdict::ScenarioVerdict::kReproduced;
        tell(cells, *first, result);
    } else {
        result.verdict = verdict::ScenarioVerdict::kNotReproduced;
        result.headline = otherwise;
    }
}

// The first cell of the matrix that is so.
template <typename Cells, typename Wanted>
const typename Cells::value_type* first_in_matrix(const Cells& cells, const Wanted& wanted) {
    return first_of(cells,
                    [&](const auto& each) { return each.is(CellRole::kMatrix) && wanted(each); });
}

// The first cell with a cure.
template <typename Cells>
const typename Cells::value_type* first_cure(const Cells& cells) {
    return first_of(cells, [](const auto& each) { return each.is(CellRole::kCure); });
}

// The first cell after a cure was taken away that is so.
template <typename Cells, typename Wanted>
const typename Cells::value_type* first_again(const Cells& cells, const Wanted& wanted) {
    return first_of(cells, [&](const auto& each) { return each.what().again && wanted(each); });
}

enum class Naming { kReason, kCellAndReason };

// Why a cure is not shown: of the cell with it (or null), and whether without it the failure was seen
// again. Empty: it is shown.
template <typename Cell>
std::string not_shown(const Cell* cure, bool again, Naming naming = Naming::kReason) {
    return cure == nullptr ? "not tried in this run"
           : !cure->passes()
               ? "not shown: " + (naming == Naming::kReason ? "" : cure->cell.id + ": ") +
                     cure->cell.reason
           : !again ? "not shown: without it the failure was not seen again"
                    : "";
}

// A cure as it was tried in this run.
struct TriedCure {
    std::string text;
    bool shown = false;
    std::string cell = {};  // with it, where it is shown
};

// Adds one, on a line of its own after what it cures. The first that is shown stands beside the cell
// that failed without it.
inline void add_tried(const std::string& cures, const TriedCure& cure, const verdict::Cell& failed,
                      verdict::ScenarioResult& result) {
    result.cure += fmt::format("{}{}: {}", result.cure.empty() ? "" : "\n", cures, cure.text);
    if (cure.shown && result.before_cell.empty()) {
        result.before_cell = failed.id;
        result.after_cell = cure.cell;
    }
}

// A cure is shown. The first one stands beside the cell that failed without it.
template <typename Cell>
void show_cure(const Cell& failed, const Cell& cure, verdict::ScenarioResult& result) {
    result.cure_shown = true;
    if (result.after_cell.empty()) {
        result.before_cell = failed.cell.id;
        result.after_cell = cure.cell.id;
    }
}

// Whether a cure is shown: a cell with it passes, none with one fails, and without it the failure
// was seen again. Tells those that pass in the words of `text` (`passed`); if it is not shown, says
// of the cure why.
template <typename Cells, typename Text>
bool tell_cure(const std::string& cure, const Cells& cells, const Text& text, bool again,
               Clauses& passed, verdict::ScenarioResult& result) {
    Clauses failed;
    const auto* after =
        first_of(cells, [](const auto& each) { return each.is(CellRole::kCure) && each.passes(); });
    for (const auto& each : cells) {
        if (each.is(CellRole::kCure)) {
            (each.passes() ? passed : failed)
                .push_back(each.passes() ? text(each) : each.cell.id + ": " + each.cell.reason);
        }
    }
    result.cure_shown = after != nullptr && failed.empty() && again;
    result.after_cell = result.cure_shown ? after->cell.id : "";
    if (!result.cure_shown) {
        result.cure = fmt::format(
            "{} ({})", cure,
            failed.empty() ? not_shown(after, again) : "not shown: " + in_a_row(failed, "; "));
    }
    return result.cure_shown;
}

// Sets the cures, a line for each cell with one, and whether one was shown. `text` says one in words,
// of its cell and why it is not shown (empty: it is).
template <typename Cells, typename Text>
void tell_each_cure(const Cells& cells, const typename Cells::value_type& first, bool again,
                    const Text& text, const std::string& untried, verdict::ScenarioResult& result) {
    Clauses cures;
    for (const auto& each : cells) {
        if (each.is(CellRole::kCure)) {
            const std::string why = not_shown(&each, again);
            cures.push_back(text(each, why));
            if (why.empty()) {
                show_cure(first, each, result);
            }
        }
    }
    result.cure = cures.empty() ? untried + " (not tried in this run)" : in_a_row(cures, "\n");
}

// What the cures that are `wanted` came to, in the words of `text`, and the failure that was seen
// `again` without them (empty: it was not). Takes `shown` away unless one of them passes, none
// fails, and it was.
template <typename Cells, typename Wanted, typename Text>
std::string tell_cures(const Cells& cells, const Wanted& wanted, const Text& text,
                       const std::string& untried, const std::string& again, bool& shown) {
    Clauses clauses;
    bool one = false;
    bool none_fails = true;
    for (const auto& each : cells) {
        if (each.is(CellRole::kCure) && wanted(each)) {
            one |= each.passes();
            none_fails &= each.passes() || each.cell.verdict == verdict::CellVerdict::kSkip;
            clauses.push_back(text(each));
        }
    }
    if (clauses.empty()) {
        clauses.push_back(untried);
    }
    clauses.push_back(!again.empty() ? "without it again " + again
                                     : "not shown: without it the failure was not seen again");
    shown &= one && none_fails && !again.empty();
    return in_a_row(clauses, "; ");
}

// The cells but for those that were skipped.
template <typename Cells>
Cells those_run(const Cells& cells) {
    Cells run;
    std::ranges::copy_if(cells, std::back_inserter(run), [](const auto& each) {
        return each.cell.verdict != verdict::CellVerdict::kSkip;
    });
    return run;
}

// Puts the cells, and the chart where it has bars, into the result.
template <typename Cells>
void finish(Cells&& cells, verdict::Chart chart, verdict::ScenarioResult& result) {
    for (auto& each : cells) {
        (each.is(CellRole::kControl) ? result.controls : result.cells)
            .push_back(std::move(each.cell));
    }
    if (!chart.bars.empty()) {
        result.charts.push_back(std::move(chart));
    }
}

// What a cell shows of the failure: how often, of how many, and how often nothing tells why.
struct Harm {
    std::uint64_t hits = 0, trials = 0, unexplained = 0;
};

// The whole conclusion of a scenario whose chart has the harm of each cell in which something was
// tried, but for those after a cure. `harm_of` may add to the result what is said of a cell by
// itself. The others as of conclude_from(), of the first cell of the matrix that is `own`.
template <typename Measured, typename HarmOf, typename Own, typename Tell>
verdict::ScenarioResult conclude_cells(const std::vector<Measured>& measured,
                                       const char* chart_title, const HarmOf& harm_of,
                                       const Own& own, const Tell& tell,
                                       const std::string& otherwise) {
    verdict::ScenarioResult result;
    verdict::Chart chart{.title = chart_title, .unit = "%", .maximum = 100};
    auto cells = conclude_each(measured);
    for (const auto& each : cells) {
        const Harm harm = harm_of(each, result);
        result.unexplained += harm.unexplained;
        if (harm.trials != 0 && !each.what().again) {
            chart.bars.push_back(harm_bar(each.what().label, harm.hits, harm.trials));
        }
    }
    conclude_from(cells, own, first_in_matrix(cells, own), tell, otherwise, result);
    finish(cells, std::move(chart), result);
    return result;
}

}  // namespace pathproof::scenario
