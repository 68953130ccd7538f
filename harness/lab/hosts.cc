#include "harness/lab/hosts.h"

#include <algorithm>
#include <cassert>
#include <functional>

#include "harness/process/at_once.h"

namespace pathproof::lab {
namespace {

using agent::HostChange;

const HostChange* find(const std::vector<HostChange>& changes, const HostChange& thing) {
    const auto found = std::ranges::find_if(
        changes, [&](const HostChange& change) { return setting::same_thing(change, thing); });
    return found == changes.end() ? nullptr : &*found;
}

// The steps from what is set to what is wanted: the last of what goes is taken back first. `anew`: what is made or set
// again although it is there.
std::vector<HostChange> steps(const std::vector<HostChange>& set,
                              const std::vector<HostChange>& wanted,
                              const std::function<bool(const HostChange&)>& anew) {
    std::vector<HostChange> all;
    for (auto change = set.rbegin(); change != set.rend(); ++change) {
        const HostChange* again = find(wanted, *change);
        const bool made_anew = change->kind == HostChange::Kind::kIp && again != nullptr &&
                               (again->value != change->value || anew(*change));
        if (again == nullptr || made_anew) {
            all.push_back(setting::taken_back(*change));
        }
    }
    for (const HostChange& change : wanted) {
        const HostChange* there = find(set, change);
        // Rules are loaded again: they count from 0.
        if (there == nullptr || *there != change || change.kind == HostChange::Kind::kRules ||
            anew(change)) {
            all.push_back(change);
        }
    }
    return all;
}

}  // namespace

Status Hosts::add(const std::vector<HostRole>& roles, const std::string& netns, Tables tables) {
    add(roles, TRY(agent::Client::start_in_netns(netns)), tables);
    return {};
}

void Hosts::add(const std::vector<HostRole>& roles, std::shared_ptr<agent::Client> agent,
                Tables tables) {
    auto own = std::make_unique<DutAgent>(std::move(agent));
    DutAgent* const started = own.get();
    hosts_.push_back({roles, tables, std::move(own), started});
}

void Hosts::add(const std::vector<HostRole>& roles, DutAgent& agent, Tables tables) {
    hosts_.push_back({roles, tables, nullptr, &agent});
}

void Hosts::end() {
    for (const Host& host : hosts_) {
        if (host.own == nullptr) {
            host.agent->put_back();
        }
    }
    hosts_.clear();
}

const Hosts::Host& Hosts::host(HostRole role) const {
    const auto found = std::ranges::find_if(
        hosts_, [&](const Host& each) { return std::ranges::count(each.roles, role) != 0; });
    assert(found != hosts_.end());
    return *found;
}

agent::Client& Hosts::agent(HostRole role) const {
    return *host(role).agent->agent();
}

std::shared_ptr<agent::Client> Hosts::shared_agent(HostRole role) const {
    return host(role).agent->agent();
}

void Hosts::call(const setting::Names& names) {
    names_ = names;
}

Status Hosts::keep(const Settings& settings) {
    kept_ = both(std::move(kept_), settings);
    return set({}, Flows::kKeep);
}

Status Hosts::leave() {
    for (const Host& host : hosts_) {
        TRY(host.own != nullptr ? host.agent->agent()->leave() : Status());
    }
    return {};
}

Status Hosts::set(const Settings& settings, Flows flows, Links links) {
    const Settings all = both(kept_, settings);
    std::vector<Host*> hosts;
    for (Host& host : hosts_) {
        hosts.push_back(&host);
    }
    return process::at_once(hosts, [&](Host* host) { return set_on(*host, all, flows, links); });
}

Status Hosts::set_on(Host& host, const Settings& settings, Flows flows, Links links) const {
    std::vector<HostChange> wanted = setting::merged(settings, host.roles, names_);
    for (HostChange& change : wanted) {
        if (change.kind == HostChange::Kind::kRules && host.tables == Tables::kOthers) {
            change.allowed = HostChange::Allowed::kIsThere;
        }
    }
    const std::vector<HostChange> none;
    const std::vector<HostChange> kept =
        links == Links::kAnew ? setting::merged(kept_, host.roles, names_) : none;
    const auto anew = [&](const HostChange& change) {
        const bool is_of_device =
            change.kind == HostChange::Kind::kIp || change.kind == HostChange::Kind::kFeature;
        return links == Links::kAnew && is_of_device && find(kept, change) == nullptr;
    };
    agent::Client& agent = *host.agent->agent();
    std::vector<HostChange> changes = steps(host.set, host.is_unsure ? none : wanted, anew);
    if (host.is_unsure) {
        changes.insert(changes.end(), wanted.begin(), wanted.end());
    }
    const Status applied = changes.empty() ? Status() : agent.apply(changes);
    host.is_unsure = !applied;
    if (!applied) {
        for (const HostChange& change : wanted) {
            if (find(host.set, change) == nullptr) {
                host.set.push_back(change);
            }
        }
        return applied;
    }
    host.set = std::move(wanted);
    if (flows == Flows::kForget && std::ranges::count(host.roles, HostRole::kDut) != 0) {
        TRY(agent.conntrack_flush());
    }
    return {};
}

Result<std::string> Hosts::lacks(const Settings& settings) const {
    for (const setting::Setting& setting : settings) {
        if (!setting.needs.probe.empty()) {
            std::string missing = TRY(agent(setting.host).lacks(setting.needs));
            if (!missing.empty()) {
                return missing;
            }
        }
    }
    return std::string();
}

}  // namespace pathproof::lab
