// Conclusions of snat-exhaustion, as data (model/README.md).
#include <algorithm>
#include <cmath>

#include "harness/scenario/service_path/snat_exhaustion.h"

namespace pathproof::scenario {
namespace {

constexpr std::size_t kMostTries = 128;   // NF_NAT_MAX_ATTEMPTS
constexpr std::size_t kFewestTries = 16;  // the last round has half of it

// Within five standard deviations; that of a rare failure is one at the least.
bool as_computed(const ExhaustionValues& seen) {
    return std::abs(static_cast<double>(seen.failed()) - seen.expected) <=
           5 * std::sqrt(std::max(seen.variance, 1.0));
}

// Each flow that got no entry is one that was refused at insertion, while ports were free, and they
// are as many as the search leaves.
bool by_search(const ExhaustionValues& seen) {
    return seen.failed() != 0 && seen.failed() == seen.path.lost() &&
           seen.failed() == seen.path.refused_at_insertion() && seen.fewest_free != 0 &&
           as_computed(seen);
}

std::uint64_t unexplained_failures(const ExhaustionValues& seen) {
    if (by_search(seen) || seen.overruns != 0) {
        return 0;
    }
    if (seen.path.lost() != 0) {
        return other_cause(seen.path).cause == "lost" ? seen.path.lost() : 0;
    }
    return seen.failed();
}

ExhaustionConclusions::Figures exhaustion_figures() {
    using Seen = ExhaustionValues;
    const auto path = [](auto member) {
        return [member](const Seen& seen) { return seen.path.*member; };
    };
    return {
        {"ports", "ports", "ports of the range", &Seen::ports},
        {"used_before", "ports", "in use before", &Seen::used_before},
        {"used_after", "ports", "in use after", &Seen::used_after},
        {"flows", "flows", "new flows", &Seen::flows},
        {"failed", "flows", "of them without an entry", &Seen::failed},
        {"failed_share", "%", "share without an entry", {}, {.hits = "failed", .trials = "flows"}},
        {"expected", "flows", "failures computed", &Seen::expected},
        {"packets_in", "packets", "packets into the DUT", path(&PathLosses::in)},
        {"lost", "packets", "of them not out of it",
         [](const Seen& seen) { return seen.path.lost(); }},
        {"insert_failed", "packets", "conntrack's insert_failed", path(&PathLosses::insert_failed)},
        {"drop", "packets", "conntrack's drop", path(&PathLosses::drop)},
        {verdict::kUnexplained, "flows", "failed, and nothing tells why", unexplained_failures},
        {"fewest_free",
         "ports",
         "fewest free ports when one failed",
         &Seen::fewest_free,
         {.where = "failed != 0"}},
        {"from", &ExhaustionCell::from},
        {"to", &ExhaustionCell::to},
        {"all_ports", &ExhaustionCell::all_ports},
        {"ipv4", [](const ExhaustionCell& what,
                    const Seen&) { return what.family == frame::Family::kIpv4; }},
        {"spread", [](const Seen& seen) { return std::sqrt(seen.variance); }},
        {"by_search", by_search},
        {"by_packet", [](const Seen& seen) { return seen.path.ends.by_packet(); }},
        {"overruns", &Seen::overruns},
        {"other_cause", [](const Seen& seen) { return other_cause(seen.path).cause; }},
        {"other", [](const Seen& seen) { return other_cause(seen.path).clause; }},
        {"free_after",
         [](const Seen& seen) { return seen.ports - std::min(seen.ports, seen.used_after); }},
    };
}

}  // namespace

double search_failure(const std::vector<bool>& used) {
    const std::size_t ports = used.size();
    // Length of the run of used ports that begins at each port, continued around the end of the
    // range.
    std::vector<std::size_t> row(ports);
    std::size_t length = 0;
    for (std::size_t i = 2 * ports; i-- > 0;) {
        length = used[i % ports] ? std::min(length + 1, ports) : 0;
        row[i % ports] = length;
    }
    double failure = 1;
    for (std::size_t tries = std::min(ports, kMostTries);; tries /= 2) {
        failure *= static_cast<double>(std::ranges::count_if(
                       row, [&](std::size_t each) { return each >= tries; })) /
                   static_cast<double>(std::max<std::size_t>(ports, 1));
        if (tries >= ports || tries < kFewestTries) {
            return failure;
        }
    }
}

const ExhaustionConclusions& snat_exhaustion_conclusions() {
    using enum model::CellVerdict;
    static const std::string kTold = "meant and (not again or first)";
    static const ExhaustionConclusions conclusions(
        exhaustion_figures(),
        {
            .toggles = {{"ports in use", "{from} %[not all_ports? to {to} %]"},
                        {"ports after NAT", "[all_ports?all|{ports}]"},
                        {"IP", "[ipv4?4|6]"}},
            .phrases = {{"failures", {{"{failed of flows} flows failed", "flows != 0"}}},
                        {"computed",
                         {{"{expected:.1f} +- {spread:.1f}", "flows != 0 or flows == 0"}}}},
            .rules =
                {
                    {.when = "flows == 0", .text = "no flow was begun"},
                    {.when = "by_search",
                     .is = kFail,
                     .cause = "port-search",
                     .text = "{failures} (computed {computed}), and insert_failed rose by "
                             "{insert_failed}, while at least {fewest_free} of {ports} ports were "
                             "free[by_packet?; each of these packets was followed to its "
                             "insertion| (by counters, not by packet)]"},
                    {.when = "overruns != 0",
                     .text = "{overruns} times events of conntrack were lost"},
                    {.when = "lost != 0",
                     .is = kFail,
                     .cause = "{other_cause}",
                     .text = "{failures}: {other}"},
                    {.when = "failed != 0",
                     .text = "{failures}, though each packet came out of the DUT"},
                    {.when = "used_before * 100 + 100 < ports * from",
                     .text = "{used_before of ports} ports were in use, not {from} %"},
                },
            .own = "cause == 'port-search'",
            .chart = {.title = "Flows that got no port, seen and computed",
                      .hits = "failed",
                      .trials = "flows",
                      .maximum = 0,
                      .computed = "expected",
                      .computed_of = "is_matrix"},
            .tables = {{.title = "Flows that got no port, by the share of the range in use",
                        .columns = {{"in use", "{label}"},
                                    {"flows", "{flows}"},
                                    {"failed", "{failed}"},
                                    {"computed", "{computed}"},
                                    {"insert_failed", "{insert_failed}"},
                                    {"drop", "{drop}"},
                                    {"ports free", "{free_after}"}},
                        .of = "is_matrix and not again and flows != 0",
                        .conclusion = "Computed from the ports in use at each flow: the share of "
                                      "starting points from which all of 128, 64, 32, 16 and 8 "
                                      "tries meet one in use.",
                        .always = false}},
            .totals = {{"all_failed", "failed", kTold},
                       {"all_refused", "insert_failed", kTold},
                       {"least_free", "fewest_free", kTold, model::Total::How::kFewest}},
            .listings = {{"found", "{label}: {failures} (computed {computed})"}},
            .findings =
                {{.headline = "{found}",
                  .why = "The kernel looks for a free port in " +
                         std::to_string(2 * kMostTries - kFewestTries / 2) +
                         " tries at the most, in rows from random ports on, and then takes one "
                         "that is in use: the flow's first packet is dropped when its entry is "
                         "inserted. {all_failed} flows failed, insert_failed rose by "
                         "{all_refused}; at least {least_free} of {ports} ports of the range were "
                         "free at each that failed.",
                  .cures = {{.cure = "all-ports",
                             .naming = model::CureText::Naming::kCellAndReason,
                             .outcome = "none of {cure.flows} flows failed, with "
                                        "{cure.used_before} of the range's {cure.ports} ports "
                                        "still in use; without the cure again {again.failures}"}}}},
            .otherwise = "Each flow got a port for as long as one was free.",
        },
        {.lacks = &ExhaustionValues::lacks});
    return conclusions;
}

}  // namespace pathproof::scenario
