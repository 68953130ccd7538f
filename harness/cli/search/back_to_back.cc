#include "dataplane/search/back_to_back.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <thread>

#include "harness/cli/generate/number_checks.h"
#include "harness/cli/search/kinds.h"

namespace pathproof::cli {
namespace {

using nlohmann::json;

constexpr double kBurstLongestSeconds =
    2;  // RFC 2544, 26.4: a burst of so long at the medium's rate
constexpr unsigned kAttempts = 2;

search::BurstPlan burst_plan(const SizeSearch& search) {
    const SearchOptions& options = search.options;
    const auto longest = static_cast<std::uint64_t>(search.max_load.pps * kBurstLongestSeconds);
    return {.longest = options.longest > 0 ? options.longest : std::max<std::uint64_t>(longest, 2),
            .resolution = options.resolution,
            .attempts = options.attempts > 0 ? options.attempts : kAttempts,
            .tests = options.tests};
}

// Bursts of half the length each time, sent at the greatest load, each with its idle time and
// drain.
Result<SearchTime> burst_time(const SizeSearch& search) {
    const search::BurstPlan plan = burst_plan(search);
    const double halvings =
        std::log2(static_cast<double>(plan.longest) / static_cast<double>(plan.resolution)) + 1;
    const double sending = 2 * static_cast<double>(plan.longest) / search.max_load.pps;
    const double waiting = halvings * (search.options.drain_s + search::seconds(plan.idle) + 0.01);
    const search::Nanoseconds usual =
        nanoseconds_of((sending + waiting) * plan.attempts * plan.tests);
    return SearchTime{.usual = usual + throughput_time(search),
                      .most = 5 * throughput_time(search) + 2 * usual + std::chrono::seconds(10)};
}

json burst_result_json(const search::BurstResult& result, double throughput) {
    json tests = json::array();
    for (const search::BurstTest& test : result.tests) {
        tests.push_back({{"frames", test.frames}, {"bursts", test.bursts}});
    }
    return {{"tests", tests},
            {"average_frames", result.average},
            {"min_frames", result.min},
            {"max_frames", result.max},
            {"standard_deviation", result.standard_deviation},
            {"burst_pps", result.burst_pps},
            {"measured_throughput_pps", throughput},
            {"implied_buffer_s", result.implied_buffer_seconds},
            {"corrected_buffer_s", result.corrected_buffer_seconds}};
}

void add_reasons(Reasons& reasons, const search::BurstResult& result, double throughput,
                 const search::Trials& trials) {
    if (!result.tester_limit.empty()) {
        reasons.add_limit("the tester, not the device, was the limit of bursts (" +
                          result.tester_limit + ")");
    }
    if (result.saturated) {
        reasons.add("the longest burst allowed came back whole; raise --longest");
    }
    if (result.doubtful) {
        reasons.add_disturbance("the tester was disturbed during bursts");
    }
    // RFC 9004, 6.1: without a bottleneck behind it no buffer fills.
    if (throughput > 0 && result.burst_pps > 0 && result.burst_pps <= throughput) {
        reasons.add(
            fmt::format("bursts left at {:.0f}/s, no faster than the throughput of "
                        "{:.0f}/s: they fill no buffer",
                        result.burst_pps, throughput));
    }
    add_ending(reasons, trials);
}

Result<SizeOutcome> run_burst(const SizeSearch& search, search::Trials& trials) {
    SizeOutcome outcome;
    const auto throughput = TRY(throughput_for(search, trials, outcome.reasons));
    search::BurstPlan plan = burst_plan(search);
    plan.measured_throughput = throughput.value_or(0);
    const auto result = TRY(search::find_longest_burst(
        plan, trials, [](search::Nanoseconds idle) { std::this_thread::sleep_for(idle); }));
    outcome.json = burst_result_json(result, plan.measured_throughput);
    outcome.table =
        fmt::format("{:>6}{:>8}{:>12}{:>10}{:>10}{:>10}{:>13}{:>15}\n", "bytes", "tests", "average",
                    "min", "max", "std dev", "frames/s", "buffer (us)");
    outcome.table += fmt::format("{:>6}{:>8}{:>12.1f}{:>10}{:>10}{:>10.1f}{:>13.0f}{:>15.1f}\n",
                                 search.size, result.tests.size(), result.average, result.min,
                                 result.max, result.standard_deviation, result.burst_pps,
                                 1e6 * result.corrected_buffer_seconds);
    add_reasons(outcome.reasons, result, plan.measured_throughput, trials);
    return outcome;
}

void add_burst_options(CLI::App& command, SearchOptions& options) {
    command
        .add_option("--throughput", options.throughput,
                    "of these frames, per second (default: searched for first)")
        ->transform(kLoad);
    command
        .add_option("--tests", options.tests, "how often the longest burst is searched for (50)")
        ->check(CLI::Range(1, 10'000));
    command
        .add_option("--longest", options.longest,
                    "frames of the longest burst tried (2 s at the greatest load)")
        ->check(CLI::Range(std::uint64_t{2}, std::uint64_t{1'000'000'000'000}));
    command.add_option("--resolution", options.resolution, "frames by which bursts differ (1)")
        ->check(kPositive);
    command.add_option("--attempts", options.attempts, "bursts of a length that must lose (2)")
        ->check(CLI::Range(1, 100));
    command.add_option("--width", options.width, "relative width of the throughput (0.005)")
        ->check(number_in(1e-6, 0.5));
}

}  // namespace

const SearchKind kBurstKind{
    "back-to-back",
    "The longest burst without loss (RFC 2544 26.4, RFC 9004) and the buffer time it shows",
    add_burst_options, burst_time, run_burst};

}  // namespace pathproof::cli
