// Shared by the scenarios whose cells are plain values: running cells, and the part of the
// conclusions that does not depend on what a scenario looks for.
#pragma once

#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "harness/scenario/model/tell.h"
#include "harness/scenario/scenario.h"
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

// Adds a clause whose first value is the count, if that is not zero.
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

// A measured cell: its settings (with an id, a label and a role), the values seen in it, and its
// evidence; a cell without the cure, run again after the cure, also has the story of one flow that
// failed.
template <typename What, typename Seen>
struct Measurement {
    What what;
    Seen seen;
    std::vector<verdict::EvidenceFile> evidence;
    std::optional<verdict::Proof> timeline = std::nullopt;
};

inline CellRole role_by_id(const std::string& id) {
    if (id.starts_with("control.")) {
        return CellRole::kControl;
    }
    return id.starts_with("cure.") ? CellRole::kCure : CellRole::kMatrix;
}

// Gives a cell what its id says: the role ("control.", "cure."; all others are of the matrix), and
// whether it comes again once its cure was taken away (".after-cure").
template <typename What>
void give_role(What& cell) {
    cell.again = has_part(cell.id, "after-cure");
    cell.role = role_by_id(cell.id);
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

// Returns the ids of a plan's cells.
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
    context.wires = nullptr;
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
    close_wires(context, result);
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

// Returns null if there is none.
template <typename Cells, typename Wanted>
const typename Cells::value_type* first_of(const Cells& cells, const Wanted& wanted) {
    const auto at = std::ranges::find_if(cells, wanted);
    return at == cells.end() ? nullptr : &*at;
}

// The cell with that id, or null.
template <typename Cells>
const typename Cells::value_type* by_id(const Cells& cells, const std::string& id) {
    return first_of(cells, [&](const auto& each) { return each.cell.id == id; });
}

// The first cell of the matrix that is so.
template <typename Cells, typename Wanted>
const typename Cells::value_type* first_in_matrix(const Cells& cells, const Wanted& wanted) {
    return first_of(cells,
                    [&](const auto& each) { return each.is(CellRole::kMatrix) && wanted(each); });
}

// Puts the cells into the result.
template <typename Cells>
void finish(Cells&& cells, verdict::ScenarioResult& result) {
    for (auto& each : cells) {
        (each.is(CellRole::kControl) ? result.controls : result.cells)
            .push_back(std::move(each.cell));
    }
}

}  // namespace pathproof::scenario
