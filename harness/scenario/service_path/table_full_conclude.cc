// What is said of table-full: each clause from a value that is not zero.
#include <ranges>

#include "harness/scenario/measures.h"
#include "harness/scenario/service_path/table_full.h"

namespace pathproof::scenario {
namespace {

using verdict::CellVerdict;

constexpr std::size_t kMostEvictions = 8;  // in the proof

using Tables = std::vector<ConcludedCell<MeasuredTableCell>>;
using ConcludedTable = Tables::value_type;

bool by_table(const TableValues& seen) {
    return seen.maximum != 0 && seen.entries >= seen.maximum && seen.path.lost() != 0 &&
           seen.path.for_want_of_entry() >= seen.path.lost();
}

bool evicts(const TableValues& seen) {
    return seen.path.early_drop != 0;
}

std::uint64_t unexplained_in(const TableValues& seen) {
    if (seen.path.lost() != 0) {
        return !by_table(seen) && other_cause(seen.path).cause == "lost" ? seen.path.lost() : 0;
    }
    return seen.failed() != 0 ? seen.failed() : evicts(seen) ? 0 : seen.evicted.size();
}

std::string failed_text(const TableValues& seen) {
    return some_of(seen.failed(), seen.flows) + " new flows failed";
}

// Of a cell that evicts.
std::string evicted_text(const TableValues& seen) {
    Clauses clauses = {fmt::format("early_drop rose by {}", seen.path.early_drop)};
    tell(clauses, seen.evicted.size(), "{}{} entries of other flows went while {} new flows came",
         seen.overruns != 0 ? "at least " : "", seen.evicted.size(), seen.flows);
    return in_a_row(clauses, "; ");
}

void add_measures(const TableValues& seen, verdict::Cell& cell) {
    const auto packets = counts_in("packets");
    cell.measures = {
        count_of("maximum", "entries that the table takes", seen.maximum, "entries"),
        count_of("entries", "entries before the new flows", seen.entries, "entries"),
        count_of("flows", "new flows", seen.flows, "flows"),
        count_of("failed", "of them failed", seen.failed(), "flows"),
        count_of("datagrams", "datagrams, a flow each", seen.datagrams),
        count_of("datagrams_arrived", "of them at the server", seen.datagrams_arrived),
        count_of("connects", "TCP connects", seen.connects),
        count_of("connected", "of them connected", seen.connected),
        packets("packets_in", "packets into the DUT", seen.path.in),
        packets("lost", "of them not out of it", seen.path.lost()),
        packets("drop", "conntrack's drop", seen.path.drop),
        packets("insert_failed", "conntrack's insert_failed", seen.path.insert_failed),
        count_of("early_drop", "conntrack's early_drop", seen.path.early_drop, "entries"),
        count_of("evicted", "entries of other flows that went", seen.evicted.size(), "entries"),
        count_of("deleted", "entries deleted by the cure", seen.deleted, "entries"),
        count_of(verdict::kUnexplained, "failed, lost or gone, and nothing tells why",
                 unexplained_in(seen)),
    };
}

// Of the matrix, and fails by what this scenario looks for.
bool harmed_by_table(const ConcludedTable& each) {
    return each.is(CellRole::kMatrix) && each.cell.verdict == CellVerdict::kFail &&
           (by_table(each.seen()) || each.cell.cause == "early-drop");
}

TriedCure table_cure(const Tables& cells, bool assured) {
    const ConcludedTable* cure = first_of(cells, [&](const ConcludedTable& each) {
        return each.is(CellRole::kCure) && each.what().assured == assured;
    });
    const ConcludedTable* again = first_again(cells, harmed_by_table);
    const std::string name =
        cure == nullptr ? "delete entries that nobody uses" : "`" + cure->seen().cure_command + "`";
    const std::string why = not_shown(cure, !assured || again != nullptr);
    if (!why.empty()) {
        return {fmt::format("{} ({})", name, why)};
    }
    return {
        fmt::format("{} on the DUT, of entries that nobody uses ({} deleted; then none of {} new "
                    "flows failed, and no entry was evicted{})",
                    name, cure->seen().deleted, cure->seen().flows,
                    assured ? "; without it again " + failed_text(again->seen()) : ""),
        true, cure->cell.id};
}

void conclude_full_table(const Tables& cells, const ConcludedTable& /*first*/,
                         verdict::ScenarioResult& result) {
    result.cure_shown = true;
    Clauses headline;
    Clauses cause;
    for (const bool assured : {true, false}) {
        const ConcludedTable* first = first_of(cells, [&](const ConcludedTable& each) {
            return harmed_by_table(each) && each.what().assured == assured;
        });
        if (first == nullptr) {
            continue;
        }
        const TableValues& seen = first->seen();
        const bool drops = by_table(seen);
        headline.push_back(fmt::format("{}: {}", first->what().label,
                                       drops ? failed_text(seen) : evicted_text(seen)));
        cause.push_back(
            drops
                ? fmt::format("conntrack's table held {} entries of at most {}, and dropped {} "
                              "packets of flows that it had no room for (drop less insert_failed)",
                              seen.entries, seen.maximum, seen.path.for_want_of_entry())
                : fmt::format("conntrack's table of {} entries was full of flows without an "
                              "answer: it took {} of them out to make room (early_drop)",
                              seen.maximum, seen.path.early_drop));
        const TriedCure cure = table_cure(cells, assured);
        result.cure_shown = result.cure_shown && cure.shown;
        add_tried(first->what().label, cure, first->cell, result);
    }
    result.headline = in_a_row(headline, "; ") + ".";
    result.cause = in_a_row(cause, "; ") + ".";
    result.cause[0] = static_cast<char>(std::toupper(result.cause[0]));
    result.explanation.push_back(
        "net.netfilter.nf_conntrack_max is one for the whole machine, and each network namespace "
        "may have as many entries: a greater one was not tried here.");
}

void add_proof(const ConcludedTable& each, verdict::ScenarioResult& result) {
    const TableValues& seen = each.seen();
    if (seen.evicted.empty() || !evicts(seen)) {
        return;
    }
    verdict::Proof proof{
        .title = fmt::format("{}: {} of {} entries that went", each.cell.id,
                             std::min(seen.evicted.size(), kMostEvictions), seen.evicted.size()),
        .columns = {"evicted", "the entry that was made next"}};
    for (const Eviction& eviction : seen.evicted | std::views::take(kMostEvictions)) {
        proof.rows.push_back(
            {eviction.flow, eviction.before.empty() ? "none was seen" : eviction.before});
    }
    proof.conclusion = evicted_text(seen) + ".";
    result.proofs.push_back(std::move(proof));
}

}  // namespace

verdict::Cell conclude(const TableCell& what, const TableValues& seen) {
    verdict::Cell cell{
        .id = what.id,
        .toggles = {{"table", fmt::format("{} %{}", what.percent,
                                          what.deletes ? ", then some deleted" : "")},
                    {"entries of", what.assured ? "answered flows" : "unanswered flows"}},
        .role = what.role,
        .verdict = CellVerdict::kPass};
    add_measures(seen, cell);
    const auto end = ending(cell);
    if (not_measured(cell, "", seen.objections, std::min(seen.flows, seen.maximum),
                     "no flow was begun")) {
        return cell;
    }
    if (by_table(seen)) {
        return end(CellVerdict::kFail, "table-full",
                   fmt::format("{}: the table held {} entries of at most {}, and conntrack dropped "
                               "{} packets for want of one",
                               failed_text(seen), seen.entries, seen.maximum,
                               seen.path.for_want_of_entry()));
    }
    if (seen.path.lost() != 0) {
        const OtherCause other = other_cause(seen.path);
        return end(CellVerdict::kFail, other.cause, failed_text(seen) + ": " + other.clause);
    }
    if (unexplained_in(seen) != 0) {
        return end(CellVerdict::kInconclusive, "",
                   seen.failed() != 0
                       ? failed_text(seen) + ", though each packet came out of the DUT"
                       : fmt::format("{} entries of other flows went, and early_drop counted none",
                                     seen.evicted.size()));
    }
    if (evicts(seen)) {
        return end(CellVerdict::kFail, "early-drop", evicted_text(seen));
    }
    if (what.full() && seen.entries < seen.maximum) {
        return end(CellVerdict::kInconclusive, "",
                   fmt::format("the table held {} entries that it takes",
                               some_of(seen.entries, seen.maximum)));
    }
    if (what.deletes && seen.deleted == 0) {
        return end(CellVerdict::kFail, "", "there was no entry to delete");
    }
    return cell;
}

verdict::ScenarioResult conclude(const std::vector<MeasuredTableCell>& measured) {
    const auto harm_of = [](const ConcludedTable& each, auto& result) -> Harm {
        add_proof(each, result);
        return {each.seen().failed(), each.seen().flows, unexplained_in(each.seen())};
    };
    return conclude_cells(
        measured, "New flows that failed", harm_of, harmed_by_table, conclude_full_table,
        "New flows got through, and no entry of another flow was evicted for them.");
}

}  // namespace pathproof::scenario
