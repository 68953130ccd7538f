#include <CLI/CLI.hpp>

#include "dataplane/search/latency_at_load.h"
#include "dataplane/search/mlrsearch.h"
#include "harness/cli/generate/number_checks.h"
#include "harness/cli/search/kinds.h"
#include "harness/cli/search/latency.h"

namespace pathproof::cli {
namespace {

using nlohmann::json;
using search::GoalResult;
using search::Irregularity;

constexpr auto kLeastBudget = std::chrono::minutes(20);  // CSIT's for a search
constexpr auto kLatencyTrial = std::chrono::seconds(2);
constexpr unsigned kLatencyRepeats = 3;

Result<search::MlrPlan> mlr_plan(const SizeSearch& search) {
    auto goals = TRY(search_goals(search.options));
    search::MlrPlan plan{.goals = std::move(goals),
                         .min_load_pps = search.min_load(),
                         .max_load_pps = search.max_load.pps,
                         .warm_up = nanoseconds_of(search.options.warm_up_s)};
    TRY(check(plan));
    return plan;
}

// Returns the goal that allows the greatest loss among those with a lower bound: a partial drop
// rate, if one was asked for.
const GoalResult* partial_drop(const search::MlrResult& result) {
    const GoalResult* best = nullptr;
    for (const GoalResult& goal : result.goals) {
        const bool more =
            best == nullptr || goal.goal.criteria.loss_ratio > best->goal.criteria.loss_ratio;
        best = goal.lower && more ? &goal : best;
    }
    return best;
}

search::LatencyPlan latency_plan(const GoalResult& goal) {
    return {.points = search::shares_of(goal.lower->load_pps, goal.goal.name),
            .trial_duration = kLatencyTrial,
            .repeats = kLatencyRepeats};
}

Result<SearchTime> mlr_time(const SizeSearch& search) {
    const auto plan = TRY(mlr_plan(search));
    search::Nanoseconds sums{};
    for (const search::Goal& goal : plan.goals) {
        sums += goal.criteria.duration_sum;
    }
    const search::Nanoseconds latency = kLatencyTrial * (3 * kLatencyRepeats);
    return SearchTime{.usual = search::usual_time(plan) + latency,
                      .most = std::max<search::Nanoseconds>(kLeastBudget, 20 * sums)};
}

// Returns whether the goal passed at the medium's greatest load: nobody can ask for more.
bool at_line_rate(const SizeSearch& search, const GoalResult& goal) {
    return search.medium_is_real && search.max_load.source == MaxLoadSource::kLineRate &&
           goal.irregularities == std::vector{Irregularity::kMaxLoadPasses};
}

std::string max_load_sentence(const SizeSearch& search) {
    switch (search.max_load.source) {
        case MaxLoadSource::kOption: return "raise --max-load";
        case MaxLoadSource::kLineRate: return "it is the rate that the virtual link claims";
        case MaxLoadSource::kTester: return "the tester cannot send more";
    }
    return "?";
}

std::string sentence(const SizeSearch& search, const GoalResult& goal, Irregularity what) {
    switch (what) {
        case Irregularity::kMinLoadFails:
            return fmt::format("the least load, {:.0f}/s, loses too much already",
                               search.min_load());
        case Irregularity::kMaxLoadPasses:
            return fmt::format("the greatest load, {:.0f}/s, passes: {}", search.max_load.pps,
                               max_load_sentence(search));
        case Irregularity::kNotConverged: return "its bounds have not come close enough";
        case Irregularity::kDidNotHold:
            return fmt::format(
                "its lower bound failed {} of {} trials at the end: the device "
                "drifts, or stands on the edge",
                goal.closing_failed, goal.closing_run);
    }
    return "?";
}

void add_reasons(Reasons& reasons, const SizeSearch& search, const GoalResult& goal,
                 const search::Trials& trials) {
    if (at_line_rate(search, goal)) {
        return;
    }
    for (const Irregularity what : goal.irregularities) {
        reasons.add(goal.goal.name + ": " + sentence(search, goal, what));
    }
    if (goal.limit == search::Limit::kTester) {
        reasons.add_limit(
            fmt::format("{}: the tester, not the device, was the limit ({}){}", goal.goal.name,
                        tester_limit(trials),
                        goal.lower ? "; the device carries the lower bound at least" : ""));
    }
    if (goal.doubtful()) {
        reasons.add_disturbance(goal.goal.name +
                                ": its bounds rest on trials in which the tester was disturbed");
    }
}

json goal_json(const GoalResult& goal) {
    const search::Criteria& criteria = goal.goal.criteria;
    json irregular = json::array();
    for (const Irregularity what : goal.irregularities) {
        irregular.push_back(search::name(what));
    }
    return {
        {"goal",
         {{"name", goal.goal.name},
          {"loss_ratio", criteria.loss_ratio},
          {"exceed_ratio", criteria.exceed_ratio},
          {"final_trial_s", search::seconds(criteria.trial_duration)},
          {"initial_trial_s", search::seconds(goal.goal.initial_trial_duration)},
          {"duration_sum_s", search::seconds(criteria.duration_sum)},
          {"relative_width", goal.goal.relative_width}}},
        {"lower_bound", bound_json(goal.lower)},
        {"upper_bound", bound_json(goal.upper)},
        {"conditional_throughput_pps", goal.conditional_throughput_pps},
        {"regular", goal.regular()},
        {"irregular", irregular},
        {"limit", search::name(goal.limit)},
        {"passes_again_pps", goal.passes_again_pps ? json(*goal.passes_again_pps) : json(nullptr)},
        {"closing_trials", goal.closing_run},
        {"closing_failed", goal.closing_failed}};
}

std::string goal_row(const SizeSearch& search, const GoalResult& goal) {
    const double offered = goal.lower ? goal.lower->offered_pps : 0;
    std::string row =
        fmt::format("{:>6}  {:<10.10}{:>11}{:>11}{:>12.0f}{:>11.0f}{:>11.1f}  {:<10}{}\n",
                    search.size, goal.goal.name, pps_text(goal.lower), pps_text(goal.upper),
                    offered, goal.conditional_throughput_pps, wire_mbps(offered, search.size),
                    search::name(goal.limit), goal.regular() ? "regular" : "irregular");
    if (goal.passes_again_pps) {
        row += fmt::format("{:>6}  {:<10.10}  not monotone: {:.0f}/s passes again\n", "",
                           goal.goal.name, *goal.passes_again_pps);
    }
    return row;
}

std::string head() {
    return fmt::format("{:>6}  {:<10}{:>11}{:>11}{:>12}{:>11}{:>11}  {:<10}{}\n", "bytes", "goal",
                       "lower /s", "upper /s", "offered /s", "cond. /s", "Mbit/s L1", "limit",
                       "result");
}

Result<SizeOutcome> run_mlr(const SizeSearch& search, search::Trials& trials) {
    const auto plan = TRY(mlr_plan(search));
    const auto found = TRY(search::mlr_search(plan, trials));
    SizeOutcome outcome{.table = head()};
    outcome.json["goals"] = json::array();
    for (const GoalResult& goal : found.goals) {
        outcome.json["goals"].push_back(goal_json(goal));
        outcome.table += goal_row(search, goal);
        add_reasons(outcome.reasons, search, goal, trials);
    }
    const GoalResult* partial = partial_drop(found);
    if (partial != nullptr && !search.options.no_latency) {
        const auto latency = TRY(search::measure_latency(latency_plan(*partial), trials));
        outcome.json["loaded_latency"] = latency_json(latency);
        outcome.table += latency_table(latency);
    }
    add_ending(outcome.reasons, trials);
    return outcome;
}

void add_mlr_options(CLI::App& command, SearchOptions& options) {
    command
        .add_option("--preset", options.presets,
                    "goals by name: rfc2544, tst009, ndr, pdr (default ndr,pdr)")
        ->delimiter(',');
    command
        .add_option("--goal", options.goals,
                    "a goal of your own: loss=RATIO,exceed=RATIO,trial=SECONDS,sum=SECONDS,"
                    "initial=SECONDS,width=RATIO; each may be left out (0, 0.5, 1, 21, 1, 0.005)")
        ->expected(1)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    command.add_option("--warm-up", options.warm_up_s, "seconds at the greatest load, not counted")
        ->check(number_in(0, 600));
    command.add_flag("--no-latency", options.no_latency,
                     "do not measure latency at 10, 50 and 90 % of the lower bound");
}

}  // namespace

const SearchKind kMlrKind{"mlr", "Bounds of one or several goals by MLRsearch (RFC 9971)",
                          add_mlr_options, mlr_time, run_mlr};

}  // namespace pathproof::cli
