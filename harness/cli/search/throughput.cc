#include "dataplane/search/throughput.h"

#include <CLI/CLI.hpp>

#include "harness/cli/generate/number_checks.h"
#include "harness/cli/search/kinds.h"

namespace pathproof::cli {
namespace {

using search::ThroughputResult;

constexpr double kThroughputTrialSeconds = 60;  // RFC 2544, 24

Result<search::ThroughputPlan> throughput_plan(const SizeSearch& search) {
    const SearchOptions& options = search.options;
    const search::ThroughputPlan plan{
        .min_load_pps = search.min_load(),
        .max_load_pps = search.max_load.pps,
        .trial_duration =
            nanoseconds_of(options.trial_s > 0 ? options.trial_s : kThroughputTrialSeconds),
        .relative_width = options.width,
        .loss_ratio = options.loss_ratio,
        .attempts = options.attempts > 0 ? options.attempts : 1};
    TRY(check(plan));
    return plan;
}

Result<SearchTime> throughput_time(const SizeSearch& search) {
    const auto plan = TRY(throughput_plan(search));
    const search::Nanoseconds longest = longest_time(plan);
    return SearchTime{.usual = longest, .most = 2 * longest + std::chrono::seconds(10)};
}

void add_reasons(Reasons& reasons, const SizeSearch& search, const ThroughputResult& result,
                 const search::Trials& trials) {
    if (result.limit == search::Limit::kTester) {
        reasons.add_limit(
            fmt::format("the tester, not the device, was the limit ({})", tester_limit(trials)));
    }
    const bool line_rate =
        search.medium_is_real && search.max_load.source == MaxLoadSource::kLineRate;
    if (result.max_load_passes && !line_rate) {
        reasons.add(fmt::format("the greatest load, {:.0f}/s ({}), passes", search.max_load.pps,
                                name(search.max_load.source)));
    }
    if (!result.passed && result.failed && result.ending == search::Ending::kNone) {
        reasons.add(
            fmt::format("the least load, {:.0f}/s, loses frames already", search.min_load()));
    }
    if (result.doubtful()) {
        reasons.add_disturbance("the bounds rest on trials in which the tester was disturbed");
    }
    add_ending(reasons, trials);
}

Result<SizeOutcome> run_throughput(const SizeSearch& search, search::Trials& trials) {
    const auto plan = TRY(throughput_plan(search));
    const auto result = TRY(search::find_throughput(plan, trials));
    SizeOutcome outcome;
    outcome.json = {{"throughput_pps", result.throughput_pps()},
                    {"passed", bound_json(result.passed)},
                    {"failed", bound_json(result.failed)},
                    {"max_load_passes", result.max_load_passes},
                    {"limit", search::name(result.limit)},
                    {"trial_s", search::seconds(plan.trial_duration)},
                    {"relative_width", plan.relative_width},
                    {"loss_ratio", plan.loss_ratio},
                    {"attempts", plan.attempts}};
    outcome.table = fmt::format("{:>6}{:>16}{:>13}{:>13}{:>12}  {}\n", "bytes", "throughput /s",
                                "passes at /s", "fails at /s", "Mbit/s L1", "limit");
    outcome.table +=
        fmt::format("{:>6}{:>16.0f}{:>13}{:>13}{:>12.1f}  {}\n", search.size,
                    result.throughput_pps(), pps_text(result.passed), pps_text(result.failed),
                    wire_mbps(result.throughput_pps(), search.size), search::name(result.limit));
    add_reasons(outcome.reasons, search, result, trials);
    return outcome;
}

void add_throughput_options(CLI::App& command, SearchOptions& options) {
    command.add_option("--trial", options.trial_s, "seconds of a trial (60)")->check(kTypedSeconds);
    command.add_option("--width", options.width, "relative width of the bounds (0.005)")
        ->check(number_in(1e-6, 0.5));
    command.add_option("--loss-ratio", options.loss_ratio, "share of frames that may be lost (0)")
        ->check(number_in(0, 0.99));
    command
        .add_option("--attempts", options.attempts,
                    "trials at a load before it counts as failed (1; ETSI TST 009: 2)")
        ->check(CLI::Range(1, 100));
}

}  // namespace

const SearchKind kThroughputKind{"throughput", "RFC 2544 throughput (26.1) by binary search",
                                 add_throughput_options, throughput_time, run_throughput};

}  // namespace pathproof::cli
