#include <CLI/CLI.hpp>
#include <algorithm>

#include "dataplane/search/system_recovery.h"
#include "harness/cli/generate/number_checks.h"
#include "harness/cli/search/kinds.h"

namespace pathproof::cli {
namespace {

using nlohmann::json;

constexpr unsigned kRecoveryRepeats = 3;

search::RecoveryPlan recovery_plan(const SizeSearch& search, double throughput) {
    const SearchOptions& options = search.options;
    return {.throughput_pps = throughput,
            .max_load_pps = search.max_load.pps,
            .overload_duration = nanoseconds_of(options.overload_s),
            .relief_duration = nanoseconds_of(options.relief_s),
            .repeats = options.repeats > 0 ? options.repeats : kRecoveryRepeats};
}

Result<SearchTime> recovery_time(const SizeSearch& search) {
    const search::Nanoseconds longest = longest_time(recovery_plan(search, 1));
    return SearchTime{.usual = longest + throughput_time(search),
                      .most = 5 * throughput_time(search) + 3 * longest + std::chrono::seconds(10)};
}

std::string recovery_text(const search::RecoveryRun& run) {
    if (!run.overloaded) {
        return "no frame was lost: not overloaded";
    }
    if (!run.recovered) {
        return "went on losing: not recovered";
    }
    return fmt::format("{:.3f} ms", 1e3 * search::seconds(run.recovery));
}

std::string word(const search::RecoveryRun& run) {
    return recovery_text(run) + trouble_mark(run);
}

json recovery_result_json(const search::RecoveryResult& result, double throughput) {
    json runs = json::array();
    for (const search::RecoveryRun& run : result.runs) {
        runs.push_back({{"recovery_s", search::seconds(run.recovery)},
                        {"lost", run.lost},
                        {"overloaded", run.overloaded},
                        {"recovered", run.recovered},
                        {"tester_limited", run.tester_limited},
                        {"doubtful", run.doubtful}});
    }
    return {{"throughput_pps", throughput},
            {"overload_pps", result.overload_pps},
            {"relief_pps", result.relief_pps},
            {"average_s", result.average_seconds},
            {"runs", runs}};
}

void add_reasons(Reasons& reasons, const search::RecoveryResult& result,
                 const search::Trials& trials) {
    using Run = search::RecoveryRun;
    if (std::ranges::any_of(result.runs, &Run::tester_limited)) {
        reasons.add_limit("the tester did not keep to its schedule (" + tester_limit(trials) + ")");
    }
    if (std::ranges::any_of(result.runs, &Run::doubtful)) {
        reasons.add_disturbance("the tester was disturbed");
    }
    if (!std::ranges::all_of(result.runs, &Run::overloaded)) {
        reasons.add(fmt::format("{:.0f}/s did not overload the device", result.overload_pps));
    }
    if (std::ranges::any_of(result.runs,
                            [](const Run& run) { return run.overloaded && !run.recovered; })) {
        reasons.add("the device went on losing frames; allow more with --relief-time");
    }
    add_ending(reasons, trials);
}

Result<SizeOutcome> run_recovery(const SizeSearch& search, search::Trials& trials) {
    SizeOutcome outcome;
    const auto throughput = TRY(throughput_for(search, trials, outcome.reasons));
    if (!throughput) {
        outcome.json = {{"runs", json::array()}};
        add_ending(outcome.reasons, trials);
        return outcome;
    }
    const auto result = TRY(search::measure_recovery(recovery_plan(search, *throughput), trials));
    outcome.json = recovery_result_json(result, *throughput);
    outcome.table = fmt::format("{:>6}  {:.0f}/s for {:.3g} s, then {:.0f}/s for {:.3g} s\n",
                                search.size, result.overload_pps, search.options.overload_s,
                                result.relief_pps, search.options.relief_s);
    for (std::size_t n = 0; n < result.runs.size(); ++n) {
        outcome.table += fmt::format("        run {}: {}\n", n + 1, word(result.runs[n]));
    }
    outcome.table +=
        fmt::format("        recovery time {:.3f} ms on average\n", 1e3 * result.average_seconds);
    add_reasons(outcome.reasons, result, trials);
    return outcome;
}

void add_recovery_options(CLI::App& command, SearchOptions& options) {
    command
        .add_option("--throughput", options.throughput,
                    "of these frames, per second (default: searched for first)")
        ->transform(kLoad);
    command
        .add_option("--overload-time", options.overload_s,
                    "seconds at 110 % of the throughput (60)")
        ->check(number_in(0.01, 86'400));
    command
        .add_option("--relief-time", options.relief_s, "seconds at half of that afterwards (10)")
        ->check(number_in(0.01, 86'400));
    command.add_option("--repeats", options.repeats, "how often it is measured (3)")
        ->check(CLI::Range(1, 10'000));
    command.add_option("--width", options.width, "relative width of the throughput (0.005)")
        ->check(number_in(1e-6, 0.5));
}

}  // namespace

const SearchKind kRecoveryKind{
    "recovery",
    "RFC 2544 system recovery (26.5): from the end of an overload to the last lost frame",
    add_recovery_options, recovery_time, run_recovery};

}  // namespace pathproof::cli
