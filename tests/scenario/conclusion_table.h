// Conclusions from plain values as tables: a row says what differs from the usual values of the cells, and
// what is concluded then. Each row is a test case of its own.
#pragma once

#include <fnmatch.h>

#include <boost/test/unit_test.hpp>
#include <functional>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "harness/scenario/concluded.h"
#include "tests/scenario/path_conclusions.h"

namespace conclusions {

using pathproof::verdict::CellVerdict;

// A sentence of the result: "headline", "cause", "cure", or the reason of the cell with that id.
struct Sentence {
    std::string where;
    std::string words;
};

// Expected conclusion; members that are not given are not checked. A result without a failure may have
// neither cause nor cure.
struct Conclusion {
    std::optional<ScenarioVerdict> verdict = {};
    std::vector<Sentence> says = {};
    std::vector<Sentence> never_says = {};
    std::vector<std::pair<std::string, std::string>> causes = {};  // by the cell's id
    std::vector<std::pair<std::string, CellVerdict>> cells = {};   // the same
    std::optional<bool> cured = {};
    std::optional<std::uint64_t> unexplained = {};
    std::string before = {}, after = {};  // cells that the cure is shown by
    std::optional<std::size_t> controls = {}, proofs = {};
    std::function<void(const ScenarioResult&)> more = {};
};

// Expects that nothing is concluded, and that the headline says why.
Conclusion nothing(const std::string& why,
                   std::vector<std::pair<std::string, std::string>> causes = {},
                   std::optional<std::uint64_t> unexplained = {});
// Reproduced, and not cured: the sentence of the cure says why.
Conclusion not_cured(const std::string& why);

void check(const ScenarioResult& result, const Conclusion& conclusion);

// Cells by a pattern of fnmatch(3) for their ids, "control.*", or by their role.
inline const std::string kMatrixCells = "(matrix)";
inline const std::string kControlCells = "(controls)";
inline const std::string kCureCells = "(cures)";

template <typename What>
bool is_of(const std::string& cells, const What& what) {
    using Role = pathproof::verdict::Cell::Role;
    if (cells == kMatrixCells) {
        return what.role == Role::kMatrix;
    }
    if (cells == kControlCells) {
        return what.role == Role::kControl;
    }
    return cells == kCureCells ? what.role == Role::kCure
                               : fnmatch(cells.c_str(), what.id.c_str(), 0) == 0;
}

// Changes some cells' values by a function of Seen&, or of const What& and Seen&.
template <typename What, typename Seen>
struct Change {
    template <typename To>
    Change(std::string cells_, To to_) : cells(std::move(cells_)) {
        if constexpr (std::is_invocable_v<To, const What&, Seen&>) {
            to = to_;
        } else {
            to = [to_](const What&, Seen& seen) { to_(seen); };
        }
    }

    std::string cells;
    std::function<void(const What&, Seen&)> to;
};

template <typename What, typename Seen>
struct Row {
    std::string name;
    std::vector<Change<What, Seen>> changes;
    Conclusion concluded;
    std::string only = "*";  // cells that were run
    std::string without;     // of them, those that were not
};

template <typename What, typename Seen>
struct Table {
    std::vector<What> (*plan)() = nullptr;
    Seen (*usual)(const What&) = nullptr;
    std::vector<std::vector<Row<What, Seen>>> rows;  // in groups
    std::vector<Phrase> phrases;  // of false_sentences(), which each result is held against
};

template <typename What, typename Seen>
ScenarioResult result_of(const Table<What, Seen>& table, const Row<What, Seen>& row) {
    std::vector<pathproof::scenario::Measurement<What, Seen>> cells;
    std::vector<bool> made(row.changes.size());
    for (const What& what : table.plan()) {
        if (!is_of(row.only, what) || is_of(row.without, what)) {
            continue;
        }
        cells.push_back({.what = what, .seen = table.usual(what), .evidence = {}});
        for (std::size_t i = 0; i < made.size(); ++i) {
            if (is_of(row.changes[i].cells, what)) {
                row.changes[i].to(what, cells.back().seen);
                made[i] = true;
            }
        }
    }
    for (std::size_t i = 0; i < made.size(); ++i) {
        BOOST_TEST(made[i], "no cell is " << row.changes[i].cells);
    }
    return conclude(cells);
}

template <typename What, typename Seen>
void run(const Table<What, Seen>& table, const Row<What, Seen>& row) {
    const ScenarioResult result = result_of(table, row);
    if (!table.phrases.empty()) {
        for (const std::string& wrong : false_sentences(result, table.phrases)) {
            BOOST_TEST(false, wrong);
        }
    }
    check(result, row.concluded);
}

// Adds a test case for each row to the suite that is open.
template <typename What, typename Seen>
bool add_cases(const Table<What, Seen>& table) {
    auto& suite = boost::unit_test::framework::current_auto_test_suite();
    for (const auto& rows : table.rows) {
        for (const Row<What, Seen>& row : rows) {
            suite.add(boost::unit_test::make_test_case([table, row] { run(table, row); }, row.name,
                                                       __FILE__, __LINE__));
        }
    }
    return !table.rows.empty();
}

template <typename What, typename Seen>
bool add_cases(std::vector<What> (*plan)(), Seen (*usual)(const What&),
               const std::vector<std::vector<Row<What, Seen>>>& rows,
               const std::vector<Phrase>& phrases = {}) {
    return add_cases(Table<What, Seen>{plan, usual, rows, phrases});
}

}  // namespace conclusions
