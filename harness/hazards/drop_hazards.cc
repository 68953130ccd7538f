#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>

#include "dataplane/base/contains.h"
#include "dataplane/base/plural.h"
#include "harness/hazards/kinds.h"
#include "harness/setting/cures.h"

namespace pathproof::hazards {
namespace {

// Returns whether the forward hook drops INVALID packets without any other condition.
bool drops_invalid(const Host& host, const std::string& family) {
    const auto rules = host.walker.reachable(host.walker.bases("forward", family, "filter"));
    return std::ranges::any_of(rules, [](const Rule* rule) {
        return rule->action == Action::kDrop && rule->conditions.size() == 1 &&
               has(*rule, Field::kState, "invalid");
    });
}

unsigned reverse_path(const Host& host, const std::string& device) {
    const auto value = [&](const std::string& name) {
        return static_cast<unsigned>(
            std::atoi(host.sysctl("net.ipv4.conf." + name + ".rp_filter").c_str()));
    };
    return std::max(value("all"), value(device));  // ip-sysctl: the larger of both holds
}

bool is_local(const Host& host, const frame::IpAddress& address) {
    return std::ranges::any_of(host.facts.devices, [&](const Device& device) {
        return std::ranges::any_of(device.addresses,
                                   [&](const Address& own) { return own.address == address; });
    });
}

// Returns whether the rule's packets, if untracked, always end in a drop; adds where as evidence.
bool drops_untracked(const Host& host, const Rule& rule, const char* family, Hazard& hazard) {
    Packet packet = packet_of(rule);
    packet.state = "untracked";
    const bool stays = !packet.destination || is_local(host, *packet.destination);
    packet.to_local = stays;
    for (const Chain* base : host.walker.bases(stays ? "input" : "forward", family, "filter")) {
        const auto endings = host.walker.walk(*base, packet);
        if (std::ranges::all_of(
                endings, [](const Ending& ending) { return ending.kind == Ending::Kind::kDrop; })) {
            const Rule* by = endings.front().rule;
            hazard.evidence.push_back(by != nullptr ? evidence_of(*by)
                                                    : evidence_of(*base,
                                                                  "policy DROP, and no rule before "
                                                                  "accepts what is not tracked"));
            return true;
        }
    }
    return false;
}

}  // namespace

Hazard invalid_forwarded(Host& host) {
    Hazard hazard{
        .scenario = "invalid-rst",
        .what =
            "A segment that conntrack calls INVALID is forwarded untranslated; the client's "
            "RST to it ends the connection.",
        .remedy =
            "`iptables -I KUBE-FORWARD -m conntrack --ctstate INVALID -j DROP`, as "
            "kube-proxy has it since 1.15, or " +
            setting::cure("be-liberal").quoted() + ".",
        .side_effect =
            "the rule cuts connections of which this host sees one direction only; the sysctl lets "
            "segments outside the window pass, forged ones too"};
    if (host.sysctl(setting::kBeLiberal) == "1") {
        return {};
    }
    for (const char* family : kFamilies) {
        for (const Chain* base : host.walker.bases("forward", family, "filter")) {
            const bool is_own = base->table == "kube-proxy" && base->family == family;
            const Chain* kube = is_own ? base : nullptr;
            for (const Rule* rule : host.walker.reachable({base})) {
                for (const std::string& target : rule->targets) {
                    kube = target == "KUBE-FORWARD" ? host.walker.find(*rule, target) : kube;
                }
            }
            if (kube != nullptr && !drops_invalid(host, family)) {
                hazard.evidence.push_back(
                    evidence_of(*kube, "no rule drops what conntrack calls INVALID"));
            }
        }
    }
    return hazard;
}

Hazard strict_reverse_path(Host& host) {
    Hazard hazard{.what =
                      "The reverse path filter is strict on devices where answers may come in by "
                      "another way than packets go out: they are dropped without a word.",
                  .side_effect = "forged sources that have a route by any device pass"};
    const auto counted = host.facts.counters.find("TcpExt.IPReversePathFilter");
    const std::uint64_t dropped = counted == host.facts.counters.end() ? 0 : counted->second;
    // Rules that ask for addresses of this host lead its own answers back the way they were asked by.
    const bool only_own_sources =
        !host.facts.rule_sources.empty() &&
        host.facts.rule_sources.size() == host.facts.routing_rules &&
        std::ranges::all_of(host.facts.rule_sources, [&](const AddressRange& range) {
            return range.is_one_address() && is_local(host, range.first);
        });
    if (dropped == 0 && only_own_sources) {
        return {};
    }
    std::map<std::pair<frame::IpAddress, frame::IpAddress>, std::vector<std::string>> ways;
    for (const Route& route : host.facts.routes) {
        if (route.to.first.family != frame::Family::kIpv4 ||
            (route.table != "main" && host.facts.routing_rules == 0)) {
            continue;
        }
        auto& devices = ways[{route.to.first, route.to.last}];
        for (const std::string& device : route.devices) {
            if (!contains(devices, device)) {
                devices.push_back(device);
            }
        }
    }
    std::set<std::string> candidates, accused;
    for (const auto& [to, devices] : ways) {
        if (devices.size() > 1) {
            candidates.insert(devices.begin(), devices.end());
        }
    }
    for (const std::string& device : candidates) {
        if (reverse_path(host, device) != 1) {
            continue;
        }
        for (const auto& [to, devices] : ways) {
            if (devices.size() > 1 && contains(devices, device)) {
                accused.insert(device);
                const std::string others = fmt::format("{}", fmt::join(devices, ", "));
                hazard.evidence.push_back(
                    {"sysctl net.ipv4.conf." + device + ".rp_filter",
                     fmt::format("1 (the larger of {} and all), and packets to {}{} go by {}",
                                 device, to_string(to.first),
                                 to.first == to.second ? "" : "-" + to_string(to.second), others)});
            }
        }
    }
    if (!hazard.evidence.empty() && dropped != 0) {
        hazard.harm = fmt::format("dropped so far: {} (TcpExt.IPReversePathFilter)",
                                  plural(dropped, "packet"));
        hazard.evidence.push_back({"counter TcpExt.IPReversePathFilter",
                                   fmt::format("{} packets dropped so far", dropped)});
    }
    std::string remedies;
    for (const std::string& device : accused) {
        remedies +=
            fmt::format("{}net.ipv4.conf.{}.rp_filter=2", remedies.empty() ? "" : " ", device);
    }
    hazard.remedy = "`sysctl -w " + remedies + "` (loose).";
    return hazard;
}

Hazard untracked_dropped(Host& host) {
    Hazard hazard{
        .what =
            "Packets that a rule takes out of conntrack are dropped later, for they belong to "
            "no connection that a rule could accept.",
        .remedy =
            "rules in front that ACCEPT the same packets by address and port, in INPUT and "
            "OUTPUT.",
        .side_effect = "they are accepted whoever sent them: there is no state to ask",
        .severe = true};
    for (const char* family : kFamilies) {
        for (const Chain* raw : host.walker.bases("prerouting", family, "filter")) {
            for (const Rule* rule : host.walker.reachable({raw})) {
                if (rule->action == Action::kNotrack &&
                    drops_untracked(host, *rule, family, hazard)) {
                    hazard.evidence.push_back(evidence_of(*rule));
                }
            }
        }
    }
    return hazard;
}

}  // namespace pathproof::hazards
