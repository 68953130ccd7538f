#include "harness/cli/search/latency.h"

#include <CLI/CLI.hpp>

#include "harness/cli/generate/number_checks.h"
#include "harness/cli/search/kinds.h"

namespace pathproof::cli {
namespace {

using nlohmann::json;

// RFC 2544, 26.2.
constexpr double kLatencyTrialSeconds = 120;
constexpr unsigned kRateRepeats = 20;

double micro(double nanoseconds) {
    return nanoseconds / 1e3;
}

search::Nanoseconds trial_time(const SearchOptions& options) {
    return nanoseconds_of(options.trial_s > 0 ? options.trial_s : kLatencyTrialSeconds);
}

unsigned repeats(const SearchOptions& options) {
    return options.repeats > 0 ? options.repeats : kRateRepeats;
}

// Whatever has to be known of the device's rates before: both in one search.
Result<std::vector<search::LatencyPlan::Point>> points(const SizeSearch& search,
                                                       search::Trials& trials, Reasons& reasons) {
    std::vector<search::LatencyPlan::Point> points;
    if (search.options.throughput > 0) {
        points.push_back({"throughput", search.options.throughput});
        return points;
    }
    const auto found = TRY(search::mlr_search(rates_plan(search, {"ndr", "pdr"}), trials));
    if (found.goals[0].lower) {
        points.push_back({"throughput", found.goals[0].lower->offered_pps});
    }
    if (found.goals[1].lower) {
        const auto shares = search::shares_of(found.goals[1].lower->load_pps, "PDR");
        points.insert(points.end(), shares.begin(), shares.end());
    }
    for (const search::GoalResult& goal : found.goals) {
        if (goal.limit == search::Limit::kTester) {
            reasons.add_limit(fmt::format("the rate for {} is the tester's: {}", goal.goal.name,
                                          tester_limit(trials)));
        } else if (!goal.conclusive()) {
            reasons.add(
                fmt::format("the rate for {} was not found for certain; give the "
                            "throughput with --throughput",
                            goal.goal.name));
        }
    }
    return points;
}

Result<SearchTime> latency_time(const SizeSearch& search) {
    const bool known = search.options.throughput > 0;
    const search::Nanoseconds measuring =
        trial_time(search.options) * (repeats(search.options) * (known ? 1 : 4));
    const search::Nanoseconds rates =
        known ? search::Nanoseconds(0) : search::usual_time(rates_plan(search, {"ndr", "pdr"}));
    return SearchTime{.usual = rates + measuring,
                      .most = 5 * rates + 2 * measuring + std::chrono::seconds(10)};
}

Result<SizeOutcome> run_latency(const SizeSearch& search, search::Trials& trials) {
    SizeOutcome outcome;
    auto at = TRY(points(search, trials, outcome.reasons));
    const auto result = TRY(search::measure_latency({.points = std::move(at),
                                                     .trial_duration = trial_time(search.options),
                                                     .repeats = repeats(search.options)},
                                                    trials));
    outcome.json["latency"] = latency_json(result);
    outcome.table = fmt::format("frames of {} bytes\n", search.size) + latency_table(result);
    for (const search::LatencyPoint& point : result.points) {
        if (point.doubtful) {
            outcome.reasons.add_disturbance(
                "the tester was disturbed or the limit while it measured " + point.point.label);
        }
    }
    if (result.points.empty()) {
        outcome.reasons.add("there was no load at which to measure latency");
    }
    add_ending(outcome.reasons, trials);
    return outcome;
}

void add_latency_options(CLI::App& command, SearchOptions& options) {
    command
        .add_option("--throughput", options.throughput,
                    "measure at this load, frames per second, instead of searching for the "
                    "throughput and the partial drop rate first")
        ->transform(kLoad);
    command.add_option("--trial", options.trial_s, "seconds of a trial (120)")
        ->check(kTypedSeconds);
    command.add_option("--repeats", options.repeats, "trials at each load (20)")
        ->check(CLI::Range(1, 10'000));
    command.add_option("--width", options.width, "relative width of the rates' bounds (0.005)")
        ->check(number_in(1e-6, 0.5));
}

}  // namespace

std::string latency_table(const search::LatencyResult& result) {
    std::string table =
        result.points.empty()
            ? std::string()
            : fmt::format("        {:<18}{:>11}{:>9}{:>9}{:>9}{:>9}{:>10}{:>10}\n", "latency (us)",
                          "frames/s", "min", "p50", "p90", "p99", "p99.9", "max");
    for (const search::LatencyPoint& point : result.points) {
        const search::LatencyValues& value = point.average;
        table += fmt::format(
            "        {:<18.18}{:>11.0f}{:>9.1f}{:>9.1f}{:>9.1f}{:>9.1f}{:>10.1f}{:>10.1f}{}\n",
            point.point.label, point.point.load_pps, micro(value.min), micro(value.p50),
            micro(value.p90), micro(value.p99), micro(value.p999), micro(value.max),
            point.doubtful ? "  doubtful" : "");
    }
    return table;
}

json latency_json(const search::LatencyResult& result) {
    json points = json::array();
    for (const search::LatencyPoint& point : result.points) {
        const search::LatencyValues& value = point.average;
        points.push_back({{"at", point.point.label},
                          {"load_pps", point.point.load_pps},
                          {"offered_pps", point.offered_pps},
                          {"trials", point.trials},
                          {"frames", point.frames},
                          {"loss_ratio", point.loss_ratio},
                          {"doubtful", point.doubtful},
                          {"latency_us",
                           {{"min", micro(value.min)},
                            {"p50", micro(value.p50)},
                            {"p90", micro(value.p90)},
                            {"p99", micro(value.p99)},
                            {"p999", micro(value.p999)},
                            {"max", micro(value.max)}}}});
    }
    return points;
}

const SearchKind kLatencyKind{
    "latency",
    "RFC 2544 latency (26.2) at the throughput, and at 10, 50 and 90 % of the partial drop "
    "rate",
    add_latency_options, latency_time, run_latency};

}  // namespace pathproof::cli
