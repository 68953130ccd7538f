#include "harness/scenario/scenario.h"

#include <fmt/ranges.h>
#include <fnmatch.h>

#include <algorithm>
#include <chrono>
#include <ranges>

#include "harness/scenario/calibration_result.h"
#include "harness/scenario/pods/pod_life.h"
#include "harness/scenario/pods/pod_paths.h"
#include "harness/scenario/resolvers/dns_tcp_limit.h"
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

// Of a scenario's cells.
template <auto plan>
std::vector<std::string> ids() {
    return ids_of(plan());
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
        {"vxlan-checksum", "VXLAN overlay: ping works, TCP and DNS time out",
         "Do packets between pods keep right checksums when tunnel checksum offload meets NAT of "
         "the outer header?",
         lab::Role::kOverlay, run_vxlan_checksum, vxlan_checksum_cells},
        {"dns-race",
         "DNS answers seconds late: A and AAAA race inside conntrack",
         "Does every query of a pair that leaves one socket together get its answer through the "
         "Service's NAT?",
         lab::Role::kNatBox,
         run_dns_race,
         dns_race_cells,
         Scenario::When::kAlways,
         {pairs, first, map, resolvers_of_map}},
        {"snat-race",
         "Packets lost behind SNAT: two clients with one source port collide in conntrack",
         "Does every query get its answer through MASQUERADE where two clients use one source "
         "port?",
         lab::Role::kNatBox,
         run_snat_race,
         snat_race_cells,
         Scenario::When::kAlways,
         {pairs}},
        {"offload-truth",
         "Offload truth table: profile expects, driver advertises, wire shows",
         "Is every frame on the wire right, and everything true that is said of received ones, "
         "whichever of the device's offloads are on or off?",
         lab::Role::kDevice,
         run_calibrated_offload_truth,
         nullptr,
         Scenario::When::kAlways,
         {full}},
        {"snat-timestamps", "Connects of 1, 2, 4 s behind SNAT: timestamps of another port",
         "Does every connection through SNAT open at once where the server closes first?",
         lab::Role::kNatPath, run_snat_timestamps, ids<timestamp_cells>, Scenario::When::kAsked},
        {"stale-udp", "UDP to an endpoint that is gone: its conntrack entry outlives it",
         "Does a UDP flow follow its service when the service's endpoint changes (IPv4 and IPv6)?",
         lab::Role::kNatPath, run_stale_udp, ids<stale_udp_plan>, Scenario::When::kAsked},
        {"bridge-unnat",
         "Reply from unexpected source: answers that a bridge carries past conntrack",
         "Does each answer of a service come from the service's address where the backend is on "
         "the client's own bridge (IPv4)?",
         lab::Role::kNatPath, run_bridge_unnat, ids<bridge_cells>, Scenario::When::kAsked},
        {"stale-endpoint",
         "A share of connections fails: the rules still name endpoints that are dead",
         "Does each connection to a service reach an endpoint that serves (IPv4 and IPv6, "
         "kube-proxy's iptables and nftables modes)?",
         lab::Role::kNatPath, run_stale_endpoint, ids<endpoint_cells>, Scenario::When::kAsked},
        {"table-full", "A full conntrack table: new flows dropped, or other people's evicted",
         "Do new flows get through where conntrack's table is full, and at whose cost?",
         lab::Role::kNatPath, run_table_full, ids<table_full_plan>, Scenario::When::kAsked},
        {"snat-exhaustion", "SNAT into few ports: the search for a free one is given up",
         "Do flows through SNAT get a port for as long as one is free (IPv4 and IPv6)?",
         lab::Role::kNatPath, run_snat_exhaustion, ids<snat_exhaustion_plan>,
         Scenario::When::kAsked},
        {"pmtu-blackhole", "A VXLAN tunnel over a smaller hop: ping works, large transfers hang",
         "Do large packets get through a tunnel whose path has a smaller MTU?", lab::Role::kNatPath,
         run_pmtu_blackhole, ids<pmtu_blackhole_plan>, Scenario::When::kAsked},
        {"invalid-rst", "Connection reset by peer: INVALID segments are forwarded untranslated",
         "Does a connection to a service outlive a segment of its endpoint from outside of the "
         "window (IPv4)?",
         lab::Role::kNatPath, run_invalid_rst, ids<segment_cells>, Scenario::When::kAsked},
        {"ipvs-reuse", "Connects through IPVS from a port that was used before",
         "Does IPVS swallow the first SYN of a connection whose port it still has in TIME_WAIT?",
         lab::Role::kNatPath, run_ipvs_reuse, ids<ipvs_reuse_plan>, Scenario::When::kAsked},
        {"search-path",
         "Lookups that a search list multiplies, and each loss with them",
         "How many queries does a lookup make, and how many lookups does a loss hit?",
         lab::Role::kNatPath,
         run_search_path,
         ids<search_path_plan>,
         Scenario::When::kAsked,
         {resolvers}},
        {"split-answer",
         "\"Could not resolve host\": A and AAAA of one name are answered differently",
         "Does a lookup find a name that has addresses, whatever a name of the search list is "
         "answered with?",
         lab::Role::kNatPath,
         run_split_answer,
         ids<split_answer_plan>,
         Scenario::When::kAsked,
         {resolvers}},
        {"dns-tcp-limit", "DNS over TCP: more connections than dnsmasq has workers",
         "Are lookups through a cache that asks dnsmasq by TCP answered in time? (The cache is a "
         "stand-in for CoreDNS, with its rules for connections.)",
         lab::Role::kNatPath, run_dns_tcp_limit, ids<dns_tcp_limit_plan>, Scenario::When::kAsked},
        {"nodelocal", "NodeLocal DNSCache as the cure of the race inside conntrack",
         "Do A and AAAA lookups of one socket race inside conntrack on their way to the service, "
         "and do they with a cache on the node?",
         lab::Role::kNatPath, run_nodelocal, ids<nodelocal_plan>, Scenario::When::kAsked},
        {"pod-paths", "Connectivity of pods that CNI plug-ins attached",
         "Does every path between pods, services, nodes and the outside carry every protocol and "
         "size right, from the source that it should have?",
         lab::Role::kPods, run_pod_paths, pod_paths_cells, Scenario::When::kOnItsLab},
        {"pod-residue",
         "What CNI plug-ins leave behind",
         "Is a node as it was once a pod was attached and detached, whatever came between?",
         lab::Role::kPods,
         run_pod_residue,
         pod_residue_cells,
         Scenario::When::kOnItsLab,
         {cycles}},
        {"pod-churn",
         "What pods disturb that come and go",
         "Do two pods of a node keep what they send each other while other pods are attached and "
         "detached there?",
         lab::Role::kPods,
         run_pod_churn,
         pod_churn_cells,
         Scenario::When::kOnItsLab,
         {cycles}},
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
    return fmt::format("{}",
                       fmt::join(all_scenarios() | std::views::transform(&Scenario::id), ", "));
}

const Scenario* find_scenario(const std::string& id) {
    const auto found = std::ranges::find(all_scenarios(), id, &Scenario::id);
    return found == all_scenarios().end() ? nullptr : &*found;
}

Result<verdict::ScenarioResult> run_scenario(const Scenario& scenario, Context& context) {
    const auto began = std::chrono::steady_clock::now();
    auto result = TRY(scenario.run(context));
    result.id = scenario.id;
    result.title = scenario.title;
    result.question = result.question.empty() ? scenario.question : result.question;
    result.seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
    return result;
}

verdict::ScenarioResult not_run(const Scenario& scenario, const std::string& why) {
    verdict::ScenarioResult result{.id = scenario.id,
                                   .title = scenario.title,
                                   .question = scenario.question,
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
