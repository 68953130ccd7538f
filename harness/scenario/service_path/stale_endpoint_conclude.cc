// What is said of stale-endpoint: each clause from a value that is not zero.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "harness/scenario/measures.h"
#include "harness/scenario/service_path/stale_endpoint.h"

namespace pathproof::scenario {
namespace {

using verdict::CellVerdict;
using ConcludedEndpoints = ConcludedCell<MeasuredEndpointCell>;
using EndpointRuns = std::vector<ConcludedEndpoints>;

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

std::string dead_texts(const EndpointCell& what) {
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

std::uint64_t dead_flows(const EndpointValues& seen) {
    return sum_over(seen, [](const EndpointTally& each) { return each.dead() ? each.flows : 0; });
}

std::string failed_text(const EndpointValues& seen) {
    Clauses ends;
    tell_count(ends, seen.count(ConnectEnd::kRefused), "{} refused");
    tell_count(ends, seen.count(ConnectEnd::kTimedOut), "{} timed out");
    tell_count(ends, seen.count(ConnectEnd::kUnreachable), "{} unreachable");
    tell_count(ends, seen.count(ConnectEnd::kStranger), "{} answered by a stranger");
    tell_count(ends, seen.count(ConnectEnd::kOther), "{} with another error");
    tell_count(ends, seen.count(ConnectEnd::kNothing), "{} connected and told nothing in time");
    return fmt::format("{} connects failed{}", some_of(seen.failed(), seen.connects()),
                       ends.empty() ? "" : " (" + in_a_row(ends) + ")");
}

std::string joined_text(const EndpointValues& seen) {
    Clauses clauses;
    tell_count(clauses, seen.by_entry(), "{} by conntrack's entry or event to a dead endpoint");
    tell_count(clauses, seen.by_counter(),
               "{} by the count of a dead endpoint's rule, for which conntrack has no entry");
    tell_count(clauses, seen.at_serving(), "{} although conntrack names an endpoint that serves");
    tell_count(clauses, seen.unexplained(), "{} unexplained");
    return in_a_row(clauses);
}

std::string band_text(std::uint64_t low, std::uint64_t high) {
    return low == high ? std::to_string(low)
           : low == 0  ? fmt::format("up to {}", high)
                       : fmt::format("{} to {}", low, high);
}

bool connects_harmed(const ConcludedEndpoints& each) {
    return each.cell.verdict == CellVerdict::kFail && each.cell.cause == "stale-endpoint";
}

void tell_cure(const EndpointRuns& cells, const ConcludedEndpoints& first,
               verdict::ScenarioResult& result) {
    const ConcludedEndpoints* cure = first_cure(cells);
    const ConcludedEndpoints* again = first_again(cells, connects_harmed);
    const std::string name =
        "have the node's proxy write the service's rules anew, of the endpoints that serve";
    const std::string why = cure == nullptr ? "such rules were not tried in this run"
                                            : not_shown(cure, again != nullptr);
    if (!why.empty()) {
        result.cure = fmt::format("{} ({})", name, why);
        return;
    }
    show_cure(first, *cure, result);
    result.cure = fmt::format(
        "{}: with rules of the {} that serve {} connects failed, with the old rules again {}", name,
        cure->what().named(), some_of(cure->seen().failed(), cure->seen().connects()),
        some_of(again->seen().failed(), again->seen().connects()));
}

void add_tallies(const ConcludedEndpoints& each, verdict::ScenarioResult& result) {
    if (each.what().again || !connects_harmed(each)) {
        return;
    }
    verdict::Proof proof{
        .title = each.cell.id + ": the endpoints that the rules name",
        .columns = {"endpoint", "state", "its rule counted", "flows in conntrack", "failed"},
        .conclusion = failed_text(each.seen()) + ": " + joined_text(each.seen()) + "."};
    for (const EndpointTally& tally : each.seen().endpoints) {
        proof.rows.push_back({tally.address, tally.dead() ? dead_text(tally.state) : "serves",
                              std::to_string(tally.hits), std::to_string(tally.flows),
                              std::to_string(tally.failed)});
    }
    result.proofs.push_back(std::move(proof));
}

void conclude_found(const EndpointRuns& cells, const ConcludedEndpoints& first,
                    verdict::ScenarioResult& result) {
    Clauses found;
    std::uint64_t by_entry = 0;
    std::uint64_t by_counter = 0;
    for (const ConcludedEndpoints& each : cells) {
        if (each.is(CellRole::kMatrix) && connects_harmed(each) &&
            (!each.what().again || &each == &first)) {
            found.push_back(each.cell.id + ": " + failed_text(each.seen()));
            by_entry += each.seen().by_entry();
            by_counter += each.seen().by_counter();
        }
    }
    const auto& [what, seen, evidence, timeline] = *first.measured;
    const auto [low, high] = binomial_band(
        seen.connects(), static_cast<double>(what.dead.size()) / static_cast<double>(what.named()));
    result.headline = in_a_row(found, "; ") + ".";
    Clauses joined;
    tell_count(joined, by_entry, "{} by conntrack's entry or event");
    tell_count(joined, by_counter,
               "{} by the counter of the rule, for which conntrack has no entry");
    result.cause = fmt::format(
        "The service's rules give each new connection one of the endpoints that they name, whether "
        "or not it lives. In {} they name {}, of which {} are dead: {} of {} connects must fail "
        "(99.9 %), and {} did. The failed ones of all cells went to dead endpoints: {}.",
        first.cell.id, what.named(), what.dead.size(), band_text(low, high), seen.connects(),
        seen.failed(), in_a_row(joined));
    tell_cure(cells, first, result);
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

verdict::Cell conclude(const EndpointCell& what, const EndpointValues& seen) {
    verdict::Cell cell{
        .id = what.id,
        .toggles = {{"endpoints in the rules", std::to_string(what.named())},
                    {"of them dead", std::to_string(what.dead.size())},
                    {"dead how", dead_texts(what)},
                    {"kube-proxy's mode", what.proxy == Proxy::kIptables ? "iptables" : "nftables"},
                    {"IP", what.family == frame::Family::kIpv4 ? "4" : "6"}},
        .role = what.role,
        .verdict = CellVerdict::kPass};
    const auto connects = counts_in("connects");
    const double chance = what.named() == 0 ? 0
                                            : static_cast<double>(what.dead.size()) /
                                                  static_cast<double>(what.named());
    const auto [low, high] = binomial_band(seen.connects(), chance);
    cell.measures = {
        connects("connects", "connects to the service", seen.connects()),
        verdict::share("failed_share", "failed", seen.failed(), seen.connects()),
        connects("failed", "failed", seen.failed()),
        connects("band_low", "failed of dead endpoints' share: at least (99.9 %)", low),
        connects("band_high", "failed of dead endpoints' share: at most (99.9 %)", high),
        connects("refused", "of them refused", seen.count(ConnectEnd::kRefused)),
        connects("timed_out", "of them timed out", seen.count(ConnectEnd::kTimedOut)),
        connects("unreachable", "of them unreachable", seen.count(ConnectEnd::kUnreachable)),
        connects("stranger", "of them answered by a stranger", seen.count(ConnectEnd::kStranger)),
        connects("nothing_said", "of them connected and told nothing in time",
                 seen.count(ConnectEnd::kNothing)),
        connects("other_error", "of them with another error", seen.count(ConnectEnd::kOther)),
        connects("by_entry", "of them to a dead endpoint, by entry or event", seen.by_entry()),
        connects("by_counter", "of them to a dead endpoint, by its rule's count",
                 seen.by_counter()),
        connects("at_serving", "of them to an endpoint that serves", seen.at_serving()),
        connects(verdict::kUnexplained, "of them to nobody knows whom", seen.unexplained()),
    };
    const auto end = ending(cell);
    if (not_measured(cell, seen.lacks, seen.objections, seen.connects(),
                     "no connection was made")) {
        return cell;
    }
    if (const std::uint64_t served = dead_flows(seen) - seen.by_entry(); served != 0) {
        return end(CellVerdict::kInconclusive, "",
                   fmt::format("{} connects were served by endpoints that should be dead", served));
    }
    if (seen.failed() == 0) {
        return cell;
    }
    const std::string reason = failed_text(seen) + ": " + joined_text(seen);
    if (seen.unexplained() != 0 || seen.count(ConnectEnd::kNothing) != 0) {
        return end(CellVerdict::kInconclusive, "", reason);
    }
    if (seen.at_serving() != 0) {
        return end(CellVerdict::kFail,
                   seen.by_entry() + seen.by_counter() == 0 ? "serving-endpoint"
                                                            : "stale-endpoint+serving-endpoint",
                   reason);
    }
    if (seen.failed() < low || seen.failed() > high) {
        return end(CellVerdict::kInconclusive, "",
                   fmt::format("{}; with {} of {} endpoints dead {} must fail (99.9 %)", reason,
                               what.dead.size(), what.named(), band_text(low, high)));
    }
    return end(CellVerdict::kFail, "stale-endpoint", reason);
}

verdict::ScenarioResult conclude(const std::vector<MeasuredEndpointCell>& measured) {
    const auto harm_of = [](const ConcludedEndpoints& each, auto& result) -> Harm {
        add_tallies(each, result);
        return {each.seen().failed(), each.seen().connects(), each.seen().unexplained()};
    };
    return conclude_cells(measured, "Connects to the service that failed", harm_of, connects_harmed,
                          conclude_found,
                          "No connect failed, although the rules name endpoints that are dead.");
}

}  // namespace pathproof::scenario
