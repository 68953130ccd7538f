#include "harness/scenario/performance/cells.h"

#include <algorithm>

#include "harness/scenario/performance/performance.h"

namespace pathproof::scenario {
namespace performance {

namespace {

std::vector<std::string> throughput_ids() {
    std::vector<std::string> ids;
    for (const std::uint16_t size : kSizes) {
        ids.push_back(fmt::format("throughput.{}", size));
    }
    ids.push_back(std::string("throughput.") + kImix);
    return ids;
}

}  // namespace

std::vector<std::string> cell_ids() {
    std::vector<std::string> ids{"control.path"};
    std::ranges::move(throughput_ids(), std::back_inserter(ids));
    for (const int share : kShares) {
        ids.push_back(fmt::format("latency.{}", share));
    }
    ids.insert(ids.end(), {"loss-curve", "back-to-back", "cost.64", "cost.1518"});
    for (const unsigned cpus : kCpus) {
        ids.push_back(fmt::format("scaling.{}", cpus));
    }
    for (const Switch& each : kSwitches) {
        ids.push_back(std::string("offload.") + each.feature);
    }
    ids.emplace_back(kSoakOption);
    return ids;
}

std::vector<FigureRow> figures() {
    std::vector<FigureRow> all;
    const auto add = [&](const char* unit, std::initializer_list<const char*> names) {
        for (const char* name : names) {
            all.push_back({name, unit});
        }
    };
    add("frames/s", {"ndr_pps", "pdr_pps", "line_pps", "load_pps", "lossless_pps", "burst_pps",
                     "off_pps", "on_pps", "forwarded_pps", "least_pps"});
    add("Gbit/s", {"ndr_gbit_s", "pdr_gbit_s"});
    add("%", {"ndr_line_share", "pdr_line_share", "loss_share", "loss_at_most_load", "gain",
              "lost_share"});
    add("us", {"min_us", "p50_us", "p90_us", "p99_us", "p999_us", "max_us", "own_floor_us",
               "own_burst_us", "own_poll_us", "buffer_us"});
    add("ns", {"cpu_ns_per_frame"});
    add("cycles", {"cycles_per_frame", "off_cycles", "on_cycles"});
    add("frames", {"burst_frames", "frames_per_interrupt", "frames_per_softirq"});
    add("s", {"seconds"});
    add("KiB/h", {"slab_growth", "available_growth"});
    add("", {"bad_checksums", "trials", "frames", "points", "interrupts", "lost", "off_bad",
             "on_bad", "reordered", "device_errors", "arrived", verdict::kLimitedBy});
    return all;
}

Pace Pace::of(const Options& options, bool is_software) {
    const auto milliseconds = options.number(kTrialMs.name, is_software ? 200 : 1000);
    return {.trial = std::chrono::milliseconds(milliseconds),
            .trials = static_cast<unsigned>(options.number(kTrials.name, is_software ? 5 : 21)),
            .repeats = is_software ? 5u : 20u};
}

search::MlrPlan rates_plan(const Pace& pace, double max_load) {
    constexpr double kLeastFrames = 20;  // in a trial, or its loss ratio means nothing
    constexpr double kWidth = 0.02;
    search::MlrPlan plan{
        .min_load_pps = std::max(kLeastFrames / search::seconds(pace.trial), 1e-4 * max_load),
        .max_load_pps = max_load,
        .closing_trials = 1};
    for (const char* name : {"ndr", "pdr"}) {
        search::Goal goal = search::preset(name).value();
        goal.criteria.trial_duration = pace.trial;
        goal.criteria.duration_sum = pace.trial * pace.trials;
        goal.initial_trial_duration = pace.trial;
        goal.relative_width = pace.trials >= 21 ? goal.relative_width : kWidth;
        plan.goals.push_back(std::move(goal));
    }
    return plan;
}

}  // namespace performance

double usual_performance_seconds(const Options& options, bool is_software) {
    using performance::Pace;
    const Pace pace = Pace::of(options, is_software);
    const double trial = search::seconds(pace.trial);
    const double rates = search::seconds(search::usual_time(performance::rates_plan(pace, 1e6)));
    double seconds = 3;  // lab, tester, path
    for (const std::string& id : performance::cell_ids()) {
        if (!asked_for(options, id)) {
            continue;
        }
        if (id.starts_with("throughput.")) {
            seconds += rates;
        } else if (id.starts_with("latency.")) {
            seconds += 2 * trial * pace.repeats;
        } else if (id == "loss-curve") {
            seconds += 10 * trial;
        } else if (id == "back-to-back") {
            seconds += 3.0 * pace.repeats;
        } else if (id.starts_with("cost.")) {
            seconds += 5 * trial;
        } else if (id.starts_with("scaling.")) {
            seconds += performance::kRounds * trial;
        } else if (id.starts_with("offload.")) {
            seconds += 2 * performance::kRounds * trial;
        } else if (id == performance::kSoakOption) {
            seconds += static_cast<double>(options.number(performance::kSoakOption, 0));
        }
    }
    return seconds;
}

}  // namespace pathproof::scenario
