// dns-race: DNS answers 5 or 10 s late because two packets meet inside conntrack.
//
// Set:  the nat-box lab: kube-proxy-shaped Service rules, with and without SNAT; receive packet steering.
// Sent: A/AAAA query pairs from DPDK ports, at chosen instants, one 5-tuple or one source port.
// Seen: what became of every query, conntrack's events and per-CPU counters, joined query by query.

#include <chrono>

#include "harness/scenario/race_experiments.h"

namespace pathproof::scenario {
namespace {

template <typename T>
void append(std::vector<T>& to, std::vector<T>& from) {
    to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
}

void add_sentence(std::string& text, const std::string& title, const std::string& sentence) {
    if (!sentence.empty()) {
        text += (text.empty() ? "" : "\n") + title + ": " + sentence;
    }
}

bool any_error(const verdict::ScenarioResult& result) {
    for (const auto* cells : {&result.cells, &result.controls}) {
        for (const verdict::Cell& cell : *cells) {
            if (cell.verdict == verdict::CellVerdict::kError) {
                return true;
            }
        }
    }
    return false;
}

bool any_control_failed(const verdict::ScenarioResult& result) {
    for (const verdict::Cell& cell : result.controls) {
        if (cell.verdict == verdict::CellVerdict::kFail) {
            return true;
        }
    }
    return false;
}

}  // namespace

Result<verdict::ScenarioResult> run_dns_race(Context& context) {
    const auto began = std::chrono::steady_clock::now();
    verdict::ScenarioResult result;
    result.id = "dns-race";
    result.title = "DNS answers seconds late: A and AAAA race inside conntrack";
    result.question = "Does every query of a pair that leaves together get its answer through the Service's NAT?";
    context.progress.begin(result.id, kSameTupleSteps + kSnatCollisionSteps + kLateAnswerSteps);

    auto bench = NatBench::build(context);
    if (!bench) {
        return pass_on(bench.error());
    }
    if (const Status described = (*bench)->describe(context.environment); !described) {
        return pass_on(described.error());
    }
    struct Part {
        const char* title;
        Result<RaceExperiment> (*run)(Context&, NatBench&);
    };
    bool reproduced = false;
    bool cures_shown = true;
    for (const Part& part : {Part{"Same 5-tuple", run_same_tuple}, Part{"SNAT collision", run_snat_collision},
                             Part{"Late answer", run_late_answer}}) {
        auto experiment = part.run(context, **bench);
        if (!experiment) {
            return pass_on(experiment.error());
        }
        reproduced |= experiment->reproduced;
        cures_shown &= experiment->cure_shown || !experiment->reproduced;
        result.unexplained += experiment->unexplained;
        result.headline += (result.headline.empty() || experiment->headline.empty() ? "" : " ") + experiment->headline;
        add_sentence(result.cause, part.title, experiment->cause);
        add_sentence(result.cure, part.title, experiment->cure);
        append(result.explanation, experiment->explanation);
        append(result.cells, experiment->cells);
        append(result.controls, experiment->controls);
        append(result.proofs, experiment->proofs);
        append(result.charts, experiment->charts);
    }
    result.before_cell = "late-answer.1500ms";
    result.after_cell = "cure.single-request-reopen";
    result.cure_shown = reproduced && cures_shown;
    if (any_error(result) || any_control_failed(result)) {
        result.verdict = verdict::ScenarioVerdict::kInconclusive;
        result.headline = any_error(result) ? "The harness could not measure every cell: nothing is concluded from those."
                                            : "A negative control shows the failure too: the cause is not the one named.";
    } else {
        result.verdict =
            reproduced ? verdict::ScenarioVerdict::kReproduced : verdict::ScenarioVerdict::kNotReproduced;
        if (!reproduced) {
            result.headline = "No query pair raced, collided or lost an answer on this kernel.";
        }
    }
    result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
    return result;
}

}  // namespace pathproof::scenario
