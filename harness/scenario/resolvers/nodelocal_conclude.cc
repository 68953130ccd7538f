// What is said of nodelocal: each clause from a value that is not zero.
#include "harness/scenario/measures.h"
#include "harness/scenario/resolvers/nodelocal.h"

namespace pathproof::scenario {
namespace {

using verdict::CellVerdict;
using Nodes = std::vector<ConcludedCell<MeasuredNodelocalCell>>;
using ConcludedNode = Nodes::value_type;

constexpr const char* kRace = "conntrack-race";

// Each pair that lacks an answer has one that came untranslated, and conntrack resolved a clash for it;
// or conntrack refused to insert an entry for it.
bool by_race(const NodelocalValues& seen) {
    const std::uint64_t others =
        seen.lacking() > seen.untranslated ? seen.lacking() - seen.untranslated : 0;
    return seen.lacking() != 0 && seen.errors == 0 && seen.clash_resolve >= seen.untranslated &&
           seen.insert_failed >= others;
}

bool raced(const NodelocalValues& seen) {
    return seen.clash_resolve + seen.insert_failed != 0;
}

// What a demonstration shows is told by its own values.
std::uint64_t unexplained_in(const NodelocalCell& what, const NodelocalValues& seen) {
    return what.role == CellRole::kDemonstration || by_race(seen) ? 0 : seen.lacking();
}

std::string harm_text(const NodelocalValues& seen) {
    Clauses clauses = {some_of(seen.harmed(), seen.pairs) + " pairs were not answered in full"};
    tell_count(clauses, seen.errors, "{} got an error");
    tell_count(clauses, seen.untranslated,
               "an answer of {} came from another address than was asked");
    tell_count(clauses, seen.refused, "{} were refused by ICMP");
    return in_a_row(clauses);
}

std::string clash_text(const NodelocalValues& seen) {
    Clauses clauses;
    tell_count(clauses, seen.clash_resolve, "clash_resolve rose by {}");
    tell_count(clauses, seen.insert_failed, "insert_failed rose by {}");
    return in_a_row(clauses);
}

void add_measures(const NodelocalCell& what, const NodelocalValues& seen, verdict::Cell& cell) {
    const auto pairs = counts_in("pairs");
    const auto packets = counts_in("packets");
    cell.measures = {
        pairs("pairs", "pairs of lookups, A and AAAA", seen.pairs),
        pairs("answered", "of them answered in full", seen.answered),
        pairs("errors", "of them with an error", seen.errors),
        pairs("lacking", "of them lacking an answer", seen.lacking()),
        pairs("untranslated", "of these: one came from another address", seen.untranslated),
        pairs("refused_by_icmp", "of these: refused by ICMP", seen.refused),
        milliseconds_of("slowest", "the slowest answer", seen.slowest_ms),
        count_of("clash_resolve", "conntrack's clash_resolve", seen.clash_resolve),
        count_of("insert_failed", "conntrack's insert_failed", seen.insert_failed),
        count_of("drop", "conntrack's drop", seen.drop),
        count_of("client_entries", "entries of the clients' lookups, to port 53",
                 seen.client_entries, "entries"),
        count_of("cache_entries", "entries of the cache's own lookups", seen.cache_entries,
                 "entries"),
        packets("service_hits", "counted by KUBE-SERVICES' rule of the service", seen.service_hits),
        packets("raw_hits", "counted by the raw rules of PREROUTING", seen.raw_hits),
        packets("policy_drops", "dropped by INPUT's policy", seen.policy_drops),
        count_of(verdict::kUnexplained, "pairs that lack an answer, and nothing tells why",
                 unexplained_in(what, seen), "pairs"),
    };
}

// What a cell with the cache must show; empty where it does.
std::string not_past_conntrack(const NodelocalValues& seen) {
    Clauses clauses;
    tell_count(clauses, seen.client_entries, "conntrack has {} entries of the clients' lookups");
    tell_count(clauses, seen.service_hits, "the service's rule counted {} packets");
    tell(clauses, seen.raw_hits < 2 * seen.pairs ? 1 : 0,
         "the raw rules counted {} packets that {} pairs make",
         some_of(seen.raw_hits, 2 * seen.pairs), seen.pairs);
    tell(clauses, raced(seen) ? 1 : 0, "{}", clash_text(seen));
    return in_a_row(clauses);
}

// Of a demonstration.
std::string does_not_show(const NodelocalCell& what, const NodelocalValues& seen) {
    if (!what.serves) {
        return seen.answered == 0 ? "" : "with no server there pairs were answered";
    }
    if (!what.rules.notrack) {
        return seen.client_entries >= seen.pairs
                   ? ""
                   : "without the raw rules conntrack has fewer entries than pairs";
    }
    if (!what.rules.accept) {
        return seen.answered != 0       ? "pairs were answered without the ACCEPT rules"
               : seen.policy_drops == 0 ? "INPUT's policy dropped nothing"
                                        : "";
    }
    return seen.harmed() == 0 ? "" : harm_text(seen);
}

bool harmed(const ConcludedNode& each) {
    return each.cell.verdict == CellVerdict::kFail && each.cell.cause == kRace;
}

// What remains or breaks with it, of the demonstrations that were shown.
Clauses prices(const Nodes& cells) {
    Clauses clauses;
    const auto shown = [&](const char* id) {
        const ConcludedNode* each = by_id(cells, id);
        return each != nullptr && each->passes() ? &each->seen() : nullptr;
    };
    if (const NodelocalValues* seen = shown("cache-down")) {
        clauses.push_back(fmt::format("while the cache is down {} pairs are answered{}",
                                      some_of(seen->answered, seen->pairs),
                                      seen->refused != 0 ? ", refused by ICMP" : ""));
    }
    if (const NodelocalValues* seen = shown("input-by-state.notrack-alone")) {
        clauses.push_back(fmt::format(
            "where INPUT accepts by ctstate alone, the raw rules without the ACCEPT rules leave {} "
            "pairs answered: the policy dropped {} packets",
            some_of(seen->answered, seen->pairs), seen->policy_drops));
    }
    if (const NodelocalValues* seen = shown("tracked")) {
        clauses.push_back(
            fmt::format("with the raw rules flushed conntrack had {} entries of {} pairs again",
                        seen->client_entries, seen->pairs));
    }
    return clauses;
}

void tell_cure(const Nodes& cells, verdict::ScenarioResult& result) {
    const auto text = [](const ConcludedNode& each) {
        const NodelocalValues& seen = each.seen();
        return each.cell.id + ": " +
               (each.passes()
                    ? fmt::format("{} pairs answered, no entry of conntrack, the service's rule "
                                  "counted nothing and the raw rules {} packets",
                                  some_of(seen.answered, seen.pairs), seen.raw_hits)
                    : "not shown: " + each.cell.reason);
    };
    const auto* again = first_again(cells, harmed);
    result.cure_shown = true;
    result.cure =
        "NodeLocal DNSCache on each node (here dnsmasq in the place of its CoreDNS, behind "
        "its own rules): " +
        tell_cures(
            cells, [](const auto&) { return true; }, text, "not tried in this run",
            again == nullptr ? "" : harm_text(again->seen()), result.cure_shown);
    result.after_cell = result.cure_shown ? first_cure(cells)->cell.id : "";
    const Clauses costs = prices(cells);
    if (!costs.empty()) {
        result.cure += ". What it costs: " + in_a_row(costs, "; ");
    }
}

// Of the first cell that is harmed, or else of one that races.
void conclude_raced(const Nodes& cells, const ConcludedNode& told,
                    verdict::ScenarioResult& result) {
    const NodelocalValues& seen = told.seen();
    result.verdict =
        harmed(told) ? verdict::ScenarioVerdict::kReproduced : verdict::ScenarioVerdict::kExposed;
    result.headline = fmt::format(
        "{}: {}.", told.cell.id,
        harmed(told) ? harm_text(seen)
                     : fmt::format("all {} pairs were answered, though they race", seen.pairs));
    Clauses tracked;
    tell_count(tracked, seen.client_entries, "{} entries of the clients' lookups in conntrack");
    tell_count(tracked, seen.service_hits, "the service's rule counted {} packets");
    result.cause = fmt::format(
        "A and AAAA of one socket pass conntrack's lookup at the same moment; both find no "
        "entry, and each draws an endpoint: {}. {}: {}.",
        clash_text(seen), told.cell.id,
        tracked.empty() ? "of its lookups nothing was counted" : in_a_row(tracked));
    tell_cure(cells, result);
    result.before_cell = result.cure_shown ? told.cell.id : "";
}

}  // namespace

verdict::Cell conclude(const NodelocalCell& what, const NodelocalValues& seen) {
    verdict::Cell cell{
        .id = what.id,
        .toggles = {{"cache", !what.cache
                                  ? "none"
                                  : fmt::format("dnsmasq{}, on a {}", what.serves ? "" : " (down)",
                                                seen.device.empty() ? "device" : seen.device)},
                    {"rules", !what.cache           ? "none"
                              : !what.rules.notrack ? "ACCEPT"
                              : !what.rules.accept  ? "NOTRACK"
                                                    : "NOTRACK, ACCEPT"},
                    {"INPUT", what.rules.input_by_state ? "by ctstate" : "ACCEPT"},
                    {"asked", what.cache && what.link_local ? "169.254.20.10" : "the service"},
                    {"A and AAAA", what.together ? "at one moment" : "one by one"}},
        .role = what.role,
        .verdict = CellVerdict::kPass};
    add_measures(what, seen, cell);
    const auto end = ending(cell);
    if (not_measured(cell, "", seen.objections, seen.pairs, "no pair was sent")) {
        return cell;
    }
    if (what.role == CellRole::kDemonstration) {
        const std::string missing = does_not_show(what, seen);
        return missing.empty() ? cell : end(CellVerdict::kFail, "", missing);
    }
    if (seen.errors != 0) {
        return end(CellVerdict::kFail, "server-error", harm_text(seen));
    }
    if (by_race(seen)) {
        return end(CellVerdict::kFail, kRace, harm_text(seen) + "; " + clash_text(seen));
    }
    if (seen.lacking() != 0) {
        const std::uint64_t others = seen.lacking() - std::min(seen.lacking(), seen.untranslated);
        const bool full =
            seen.drop > seen.insert_failed && seen.drop - seen.insert_failed >= others;
        return end(
            CellVerdict::kFail,
            others == 0 ? "untranslated-answer"
            : full      ? "table-full"
                        : "lost",
            harm_text(seen) + (others == 0 ? ", and conntrack resolved no clash for them"
                               : full      ? fmt::format("; conntrack dropped {} packets for want "
                                                              "of an entry",
                                                         seen.drop - seen.insert_failed)
                                           : ""));
    }
    if (what.role == CellRole::kControl && raced(seen)) {
        return end(CellVerdict::kFail, kRace, clash_text(seen));
    }
    const std::string tracked = what.cache ? not_past_conntrack(seen) : "";
    return tracked.empty() ? cell : end(CellVerdict::kFail, "", tracked);
}

verdict::ScenarioResult conclude(const std::vector<MeasuredNodelocalCell>& measured) {
    verdict::ScenarioResult result;
    verdict::Chart chart{.title = "Pairs that lack an answer", .unit = "%", .maximum = 100};
    for (const auto& [what, seen, evidence, timeline] : measured) {
        result.unexplained += unexplained_in(what, seen);
        if (seen.pairs != 0 && !what.again && what.role != CellRole::kDemonstration) {
            chart.bars.push_back(harm_bar(what.label, seen.lacking(), seen.pairs));
        }
    }
    Nodes cells = conclude_each(measured);
    const auto* first = first_in_matrix(cells, harmed);
    const auto* exposed =
        first_in_matrix(cells, [](const ConcludedNode& each) { return raced(each.seen()); });
    conclude_from(cells, harmed, first != nullptr ? first : exposed, conclude_raced,
                  "No pair met the race on its way to the service.", result);
    finish(cells, std::move(chart), result);
    return result;
}

}  // namespace pathproof::scenario
