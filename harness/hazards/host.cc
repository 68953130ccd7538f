#include "harness/hazards/host.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "dataplane/base/contains.h"

namespace pathproof::hazards {

Host::Host(const Facts& of) : facts(of), walker(of.rules), unread(of.unread) {
    std::vector<const Chain*> left, arrived;
    for (const char* family : kFamilies) {
        std::ranges::copy(walker.bases("postrouting", family, "nat"), std::back_inserter(left));
        for (const char* hook : {"prerouting", "output"}) {
            std::ranges::copy(walker.bases(hook, family, "nat"), std::back_inserter(arrived));
        }
    }
    leaving = walker.reachable(left);
    arriving = walker.reachable(arrived);
    for (const Rule* rule : arriving) {
        for (const std::string& target : rule->targets) {
            arriving_to.emplace(target, rule);
        }
    }
}

std::string Host::sysctl(const std::string& name) const {
    const auto found = facts.sysctls.find(name);
    return found == facts.sysctls.end() ? "" : found->second;
}

const Device* Host::find_device(const std::string& name) const {
    const auto found = std::ranges::find(facts.devices, name, &Device::name);
    return found == facts.devices.end() ? nullptr : &*found;
}

std::vector<const Device*> Host::ports_of(const Device& bridge) const {
    std::vector<const Device*> ports;
    for (const Device& device : facts.devices) {
        if (device.master == bridge.name && device.kind == "veth") {
            ports.push_back(&device);
        }
    }
    return ports;
}

std::vector<const Rule*> Host::services_on(const Device& bridge) const {
    std::vector<const Rule*> rules;
    for (const Rule* rule : arriving) {
        if (rule->action == Action::kDnat && rule->to &&
            std::ranges::any_of(bridge.addresses, [&](const Address& own) {
                return own.network.contains(*rule->to);
            })) {
            rules.push_back(rule);
        }
    }
    return rules;
}

bool Host::filters_bridges(const Device& bridge, frame::Family family) const {
    const std::string value =
        sysctl(family == frame::Family::kIpv4 ? "net.bridge.bridge-nf-call-iptables"
                                              : "net.bridge.bridge-nf-call-ip6tables");
    return value == "1" || bridge.calls_iptables;
}

const Device* Host::below(const Device& tunnel) const {
    if (!tunnel.below.empty()) {
        return find_device(tunnel.below);
    }
    for (const Device& device : facts.devices) {
        for (const Address& own : device.addresses) {
            if (tunnel.local && own.address == *tunnel.local) {
                return &device;
            }
        }
    }
    return nullptr;
}

void Host::doubt(const std::string& what, const std::string& why) {
    const bool said = std::ranges::any_of(
        unread, [&](const Unread& each) { return each.what == what && each.why == why; });
    if (!said) {
        unread.push_back({what, why});
    }
}

bool is_masquerade(const Rule& rule) {
    return rule.action == Action::kMasquerade || rule.action == Action::kSnat;
}

bool has(const Rule& rule, Field field, const std::string& word) {
    return std::ranges::any_of(rule.conditions, [&](const Condition& condition) {
        return condition.field == field && !condition.negated && contains(condition.words, word);
    });
}

bool takes(const Rule& rule, const std::string& protocol) {
    return std::ranges::all_of(rule.conditions, [&](const Condition& condition) {
        return condition.field != Field::kProtocol ||
               contains(condition.words, protocol) != condition.negated;
    });
}

Packet packet_of(const Rule& rule) {
    Packet packet;
    for (const Condition& condition : rule.conditions) {
        if (condition.field == Field::kProtocol && !condition.negated &&
            condition.words.size() == 1) {
            packet.protocol = condition.words[0];
        } else if (condition.field == Field::kDestination && condition.addresses.size() == 1) {
            packet.destination = condition.addresses[0].first;
        } else if (condition.field == Field::kDestinationPort && condition.ports.size() == 1) {
            packet.destination_port = condition.ports[0].first;
        }
    }
    return packet;
}

Evidence evidence_of(const Rule& rule) {
    std::string place = rule.origin == Origin::kNftables && rule.handle != 0
                            ? fmt::format("handle {}", rule.handle)
                            : fmt::format("rule {}", rule.number);
    if (rule.origin == Origin::kIptablesNft && rule.handle != 0) {
        place += fmt::format(" (handle {})", rule.handle);
    }
    return {fmt::format("{} {} {}, {}, {}", rule.table, rule.chain, place, rule.family,
                        name(rule.origin)),
            rule.text};
}

Evidence evidence_of(const Chain& chain, std::string text) {
    return {fmt::format("{} {}, {}, {}", chain.table, chain.name, chain.family, name(chain.origin)),
            std::move(text)};
}

Evidence evidence_of(const Device& device, std::string text) {
    return {"device " + device.name, std::move(text)};
}

}  // namespace pathproof::hazards
