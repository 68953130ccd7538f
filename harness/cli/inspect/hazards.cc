// pathproof inspect hazards: which known failures the rules, devices and sysctls of a host invite.
#include "harness/hazards/hazards.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <nlohmann/json.hpp>

#include "dataplane/base/clock.h"
#include "harness/cli/inspect/commands.h"
#include "harness/cli/inspect/output.h"
#include "harness/netfilter/dump.h"
#include "harness/netfilter/text.h"
#include "harness/predict/stale.h"
#include "harness/process/foreign.h"

namespace pathproof::cli::inspect {
namespace {

using hazards::Findings;
using hazards::Hazard;
using nlohmann::json;

constexpr int kFound = 1;
constexpr std::size_t kShown = 5;  // pieces of evidence of one hazard; --json has all

json json_of(const Hazard& hazard) {
    json evidence = json::array();
    for (const auto& [where, text] : hazard.evidence) {
        evidence.push_back({{"where", where}, {"text", text}});
    }
    return {{"hazard", hazard.id},
            {"what", hazard.what},
            {"evidence", evidence},
            {"remedy", hazard.remedy},
            {"scenario", hazard.scenario.empty() ? json() : json(hazard.scenario)},
            {"side_effect", hazard.side_effect},
            {"harm", hazard.harm.empty() ? json() : json(hazard.harm)},
            {"severe", hazard.severe}};
}

void put_text(Output& output, const Hazard& hazard) {
    output.line() += fmt::format(
        "{}{}\n  {}\n", hazard.id,
        hazard.scenario.empty() ? "" : fmt::format("  (pathproof repro {})", hazard.scenario),
        hazard.what);
    if (!hazard.harm.empty()) {
        output.line() += fmt::format("  happening    {}\n", hazard.harm);
    } else if (hazard.severe) {
        output.line() += "  severe       it fails whenever it is used\n";
    }
    for (std::size_t i = 0; i < std::min(hazard.evidence.size(), kShown); ++i) {
        const auto& [where, text] = hazard.evidence[i];
        output.line() +=
            fmt::format("  found        {}: {}\n", where, process::without_controls(text));
    }
    if (hazard.evidence.size() > kShown) {
        output.line() += fmt::format("  found        {} more (--json has all)\n",
                                     hazard.evidence.size() - kShown);
    }
    output.line() +=
        fmt::format("  remedy       {}\n  side effect  {}\n", hazard.remedy, hazard.side_effect);
    output.end_line();
}

constexpr const char* kStaleEntry = "stale-entry";
constexpr std::uint64_t kMostShown = 1000;  // `inspect stale` has all

// All that are looked for.
std::vector<std::string> known_ids() {
    auto ids = hazards::known_hazards();
    ids.emplace_back(kStaleEntry);
    return ids;
}

// Entries that the rules of now would make otherwise; without evidence: there is none. What keeps the table or
// routes from being read is noted.
Hazard stale_entries(const std::string& netns, const hazards::Facts& facts, Findings& findings) {
    Hazard hazard{.id = kStaleEntry,
                  .what =
                      "Entries of conntrack are older than the rules: their flows go where a new "
                      "flow would not.",
                  .side_effect = "these flows begin anew, by the rules of now"};
    const auto router = predict::kernel_router(netns);
    if (!router) {
        findings.unread.push_back({"routes", router.error().message});
        return hazard;
    }
    const predict::Simulator simulator(facts, **router);
    predict::StaleFinder finder(simulator, **router);
    std::uint64_t stale = 0;
    const auto read = netfilter::dump(netns, {}, [&](const netfilter::Entry& entry) {
        const predict::StaleVerdict verdict = finder.check(entry);
        if (verdict.stale() && ++stale <= kMostShown) {
            std::string where;
            netfilter::append_text(where, entry);
            hazard.evidence.push_back({where, predict::sentence_of(entry, verdict, realtime_ns())});
            hazard.remedy = "`" + predict::delete_command(entry) + "`, and the same for others: " +
                            "`pathproof inspect stale` has them all.";
        }
        return netfilter::Next::kContinue;
    });
    if (!read) {
        findings.unread.push_back({"conntrack's table", read.error().message});
    }
    hazard.harm =
        stale == 0 ? "" : "entries that are older than the rules: " + std::to_string(stale);
    return hazard;
}

struct HazardOptions : CommonOptions {
    std::string leases = hazards::kLeases;
};

Result<int> run_hazards(const HazardOptions& options) {
    auto facts = TRY(hazards::read_facts(options.netns));
    facts.leases = TRY(hazards::read_leases(options.leases));
    Findings findings = hazards::find_hazards(facts);
    if (Hazard stale = stale_entries(options.netns, facts, findings); !stale.evidence.empty()) {
        // Counted harm stands first.
        findings.hazards.insert(findings.hazards.begin(), std::move(stale));
    }
    Output output;
    for (const Hazard& hazard : findings.hazards) {
        options.json ? put_json(output, json_of(hazard)) : put_text(output, hazard);
    }
    for (const auto& [what, why] : findings.unread) {
        if (options.json) {
            put_json(output, {{"unread", what}, {"why", why}});
        } else {
            output.line() +=
                fmt::format("not read: {}: {}\n", what, process::without_controls(why));
        }
    }
    const std::size_t found = findings.hazards.size();
    if (options.json) {
        put_json(
            output,
            {{"hazards", found}, {"unread", findings.unread.size()}, {"looked_for", known_ids()}});
    } else if (findings.unread.empty()) {
        output.line() += fmt::format("{} of {} known hazards found\n", found, known_ids().size());
    } else {
        output.line() += fmt::format(
            "{} known hazards found; there may be more, for not all could be read\n", found);
    }
    output.flush();
    const bool harms = std::ranges::any_of(findings.hazards, [](const Hazard& hazard) {
        return hazard.severe || !hazard.harm.empty();
    });
    if (harms) {
        return kFound;
    }
    return findings.unread.empty() ? kDone : kIncomplete;
}

}  // namespace

void add_hazards(CLI::App& inspect, Command& chosen) {
    CLI::App* app = inspect.add_subcommand("hazards",
                                           "Known failures that the rules, devices and sysctls of "
                                           "a host invite, with the rule that has "
                                           "them; reads only, changes nothing");
    const auto options = options_for<HazardOptions>(*app, chosen, run_hazards);
    add_common(*app, *options);
    app->add_option("--cni-leases", options->leases,
                    "folder in which the CNI plug-in host-local has its networks' leases")
        ->capture_default_str();
    app->footer(
        "Reads the rules of nftables and of both forms of iptables, IPv4 and IPv6, sysctls, "
        "devices, "
        "addresses and routes. Nothing is sent, loaded or changed.\n"
        "Ordered: harm that the kernel has counted, then what fails whenever it is used, then what "
        "may fail at times.\n"
        "Exit status: 0 none, or none but such as may fail at times; 1 harm was counted, or a "
        "severe "
        "one was found; 2 wrong usage; 3 neither, but something could not be read, which is "
        "named.");
}

}  // namespace pathproof::cli::inspect
