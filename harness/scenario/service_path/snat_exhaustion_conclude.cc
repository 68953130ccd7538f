// What is said of snat-exhaustion: each clause from a value that is not zero.
#include <cmath>

#include "harness/scenario/measures.h"
#include "harness/scenario/service_path/snat_exhaustion.h"
#include "harness/verdict/interval.h"

namespace pathproof::scenario {
namespace {

using verdict::CellVerdict;

constexpr std::size_t kMostTries = 128;   // NF_NAT_MAX_ATTEMPTS
constexpr std::size_t kFewestTries = 16;  // the last round has half of it

using Exhaustions = std::vector<ConcludedCell<MeasuredExhaustionCell>>;
using ConcludedExhaustion = Exhaustions::value_type;

// Within five standard deviations; that of a rare failure is one at the least.
bool as_computed(const ExhaustionValues& seen) {
    return std::abs(static_cast<double>(seen.failed()) - seen.expected) <=
           5 * std::sqrt(std::max(seen.variance, 1.0));
}

// Each flow that got no entry is one that was refused at insertion, while ports were free, and they
// are as many as the search leaves.
bool by_search(const ExhaustionValues& seen) {
    return seen.failed() != 0 && seen.failed() == seen.path.lost() &&
           seen.failed() == seen.path.insert_failed && seen.fewest_free != 0 && as_computed(seen);
}

std::uint64_t unexplained_in(const ExhaustionValues& seen) {
    if (by_search(seen) || seen.overruns != 0) {
        return 0;
    }
    if (seen.path.lost() != 0) {
        return other_cause(seen.path).cause == "lost" ? seen.path.lost() : 0;
    }
    return seen.failed();
}

std::string portless_text(const ExhaustionValues& seen) {
    return some_of(seen.failed(), seen.flows) + " flows failed";
}

std::string expected_text(const ExhaustionValues& seen) {
    return fmt::format("{:.1f} +- {:.1f}", seen.expected, std::sqrt(seen.variance));
}

void add_measures(const ExhaustionValues& seen, verdict::Cell& cell) {
    cell.measures = {
        count_of("ports", "ports of the range", seen.ports, "ports"),
        count_of("used_before", "in use before", seen.used_before, "ports"),
        count_of("used_after", "in use after", seen.used_after, "ports"),
        count_of("flows", "new flows", seen.flows, "flows"),
        count_of("failed", "of them without an entry", seen.failed(), "flows"),
        verdict::share("failed_share", "share without an entry", seen.failed(), seen.flows),
        {.name = "expected", .label = "failures computed", .value = seen.expected, .unit = "flows"},
        count_of("packets_in", "packets into the DUT", seen.path.in, "packets"),
        count_of("lost", "of them not out of it", seen.path.lost(), "packets"),
        count_of("insert_failed", "conntrack's insert_failed", seen.path.insert_failed, "packets"),
        count_of("drop", "conntrack's drop", seen.path.drop, "packets"),
        count_of(verdict::kUnexplained, "failed, and nothing tells why", unexplained_in(seen),
                 "flows"),
    };
    if (seen.failed() != 0) {
        cell.measures.push_back(count_of("fewest_free", "fewest free ports when one failed",
                                         seen.fewest_free, "ports"));
    }
}

bool starved_of_port(const ConcludedExhaustion& each) {
    return each.cell.cause == "port-search";
}

bool harmed_by_search(const ConcludedExhaustion& each) {
    return each.is(CellRole::kMatrix) && starved_of_port(each);
}

std::string port_cure(const Exhaustions& cells, const ConcludedExhaustion& first,
                      verdict::ScenarioResult& result) {
    const std::string name = "MASQUERADE without --to-ports";
    const auto* cure = first_cure(cells);
    const auto* again = first_again(cells, harmed_by_search);
    const std::string why = not_shown(cure, again != nullptr, Naming::kCellAndReason);
    if (!why.empty()) {
        return fmt::format("{} ({})", name, why);
    }
    show_cure(first, *cure, result);
    return fmt::format(
        "{} (none of {} flows failed, with {} of the range's {} "
        "ports still in use; without the cure again {})",
        name, cure->seen().flows, cure->seen().used_before, cure->seen().ports,
        portless_text(again->seen()));
}

void conclude_exhaustion(const Exhaustions& cells, const ConcludedExhaustion& first,
                         verdict::ScenarioResult& result) {
    Clauses headline;
    std::uint64_t failed = 0;
    std::uint64_t refused = 0;
    std::uint64_t free = UINT64_MAX;
    for (const ConcludedExhaustion& each : cells) {
        if (!harmed_by_search(each) || (each.what().again && &each != &first)) {
            continue;
        }
        headline.push_back(fmt::format("{}: {} (computed {})", each.what().label,
                                       portless_text(each.seen()), expected_text(each.seen())));
        failed += each.seen().failed();
        refused += each.seen().path.insert_failed;
        free = std::min(free, each.seen().fewest_free);
    }
    result.headline = in_a_row(headline, "; ") + ".";
    result.cause = fmt::format(
        "The kernel looks for a free port in {} tries at the most, in rows from random ports on, "
        "and then takes one that is in use: the flow's first packet is dropped when its entry is "
        "inserted. {} flows failed, insert_failed rose by {}; at least {} of {} ports of the range "
        "were free at each that failed.",
        2 * kMostTries - kFewestTries / 2, failed, refused, free, first.seen().ports);
    result.cure = port_cure(cells, first, result);
}

}  // namespace

double search_failure(const std::vector<bool>& used) {
    const std::size_t ports = used.size();
    // How many ports in a row are in use from each on, around the end of the range.
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

verdict::Cell conclude(const ExhaustionCell& what, const ExhaustionValues& seen) {
    verdict::Cell cell{
        .id = what.id,
        .toggles = {{"ports in use",
                     fmt::format("{} %{}", what.from,
                                 what.all_ports ? "" : fmt::format(" to {} %", what.to))},
                    {"ports after NAT", what.all_ports ? "all" : fmt::format("{}", seen.ports)},
                    {"IP", what.family == frame::Family::kIpv4 ? "4" : "6"}},
        .role = what.role,
        .verdict = CellVerdict::kPass};
    add_measures(seen, cell);
    const auto end = ending(cell);
    if (not_measured(cell, seen.lacks, seen.objections, seen.flows, "no flow was begun")) {
        return cell;
    }
    if (by_search(seen)) {
        return end(
            CellVerdict::kFail, "port-search",
            fmt::format("{} (computed {}), and insert_failed rose by {}, while at least {} of "
                        "{} ports were free",
                        portless_text(seen), expected_text(seen), seen.path.insert_failed,
                        seen.fewest_free, seen.ports));
    }
    if (seen.overruns != 0) {
        return end(CellVerdict::kInconclusive, "",
                   fmt::format("{} times events of conntrack were lost", seen.overruns));
    }
    if (seen.path.lost() != 0) {
        const OtherCause other = other_cause(seen.path);
        return end(CellVerdict::kFail, other.cause, portless_text(seen) + ": " + other.clause);
    }
    if (seen.failed() != 0) {
        return end(CellVerdict::kInconclusive, "",
                   portless_text(seen) + ", though each packet came out of the DUT");
    }
    if (seen.used_before * 100 + 100 < seen.ports * what.from) {
        return end(CellVerdict::kInconclusive, "",
                   fmt::format("{} ports were in use, not {} %",
                               some_of(seen.used_before, seen.ports), what.from));
    }
    return cell;
}

verdict::ScenarioResult conclude(const std::vector<MeasuredExhaustionCell>& measured) {
    Exhaustions cells = conclude_each(measured);
    verdict::ScenarioResult result;
    verdict::Chart chart{.title = "Flows that got no port, seen and computed", .unit = "%"};
    verdict::Proof proof{
        .title = "Flows that got no port, by the share of the range in use",
        .columns = {"in use", "flows", "failed", "computed", "insert_failed", "drop", "ports free"},
        .conclusion =
            "Computed from the ports in use at each flow: the share of starting points from "
            "which all of 128, 64, 32, 16 and 8 tries meet one in use."};
    for (const ConcludedExhaustion& each : cells) {
        const ExhaustionValues& seen = each.seen();
        result.unexplained += unexplained_in(seen);
        if (seen.flows == 0 || each.what().again) {
            continue;
        }
        chart.bars.push_back(harm_bar(each.what().label, seen.failed(), seen.flows));
        if (each.is(CellRole::kMatrix)) {
            chart.bars.push_back({.label = each.what().label + ", computed",
                                  .value = 100 * seen.expected / static_cast<double>(seen.flows),
                                  .kind = verdict::Bar::Kind::kNeutral});
            proof.rows.push_back(
                {each.what().label, std::to_string(seen.flows), std::to_string(seen.failed()),
                 expected_text(seen), std::to_string(seen.path.insert_failed),
                 std::to_string(seen.path.drop),
                 std::to_string(seen.ports - std::min(seen.ports, seen.used_after))});
        }
    }
    const auto tell = [&](const Exhaustions& all, const ConcludedExhaustion& first, auto& told) {
        conclude_exhaustion(all, first, told);
        told.proofs.push_back(std::move(proof));
    };
    conclude_from(cells, starved_of_port, first_of(cells, harmed_by_search), tell,
                  "Each flow got a port for as long as one was free.", result);
    finish(std::move(cells), std::move(chart), result);
    return result;
}

}  // namespace pathproof::scenario
