#include "harness/run/plan.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "dataplane/base/plural.h"
#include "harness/scenario/race/race_experiments.h"

namespace pathproof::run {
namespace {

// Changes to machines by kind of lab; all of them stand in a journal.
std::vector<std::string> changes_of(const SessionOptions& options) {
    std::vector<std::string> changes;
    const std::vector<lab::CabledDevice> devices = options.place->devices();
    if (devices.empty()) {
        changes.emplace_back(
            "this machine: network namespaces pp-RUN-* with virtual devices, rules and sysctls of "
            "their own; deleted at the end");
    }
    for (const lab::CabledDevice& device : devices) {
        changes.push_back(
            fmt::format("{}: device {}{}: addresses, neighbours, routes, sysctls and offload "
                        "features while a cell is measured; put back and read back at the end",
                        device.host.empty() ? "this machine" : device.host, device.name,
                        device.netns.empty() ? "" : " in namespace " + device.netns));
        changes.push_back(fmt::format(
            "this machine: tester port {} is opened by DPDK, and given back", device.tester_port));
    }
    if (options.use_hugepages) {
        changes.emplace_back(
            "this machine: up to 512 MiB of hugepages are reserved, and given back");
    }
    const bool performance = std::ranges::any_of(options.scenarios, [](const auto* scenario) {
        return scenario->area == verdict::Area::kPerformance;
    });
    if (performance) {
        changes.emplace_back(
            "the DUT: each offload of the two devices on the path off and on in turn (ethtool -K), "
            "and packet steering (rps_cpus); taken back after each cell");
    }
    if (std::ranges::find(options.scenarios, std::string("dns-race"), &scenario::Scenario::id) !=
        options.scenarios.end()) {
        changes.push_back(
            fmt::format("the DUT's host, outside of any namespace: `{}` in some cells of dns-race; "
                        "taken back after each",
                        scenario::lists_of_one().command));
    }
    if (!options.out_dir.empty()) {
        changes.push_back("the folder " + options.out_dir + " gets the report");
    }
    return changes;
}

}  // namespace

double Plan::seconds() const {
    double sum = 0;
    for (const Row& row : rows) {
        sum += row.seconds.value_or(0);
    }
    return sum;
}

std::size_t Plan::untold() const {
    return static_cast<std::size_t>(std::ranges::count_if(
        rows, [](const Row& row) { return row.lacks.empty() && !row.seconds; }));
}

Plan plan_of(const SessionOptions& options, const Timings& timings) {
    Plan plan{.lab = options.lab, .changes = changes_of(options)};
    const auto times = expected_times(options, timings);
    for (const scenario::Scenario* each : options.scenarios) {
        Plan::Row row{.scenario = each->id, .lacks = options.place->lacks(each->needs)};
        const scenario::Options asked{
            .cells = scenario::patterns_for(each->id, options.asked.cells),
            .given = &options.asked.of_scenarios};
        row.cells = each->cells == nullptr ? 0 : scenario::count_asked(asked, each->cells());
        const auto time = std::ranges::find(times, row.scenario, &ExpectedTime::scenario);
        row.seconds = time == times.end() ? std::nullopt : time->seconds;
        plan.rows.push_back(std::move(row));
    }
    plan.limits = options.held.limits ? options.held.limits->source : "";
    plan.requirements = options.held.requirements ? options.held.requirements->source : "";
    return plan;
}

std::string plan_text(const Plan& plan) {
    std::string text = fmt::format("on lab {}:\n", plan.lab);
    for (const Plan::Row& row : plan.rows) {
        const std::string cells = row.cells == 0 ? "whole" : plural(row.cells, "cell");
        const std::string time = row.seconds ? "about " + duration_text(*row.seconds)
                                             : "time not known: it never ran here";
        text += fmt::format("  {:<18}{}\n", row.scenario,
                            row.lacks.empty() ? cells + ", " + time : "not run: " + row.lacks);
    }
    text += fmt::format("in all about {}{}\n", duration_text(plan.seconds()),
                        plan.untold() == 0 ? ""
                                           : fmt::format(", and {} whose time is not known",
                                                         plural(plan.untold(), "scenario")));
    for (const auto& [what, source] :
         {std::pair{"limits", &plan.limits}, {"requirements", &plan.requirements}}) {
        if (!source->empty()) {
            text += fmt::format("held against the {} of {}\n", what, *source);
        }
    }
    text += "it would change:\n";
    for (const std::string& change : plan.changes) {
        text += "  " + change + "\n";
    }
    return text + "nothing was changed\n";
}

nlohmann::json plan_json(const Plan& plan) {
    nlohmann::json rows = nlohmann::json::array();
    for (const Plan::Row& row : plan.rows) {
        rows.push_back(
            {{"scenario", row.scenario},
             {"cells", row.cells},
             {"not_run", row.lacks},
             {"seconds", row.seconds ? nlohmann::json(*row.seconds) : nlohmann::json()}});
    }
    return {{"lab", plan.lab},           {"scenarios", rows},
            {"seconds", plan.seconds()}, {"without_time", plan.untold()},
            {"limits", plan.limits},     {"requirements", plan.requirements},
            {"changes", plan.changes}};
}

}  // namespace pathproof::run
