// Conclusions of table-full, as data (model/README.md).
#include <ranges>

#include "harness/scenario/service_path/table_full.h"

namespace pathproof::scenario {
namespace {

constexpr std::size_t kMostEvictions = 8;  // in the proof

bool by_table(const TableValues& seen) {
    return seen.maximum != 0 && seen.entries >= seen.maximum && seen.path.lost() != 0 &&
           seen.path.for_want_of_entry() >= seen.path.lost();
}

std::uint64_t unexplained_flows(const TableValues& seen) {
    if (seen.path.lost() != 0) {
        return !by_table(seen) && other_cause(seen.path).cause == "lost" ? seen.path.lost() : 0;
    }
    if (seen.failed() != 0) {
        return seen.failed();
    }
    return seen.path.early_drop != 0 ? 0 : seen.evicted.size();
}

model::Rows evicted_rows(const TableCell&, const TableValues& seen) {
    model::Rows rows;
    for (const Eviction& eviction : seen.evicted | std::views::take(kMostEvictions)) {
        rows.push_back(
            {eviction.flow, eviction.before.empty() ? "none was seen" : eviction.before});
    }
    return rows;
}

TableConclusions::Figures table_figures() {
    return {
        {"maximum", "entries", "entries that the table takes", &TableValues::maximum},
        {"entries", "entries", "entries before the new flows", &TableValues::entries},
        {"flows", "flows", "new flows", &TableValues::flows},
        {"failed", "flows", "of them failed", &TableValues::failed},
        {"datagrams", "", "datagrams, a flow each", &TableValues::datagrams},
        {"datagrams_arrived", "", "of them at the server", &TableValues::datagrams_arrived},
        {"connects", "", "TCP connects", &TableValues::connects},
        {"connected", "", "of them connected", &TableValues::connected},
        {"packets_in", "packets", "packets into the DUT",
         [](const TableValues& seen) { return seen.path.in; }},
        {"lost", "packets", "of them not out of it",
         [](const TableValues& seen) { return seen.path.lost(); }},
        {"drop", "packets", "conntrack's drop",
         [](const TableValues& seen) { return seen.path.drop; }},
        {"insert_failed", "packets", "conntrack's insert_failed",
         [](const TableValues& seen) { return seen.path.insert_failed; }},
        {"early_drop", "entries", "conntrack's early_drop",
         [](const TableValues& seen) { return seen.path.early_drop; }},
        {"evicted", "entries", "entries of other flows that went",
         [](const TableValues& seen) { return seen.evicted.size(); }},
        {"deleted", "entries", "entries deleted by the cure", &TableValues::deleted},
        {verdict::kUnexplained, "", "failed, lost or gone, and nothing tells why",
         unexplained_flows},
        {"percent", &TableCell::percent},
        {"assured", &TableCell::assured},
        {"deletes", &TableCell::deletes},
        {"full", &TableCell::full},
        {"by_table", by_table},
        {"refused", [](const TableValues& seen) { return seen.path.for_want_of_entry(); }},
        {"by_packet", [](const TableValues& seen) { return seen.path.ends.by_packet(); }},
        {"overruns", &TableValues::overruns},
        {"cure_command", &TableValues::cure_command},
        {"other_cause", [](const TableValues& seen) { return other_cause(seen.path).cause; }},
        {"other", [](const TableValues& seen) { return other_cause(seen.path).clause; }},
        {"evictions_told",
         [](const TableValues& seen) { return std::min(seen.evicted.size(), kMostEvictions); }},
    };
}

model::CureText deletion_cure(const char* with, const char* again, const char* seen_again) {
    return {.cure = "delete-unused-entries",
            .with = with,
            .again = again,
            .outcome = std::string("{cure.deleted} deleted; then none of {cure.flows} new flows "
                                   "failed, and no entry was evicted") +
                       seen_again,
            .text =
                "{label}: [cure.id?`{cure.cure_command}`|{cure_name}][is_shown? on the DUT, "
                "of entries that nobody uses] ({outcome})"};
}

model::Finding table_finding(const char* of, const model::CureText& cure) {
    return {.of = of,
            .headline = "{label}: [by_table?{failures}|{evictions}]",
            .why =
                "[by_table?[leads?C|c]onntrack's table held {entries} entries of at most "
                "{maximum}, and dropped {refused} packets of flows that it had no room for "
                "[by_packet?(each of them followed to there)|(likely: by drop less insert_failed, "
                "not by packet)]|[leads?C|c]onntrack's table of {maximum} entries was "
                "full of flows without an answer: it took {early_drop} of them out to make room "
                "(early_drop)]",
            .cures = {cure}};
}

}  // namespace

const TableConclusions& table_full_conclusions() {
    using enum model::CellVerdict;
    static const TableConclusions conclusions(
        table_figures(),
        {
            .toggles = {{"table", "{percent} %[deletes?, then some deleted]"},
                        {"entries of", "[assured?answered flows|unanswered flows]"}},
            .phrases = {{"failures", {{"{failed of flows} new flows failed", "flows != 0"}}},
                        {.name = "evictions",
                         .clauses = {{"early_drop rose by {early_drop}"},
                                     {"[overruns != 0?at least ]{evicted} entries of other flows "
                                      "went while {flows} new flows came",
                                      "evicted != 0"}},
                         .between = "; "}},
            .rules =
                {
                    {.when = "flows == 0 or maximum == 0", .text = "no flow was begun"},
                    {.when = "by_table",
                     .is = kFail,
                     .cause = "table-full",
                     .text = "{failures}: the table held {entries} entries of at most {maximum}, "
                             "and conntrack dropped {refused} packets for want of one[by_packet?| "
                             "(by counters, not by packet)]"},
                    {.when = "lost != 0",
                     .is = kFail,
                     .cause = "{other_cause}",
                     .text = "{failures}: {other}"},
                    {.when = "failed != 0",
                     .text = "{failures}, though each packet came out of the DUT"},
                    {.when = "evicted != 0 and early_drop == 0",
                     .text = "{evicted} entries of other flows went, and early_drop counted none"},
                    {.when = "early_drop != 0",
                     .is = kFail,
                     .cause = "early-drop",
                     .text = "{evictions}"},
                    {.when = "full and entries < maximum",
                     .text = "the table held {entries of maximum} entries that it takes"},
                    // Somebody else was quicker: the cure was not tried, and nothing failed.
                    {.when = "deletes and deleted == 0",
                     .is = kSkip,
                     .text = "there was no entry to delete"},
                },
            .own = "fails and (by_table or cause == 'early-drop')",
            .chart = {.title = "New flows that failed", .hits = "failed", .trials = "flows"},
            .proof = {.title = "{id}: {evictions_told} of {evicted} entries that went",
                      .columns = {"evicted", "the entry that was made next"},
                      .of = "early_drop != 0 and evicted != 0",
                      .conclusion = "{evictions}."},
            .findings = {table_finding("harmed and assured",
                                       deletion_cure("is_cure and assured", "again and harmed",
                                                     "; without it again {again.failures}")),
                         table_finding("harmed and not assured",
                                       deletion_cure("is_cure and not assured", "", ""))},
            .whys = {.between = "; ", .end = "."},
            .remarks = {{"net.netfilter.nf_conntrack_max is one for the whole machine, and each "
                         "network namespace may have as many entries: a greater one was not tried "
                         "here."}},
            .otherwise =
                "New flows got through, and no entry of another flow was evicted for them.",
        },
        {.rows = evicted_rows});
    return conclusions;
}

}  // namespace pathproof::scenario
