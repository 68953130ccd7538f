// Conclusions of nodelocal, as data (model/README.md).
#include <algorithm>

#include "harness/scenario/resolvers/nodelocal.h"

namespace pathproof::scenario {
namespace {

// Pairs that lack an answer, and none came from another address.
std::uint64_t without_stray(const NodelocalValues& seen) {
    return seen.lacking() - std::min(seen.lacking(), seen.untranslated);
}

// Each pair that lacks an answer has one that came untranslated, and conntrack resolved a clash for it;
// or conntrack refused to insert an entry for it.
bool by_race(const NodelocalValues& seen) {
    return seen.lacking() != 0 && seen.errors == 0 && seen.clash_resolve >= seen.untranslated &&
           seen.insert_failed >= without_stray(seen);
}

std::uint64_t for_want_of_entry(const NodelocalValues& seen) {
    return seen.drop > seen.insert_failed ? seen.drop - seen.insert_failed : 0;
}

std::string node_cache_text(const NodelocalCell& what, const NodelocalValues& seen) {
    return fmt::format("dnsmasq{}, on a {}", what.serves ? "" : " (down)",
                       seen.device.empty() ? "device" : seen.device);
}

NodelocalConclusions::Figures nodelocal_figures() {
    using What = NodelocalCell;
    using Seen = NodelocalValues;
    return {
        {"pairs", "pairs", "pairs of lookups, A and AAAA", &Seen::pairs},
        {"answered", "pairs", "of them answered in full", &Seen::answered},
        {"errors", "pairs", "of them with an error", &Seen::errors},
        {"lacking", "pairs", "of them lacking an answer", &Seen::lacking},
        {"untranslated", "pairs", "of these: one came from another address", &Seen::untranslated},
        {"refused_by_icmp", "pairs", "of these: refused by ICMP", &Seen::refused},
        {"slowest", "ms", "the slowest answer", &Seen::slowest_ms},
        {"clash_resolve", "", "conntrack's clash_resolve", &Seen::clash_resolve},
        {"insert_failed", "", "conntrack's insert_failed", &Seen::insert_failed},
        {"drop", "", "conntrack's drop", &Seen::drop},
        {"client_entries", "entries", "entries of the clients' lookups, to port 53",
         &Seen::client_entries},
        {"cache_entries", "entries", "entries of the cache's own lookups", &Seen::cache_entries},
        {"service_hits", "packets", "counted by KUBE-SERVICES' rule of the service",
         &Seen::service_hits},
        {"raw_hits", "packets", "counted by the raw rules of PREROUTING", &Seen::raw_hits},
        {"policy_drops", "packets", "dropped by INPUT's policy", &Seen::policy_drops},
        // A demonstration has no unexplained pairs: its own values tell what it shows.
        {verdict::kUnexplained, "pairs", "pairs that lack an answer, and nothing tells why",
         [](const What& what, const Seen& seen) {
             return what.role == CellRole::kDemonstration || by_race(seen) ? 0 : seen.lacking();
         }},
        {"unanswered", &Seen::harmed},
        {"by_race", by_race},
        {"raced", [](const Seen& seen) { return seen.clash_resolve + seen.insert_failed != 0; }},
        {"without_stray", without_stray},
        {"for_want_of_entry", for_want_of_entry},
        {"raw_wanted", [](const Seen& seen) { return 2 * seen.pairs; }},
        {"cached", &What::cache},
        {"cache_text", node_cache_text},
        {"serves", &What::serves},
        {"link_local", &What::link_local},
        {"together", &What::together},
        {"notrack", [](const What& what, const Seen&) { return what.rules.notrack; }},
        {"accept", [](const What& what, const Seen&) { return what.rules.accept; }},
        {"by_state", [](const What& what, const Seen&) { return what.rules.input_by_state; }},
    };
}

model::Finding race_finding(const char* of, const char* headline, bool exposed) {
    return {.of = of,
            .headline = headline,
            .why =
                "A and AAAA of one socket pass conntrack's lookup at the same moment; both find "
                "no entry, and each draws an endpoint: {clashes}. {id}: [counted?{counted}|of "
                "its lookups nothing was counted].",
            .cures = {{.cure = "nodelocal",
                       .shown_by = model::CureText::ShownBy::kAll,
                       .text = "{cure_name} (here dnsmasq in the place of its CoreDNS, behind its "
                               "own rules): [tries?{tries}|not tried in this run]; [again.id?"
                               "without it again {again.harm}|not shown: without it the failure "
                               "was not seen again][. What it costs: {costs}]"}},
            .alone = exposed,
            .exposed = exposed};
}

}  // namespace

const NodelocalConclusions& nodelocal_conclusions() {
    using enum model::CellVerdict;
    static const NodelocalConclusions conclusions(
        nodelocal_figures(),
        {
            .toggles = {{"cache", "[cached?{cache_text}|none]"},
                        {"rules", "[cached?[notrack?NOTRACK[accept?, ACCEPT]|ACCEPT]|none]"},
                        {"INPUT", "[by_state?by ctstate|ACCEPT]"},
                        {"asked", "[cached and link_local?169.254.20.10|the service]"},
                        {"A and AAAA", "[together?at one moment|one by one]"}},
            .phrases =
                {{"harm",
                  {{"{unanswered of pairs} pairs were not answered in full", "pairs != 0"},
                   {"{errors} got an error"},
                   {"an answer of {untranslated} came from another address than was asked"},
                   {"{refused_by_icmp} were refused by ICMP"}}},
                 {"clashes",
                  {{"clash_resolve rose by {clash_resolve}"},
                   {"insert_failed rose by {insert_failed}"}}},
                 {"tracked",
                  {{"conntrack has {client_entries} entries of the clients' lookups"},
                   {"the service's rule counted {service_hits} packets"},
                   {"the raw rules counted {raw_hits of raw_wanted} packets that {pairs} pairs "
                    "make",
                    "raw_hits < raw_wanted"},
                   {"{clashes}", "raced"}}},
                 {"counted",
                  {{"{client_entries} entries of the clients' lookups in conntrack"},
                   {"the service's rule counted {service_hits} packets"}}}},
            .rules =
                {
                    {.when = "pairs == 0", .text = "no pair was sent"},
                    // Rules for what each demonstration must show.
                    {.when = "is_demonstration and not serves and answered != 0",
                     .is = kFail,
                     .text = "with no server there pairs were answered"},
                    {.when = "is_demonstration and not serves", .is = kPass},
                    {.when = "is_demonstration and not notrack and client_entries < pairs",
                     .is = kFail,
                     .text = "without the raw rules conntrack has fewer entries than pairs"},
                    {.when = "is_demonstration and not notrack", .is = kPass},
                    {.when = "is_demonstration and not accept and answered != 0",
                     .is = kFail,
                     .text = "pairs were answered without the ACCEPT rules"},
                    {.when = "is_demonstration and not accept and policy_drops == 0",
                     .is = kFail,
                     .text = "INPUT's policy dropped nothing"},
                    {.when = "is_demonstration and not accept", .is = kPass},
                    {.when = "is_demonstration and unanswered != 0", .is = kFail, .text = "{harm}"},
                    {.when = "is_demonstration", .is = kPass},
                    // All others.
                    {.when = "errors != 0", .is = kFail, .cause = "server-error", .text = "{harm}"},
                    {.when = "by_race",
                     .is = kFail,
                     .cause = "conntrack-race",
                     .text = "{harm}; {clashes}"},
                    {.when = "lacking != 0 and without_stray == 0",
                     .is = kFail,
                     .cause = "untranslated-answer",
                     .text = "{harm}[clash_resolve != 0?; clash_resolve rose by {clash_resolve}, "
                             "which does not tell for which pairs|, and conntrack resolved no "
                             "clash (clash_resolve)]"},
                    {.when = "lacking != 0 and for_want_of_entry != 0 and for_want_of_entry >= "
                             "without_stray",
                     .is = kFail,
                     .cause = "table-full",
                     .text = "{harm}; conntrack dropped {for_want_of_entry} packets for want of an "
                             "entry"},
                    {.when = "lacking != 0", .is = kFail, .cause = "lost", .text = "{harm}"},
                    {.when = "is_control and raced",
                     .is = kFail,
                     .cause = "conntrack-race",
                     .text = "{clashes}"},
                    {.when = "cached and tracked", .is = kFail, .text = "{tracked}"},
                },
            .own = "fails and cause == 'conntrack-race'",
            .chart = {.title = "Pairs that lack an answer",
                      .hits = "lacking",
                      .trials = "pairs",
                      .of = "not again and not is_demonstration"},
            .cells = {{"down", "id == 'cache-down' and passed"},
                      {"by_state_alone", "id == 'input-by-state.notrack-alone' and passed"},
                      {"flushed", "id == 'tracked' and passed"}},
            .listings = {{"tries",
                          "{id}: [passed?{answered of pairs} pairs answered, no entry of "
                          "conntrack, the service's rule counted nothing and the raw rules "
                          "{raw_hits} packets|not shown: {reason}]",
                          "is_cure"}},
            .summaries =
                {{.name = "costs",
                  .clauses = {{"while the cache is down {down.answered of down.pairs} pairs are "
                               "answered[down.refused_by_icmp != 0?, refused by ICMP]",
                               "down.id"},
                              {"where INPUT accepts by ctstate alone, the raw rules without the "
                               "ACCEPT rules leave {by_state_alone.answered of "
                               "by_state_alone.pairs} pairs answered: the policy dropped "
                               "{by_state_alone.policy_drops} packets",
                               "by_state_alone.id"},
                              {"with the raw rules flushed conntrack had {flushed.client_entries} "
                               "entries of {flushed.pairs} pairs again",
                               "flushed.id"}},
                  .between = "; "}},
            .findings = {race_finding("harmed", "{id}: {harm}", false),
                         race_finding("is_matrix and raced",
                                      "{id}: all {pairs} pairs were answered, though they race",
                                      true)},
            .otherwise = "No pair met the race on its way to the service.",
        });
    return conclusions;
}

}  // namespace pathproof::scenario
