#include "harness/cli/search/options.h"

#include <CLI/CLI.hpp>
#include <cmath>
#include <map>

#include "dataplane/base/number.h"
#include "dataplane/port/cpus.h"
#include "dataplane/search/frame_sizes.h"
#include "harness/cli/generate/number_checks.h"
#include "harness/cli/generate/rate_text.h"

namespace pathproof::cli {
namespace {

constexpr std::uint16_t kLongestFrame = 9'018;  // an MTU of 9000
constexpr double kHighestLoad = 1e9;
constexpr double kLongestSeconds = 86'400;
constexpr double kTolerance = 0.005;

// "loss=0.001,trial=2,sum=10": attributes by name.
Result<std::map<std::string, double>> attributes(const std::string& text) {
    std::map<std::string, double> values;
    for (const std::string& part : CLI::detail::split(text, ',')) {
        const std::size_t equals = std::min(part.find('='), part.size());
        const auto value = whole_number<double>(part.substr(std::min(equals + 1, part.size())));
        if (!value || !std::isfinite(*value)) {
            return fail(ErrorCode::kBadInput, "--goal {}: '{}' is not NAME=NUMBER", text, part);
        }
        if (!values.emplace(part.substr(0, equals), *value).second) {
            return fail(ErrorCode::kBadInput, "--goal {}: it has '{}' twice", text,
                        part.substr(0, equals));
        }
    }
    return values;
}

bool is_time(const std::string& attribute) {
    return attribute == "trial" || attribute == "sum" || attribute == "initial";
}

Result<search::Goal> custom_goal(const std::string& text, std::size_t number) {
    const auto values = TRY(attributes(text));
    search::Goal goal;
    goal.name = fmt::format("goal{}", number);
    goal.criteria = {.loss_ratio = 0,
                     .exceed_ratio = 0.5,
                     .trial_duration = std::chrono::seconds(1),
                     .duration_sum = std::chrono::seconds(21)};
    goal.initial_trial_duration = {};
    for (const auto& [name, value] : values) {
        if (is_time(name) && !(value > 0 && value <= kLongestSeconds)) {
            return fail(ErrorCode::kBadInput, "--goal {}: {} has to be above 0 and up to {:.0f} s",
                        text, name, kLongestSeconds);
        }
        if (name == "loss") {
            goal.criteria.loss_ratio = value;
        } else if (name == "exceed") {
            goal.criteria.exceed_ratio = value;
        } else if (name == "trial") {
            goal.criteria.trial_duration = nanoseconds_of(value);
        } else if (name == "sum") {
            goal.criteria.duration_sum = nanoseconds_of(value);
        } else if (name == "initial") {
            goal.initial_trial_duration = nanoseconds_of(value);
        } else if (name == "width") {
            goal.relative_width = value;
        } else {
            return fail(ErrorCode::kBadInput,
                        "--goal {}: '{}' is none of loss, exceed, trial, sum, initial, width", text,
                        name);
        }
    }
    if (goal.initial_trial_duration == search::Nanoseconds(0)) {
        goal.initial_trial_duration =
            std::min<search::Nanoseconds>(goal.criteria.trial_duration, std::chrono::seconds(1));
    }
    TRY(doing(check(goal), "--goal {}", text));
    return goal;
}

void add_frames(CLI::App& command, SearchOptions& options) {
    add_traffic_options(command, options.traffic);
    command.remove_option(command.get_option("--size"));
    command
        .add_option("--sizes", options.sizes,
                    "frame sizes with FCS, each searched on its own, or 'rfc2544' for its seven "
                    "(64)")
        ->delimiter(',');
    // RFC 2544 sends UDP to the echo port (C.2.6.4); what is said otherwise is taken.
    CLI::Option* const mix = command.get_option("--mix");
    CLI::Option* const type = command.get_option("--type");
    CLI::Option* const pairs = command.get_option("--pairs");
    command.parse_complete_callback([&options, mix, type, pairs] {
        if (mix->count() + type->count() + pairs->count() == 0) {
            options.traffic.mix = "udp=1";
        }
    });
}

void add_limits(CLI::App& command, SearchOptions& options) {
    command.add_option("--min-load", options.min_load, "least load, frames per second")
        ->transform(kLoad);
    command
        .add_option("--max-load", options.max_load,
                    "greatest load, frames per second (default: the link's, else what the tester "
                    "can send)")
        ->transform(kLoad);
    command
        .add_option("--max-time", options.max_time_s,
                    "seconds after which the search of a frame size ends with what it has")
        ->check(kAboveZero);
    command.add_option("--drain", options.drain_s, "seconds to wait for the last frames (0.1)")
        ->check(number_in(0, 60));
    command
        .add_option("--retries", options.retries,
                    "how often a trial is run again that the tester disturbed (2)")
        ->check(CLI::Range(0, 100));
    command
        .add_option("--offered-tolerance", options.offered_tolerance,
                    "share of a load that may not have been sent; a trial that lacks no more is "
                    "used at what was sent (0.005, or the width where that is finer)")
        ->check(number_in(0, 0.1));
    command.add_flag("--json", options.json, "print a JSON line for each trial and the result");
    command.add_option("--out", options.out, "folder for trials.jsonl and search.json");
}

}  // namespace

const CLI::Validator kLoad(
    [](std::string& text) {
        const auto rate = parse_rate(text);
        if (!rate || rate->kind != Rate::Kind::kPerSecond || rate->value > kHighestLoad) {
            return fmt::format(
                "'{}' is not a load: frames per second, above 0 and up to {:.0f} (20000, 20k, "
                "1.5M)",
                text, kHighestLoad);
        }
        text = fmt::format("{}", rate->value);
        return std::string();
    },
    "LOAD");
const CLI::Validator kTypedSeconds = number_in(0.001, kLongestSeconds);

double offered_tolerance(const SearchOptions& options) {
    if (options.offered_tolerance) {
        return *options.offered_tolerance;
    }
    double tolerance = std::min(kTolerance, options.width);
    if (const auto goals = search_goals(options)) {
        for (const search::Goal& goal : *goals) {
            tolerance = std::min(tolerance, goal.relative_width);
        }
    }
    return tolerance;
}

Status check_loads(const SearchOptions& options) {
    if (options.min_load > 0 && options.max_load > 0 && options.min_load >= options.max_load) {
        return fail(
            ErrorCode::kBadInput,
            "--min-load {:.15g} is not below --max-load {:.15g}: there is nothing to search "
            "between them",
            options.min_load, options.max_load);
    }
    return {};
}

void add_common_options(CLI::App& command, SearchOptions& options) {
    // One lcore sends, one receives.
    options.lanes.cpus = port::usable_cpus(2);
    add_lane_options(command, options.lanes);
    command.get_option("--cpu")->description(
        "CPUs of the lcores, of which the last receives (the first two there are); one for both");
    command.get_option("--queues")->description("queues of each port, each way (1)");
    add_frames(command, options);
    add_limits(command, options);
}

Result<Traffic> traffic_of_size(const SearchOptions& options, std::uint16_t size) {
    TrafficOptions sized = options.traffic;
    sized.size = std::to_string(size);
    constexpr std::uint64_t kFlows = 1'000;
    return traffic_of(sized, kFlows);
}

Result<std::vector<std::uint16_t>> frame_sizes(const SearchOptions& options) {
    std::vector<std::uint16_t> sizes;
    for (const std::string& text : options.sizes) {
        if (text == "rfc2544") {
            sizes.insert(sizes.end(), search::kFrameSizes.begin(), search::kFrameSizes.end());
            continue;
        }
        const auto size = whole_number<std::uint16_t>(text);
        if (!size || *size < search::kFrameSizes.front() || *size > kLongestFrame) {
            return fail(ErrorCode::kBadInput,
                        "--sizes: '{}' is neither 'rfc2544' nor the size of an Ethernet frame with "
                        "FCS, {} to {}",
                        text, search::kFrameSizes.front(), kLongestFrame);
        }
        sizes.push_back(*size);
    }
    if (sizes.empty()) {
        sizes.push_back(search::kFrameSizes.front());
    }
    return sizes;
}

Result<std::vector<search::Goal>> search_goals(const SearchOptions& options) {
    std::vector<std::string> presets = options.presets;
    if (presets.empty() && options.goals.empty()) {
        presets = {"ndr", "pdr"};
    }
    std::vector<search::Goal> goals;
    for (const std::string& name : presets) {
        const auto goal = TRY(doing(search::preset(name), "--preset"));
        goals.push_back(goal);
    }
    for (std::size_t n = 0; n < options.goals.size(); ++n) {
        const auto goal = TRY(custom_goal(options.goals[n], n + 1));
        goals.push_back(goal);
    }
    return goals;
}

}  // namespace pathproof::cli
