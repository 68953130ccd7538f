// A resolved clash lives in a hidden conntrack entry for one second, whatever happens. A server that answers later
// answers into nothing: its packet reaches the client un-translated, from the backend's own address, and the client's
// socket throws it away. No kernel counter shows it.

#include "harness/scenario/measures.h"
#include "harness/scenario/race_experiments.h"
#include "harness/verdict/interval.h"

namespace pathproof::scenario {
namespace {

using namespace std::chrono_literals;
using verdict::Bar;
using verdict::CellVerdict;

constexpr std::uint64_t kPairs = 500;
constexpr double kPairsPerSecond = 1000;

struct Case {
    const char* id;
    const char* label;
    std::chrono::milliseconds delay;
    bool own_sockets;  // the cure: single-request-reopen
};

}  // namespace

Result<RaceExperiment> run_late_answer(Context& context, NatBench& bench) {
    constexpr Case kCases[kLateAnswerSteps] = {
        {"late-answer.200ms", "answer after 0.2 s", 200ms, false},
        {"late-answer.900ms", "answer after 0.9 s", 900ms, false},
        {"late-answer.1500ms", "answer after 1.5 s", 1500ms, false},
        {"cure.single-request-reopen", "cure: own sockets, 1.5 s", 1500ms, true},
    };
    const std::uint64_t pairs = std::min<std::uint64_t>(context.options.pairs ? context.options.pairs : kPairs, 5000);
    if (const Status ready = bench.configure({.backends = 2}); !ready) {
        return pass_on(ready.error());
    }
    RaceExperiment experiment;
    verdict::Chart chart{.title = "Pairs that met two backends and got one answer un-translated",
                         .unit = "%",
                         .maximum = 100,
                         .bars = {}};
    std::uint64_t late_pairs = 0;
    std::uint64_t late_base = 0;
    bool early_lost = false;
    bool error = false;
    for (const Case& which : kCases) {
        context.progress.step(which.id);
        traffic::PairPlan plan = bench.same_tuple_plan(pairs);
        plan.pairs_per_second = kPairsPerSecond;
        if (which.own_sockets) {
            plan.source_ports = 20'000;
            plan.members[1].source_port_offset = 20'000;
        }
        const auto outcome = bench.run(plan, which.delay, which.own_sockets ? "" : which.id);
        if (!outcome) {
            return pass_on(outcome.error());
        }
        verdict::Cell cell = race_cell(which.id,
                                       {{"experiment", "late answer"},
                                        {"way", which.own_sockets ? "a socket for each query" : "same 5-tuple, two CPUs"},
                                        {"setting", fmt::format("server answers after {} ms", which.delay.count())}},
                                       *outcome);
        const join::PairFindings& found = outcome->findings;
        if (cell.verdict == CellVerdict::kPass && found.misdelivered + found.lost != 0) {
            cell.verdict = CellVerdict::kFail;
            cell.cause = found.unexplained == 0 ? "late-answer" : "";
            cell.reason = fmt::format(
                "{} of {} pairs that met two backends got an answer from the backend's own address, which a socket throws "
                "away; insert_failed {}, drop {}: no counter shows it",
                found.with_misdelivery, found.met_two_backends, outcome->counter("insert_failed"),
                outcome->counter("drop"));
            if (const Status kept = keep_race_evidence(context, *outcome, cell); !kept) {
                return pass_on(kept.error());
            }
        }
        error |= cell.verdict == CellVerdict::kError;
        experiment.unexplained += found.unexplained;
        // The cure's pairs are two flows: a different backend for each is no race.
        const std::uint64_t base = which.own_sockets ? found.pairs : found.met_two_backends;
        chart.bars.push_back(verdict::share_bar(which.label, std::min(found.with_misdelivery, base), base,
                                       found.with_misdelivery == 0 ? Bar::Kind::kGood : Bar::Kind::kBad));
        if (which.own_sockets) {
            experiment.cure_shown = cell.verdict == CellVerdict::kPass;
            experiment.controls.push_back(std::move(cell));
            continue;
        }
        if (which.delay < 1s) {
            early_lost |= found.misdelivered != 0;
        } else {
            late_pairs = found.with_misdelivery;
            late_base = found.met_two_backends;
            experiment.proofs.push_back(
                story_proof("Late answers: each misdelivered answer beside the hidden entry that had expired", *outcome));
        }
        experiment.cells.push_back(std::move(cell));
    }
    experiment.charts.push_back(chart);
    experiment.reproduced = late_pairs != 0 && !early_lost && experiment.cure_shown && !error;
    if (experiment.reproduced) {
        experiment.headline = fmt::format(
            "Late answer: with answers after 1.5 s, {} of {} pairs that met two backends got one of their two answers "
            "un-translated; with 0.2 s and 0.9 s none.",
            late_pairs, late_base);
        experiment.cause =
            "The loser of a clash lives in a hidden entry (NAT_CLASH) for exactly 1 s. A slower answer is not translated "
            "back and comes from the backend's own address; the client waits 5 s for nothing. insert_failed and drop stay 0.";
        experiment.cure = "`options single-request-reopen` in resolv.conf: a socket for each query";
    }
    return experiment;
}

}  // namespace pathproof::scenario
