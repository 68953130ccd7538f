// Conclusions of stale-endpoint, as data (model/README.md).
#include <algorithm>
#include <cmath>
#include <numeric>

#include "harness/scenario/service_path/stale_endpoint.h"

namespace pathproof::scenario {
namespace {

const char* dead_text(EndpointState state) {
    switch (state) {
        case EndpointState::kServes: return "served";
        case EndpointState::kNobody: return "address held by nobody";
        case EndpointState::kClosed: return "port closed";
        case EndpointState::kSilent: return "silent";
        case EndpointState::kStranger: return "address of a stranger";
        case EndpointState::kRejected: return "rejected by the node";
    }
    return "";
}

std::string dead_texts(const EndpointCell& what, const EndpointValues&) {
    Clauses texts;
    for (const EndpointState state : what.dead) {
        if (std::ranges::find(texts, dead_text(state)) == texts.end()) {
            texts.emplace_back(dead_text(state));
        }
    }
    return texts.empty() ? "-" : in_a_row(texts);
}

template <typename Value>
std::uint64_t sum_over(const EndpointValues& seen, const Value& value) {
    return std::accumulate(
        seen.endpoints.begin(), seen.endpoints.end(), std::uint64_t{0},
        [&](std::uint64_t sum, const EndpointTally& each) { return sum + value(each); });
}

// Connects that an endpoint which should be dead served.
std::uint64_t served_by_dead(const EndpointValues& seen) {
    const std::uint64_t flows =
        sum_over(seen, [](const EndpointTally& each) { return each.dead() ? each.flows : 0; });
    return flows - seen.by_entry();
}

// Returns the range in which the number of failed connects lies by chance if the rules name dead
// endpoints.
std::pair<std::uint64_t, std::uint64_t> band_of(const EndpointCell& what,
                                                const EndpointValues& seen) {
    const double chance = what.named() == 0 ? 0
                                            : static_cast<double>(what.dead.size()) /
                                                  static_cast<double>(what.named());
    return binomial_band(seen.connects(), chance);
}

auto ends_as(ConnectEnd end) {
    return [end](const EndpointValues& seen) { return seen.count(end); };
}

model::Rows tallies(const EndpointCell&, const EndpointValues& seen) {
    model::Rows rows;
    for (const EndpointTally& tally : seen.endpoints) {
        rows.push_back({tally.address, tally.dead() ? dead_text(tally.state) : "serves",
                        std::to_string(tally.hits), std::to_string(tally.flows),
                        std::to_string(tally.failed)});
    }
    return rows;
}

EndpointConclusions::Figures endpoint_figures() {
    using What = EndpointCell;
    using Seen = EndpointValues;
    return {
        {"connects", "connects", "connects to the service", &Seen::connects},
        {"failed_share", "%", "failed", {}, {.hits = "failed", .trials = "connects"}},
        {"failed", "connects", "failed", &Seen::failed},
        {"band_low", "connects", "failed of dead endpoints' share: at least (99.9 %)",
         [](const What& what, const Seen& seen) { return band_of(what, seen).first; }},
        {"band_high", "connects", "failed of dead endpoints' share: at most (99.9 %)",
         [](const What& what, const Seen& seen) { return band_of(what, seen).second; }},
        {"refused", "connects", "of them refused", ends_as(ConnectEnd::kRefused)},
        {"timed_out", "connects", "of them timed out", ends_as(ConnectEnd::kTimedOut)},
        {"unreachable", "connects", "of them unreachable", ends_as(ConnectEnd::kUnreachable)},
        {"stranger", "connects", "of them answered by a stranger", ends_as(ConnectEnd::kStranger)},
        {"nothing_said", "connects", "of them connected and told nothing in time",
         ends_as(ConnectEnd::kNothing)},
        {"other_error", "connects", "of them with another error", ends_as(ConnectEnd::kOther)},
        {"by_entry", "connects", "of them to a dead endpoint, by entry or event", &Seen::by_entry},
        {"by_counter", "connects", "of them to a dead endpoint, by its rule's count",
         &Seen::by_counter},
        {"at_serving", "connects", "of them to an endpoint that serves", &Seen::at_serving},
        {verdict::kUnexplained, "connects", "of them to nobody knows whom", &Seen::unexplained},
        {"stopped", "connects",
         "of them whose SYN the DUT dropped, and not for its endpoint's state",
         [](const Seen& seen) -> std::optional<std::uint64_t> {
             return seen.not_followed.empty() ? std::optional(seen.stopped) : std::nullopt;
         }},
        {"at_dead", &Seen::at_dead},
        {"told_nothing_of",
         [](const What&, const Seen& seen) {
             const std::uint64_t told = seen.stopped + seen.at_dead();
             return seen.failed() - std::min(seen.failed(), told);
         }},
        {"stopped_by", &Seen::stopped_by},
        {"stopped_how", &Seen::stopped_how},
        {"not_followed", &Seen::not_followed},
        {"served_by_dead", served_by_dead},
        {"named", &What::named},
        {"dead", [](const What& what, const Seen&) { return what.dead.size(); }},
        {"dead_how", dead_texts},
        {"nftables", [](const What& what, const Seen&) { return what.proxy != Proxy::kIptables; }},
        {"ipv4", [](const What& what, const Seen&) { return what.family == frame::Family::kIpv4; }},
    };
}

}  // namespace

std::uint64_t EndpointValues::connects() const {
    return std::accumulate(std::begin(ends), std::end(ends), std::uint64_t{0});
}

std::uint64_t EndpointValues::by_entry() const {
    return sum_over(*this, [](const EndpointTally& each) { return each.dead() ? each.failed : 0; });
}

std::uint64_t EndpointValues::at_serving() const {
    return sum_over(*this, [](const EndpointTally& each) { return each.dead() ? 0 : each.failed; });
}

std::uint64_t EndpointValues::by_counter() const {
    return std::min(failed_without_entry, sum_over(*this, [](const EndpointTally& each) {
                        return each.dead() && each.hits > each.flows ? each.hits - each.flows : 0;
                    }));
}

std::uint64_t EndpointValues::at_dead() const {
    const std::uint64_t named = by_entry() + by_counter();
    return named - std::min(named, stopped_to_dead);
}

std::pair<std::uint64_t, std::uint64_t> binomial_band(std::uint64_t trials, double chance) {
    if (chance <= 0 || chance >= 1) {
        const std::uint64_t hits = chance <= 0 ? 0 : trials;
        return {hits, hits};
    }
    constexpr double kTail = 0.0005;
    const auto n = static_cast<double>(trials);
    std::pair<std::uint64_t, std::uint64_t> band{0, trials};
    double below = 0;
    for (std::uint64_t hits = 0; hits <= trials; ++hits) {
        const auto k = static_cast<double>(hits);
        const double upto =
            below + std::exp(std::lgamma(n + 1) - std::lgamma(k + 1) - std::lgamma(n - k + 1) +
                             k * std::log(chance) + (n - k) * std::log1p(-chance));
        if (below <= kTail && upto > kTail) {
            band.first = hits;
        }
        if (upto >= 1 - kTail) {
            band.second = hits;
            break;
        }
        below = upto;
    }
    return band;
}

const EndpointConclusions& stale_endpoint_conclusions() {
    using enum model::CellVerdict;
    static const std::string kTold = "meant and (not again or first)";
    static const EndpointConclusions conclusions(
        endpoint_figures(),
        {
            .toggles = {{"endpoints in the rules", "{named}"},
                        {"of them dead", "{dead}"},
                        {"dead how", "{dead_how}"},
                        {"kube-proxy's mode", "[nftables?nftables|iptables]"},
                        {"IP", "[ipv4?4|6]"}},
            .phrases =
                {{"ends",
                  {{"{refused} refused"},
                   {"{timed_out} timed out"},
                   {"{unreachable} unreachable"},
                   {"{stranger} answered by a stranger"},
                   {"{other_error} with another error"},
                   {"{nothing_said} connected and told nothing in time"}}},
                 {"failures",
                  {{"{failed of connects} connects failed[ ({ends})]", "connects != 0"}}},
                 {"joined",
                  {{"{by_entry} by conntrack's entry or event to a dead endpoint"},
                   {"{by_counter} by the count of a dead endpoint's rule, for which conntrack has "
                    "no entry"},
                   {"{at_serving} although conntrack names an endpoint that serves"},
                   {"{unexplained} unexplained"}}},
                 {.name = "band",
                  .clauses = {{"{band_low}", "band_low == band_high"},
                              {"up to {band_high}", "band_low == 0"},
                              {"{band_low} to {band_high}"}},
                  .told = model::Phrase::Told::kFirst}},
            .rules =
                {
                    {.when = "connects == 0", .text = "no connection was made"},
                    {.when = "served_by_dead != 0",
                     .text = "{served_by_dead} connects were served by endpoints that should be "
                             "dead"},
                    {.when = "failed == 0", .is = kPass},
                    {.when = "stopped != 0",
                     .is = kFail,
                     .cause = "[at_dead != 0?stale-endpoint+]{stopped_by}",
                     .text = "{failures}[: of these {stopped} ended on the DUT, before any "
                             "endpoint]: {stopped_how}[; {at_dead} came to a dead "
                             "endpoint][; of {told_nothing_of} it is not known]"},
                    {.when = "unexplained != 0 or nothing_said != 0",
                     .text = "{failures}: {joined}"},
                    {.when = "at_serving != 0",
                     .is = kFail,
                     .cause = "[by_entry + by_counter != 0?stale-endpoint+]serving-endpoint",
                     .text = "{failures}: {joined}"},
                    {.when = "failed < band_low or failed > band_high",
                     .text = "{failures}: {joined}; with {dead} of {named} endpoints dead {band} "
                             "must fail (99.9 %)"},
                    {.when = "",
                     .is = kFail,
                     .cause = "stale-endpoint",
                     .text = "{failures}: {joined}[not_followed? (by conntrack, not by packet)]"},
                },
            .own = "fails and cause == 'stale-endpoint'",
            .chart = {.title = "Connects to the service that failed",
                      .hits = "failed",
                      .trials = "connects"},
            .proof = {.title = "{id}: the endpoints that the rules name",
                      .columns = {"endpoint", "state", "its rule counted", "flows in conntrack",
                                  "failed"},
                      .of = "own and not again",
                      .conclusion = "{failures}: {joined}."},
            .totals = {{"all_by_entry", "by_entry", kTold},
                       {"all_by_counter", "by_counter", kTold}},
            .listings = {{"found", "{id}: {failures}"}},
            .summaries = {{"all_joined",
                           {{"{all_by_entry} by conntrack's entry or event"},
                            {"{all_by_counter} by the counter of the rule, for which conntrack has "
                             "no entry"}}}},
            .findings =
                {{.headline = "{found}",
                  .why = "The service's rules give each new connection one of the endpoints that "
                         "they name, whether or not it lives. In {id} they name {named}, of which "
                         "{dead} are dead: {band} of {connects} connects must fail (99.9 %), and "
                         "{failed} did. The failed ones of all cells went to dead "
                         "endpoints[not_followed? "
                         "(likely: their packets were not followed)|, and none of their SYNs ended "
                         "on the DUT for another reason]: {all_joined}.",
                  .cures = {{.cure = "rules-of-the-living",
                             .outcome = "with rules of the {cure.named} that serve {cure.failed of "
                                        "cure.connects} connects failed, with the old rules again "
                                        "{again.failed of again.connects}",
                             .text = "{command}[is_shown?: {outcome}|[cure.id? ({why})| (such "
                                     "rules were not tried in this run)]]"}}}},
            .otherwise = "No connect failed, although the rules name endpoints that are dead.",
        },
        {.lacks = &EndpointValues::lacks, .rows = tallies});
    return conclusions;
}

}  // namespace pathproof::scenario
