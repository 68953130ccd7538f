// Two packets meet inside conntrack before either's entry is confirmed; these scenarios measure
// what goes wrong.
//
// dns-race: DNS answers 5 or 10 s late, for A and AAAA leave one socket together.
// snat-race: packets lost behind MASQUERADE, for two pods use one source port.
//
// Set:  the lab's NAT box: kube-proxy-shaped Service rules, with and without SNAT; packet steering.
// Sent: query pairs from DPDK ports, at chosen instants, one 5-tuple or one source port.
// Seen: what became of every query, conntrack's events and counters, joined query by query.

#include <algorithm>
#include <span>

#include "harness/scenario/race/first_race.h"
#include "harness/scenario/race/nat_bench.h"
#include "harness/scenario/race/race_load.h"
#include "harness/scenario/race/race_map.h"

namespace pathproof::scenario {
namespace {

constexpr OptionRow kPairsOfRaces{
    "pairs", "query pairs of each race experiment (0: each its own number)", 50'000};
constexpr OptionRow kStopAtFirst{
    "first", "stop at the first race that is proven, and print it (about a second)", {}, true};
constexpr OptionRow kMapOfRaces{
    "map",
    "the share of pairs that race, over their skew and the load, in each way of racing (at most "
    "two minutes)",
    {},
    true};

struct Experiment {
    std::vector<RaceCell> (*cells)();
    Result<std::vector<MeasuredCell>> (*run)(Context& context, NatBench& bench);
};

constexpr Experiment kDnsRace[] = {{same_tuple_cells, run_same_tuple},
                                   {late_answer_cells, run_late_answer}};
constexpr Experiment kSnatRace[] = {{snat_collision_cells, run_snat_collision}};

std::vector<std::string> ids_of(std::span<const Experiment> experiments) {
    std::vector<std::string> ids;
    for (const Experiment& experiment : experiments) {
        std::ranges::transform(experiment.cells(), std::back_inserter(ids), &RaceCell::id);
    }
    return ids;
}

template <auto& experiments>
std::vector<std::string> cells_of() {
    return ids_of(experiments);
}

Result<std::vector<MeasuredCell>> measure(Context& context,
                                          std::span<const Experiment> experiments) {
    context.progress.begin(context.scenario->id, count_asked(context.options, ids_of(experiments)));
    auto bench = TRY(NatBench::build(context));
    TRY(bench->describe());
    TRY(bench->find_load());
    std::vector<MeasuredCell> cells;
    for (const Experiment& experiment : experiments) {
        auto measured = TRY(experiment.run(context, *bench));
        std::ranges::move(measured, std::back_inserter(cells));
    }
    return cells;
}

// Skips each requested cell that was not measured, with what the lab lacks for it as the reason.
void skip_the_rest(const Options& options, std::span<const Experiment> experiments,
                   const std::vector<MeasuredCell>& cells, verdict::ScenarioResult& result) {
    for (const Experiment& experiment : experiments) {
        for (const RaceCell& cell : experiment.cells()) {
            const bool measured = std::ranges::any_of(
                cells, [&](const MeasuredCell& each) { return each.what.id == cell.id; });
            if (asked_for(options, cell.id) && !measured) {
                result.cells.push_back(
                    {.id = cell.id,
                     .toggles = {{"way", cell.way}, {"setting", cell.setting}},
                     .role = cell.role,
                     .verdict = verdict::CellVerdict::kSkip,
                     .reason = "clients of this lab do not come in a tunnel of their own"});
            }
        }
    }
}

template <auto& experiments>
Result<verdict::ScenarioResult> run_race(Context& context) {
    const auto cells = TRY(measure(context, experiments));
    verdict::ScenarioResult result = conclude(cells);
    skip_the_rest(context.options, experiments, cells, result);
    return result;
}

Result<verdict::ScenarioResult> run_dns_race(Context& context) {
    if (context.options.has(kStopAtFirst.name)) {
        return run_first_race(context);
    }
    if (context.options.has(kLoadOption)) {
        return run_dns_race_at_load(context);
    }
    return context.options.has(kMapOfRaces.name) ? run_race_map(context)
                                                 : run_race<kDnsRace>(context);
}

Result<verdict::ScenarioResult> run_snat_race(Context& context) {
    return context.options.has(kLoadOption) ? run_snat_race_at_load(context)
                                            : run_race<kSnatRace>(context);
}

}  // namespace

Scenario dns_race_scenario() {
    OptionRow of_map = kResolvers;
    of_map.with = kMapOfRaces.name;
    return {"dns-race",
            "DNS answers seconds late: A and AAAA race inside conntrack",
            "Does every query of a pair that leaves one socket together get its answer through the "
            "Service's NAT?",
            lab::Role::kNatBox,
            run_dns_race,
            cells_of<kDnsRace>,
            Scenario::When::kAlways,
            {kPairsOfRaces, kStopAtFirst, kMapOfRaces, of_map, load_option()}};
}

Scenario snat_race_scenario() {
    return {"snat-race",
            "Packets lost behind SNAT: two clients with one source port collide in conntrack",
            "Does every query get its answer through MASQUERADE where two clients use one source "
            "port?",
            lab::Role::kNatBox,
            run_snat_race,
            cells_of<kSnatRace>,
            Scenario::When::kAlways,
            {kPairsOfRaces, load_option()}};
}

}  // namespace pathproof::scenario
