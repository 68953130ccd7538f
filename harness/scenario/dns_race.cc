// dns-race: DNS answers 5 or 10 s late because two packets meet inside conntrack.
//
// Set:  the nat-box lab: kube-proxy-shaped Service rules, with and without SNAT; packet steering.
// Sent: A/AAAA query pairs from DPDK ports, at chosen instants, one 5-tuple or one source port.
// Seen: what became of every query, conntrack's events and counters, joined query by query.

#include <algorithm>
#include <chrono>

#include "harness/scenario/nat_bench.h"

namespace pathproof::scenario {

std::vector<std::string> dns_race_cells() {
    std::vector<std::string> ids;
    for (const auto& cells : {same_tuple_cells(), snat_collision_cells(), late_answer_cells()}) {
        std::ranges::transform(cells, std::back_inserter(ids), &RaceCell::id);
    }
    return ids;
}

Result<verdict::ScenarioResult> run_dns_race(Context& context) {
    const auto began = std::chrono::steady_clock::now();
    const std::vector<std::string> ids = dns_race_cells();
    context.progress.begin(
        "dns-race", static_cast<std::size_t>(std::ranges::count_if(
                        ids, [&](const auto& id) { return asked_for(context.options, id); })));
    auto bench = NatBench::build(context);
    if (!bench) {
        return pass_on(bench.error());
    }
    if (const Status described = (*bench)->describe(); !described) {
        return pass_on(described.error());
    }
    std::vector<MeasuredCell> cells;
    for (const auto run : {run_same_tuple, run_snat_collision, run_late_answer}) {
        auto measured = run(context, **bench);
        if (!measured) {
            return pass_on(measured.error());
        }
        std::ranges::move(*measured, std::back_inserter(cells));
    }
    verdict::ScenarioResult result = conclude(cells);
    result.id = "dns-race";
    result.title = "DNS answers seconds late: A and AAAA race inside conntrack";
    result.question =
        "Does every query of a pair that leaves together get its answer through the Service's NAT?";
    result.seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
    return result;
}

}  // namespace pathproof::scenario
