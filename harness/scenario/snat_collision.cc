// Two pods use the same source port towards the same server behind MASQUERADE: conntrack first tries to keep the port
// for both, and the packet whose entry is inserted second is dropped.

#include "harness/scenario/measures.h"
#include "harness/scenario/race_experiments.h"
#include "harness/verdict/interval.h"

namespace pathproof::scenario {
namespace {

using verdict::Bar;
using verdict::CellVerdict;
using Snat = lab::NatBoxOptions::Snat;

// 2 flows a pair: well under the 64,512 ports that --random-fully draws from, so that exhaustion is not taken for a race.
constexpr std::uint64_t kPairs = 3000;
// Two draws of --random-fully meet once in 64,512 pairs. More than two such meetings in a run are no chance: their
// probability is below 2e-5 at 3000 pairs.
constexpr std::uint64_t kChanceMeetings = 2;

struct Case {
    const char* id;
    const char* label;
    Snat snat;
    const char* setting;
    traffic::Departure departure;
};

}  // namespace

Result<RaceExperiment> run_snat_collision(Context& context, NatBench& bench) {
    constexpr Case kCases[kSnatCollisionSteps] = {
        {"snat-collision", "MASQUERADE", Snat::kMasquerade, "MASQUERADE", traffic::Departure::kTwoPorts},
        {"control.snat-collision.no-nat", "control: no SNAT", Snat::kNone, "no SNAT", traffic::Departure::kTwoPorts},
        {"cure.random-fully", "cure: --random-fully", Snat::kMasqueradeRandomFully, "MASQUERADE --random-fully",
         traffic::Departure::kTwoPorts},
    };
    const std::uint64_t pairs = std::min<std::uint64_t>(context.options.pairs ? context.options.pairs : kPairs, 12'000);
    RaceExperiment experiment;
    verdict::Chart chart{
        .title = "Pairs of two clients with one source port that lost a query", .unit = "%", .maximum = 100, .bars = {}};
    std::uint64_t collided = 0;
    std::uint64_t lost_pairs = 0;
    bool control_lost = false;
    bool error = false;
    for (const Case& which : kCases) {
        context.progress.step(which.id);
        if (const Status ready = bench.configure({.backends = 1, .snat = which.snat}); !ready) {
            return pass_on(ready.error());
        }
        traffic::PairPlan plan = bench.two_clients_plan(pairs);
        plan.departure = which.departure;
        const bool is_control = which.snat != Snat::kMasquerade;
        const auto outcome = bench.run(plan, {}, is_control ? "" : which.id);
        if (!outcome) {
            return pass_on(outcome.error());
        }
        verdict::Cell cell = race_cell(
            which.id, {{"experiment", "SNAT collision"}, {"way", "two clients, one source port"}, {"setting", which.setting}},
            *outcome);
        const join::PairFindings& found = outcome->findings;
        const std::uint64_t failed = outcome->counter("insert_failed");
        const bool by_chance = which.snat == Snat::kMasqueradeRandomFully && found.lost <= kChanceMeetings &&
                               found.lost == failed && found.misdelivered == 0;
        if (cell.verdict == CellVerdict::kPass && found.lost != 0 && by_chance) {
            cell.reason = fmt::format("{} of {} pairs drew one port for both by chance (1 in 64,512)", found.lost, found.pairs);
        } else if (cell.verdict == CellVerdict::kPass && found.lost + found.misdelivered != 0) {
            cell.verdict = CellVerdict::kFail;
            cell.cause = found.unexplained == 0 ? "snat-collision" : "";
            cell.reason = fmt::format("{} of pairs lost a query; conntrack counted insert_failed {} and drop {}",
                                      percent(found.with_loss, found.pairs), failed, outcome->counter("drop"));
            if (const Status kept = keep_race_evidence(context, *outcome, cell); !kept) {
                return pass_on(kept.error());
            }
        }
        // Every failed insertion must be a lost query of ours, and the other way round.
        experiment.unexplained += found.unexplained + (failed > found.lost ? failed - found.lost : 0);
        error |= cell.verdict == CellVerdict::kError;
        chart.bars.push_back(verdict::share_bar(which.label, found.with_loss, found.pairs,
                                       found.with_loss == 0 ? Bar::Kind::kGood : Bar::Kind::kBad));
        if (is_control) {
            control_lost |= found.lost != 0 && !by_chance;
            if (which.snat == Snat::kMasqueradeRandomFully) {
                experiment.cure_shown = cell.verdict == CellVerdict::kPass;
            }
            experiment.controls.push_back(std::move(cell));
            continue;
        }
        collided = failed;
        lost_pairs = found.with_loss;
        experiment.proofs.push_back(
            story_proof("SNAT collision: each lost query beside the entry that took its place", *outcome));
        experiment.cells.push_back(std::move(cell));
    }
    experiment.charts.push_back(chart);
    experiment.reproduced = lost_pairs != 0 && !control_lost && !error;
    if (experiment.reproduced) {
        experiment.headline = fmt::format(
            "SNAT collision: {} of pairs from two clients with one source port lost a query (insert_failed {}).",
            percent(lost_pairs, pairs), collided);
        experiment.cause =
            "MASQUERADE keeps a client's source port if it looks free. Two clients with one source port that start "
            "together both find it free; the entry inserted second is refused and its packet dropped (insert_failed).";
        experiment.cure = "`-j MASQUERADE --random-fully`";
    }
    return experiment;
}

}  // namespace pathproof::scenario
