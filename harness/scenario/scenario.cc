#include "harness/scenario/scenario.h"

#include <fmt/ranges.h>
#include <fnmatch.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "dataplane/base/join_each.h"
#include "harness/scenario/model/conclusions.h"
#include "harness/scenario/offload_truth/offload_truth.h"
#include "harness/scenario/performance/performance.h"
#include "harness/scenario/pods/pod_life.h"
#include "harness/scenario/pods/pod_paths.h"
#include "harness/scenario/race/race_experiments.h"
#include "harness/scenario/resolvers/dns_tcp_limit.h"
#include "harness/scenario/resolvers/large_answer.h"
#include "harness/scenario/resolvers/nodelocal.h"
#include "harness/scenario/resolvers/search_path.h"
#include "harness/scenario/resolvers/split_answer.h"
#include "harness/scenario/service_path/bridge_unnat.h"
#include "harness/scenario/service_path/invalid_rst.h"
#include "harness/scenario/service_path/ipvs_reuse.h"
#include "harness/scenario/service_path/pmtu_blackhole.h"
#include "harness/scenario/service_path/snat_exhaustion.h"
#include "harness/scenario/service_path/snat_timestamps.h"
#include "harness/scenario/service_path/stale_endpoint.h"
#include "harness/scenario/service_path/stale_udp.h"
#include "harness/scenario/service_path/table_full.h"
#include "harness/scenario/vxlan/vxlan_conclusion.h"

namespace pathproof::scenario {
namespace {

bool on_demand(const std::string& cell) {
    return has_part(cell, "go") || has_part(cell, "resolved");
}

bool matches(const std::string& pattern, const std::string& cell) {
    return fnmatch(pattern.c_str(), cell.c_str(), 0) == 0;
}

}  // namespace

const std::vector<Scenario>& all_scenarios() {
    using enum verdict::Area;
    static const std::vector<std::pair<verdict::Area, Scenario>> rows = {
        {kKernelPath, vxlan_checksum_scenario()},
        {kKernelPath, dns_race_scenario()},
        {kKernelPath, snat_race_scenario()},
        {kDevice, offload_truth_scenario()},
        {kKernelPath, snat_timestamps_scenario()},
        {kKernelPath, stale_udp_scenario()},
        {kKernelPath, bridge_unnat_scenario()},
        {kKernelPath, stale_endpoint_scenario()},
        {kKernelPath, table_full_scenario()},
        {kKernelPath, snat_exhaustion_scenario()},
        {kKernelPath, pmtu_blackhole_scenario()},
        {kKernelPath, invalid_rst_scenario()},
        {kKernelPath, ipvs_reuse_scenario()},
        {kResolvers, search_path_scenario()},
        {kResolvers, split_answer_scenario()},
        {kResolvers, dns_tcp_limit_scenario()},
        {kResolvers, large_answer_scenario()},
        {kResolvers, nodelocal_scenario()},
        {kCni, pod_paths_scenario()},
        {kCni, pod_residue_scenario()},
        {kCni, pod_churn_scenario()},
        {kPerformance, performance_scenario()},
    };
    static const std::vector<Scenario> scenarios = [] {
        std::vector<Scenario> all;
        for (const auto& [area, scenario] : rows) {
            all.push_back(scenario);
            all.back().area = area;
        }
        return all;
    }();
    return scenarios;
}

bool has_part(const std::string& id, const char* part) {
    return ("." + id + ".").find(fmt::format(".{}.", part)) != std::string::npos;
}

bool asked_for(const Options& options, const std::string& cell) {
    return (!on_demand(cell) || options.has(kResolvers.name)) &&
           (options.cells.empty() ||
            std::ranges::any_of(
                options.cells, [&](const std::string& pattern) { return matches(pattern, cell); }));
}

std::size_t count_asked(const Options& options, const std::vector<std::string>& cells) {
    return static_cast<std::size_t>(std::ranges::count_if(
        cells, [&](const std::string& cell) { return asked_for(options, cell); }));
}

std::vector<std::string> patterns_for(const std::string& scenario,
                                      const std::vector<std::string>& patterns) {
    std::vector<std::string> own;
    for (const std::string& pattern : patterns) {
        const std::size_t slash = pattern.find('/');
        if (slash == std::string::npos || pattern.substr(0, slash) == scenario) {
            own.push_back(pattern.substr(slash + 1));  // npos + 1: all of it
        }
    }
    return own;
}

Status check_cells(const Scenario& scenario, const std::vector<std::string>& patterns) {
    const std::vector<std::string> known =
        scenario.cells == nullptr ? std::vector<std::string>{} : scenario.cells();
    for (const std::string& pattern : patterns) {
        if (known.empty()) {
            return fail(ErrorCode::kBadInput, "{} runs whole: leave --cells out", scenario.id);
        }
        if (std::ranges::none_of(known,
                                 [&](const std::string& cell) { return matches(pattern, cell); })) {
            return fail(ErrorCode::kBadInput, "no cell of {} matches '{}'; there are: {}",
                        scenario.id, pattern, fmt::join(known, ", "));
        }
    }
    return {};
}

Status check_options(const std::vector<const Scenario*>& scenarios,
                     const verdict::ScenarioOptions& given,
                     const std::vector<std::string>& patterns) {
    std::string own;
    for (const auto& [name, value] : given) {
        const OptionRow* row = nullptr;
        for (const Scenario* scenario : scenarios) {
            const auto found = std::ranges::find(scenario->options, name, &OptionRow::name);
            const bool better =
                row == nullptr || (row->with != nullptr && !given.contains(row->with));
            row = found != scenario->options.end() && better ? &*found : row;
        }
        if (row == nullptr) {
            return fail(ErrorCode::kBadInput, "--{} is of no scenario of this run", name);
        }
        if (row->check_text != nullptr) {
            TRY(doing(row->check_text(value.text), "--{}", name));
        } else if (!value.text.empty() || value.number.has_value() != row->most.has_value() ||
                   (value.number && *value.number > *row->most)) {
            return fail(ErrorCode::kBadInput, "--{} {}", name,
                        row->most ? fmt::format("is a number from 0 to {}", *row->most)
                                  : "is a flag, without a value");
        }
        if (row->with != nullptr && !given.contains(row->with)) {
            return fail(ErrorCode::kBadInput, "--{} goes with --{} here", name, row->with);
        }
        if (row->own_cells && (!own.empty() || !patterns.empty())) {
            return fail(ErrorCode::kBadInput, "--{} runs cells of its own: leave --{} out", name,
                        own.empty() ? "cells" : own);
        }
        own = row->own_cells ? name : own;
    }
    for (const Scenario* scenario : scenarios) {
        const auto cells =
            scenario->cells == nullptr ? std::vector<std::string>() : scenario->cells();
        for (const std::string& pattern : patterns_for(scenario->id, patterns)) {
            std::vector<std::string> met;
            std::ranges::copy_if(cells, std::back_inserter(met),
                                 [&](const std::string& cell) { return matches(pattern, cell); });
            if (!given.contains(kResolvers.name) && !met.empty() &&
                std::ranges::all_of(met, on_demand)) {
                return fail(ErrorCode::kBadInput, "what '{}' names is run with --{} alone", pattern,
                            kResolvers.name);
            }
        }
    }
    return {};
}

std::vector<FigureRow> figures_of(const Scenario& scenario) {
    if (scenario.figures != nullptr) {
        return scenario.figures();
    }
    std::vector<FigureRow> figures;
    if (scenario.conclusions != nullptr) {
        for (const model::FigureText& figure : scenario.conclusions().figures()) {
            if (!figure.label.empty()) {
                const bool is_share = !figure.hits.empty();
                figures.push_back({figure.name, is_share ? "%" : figure.unit});
            }
        }
    }
    return figures;
}

std::string known_scenarios() {
    return join_each(all_scenarios(), &Scenario::id);
}

const Scenario* find_scenario(const std::string& id) {
    const auto found = std::ranges::find(all_scenarios(), id, &Scenario::id);
    return found == all_scenarios().end() ? nullptr : &*found;
}

Result<verdict::ScenarioResult> run_scenario(const Scenario& scenario, Context& context) {
    const auto began = std::chrono::steady_clock::now();
    context.scenario = &scenario;
    auto result = TRY(scenario.run(context));
    result.id = scenario.id;
    result.title = scenario.title;
    result.area = scenario.area;
    result.question = result.question.empty() ? scenario.question : result.question;
    result.seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
    return result;
}

verdict::ScenarioResult not_run(const Scenario& scenario, const std::string& why) {
    verdict::ScenarioResult result{.id = scenario.id,
                                   .title = scenario.title,
                                   .question = scenario.question,
                                   .area = scenario.area,
                                   .verdict = verdict::ScenarioVerdict::kNotRun,
                                   .headline = "Not run on this lab: " + why + "."};
    for (const std::string& id :
         scenario.cells != nullptr ? scenario.cells() : std::vector<std::string>{"all"}) {
        result.cells.push_back({.id = id,
                                .verdict = verdict::CellVerdict::kSkip,
                                .reason = "not on this lab: " + why});
    }
    return result;
}

}  // namespace pathproof::scenario
