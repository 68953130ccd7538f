// What is said of split-answer: each clause from a value that is not zero.
#include "harness/scenario/measures.h"
#include "harness/scenario/resolvers/resolver_trail.h"
#include "harness/scenario/resolvers/split_answer.h"

namespace pathproof::scenario {
namespace {

using verdict::CellVerdict;
using ConcludedSplit = ConcludedCell<MeasuredSplitAnswerCell>;
using SplitRuns = std::vector<ConcludedSplit>;

bool is_table(const SplitAnswerCell& what) {
    return what.kind == SplitAnswerCell::Kind::kTable;
}

std::string other_text(const std::string& cause) {
    const std::string fate = fate_text(cause);
    return !fate.empty()          ? fate
           : cause == "refused"   ? "the server refused"
           : cause == "servfail"  ? "the server failed"
           : cause == "no-answer" ? "the server did not answer"
                                  : cause;
}

// "3 of 3 lookups failed with EAI_NONAME: the search of 3 ended where ..."
std::string failed_text(const SplitAnswerValues& seen) {
    Clauses parts;
    tell_count(parts, seen.by_split,
               "{} ended the search where one answer was NXDOMAIN and the other NOERROR without an "
               "address");
    tell_count(parts, seen.by_nodata,
               "{} ended the search where both answers were NOERROR without an address");
    tell_count(parts, seen.by_other, "{} since {}", other_text(seen.other));
    tell_count(parts, seen.unexplained, "{} for nothing that was seen");
    std::string text = fmt::format("{} lookups failed", some_of(seen.failed(), seen.lookups));
    text += seen.outcome.empty() || seen.failed() == 0 ? "" : " with " + seen.outcome;
    return text + (parts.empty() ? "" : ": " + in_a_row(parts));
}

bool search_ended(const ConcludedSplit& each) {
    return each.cell.verdict == CellVerdict::kFail &&
           (each.cell.cause == "split-answer" || each.cell.cause == "nodata-answer");
}

bool names_an_option(const SplitAnswerCell& what) {
    return what.options != "ndots:5" || what.addrconfig;
}

void tell_split_cure(const SplitRuns& cells, verdict::ScenarioResult& result) {
    const auto text = [](const ConcludedSplit& each) {
        return fmt::format("{} ({} queries)",
                           each.what().label.substr(each.what().label.find(' ') + 1),
                           each.seen().most_queries);
    };
    Clauses shown;
    Clauses no_cures;
    for (const ConcludedSplit& each : cells) {
        tell(no_cures,
             each.is(CellRole::kMatrix) && search_ended(each) && names_an_option(each.what()), "{}",
             each.what().label);
    }
    const ConcludedSplit* again = first_again(cells, search_ended);
    const std::string name =
        "a dot behind the name, or `ndots:2` (dnsConfig.options of the pod); in the cache: keep A "
        "and AAAA of one name together";
    if (!tell_cure(name, cells, text, again != nullptr, shown, result)) {
        return;
    }
    result.cure =
        fmt::format("{}. Seen to help: {}; without it again {} lookups failed", name,
                    in_a_row(shown), some_of(again->seen().failed(), again->seen().lookups));
    if (!no_cures.empty()) {
        result.cure += ". Seen not to help: " + in_a_row(no_cures);
    }
}

void conclude_ended(const SplitRuns& cells, const ConcludedSplit& first,
                    verdict::ScenarioResult& result) {
    Clauses found;
    std::uint64_t by_split = 0;
    std::uint64_t by_nodata = 0;
    for (const ConcludedSplit& each : cells) {
        if (each.is(CellRole::kMatrix) && search_ended(each)) {
            by_split += each.seen().by_split;
            by_nodata += each.seen().by_nodata;
            if (!each.what().again && !names_an_option(each.what())) {
                found.push_back(fmt::format("{}: {} failed with {}", each.cell.id,
                                            some_of(each.seen().failed(), each.seen().lookups),
                                            each.seen().outcome));
            }
        }
    }
    if (found.empty()) {
        found.push_back(first.cell.id + ": " + failed_text(first.seen()));
    }
    result.headline = "Lookups of a name that has addresses: " + in_a_row(found, "; ") + ".";
    Clauses ended;
    tell_count(ended, by_split,
               "{} lookups ended where one answer was NXDOMAIN and the other was not");
    tell_count(ended, by_nodata, "{} lookups ended where both were NOERROR without an address");
    result.cause = fmt::format(
        "A resolver goes on to the next name of its search list only while both answers allow it: "
        "{}, and the name itself was not asked for. {}: \"{}\", after {} queries.",
        in_a_row(ended), first.cell.id, first.seen().ends_at, first.seen().most_queries);
    for (const ConcludedSplit& each : cells) {
        if (search_ended(each) && each.seen().split_for_ms != 0 && each.seen().failed_for_ms != 0) {
            result.cause += fmt::format(
                " Where a cache holds A and AAAA apart and A's entry expires {:.1f} s before "
                "AAAA's, the name was unknown for {:.1f} s.",
                each.seen().split_for_ms / 1000, each.seen().failed_for_ms / 1000);
        }
    }
    tell_split_cure(cells, result);
    result.before_cell = result.cure_shown ? first.cell.id : "";
}

// A row a pair, a column a C library.
void add_pairs(const SplitRuns& cells, verdict::ScenarioResult& result) {
    verdict::Proof proof{.title =
                             "What getaddrinfo(3) makes of each pair of answers to the first name "
                             "of the search list",
                         .columns = {"A", "AAAA"}};
    for (const ConcludedSplit& each : cells) {
        const auto& table = each.seen().table;
        if (table.empty()) {
            continue;
        }
        proof.columns.push_back(resolver::name(each.what().who));
        if (proof.rows.empty()) {
            for (const PairOutcome& pair : table) {
                proof.rows.push_back({name(pair.a), name(pair.aaaa)});
            }
        }
        for (std::size_t i = 0; i < table.size() && i < proof.rows.size(); ++i) {
            proof.rows[i].push_back(fmt::format("{} after {:.1f} s ({} queries)", table[i].outcome,
                                                table[i].seconds, table[i].queries));
        }
    }
    if (!proof.rows.empty()) {
        result.proofs.push_back(std::move(proof));
    }
}

// Of a table: pairs that both say the same must come to what they say, or it proves nothing.
std::string wrong_in_table(const std::vector<PairOutcome>& table) {
    for (const PairOutcome& pair : table) {
        const bool plain =
            pair.a == pair.aaaa && (pair.a == PairReply::kData || pair.a == PairReply::kNx);
        if (plain && pair.outcome != "ok") {
            return fmt::format("{} for both came to {}", name(pair.a), pair.outcome);
        }
        if (pair.outcome == "killed") {
            return fmt::format("{} and {} came to no end in {:.0f} s", name(pair.a),
                               name(pair.aaaa), pair.seconds);
        }
    }
    return "";
}

}  // namespace

verdict::Cell conclude(const SplitAnswerCell& what, const SplitAnswerValues& seen) {
    const bool table = is_table(what);
    const bool cache = what.kind == SplitAnswerCell::Kind::kExpiry;
    verdict::Cell cell{
        .id = what.id,
        .toggles = {{"resolver", resolver::name(what.who)},
                    {"A", table   ? "all"
                          : cache ? "expires first"
                                  : name(what.a)},
                    {"AAAA", table   ? "all"
                             : cache ? "expires later"
                                     : name(what.aaaa)},
                    {"options", what.options + (what.addrconfig ? ", AI_ADDRCONFIG" : "")},
                    {"name", what.dot ? "with a dot behind it" : "as it is"},
                    {"family", what.family == resolver::Family::kIpv4 ? "AF_INET" : "AF_UNSPEC"}},
        .role = what.role,
        .verdict = CellVerdict::kPass};
    const auto of_lookups = counts_in("lookups");
    cell.measures = {
        of_lookups("lookups", "lookups", seen.lookups),
        of_lookups("resolved", "with an address", seen.resolved),
        of_lookups("failed", "failed", seen.failed()),
        of_lookups("by_split", "ended where one answer was NXDOMAIN, the other NOERROR",
                   seen.by_split),
        of_lookups("by_nodata", "ended where both were NOERROR without an address", seen.by_nodata),
        of_lookups("by_other", "failed for something else", seen.by_other),
        // Of the table most pairs are there to fail.
        of_lookups(table ? "other_pairs" : verdict::kUnexplained, "failed, and nothing tells why",
                   seen.unexplained),
        count_of("queries", "queries of a lookup, at most", seen.most_queries, "queries"),
        count_of("fewest_queries", "queries of a lookup, at least", seen.fewest_queries, "queries"),
        milliseconds_of("longest", "the longest lookup", seen.longest_ms),
    };
    if (cache) {
        cell.measures.push_back(milliseconds_of(
            "failed_for", "from the first to the last that failed", seen.failed_for_ms));
        cell.measures.push_back(
            milliseconds_of("split_for", "between the two expiries", seen.split_for_ms));
    }
    const auto end = ending(cell);
    if (not_measured(cell, seen.lacking, seen.objections, seen.lookups, "no name was looked up")) {
        return cell;
    }
    if (table) {
        const std::string wrong = wrong_in_table(seen.table);
        return wrong.empty() ? cell : end(CellVerdict::kFail, "", wrong);
    }
    if (seen.failed() == 0) {
        return cell;
    }
    if (seen.unexplained != 0) {
        return end(CellVerdict::kInconclusive, "", failed_text(seen));
    }
    const std::string own = seen.by_split != 0    ? "split-answer"
                            : seen.by_nodata != 0 ? "nodata-answer"
                                                  : "";
    return end(CellVerdict::kFail,
               seen.by_other == 0 ? own : own + (own.empty() ? "" : "+") + seen.other,
               failed_text(seen));
}

verdict::ScenarioResult conclude(const std::vector<MeasuredSplitAnswerCell>& measured) {
    verdict::ScenarioResult result;
    verdict::Chart chart{.title = "Lookups that failed", .unit = "%", .maximum = 100};
    SplitRuns cells = conclude_each(measured);
    for (const ConcludedSplit& each : cells) {
        if (is_table(each.what())) {
            continue;
        }
        result.unexplained += each.seen().unexplained;
        if (each.seen().lookups != 0 && !each.what().again) {
            chart.bars.push_back(
                harm_bar(each.what().label, each.seen().failed(), each.seen().lookups));
        }
    }
    add_pairs(cells, result);
    const SplitRuns run = those_run(cells);
    const ConcludedSplit* first = first_in_matrix(run, [](const auto& each) {
        return search_ended(each) && each.cell.cause == "split-answer";
    });
    first = first != nullptr ? first : first_in_matrix(run, search_ended);
    conclude_from(
        run, search_ended, first, conclude_ended,
        "Every lookup found the name, whatever the names of the search list were answered with.",
        result);
    finish(cells, std::move(chart), result);
    return result;
}

}  // namespace pathproof::scenario
