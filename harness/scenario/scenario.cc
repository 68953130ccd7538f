#include "harness/scenario/scenario.h"

#include <fmt/ranges.h>
#include <fnmatch.h>

#include <algorithm>

#include "harness/scenario/calibration_result.h"
#include "harness/scenario/pod_life.h"
#include "harness/scenario/pod_paths.h"
#include "harness/scenario/search_path.h"
#include "harness/scenario/split_answer.h"

namespace pathproof::scenario {
namespace {

Result<verdict::ScenarioResult> run_calibrated_offload_truth(Context& context) {
    if (context.options.calibrate == Calibrate::kNo) {
        return run_offload_truth(context);
    }
    CalibrationBeside calibration(context.options);
    auto result = run_offload_truth(context);
    if (result) {
        calibration.attach_to(context, *result);
    }
    return result;
}

constexpr const char* kResolvers = "resolvers";

bool on_demand(const std::string& cell) {
    const std::string parts = "." + cell + ".";
    return parts.find(".go.") != std::string::npos || parts.find(".resolved.") != std::string::npos;
}

bool matches(const std::string& pattern, const std::string& cell) {
    return fnmatch(pattern.c_str(), cell.c_str(), 0) == 0;
}

}  // namespace

const std::vector<Scenario>& all_scenarios() {
    static const OptionRow pairs{
        "pairs", "query pairs of each race experiment (0: each its own number)", 50'000};
    static const OptionRow full{
        "full", "all triples of its matrix instead of all pairs (up to two minutes more)", {}};
    static const OptionRow first{
        "first", "stop at the first race that is proven, and print it (about a second)", {}, true};
    static const OptionRow map{"map",
                               "the share of pairs that race, over their skew and the load, in "
                               "each way of racing (at most "
                               "two minutes)",
                               {},
                               true};
    static const OptionRow resolvers{
        kResolvers,
        "Go's resolver and systemd-resolved too, where they are (packages golang-go, "
        "systemd-resolved); of dns-race with --map",
        {}};
    OptionRow resolvers_of_map = resolvers;
    resolvers_of_map.with = "map";
    static const OptionRow cycles{
        "cycles", "pods that are attached and detached in a row (0: each its own number)", 1000};
    static const std::vector<Scenario> scenarios = {
        {"vxlan-checksum", "VXLAN overlay: wrong outer checksums under NAT", lab::Role::kOverlay,
         run_vxlan_checksum, vxlan_checksum_cells},
        {"dns-race",
         "A/AAAA pairs racing inside conntrack",
         lab::Role::kNatBox,
         run_dns_race,
         dns_race_cells,
         {pairs, first, map, resolvers_of_map}},
        {"snat-race",
         "Clients with one source port colliding behind SNAT",
         lab::Role::kNatBox,
         run_snat_race,
         snat_race_cells,
         {pairs}},
        {"offload-truth",
         "What each offload really does to the frames on the wire",
         lab::Role::kDevice,
         run_calibrated_offload_truth,
         nullptr,
         {full}},
        {"snat-timestamps",
         "Connects through SNAT that meet a TIME_WAIT of another port",
         lab::Role::kNatPath,
         run_snat_timestamps,
         snat_timestamps_cells,
         {},
         Scenario::When::kAsked},
        {"stale-udp",
         "UDP flows that keep an endpoint which is gone",
         lab::Role::kNatPath,
         run_stale_udp,
         stale_udp_cells,
         {},
         Scenario::When::kAsked},
        {"bridge-unnat",
         "Answers that a bridge carries past conntrack",
         lab::Role::kNatPath,
         run_bridge_unnat,
         bridge_unnat_cells,
         {},
         Scenario::When::kAsked},
        {"stale-endpoint",
         "Rules of a service that name dead endpoints",
         lab::Role::kNatPath,
         run_stale_endpoint,
         stale_endpoint_cells,
         {},
         Scenario::When::kAsked},
        {"table-full",
         "New flows where conntrack's table is full",
         lab::Role::kNatPath,
         run_table_full,
         table_full_cells,
         {},
         Scenario::When::kAsked},
        {"snat-exhaustion",
         "Flows through SNAT into a range of few free ports",
         lab::Role::kNatPath,
         run_snat_exhaustion,
         snat_exhaustion_cells,
         {},
         Scenario::When::kAsked},
        {"pmtu-blackhole",
         "Large packets in a tunnel over a smaller hop",
         lab::Role::kNatPath,
         run_pmtu_blackhole,
         pmtu_blackhole_cells,
         {},
         Scenario::When::kAsked},
        {"invalid-rst",
         "Segments that are forwarded untranslated, and the RSTs that answer them",
         lab::Role::kNatPath,
         run_invalid_rst,
         invalid_rst_cells,
         {},
         Scenario::When::kAsked},
        {"ipvs-reuse",
         "Connects through IPVS from a port that was used before",
         lab::Role::kNatPath,
         run_ipvs_reuse,
         ipvs_reuse_cells,
         {},
         Scenario::When::kAsked},
        {"search-path",
         "Lookups that a search list multiplies, and each loss with them",
         lab::Role::kNatPath,
         run_search_path,
         search_path_cells,
         {resolvers},
         Scenario::When::kAsked},
        {"split-answer",
         "Searches that end where A and AAAA are answered differently",
         lab::Role::kNatPath,
         run_split_answer,
         split_answer_cells,
         {resolvers},
         Scenario::When::kAsked},
        {"dns-tcp-limit",
         "DNS over TCP through a server with few workers",
         lab::Role::kNatPath,
         run_dns_tcp_limit,
         dns_tcp_limit_cells,
         {},
         Scenario::When::kAsked},
        {"nodelocal",
         "NodeLocal DNSCache as the cure of the race inside conntrack",
         lab::Role::kNatPath,
         run_nodelocal,
         nodelocal_cells,
         {},
         Scenario::When::kAsked},
        {"pod-paths",
         "Connectivity of pods that CNI plug-ins attached",
         lab::Role::kPods,
         run_pod_paths,
         pod_paths_cells,
         {},
         Scenario::When::kOnItsLab},
        {"pod-residue",
         "What CNI plug-ins leave behind",
         lab::Role::kPods,
         run_pod_residue,
         pod_residue_cells,
         {cycles},
         Scenario::When::kOnItsLab},
        {"pod-churn",
         "What pods disturb that come and go",
         lab::Role::kPods,
         run_pod_churn,
         pod_churn_cells,
         {cycles},
         Scenario::When::kOnItsLab},
    };
    return scenarios;
}

bool asked_for(const Options& options, const std::string& cell) {
    return (!on_demand(cell) || options.has(kResolvers)) &&
           (options.cells.empty() ||
            std::ranges::any_of(
                options.cells, [&](const std::string& pattern) { return matches(pattern, cell); }));
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
        if (value.has_value() != row->most.has_value() || (value && *value > *row->most)) {
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
            if (!given.contains(kResolvers) && !met.empty() &&
                std::ranges::all_of(met, on_demand)) {
                return fail(ErrorCode::kBadInput, "what '{}' names is run with --{} alone", pattern,
                            kResolvers);
            }
        }
    }
    return {};
}

std::string known_scenarios() {
    std::string known;
    for (const Scenario& scenario : all_scenarios()) {
        known += (known.empty() ? "" : ", ") + std::string(scenario.id);
    }
    return known;
}

const Scenario* find_scenario(const std::string& id) {
    for (const Scenario& scenario : all_scenarios()) {
        if (id == scenario.id) {
            return &scenario;
        }
    }
    return nullptr;
}

verdict::ScenarioResult not_run(const Scenario& scenario, const std::string& why) {
    verdict::ScenarioResult result{.id = scenario.id,
                                   .title = scenario.title,
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
