#include "harness/run/timings.h"

#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "dataplane/base/file.h"
#include "dataplane/base/new_file.h"
#include "harness/process/json_text.h"
#include "harness/process/state_folder.h"
#include "harness/scenario/performance/performance.h"

namespace pathproof::run {
namespace {

constexpr const char* kTimingsSchema = "pathproof-timings/1";

std::string timings_file() {
    return process::state_folder() + "/timings.json";
}

std::string timing_key(const std::string& lab, const std::string& scenario) {
    return lab + "/" + scenario;
}

}  // namespace

Timings Timings::read() {
    return of(read_file(timings_file()).value_or(""));
}

Timings Timings::of(const std::string& text) {
    Timings timings;
    const nlohmann::json read = process::json_or_null(text);
    if (!read.is_object() || read.value("schema", nlohmann::json()) != kTimingsSchema ||
        !read.contains("seconds") || !read["seconds"].is_object()) {
        return timings;
    }
    for (const auto& [key, value] : read["seconds"].items()) {
        if (value.is_number() && value.get<double>() >= 0) {
            timings.seconds_[key] = value.get<double>();
        }
    }
    return timings;
}

std::string Timings::text() const {
    return process::to_text(nlohmann::json{{"schema", kTimingsSchema}, {"seconds", seconds_}}, 1) +
           "\n";
}

std::optional<double> Timings::seconds(const std::string& lab, const std::string& scenario) const {
    const auto found = seconds_.find(timing_key(lab, scenario));
    return found == seconds_.end() ? std::nullopt : std::optional(found->second);
}

void Timings::note(const verdict::RunResult& run) {
    if (run.options.repeat != 1 || !run.options.of_scenarios.empty()) {
        return;
    }
    for (const verdict::ScenarioResult& scenario : run.scenarios) {
        if (scenario.part.empty() && scenario.seconds > 0 &&
            scenario.verdict != verdict::ScenarioVerdict::kNotRun) {
            seconds_[timing_key(run.lab, scenario.id)] = scenario.seconds;
        }
    }
}

Status Timings::keep() const {
    TRY(make_folders(process::state_folder(), ErrorCode::kFailed));
    return replace_file(timings_file(), text());
}

std::vector<ExpectedTime> expected_times(const SessionOptions& options, const Timings& timings) {
    std::vector<ExpectedTime> all;
    for (const scenario::Scenario* each : options.scenarios) {
        if (!options.place->lacks(each->needs).empty()) {
            continue;
        }
        const scenario::Options asked{
            .cells = scenario::patterns_for(each->id, options.asked.cells),
            .given = &options.asked.of_scenarios};
        ExpectedTime one{each->id, timings.seconds(options.lab, each->id)};
        if (each->area == verdict::Area::kPerformance) {
            one.seconds = scenario::usual_performance_seconds(
                asked, options.evidence != port::Evidence::kPhysical);
        } else if (one.seconds && each->cells != nullptr && !asked.cells.empty()) {
            const auto cells = each->cells();
            *one.seconds *= static_cast<double>(scenario::count_asked(asked, cells)) /
                            static_cast<double>(cells.size());
        }
        if (one.seconds) {
            *one.seconds *= options.asked.repeat;
        }
        all.push_back(std::move(one));
    }
    return all;
}

std::string duration_text(double seconds) {
    if (seconds < 90) {
        return fmt::format("{:.0f} s", seconds);
    }
    const auto minutes = static_cast<std::uint64_t>(std::llround(seconds / 60));
    if (minutes < 90) {
        return fmt::format("{} min", minutes);
    }
    return minutes % 60 == 0 ? fmt::format("{} h", minutes / 60)
                             : fmt::format("{} h {} min", minutes / 60, minutes % 60);
}

}  // namespace pathproof::run
