#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <string_view>

#include "dataplane/base/pattern.h"
#include "harness/compare/cells.h"
#include "harness/compare/compare.h"

namespace pathproof::compare {
namespace {

using namespace verdict;

// Names that a run makes up are not what differs.
std::string without_run_ids(const std::string& text) {
    static const Pattern made_up("pp-[0-9a-f]{4}-");
    return made_up.replace(text, "pp-RUN-");
}

std::string in_words(const Fact& fact) {
    switch (fact.status) {
        case Fact::Status::kRead: return without_run_ids(fact.value);
        case Fact::Status::kDenied: return "permission denied";
        case Fact::Status::kAbsent: break;
    }
    return "not there";
}

// Facts that differ between any two runs on one machine.
bool is_volatile(const Fact& fact) {
    constexpr std::array<std::string_view, 4> kVolatile = {"available", "free", "load",
                                                           "nf_conntrack_count"};
    return std::ranges::any_of(kVolatile, [&](std::string_view word) {
        return fact.name.find(word) != std::string::npos;
    });
}

// Facts of a device, the kernel, ... by their names.
using Facts = std::map<std::string, std::string>;
using Subjects = std::map<std::string, Facts>;

Subjects subjects_of(const RunResult& run) {
    Subjects subjects;
    for (const FactGroup& group : run.environment) {
        // "Profile veth against eth0: nothing missing": what it came to is a fact of it.
        const std::string title = without_run_ids(group.title);
        const std::size_t colon = title.find(": ");
        Facts& facts = subjects[title.substr(0, colon)];
        if (colon != std::string::npos) {
            facts["in short"] = title.substr(colon + 2);
        }
        for (const Fact& fact : group.facts) {
            if (!is_volatile(fact)) {
                facts[fact.name] = in_words(fact);
            }
        }
    }
    const auto of_run = [&](const std::string& what, const std::string& value) {
        subjects["Run"][what] = value;
    };
    of_run("command", run.repeat_command.substr(0, run.repeat_command.find(" --seed ")));
    of_run("lab", run.lab);
    of_run("profile", run.profile);
    of_run("pathproof", run.version);
    of_run("seed", std::to_string(run.seed));
    return subjects;
}

void compare_facts(const std::string& where, const Facts& was, const Facts& is,
                   std::vector<Difference>& found) {
    const auto value = [](const Facts& facts, const std::string& name) {
        const auto at = facts.find(name);
        return at == facts.end() ? std::string("not recorded") : at->second;
    };
    Facts all = was;
    all.insert(is.begin(), is.end());
    for (const auto& [name, either] : all) {
        if (const std::string old = value(was, name), present = value(is, name); old != present) {
            found.push_back({where, name, old, present});
        }
    }
}

// Differences that are likeliest to change how packets are carried come first.
std::size_t rank(const Difference& difference) {
    constexpr std::array<std::array<std::string_view, 2>, 6> kRanks = {{{"Kernel", ""},
                                                                        {"", "firmware"},
                                                                        {"", "driver"},
                                                                        {"device", ""},
                                                                        {"sysctl", ""},
                                                                        {"Software", ""}}};
    for (std::size_t at = 0; at < kRanks.size(); ++at) {
        if (difference.where.find(kRanks[at][0]) != std::string::npos &&
            difference.what.find(kRanks[at][1]) != std::string::npos) {
            return at;
        }
    }
    return difference.what == "seed" ? kRanks.size() + 1 : kRanks.size();
}

}  // namespace

std::vector<FactGroup> lasting_facts(const std::vector<FactGroup>& environment) {
    std::vector<FactGroup> lasting;
    for (const FactGroup& group : environment) {
        FactGroup& kept = lasting.emplace_back();
        kept.title = without_run_ids(group.title);
        for (const Fact& fact : group.facts) {
            if (!is_volatile(fact)) {
                kept.facts.push_back(fact);
                kept.facts.back().value = without_run_ids(fact.value);
            }
        }
    }
    return lasting;
}

std::vector<Difference> differences(const RunResult& before, const RunResult& now) {
    const Subjects was = subjects_of(before);
    const Subjects is = subjects_of(now);
    std::vector<Difference> found;
    Subjects all = was;
    all.insert(is.begin(), is.end());
    for (const auto& [where, either] : all) {
        const auto old = was.find(where);
        const auto present = is.find(where);
        if (old != was.end() && present != is.end()) {
            compare_facts(where, old->second, present->second, found);
        } else {
            // The device of a scenario that only one run has, say: one line, not one a feature.
            const auto count = [](const Subjects& subjects, auto at) {
                return at == subjects.end() ? std::string("none")
                                            : std::to_string(at->second.size());
            };
            found.push_back({where, "facts recorded", count(was, old), count(is, present)});
        }
    }
    for (const ScenarioResult& scenario : now.scenarios) {
        const ScenarioResult* old = scenario_of(before, scenario.id);
        if (old != nullptr && old->part != scenario.part) {
            const auto part = [](const std::string& cells) {
                return cells.empty() ? "all" : cells;
            };
            found.push_back(
                {"Run", "cells asked for of " + scenario.id, part(old->part), part(scenario.part)});
        }
    }
    std::ranges::stable_sort(found, {}, rank);
    return found;
}

}  // namespace pathproof::compare
