// What is said of search-path: each clause from a value that is not zero.

#include "harness/scenario/measures.h"
#include "harness/scenario/resolvers/resolver_trail.h"
#include "harness/scenario/resolvers/search_path.h"

namespace pathproof::scenario {
namespace {

using verdict::CellVerdict;
using ConcludedPath = ConcludedCell<MeasuredSearchPathCell>;
using PathRuns = std::vector<ConcludedPath>;

std::string lost_text(const SearchPathValues& seen) {
    return seen.withheld == 0
               ? "no answer was withheld"
               : fmt::format("{} first answers withheld", some_of(seen.planned, seen.places));
}

// "14 of 60 lookups waited or failed (computed: 14.8), 13 of them for answers to other names alone".
std::string hit_text(const SearchPathValues& seen) {
    Clauses parts;
    tell_count(parts, seen.by_search, "{} for names of the search list alone");
    tell_count(parts, seen.by_name, "{} for the name itself");
    tell_count(parts, seen.by_other, "{} since {}",
               seen.other == "not-searched" ? "the name that there is was not asked for"
                                            : fate_text(seen.other));
    tell_count(parts, seen.unexplained, "{} for nothing that was seen");
    std::string text =
        fmt::format("{} lookups waited or failed", some_of(seen.hit(), seen.lookups));
    text += parts.empty() ? "" : ": " + in_a_row(parts);
    if (seen.failed_by_search != 0) {
        text += fmt::format("; {} had no address in the end", seen.failed_by_search);
    }
    return text;
}

bool multiplied(const ConcludedPath& each) {
    return each.cell.verdict == CellVerdict::kFail && each.cell.cause == "search-path";
}

void tell_path_cure(const PathRuns& cells, verdict::ScenarioResult& result) {
    const auto text = [](const ConcludedPath& each) {
        return fmt::format("{} ({} {} queries a lookup, {} waited or failed)",
                           each.what().label.substr(each.what().label.find(' ') + 1),
                           resolver::name(each.what().who), each.seen().computed_queries,
                           some_of(each.seen().hit(), each.seen().lookups));
    };
    Clauses shown;
    const ConcludedPath* again = first_again(cells, multiplied);
    const std::string name =
        "a dot behind the name, or `ndots:2` (dnsConfig.options of the pod), so that the name "
        "itself is asked for first";
    if (!tell_cure(name, cells, text, again != nullptr, shown, result)) {
        return;
    }
    result.cure = fmt::format(
        "{}. Seen with as many losses a query: {}; without it again {} lookups waited or failed",
        name, in_a_row(shown, "; "), some_of(again->seen().hit(), again->seen().lookups));
    const ConcludedPath* broken = first_of(cells, [](const auto& each) {
        return each.what().shows == PathShows::kNotSearched && each.passes();
    });
    if (broken != nullptr) {
        result.cure += fmt::format(
            ". What it breaks: with {} {} does not find {} names of a service with as many dots",
            broken->what().options, resolver::name(broken->what().who),
            some_of(broken->seen().hit(), broken->seen().lookups));
    }
    const ConcludedPath* endless = first_of(cells, [](const auto& each) {
        return each.what().shows == PathShows::kNeverEnds && each.passes();
    });
    if (endless != nullptr) {
        result.cure += fmt::format(
            ". `use-vc` is none: {} lookups with one lost answer had not ended after {} s",
            some_of(endless->seen().killed, endless->seen().lookups),
            endless->what().limit_ms / 1000);
    }
}

void conclude_multiplied(const PathRuns& cells, const ConcludedPath& first,
                         verdict::ScenarioResult& result) {
    Clauses found;
    std::uint64_t by_search = 0;
    std::uint64_t by_name = 0;
    for (const ConcludedPath& each : cells) {
        if (each.is(CellRole::kMatrix) && multiplied(each)) {
            tell(found, !each.what().again, "{}: {}, computed {:.1f}", each.cell.id,
                 some_of(each.seen().hit(), each.seen().lookups), each.seen().computed_hit);
            by_search += each.seen().by_search;
            by_name += each.seen().by_name;
        }
    }
    const SearchPathValues& seen = first.seen();
    result.headline = fmt::format(
        "{}: {} names, {} queries a lookup ({} packets where nothing is lost). Lookups that "
        "waited or failed{}",
        first.cell.id, seen.names, seen.computed_queries, 2 * seen.computed_queries,
        found.empty() ? "." : ": " + in_a_row(found, "; ") + ".");
    Clauses joined;
    tell_count(joined, by_search, "{} waited or failed for such answers alone");
    tell_count(joined, by_name, "{} for answers to the name itself");
    result.cause = fmt::format(
        "The name has fewer dots than ndots, so the resolver asks for it in each of the search "
        "list first, A and AAAA, and waits for the answers to names that do not exist as long as "
        "for the one that does. In {} with {} a lookup of {} queries is hit by one loss or more "
        "in 1 - (1 - p)^{} of the cases. Of the lookups of all cells {}; each is joined to the "
        "answer that the server withheld.",
        first.cell.id, lost_text(seen), seen.computed_queries, seen.computed_queries,
        in_a_row(joined, ", "));
    tell_path_cure(cells, result);
    result.before_cell = result.cure_shown ? first.cell.id : "";
}

void add_curve(const PathRuns& cells, verdict::ScenarioResult& result) {
    verdict::Proof proof{
        .title = "Lookups that waited or failed, seen and computed",
        .columns = {"cell", "resolver", "queries a lookup", "packets a lookup", "answers withheld",
                    "waited or failed", "computed", "longest"}};
    for (const ConcludedPath& each : cells) {
        const SearchPathValues& seen = each.seen();
        if (seen.lookups == 0 || each.is(CellRole::kDemonstration)) {
            continue;
        }
        proof.rows.push_back({each.cell.id, resolver::name(each.what().who),
                              std::to_string(seen.computed_queries),
                              fmt::format("{:.1f}", static_cast<double>(seen.packets) /
                                                        static_cast<double>(seen.lookups)),
                              some_of(seen.planned, seen.places), some_of(seen.hit(), seen.lookups),
                              fmt::format("{:.1f}", seen.computed_hit),
                              fmt::format("{:.1f} s", seen.longest_ms / 1000)});
    }
    if (!proof.rows.empty()) {
        result.proofs.push_back(std::move(proof));
    }
}

}  // namespace

double computed_hits(std::uint64_t lookups, std::uint64_t each, std::uint64_t losses) {
    const std::uint64_t places = lookups * each;
    if (places == 0 || losses > places) {
        return 0;
    }
    // Of a lookup: none of its places is among those drawn without putting back.
    double none = 1;
    for (std::uint64_t i = 0; i < each; ++i) {
        none *= static_cast<double>(places - losses) - static_cast<double>(i) <= 0
                    ? 0
                    : (static_cast<double>(places - losses) - static_cast<double>(i)) /
                          (static_cast<double>(places) - static_cast<double>(i));
    }
    return static_cast<double>(lookups) * (1 - none);
}

verdict::Cell conclude(const SearchPathCell& what, const SearchPathValues& seen) {
    verdict::Cell cell{
        .id = what.id,
        .toggles = {{"resolver", resolver::name(what.who)},
                    {"search list", std::to_string(what.list)},
                    {"options", what.options},
                    {"name", "NAME" + what.rest},
                    {"answers withheld", fmt::format("{:.1f} %{}", what.lost_permille / 10.0,
                                                     what.lost_copies > 1 ? ", twice each" : "")}},
        .role = what.role,
        .verdict = CellVerdict::kPass};
    const auto of_lookups = counts_in("lookups");
    cell.measures = {
        of_lookups("lookups", "lookups", seen.lookups),
        count_of("names", "names that a lookup asks for", seen.names),
        count_of("queries", "queries of a lookup that did not wait, at most", seen.most_queries,
                 "queries"),
        count_of("fewest_queries", "queries of a lookup that did not wait, at least",
                 seen.fewest_queries, "queries"),
        count_of("computed_queries", "queries of a lookup, computed", seen.computed_queries,
                 "queries"),
        count_of("packets", "packets on the client's wire, both ways", seen.packets, "packets"),
        count_of("resent", "queries that were sent again", seen.resent, "queries"),
        count_of("places", "first answers", seen.places, "answers"),
        count_of("planned", "of them to be withheld", seen.planned, "answers"),
        count_of("withheld", "answers withheld by the server", seen.withheld, "answers"),
        verdict::share("hit_share", "lookups that waited or failed", seen.hit(), seen.lookups),
        of_lookups("hit", "waited or failed", seen.hit()),
        milliseconds_of("longest", "the longest lookup", seen.longest_ms),
        of_lookups("resolved", "with an address in the end", seen.ok),
        of_lookups("by_search", "waited or failed for names of the search list alone",
                   seen.by_search),
        of_lookups("by_name", "waited or failed for the name itself", seen.by_name),
        of_lookups("by_other", "waited or failed for something else", seen.by_other),
        of_lookups("killed", "that did not end", seen.killed),
        of_lookups(verdict::kUnexplained, "waited or failed, and nothing tells why",
                   seen.unexplained),
        words_of("computed_hit", "waited or failed, computed",
                 fmt::format("{:.1f}", seen.computed_hit)),
    };
    const auto end = ending(cell);
    if (not_measured(cell, seen.lacking, seen.objections, seen.lookups, "no name was looked up")) {
        return cell;
    }
    if (what.shows != PathShows::kNothing) {
        const bool not_searched = what.shows == PathShows::kNotSearched;
        const bool shown = not_searched
                               ? seen.by_other == seen.lookups && seen.other == "not-searched"
                               : seen.killed == seen.lookups;
        return shown ? cell
                     : end(CellVerdict::kFail, "",
                           (not_searched ? "names were found, or not asked for otherwise: "
                                         : "lookups ended: ") +
                               hit_text(seen));
    }
    if (seen.unexplained != 0) {
        return end(CellVerdict::kInconclusive, "", hit_text(seen));
    }
    if (seen.by_other != 0) {
        return end(CellVerdict::kFail,
                   seen.by_search == 0 ? seen.other : "search-path+" + seen.other, hit_text(seen));
    }
    if (seen.most_queries != 0 && (seen.fewest_queries != seen.computed_queries ||
                                   seen.most_queries != seen.computed_queries)) {
        return end(CellVerdict::kInconclusive, "",
                   fmt::format("a lookup made {} to {} queries, and {} are computed",
                               seen.fewest_queries, seen.most_queries, seen.computed_queries));
    }
    if (seen.withheld < seen.planned) {
        return end(
            CellVerdict::kInconclusive, "",
            fmt::format("the server withheld {} answers of the {} that it was told to",
                        seen.withheld == 0 ? "none" : std::to_string(seen.withheld), seen.planned));
    }
    if (seen.by_search != 0) {
        return end(
            CellVerdict::kFail, "search-path",
            fmt::format("{} queries a lookup, {}: {} (computed: {:.1f})", seen.computed_queries,
                        lost_text(seen), hit_text(seen), seen.computed_hit));
    }
    return cell;
}

verdict::ScenarioResult conclude(const std::vector<MeasuredSearchPathCell>& measured) {
    verdict::ScenarioResult result;
    verdict::Chart chart{.title = "Lookups that waited or failed", .unit = "%", .maximum = 100};
    PathRuns cells = conclude_each(measured);
    for (const ConcludedPath& each : cells) {
        const SearchPathValues& seen = each.seen();
        result.unexplained += each.is(CellRole::kDemonstration) ? 0 : seen.unexplained;
        if (seen.lookups != 0 && !each.what().again && !each.is(CellRole::kDemonstration)) {
            chart.bars.push_back(harm_bar(each.what().label, seen.hit(), seen.lookups));
            chart.bars.push_back(
                {.label = each.what().label + ", computed",
                 .value = 100 * seen.computed_hit / static_cast<double>(seen.lookups)});
            chart.bars.back().kind = verdict::Bar::Kind::kNeutral;
        }
    }
    add_curve(cells, result);
    const PathRuns run = those_run(cells);
    const ConcludedPath* first = first_in_matrix(
        run, [](const auto& each) { return multiplied(each) && each.what().list == 6; });
    first = first != nullptr ? first : first_in_matrix(run, multiplied);
    conclude_from(run, multiplied, first, conclude_multiplied,
                  "No lookup waited or failed for a name of the search list.", result);
    finish(cells, std::move(chart), result);
    return result;
}

}  // namespace pathproof::scenario
