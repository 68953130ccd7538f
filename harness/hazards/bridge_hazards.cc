#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "harness/hazards/kinds.h"
#include "harness/setting/cures.h"

namespace pathproof::hazards {
namespace {

constexpr std::uint32_t kKubeMark = 0x4000;  // kube-proxy's for packets that are to be masqueraded

// Returns whether every packet from the endpoint's network to the endpoint leaves with another
// source, so that answers come back by way of the host.
bool is_masqueraded(const Host& host, const frame::IpAddress& endpoint,
                    const AddressRange& network) {
    const frame::IpAddress neighbour =
        network.first.plus(1) == endpoint ? network.first.plus(2) : network.first.plus(1);
    const char* family = endpoint.family == frame::Family::kIpv4 ? "ip" : "ip6";
    for (const Chain* base : host.walker.bases("postrouting", family, "nat")) {
        const auto endings =
            host.walker.walk(*base, {.source = neighbour, .destination = endpoint});
        if (std::ranges::all_of(
                endings, [](const Ending& ending) { return ending.kind == Ending::Kind::kNat; })) {
            return true;
        }
    }
    return false;
}

// Addresses of pods on this host: endpoints of services, and those that a rule of POSTROUTING
// names one by one.
std::set<frame::IpAddress> pods(const Host& host) {
    std::set<frame::IpAddress> addresses;
    for (const Rule* rule : host.arriving) {
        if (rule->action == Action::kDnat && rule->to) {
            addresses.insert(*rule->to);
        }
    }
    for (const Rule* rule : host.leaving) {
        for (const Condition& condition : rule->conditions) {
            if (condition.field == Field::kSource && !condition.negated &&
                condition.addresses.size() == 1 && condition.addresses[0].is_one_address()) {
                addresses.insert(condition.addresses[0].first);
            }
        }
    }
    return addresses;
}

bool masquerades_marked(const Host& host, const Chain& base) {
    const auto rules = host.walker.reachable({&base});
    return std::ranges::any_of(rules, [](const Rule* rule) {
        return is_masquerade(*rule) && rule->chain == "KUBE-POSTROUTING";
    });
}

}  // namespace

Hazard bridge_passes_by(Host& host) {
    Hazard hazard{
        .scenario = "bridge-unnat",
        .what =
            "Client and endpoint of a service are ports of one bridge that does not ask "
            "netfilter: the answer goes from port to port with the endpoint's own address, "
            "and the client does not take it.",
        .remedy = setting::cure("bridge-nf").told() + " (for IPv6 bridge-nf-call-ip6tables).",
        .side_effect =
            "what is bridged then passes the rules of iptables too, and a service "
            "that a pod reaches through itself takes hairpin mode of the bridge's "
            "ports",
        .severe = true};
    for (const Device& bridge : host.facts.devices) {
        if (bridge.kind != "bridge" || host.ports_of(bridge).size() < 2) {
            continue;
        }
        for (const Rule* rule : host.services_on(bridge)) {
            const auto own = std::ranges::find_if(bridge.addresses, [&](const Address& each) {
                return each.network.contains(*rule->to);
            });
            if (!host.filters_bridges(bridge, rule->to->family) &&
                !is_masqueraded(host, *rule->to, own->network)) {
                hazard.evidence.push_back(evidence_of(*rule));
            }
        }
        if (!hazard.evidence.empty()) {
            const std::string value = host.sysctl("net.bridge.bridge-nf-call-iptables");
            hazard.evidence.push_back(evidence_of(
                bridge,
                fmt::format(
                    "{} ports; net.bridge.bridge-nf-call-iptables {}", host.ports_of(bridge).size(),
                    value.empty() ? "is not there: br_netfilter is not loaded" : "is " + value)));
        }
    }
    return hazard;
}

Hazard hairpin_mode(Host& host) {
    Hazard hazard{
        .what =
            "Ports of a bridge do not send back where a packet came from, and the bridge asks "
            "netfilter: what a pod sends to a service that ends at itself is dropped there, "
            "without an entry of conntrack.",
        .remedy =
            "\"hairpinMode\": true of the plug-in bridge, or `bridge link set dev PORT "
            "hairpin on`.",
        .side_effect =
            "broadcasts and multicasts come back to who sent them; a pod with IPv6 "
            "may take its own neighbour solicitation for a duplicate address",
        .severe = true};
    for (const Device& bridge : host.facts.devices) {
        if (bridge.kind != "bridge" || bridge.promiscuous ||
            !host.filters_bridges(bridge, frame::Family::kIpv4) ||
            host.services_on(bridge).empty()) {
            continue;
        }
        for (const Device* port : host.ports_of(bridge)) {
            if (port->hairpin.has_value() && !*port->hairpin) {
                hazard.evidence.push_back(
                    evidence_of(*port, "hairpin off, a port of " + bridge.name));
            }
        }
    }
    return hazard;
}

Hazard accept_before_kube(Host& host) {
    Hazard hazard{
        .what =
            "A rule accepts what a pod sends to a service that ends at itself before "
            "kube-proxy's rule masquerades it: the pod gets packets from its own address and "
            "drops them.",
        .remedy =
            "kube-proxy's jump in front: `iptables -t nat -D POSTROUTING ... -j "
            "KUBE-POSTROUTING; iptables -t nat -I POSTROUTING ... -j KUBE-POSTROUTING` (a "
            "restart of kube-proxy does so where its jump is missing).",
        .side_effect =
            "none on other packets, for KUBE-POSTROUTING returns without its mark; it "
            "holds until something else is put in front",
        .severe = true};
    std::set<const Rule*> named;
    const auto addresses = pods(host);
    for (const char* family : kFamilies) {
        for (const Chain* base : host.walker.bases("postrouting", family, "nat")) {
            if (!masquerades_marked(host, *base)) {
                continue;
            }
            for (const frame::IpAddress& pod : addresses) {
                if ((pod.family == frame::Family::kIpv4) != (family == kFamilies[0])) {
                    continue;
                }
                for (const Ending& ending : host.walker.walk(
                         *base, {.source = pod, .destination = pod, .mark = kKubeMark})) {
                    if (ending.kind == Ending::Kind::kAccept && ending.rule != nullptr &&
                        ending.certain && named.insert(ending.rule).second) {
                        hazard.evidence.push_back(evidence_of(*ending.rule));
                    }
                }
            }
        }
    }
    return hazard;
}

}  // namespace pathproof::hazards
