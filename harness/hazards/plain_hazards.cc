// Hazards that need no race: what is set stands in its own way.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "dataplane/base/contains.h"
#include "dataplane/base/plural.h"
#include "harness/hazards/kinds.h"

namespace pathproof::hazards {
namespace {

std::string program_of(const Rule& rule) {
    return std::string(rule.family == "ip6" ? "ip6tables" : "iptables") +
           (rule.origin == Origin::kIptablesLegacy ? "-legacy" : "");
}

std::string removal_of(const Rule& rule) {
    return rule.origin == Origin::kNftables
               ? fmt::format("nft delete rule {} {} {} handle {}", rule.family, rule.table,
                             rule.chain, rule.handle)
               : fmt::format("{} -t {} -D {} {}", program_of(rule), rule.table, rule.chain,
                             rule.number);
}

// The packets that a DNAT rule is for, as far as the rules on the way to it say.
struct Service {
    std::optional<frame::IpAddress> destination;  // none: an address of the host
    std::string protocol;
    std::uint16_t port = 0;
    auto operator<=>(const Service&) const = default;
};

std::string text_of(const Service& service) {
    return fmt::format("{} {}:{}", service.protocol,
                       service.destination ? to_string(*service.destination) : "the host",
                       service.port);
}

std::optional<Service> service_of(const Ending& ending) {
    const Packet& packet = ending.packet;
    if (ending.kind != Ending::Kind::kNat || ending.rule == nullptr || !ending.rule->to ||
        packet.protocol.empty() || !packet.destination_port) {
        return std::nullopt;
    }
    return Service{packet.destination, packet.protocol, *packet.destination_port};
}

Packet packet_to(const Service& service) {
    Packet packet{.destination = service.destination, .protocol = service.protocol};
    packet.destination_port = service.port;
    packet.to_local = !service.destination.has_value();
    packet.state = "new";
    return packet;
}

// Services with the rule that surely takes them in one base chain; those that chance decides have none.
std::map<Service, const Rule*> services_of(const Host& host, const Chain& base,
                                           std::vector<std::pair<Service, const Rule*>>& all) {
    std::map<Service, const Rule*> taken;
    for (const Ending& ending : host.walker.walk(base, {})) {
        if (const auto service = service_of(ending); service) {
            all.emplace_back(*service, ending.rule);
            taken.emplace(*service, nullptr);
        }
    }
    for (auto& [service, rule] : taken) {
        const auto endings = host.walker.walk(base, packet_to(service));
        const bool decided =
            endings.size() == 1 && endings[0].certain && endings[0].kind == Ending::Kind::kNat;
        rule = decided ? endings[0].rule : nullptr;
    }
    return taken;
}

const NeighbourEntry* missing_neighbour(const Host& host, const frame::IpAddress& address) {
    const auto found = std::ranges::find_if(host.facts.neighbours, [&](const auto& each) {
        return each.address == address && (each.state == "FAILED" || each.state == "INCOMPLETE");
    });
    return found == host.facts.neighbours.end() ? nullptr : &*found;
}

}  // namespace

Hazard forward_dropped(Host& host) {
    Hazard hazard{
        .what =
            "What pods send beyond this host is dropped on its way through: no rule accepts it.",
        .side_effect = "what these rules kept away from the pods passes too",
        .severe = true};
    const bool forwards = host.sysctl("net.ipv4.ip_forward") != "0";
    std::uint64_t packets = 0;
    for (const Device& bridge : host.facts.devices) {
        const bool has_pods = bridge.kind == "bridge" && !host.ports_of(bridge).empty();
        for (const Address& own : has_pods&& forwards ? bridge.addresses : std::vector<Address>()) {
            if (own.address.family != frame::Family::kIpv4) {
                continue;
            }
            const frame::IpAddress pod =
                own.network.first.plus(own.network.first.plus(1) == own.address ? 2 : 1);
            for (const Chain* base : host.walker.bases("forward", "ip", "filter")) {
                Packet packet{.source = pod, .protocol = "udp", .in = bridge.name};
                packet.state = "new";
                packet.to_local = false;
                const auto endings = host.walker.walk(*base, packet);
                const bool drops = std::ranges::all_of(endings, [](const Ending& ending) {
                    return ending.kind == Ending::Kind::kDrop;
                });
                if (!drops) {
                    continue;
                }
                const Rule* by = endings.front().rule;
                const std::uint64_t counted =
                    by == nullptr ? base->packets : by->packets.value_or(0);
                packets += counted;
                hazard.evidence.push_back(
                    by != nullptr
                        ? evidence_of(*by)
                        : evidence_of(*base,
                                      fmt::format("policy DROP, {} so far, and no rule accepts "
                                                  "what comes from {} ({})",
                                                  plural(counted, "packet"), bridge.name,
                                                  to_string(own.network.first))));
                const char* const form =
                    base->origin == Origin::kNftables
                        ? "`nft insert rule {0} {1} {2} iifname {3} accept; nft insert rule {0} "
                          "{1} "
                          "{2} oifname {3} accept`."
                        : "`iptables{4} -I {2} -i {3} -j ACCEPT; iptables{4} -I {2} -o {3} -j "
                          "ACCEPT`.";
                hazard.remedy = fmt::format(
                    fmt::runtime(form), base->family, base->table, base->name, bridge.name,
                    base->origin == Origin::kIptablesLegacy ? "-legacy" : "");
            }
        }
    }
    hazard.harm = packets == 0 ? "" : "dropped so far: " + plural(packets, "packet");
    return hazard;
}

Hazard two_forms(Host& host) {
    Hazard hazard{
        .what =
            "Two sets of rules translate the same packets, one by iptables-legacy and one by "
            "nf_tables: only the set whose hook was registered first is met.",
        .side_effect = "what only the removed rules did is gone",
        .severe = true};
    std::map<Service, std::vector<const Rule*>> legacy, other;
    for (const char* family : kFamilies) {
        for (const Chain* base : host.walker.bases("prerouting", family, "nat")) {
            std::vector<std::pair<Service, const Rule*>> all;
            services_of(host, *base, all);
            for (const auto& [service, rule] : all) {
                (base->origin == Origin::kIptablesLegacy ? legacy : other)[service].push_back(rule);
            }
        }
    }
    std::uint64_t counted = 0;
    for (const auto& [service, rules] : legacy) {
        const auto found = other.find(service);
        if (found == other.end()) {
            continue;
        }
        const bool differs = std::ranges::any_of(rules, [&](const Rule* rule) {
            return std::ranges::none_of(found->second,
                                        [&](const Rule* each) { return each->to == rule->to; });
        });
        if (!differs) {
            continue;
        }
        for (const Rule* rule : rules) {
            hazard.evidence.push_back(evidence_of(*rule));
            counted += rule->packets.value_or(0);
        }
        for (const Rule* rule : found->second) {
            hazard.evidence.push_back(evidence_of(*rule));
        }
    }
    if (counted != 0) {
        hazard.harm = fmt::format("the legacy rules have taken {}", plural(counted, "flow"));
    }
    hazard.remedy =
        "the form that nobody writes any more: `iptables-legacy -t nat -F` (and -X), after "
        "`iptables-legacy-save` was kept.";
    return hazard;
}

Hazard shadowed_dnat(Host& host) {
    Hazard hazard{
        .what = "Two rules send the same packets to different places: the second is never met.",
        .side_effect = "none on other packets",
        .severe = true};
    std::uint64_t counted = 0;
    for (const char* family : kFamilies) {
        for (const Chain* base : host.walker.bases("prerouting", family, "nat")) {
            std::vector<std::pair<Service, const Rule*>> all;
            const auto taken = services_of(host, *base, all);
            std::set<std::pair<const Rule*, const Rule*>> told;
            for (const auto& [service, rule] : all) {
                const Rule* first = taken.at(service);
                if (first == nullptr || first == rule || first->to == rule->to ||
                    !told.insert({first, rule}).second) {
                    continue;
                }
                Evidence met = evidence_of(*first), hidden = evidence_of(*rule);
                met.text += fmt::format("  (takes {})", text_of(service));
                hidden.text += "  (never met)";
                hazard.evidence.push_back(std::move(met));
                hazard.evidence.push_back(std::move(hidden));
                hazard.remedy = "the rule that is left over: `" + removal_of(*first) + "`.";
                counted +=
                    missing_neighbour(host, *first->to) != nullptr ? first->packets.value_or(1) : 0;
            }
        }
    }
    if (counted != 0) {
        hazard.harm =
            fmt::format("{} went to an address where nobody answers", plural(counted, "flow"));
    }
    return hazard;
}

Hazard dead_dnat(Host& host) {
    Hazard hazard{.what =
                      "A rule sends packets to an address of a network of this host where nobody "
                      "answers.",
                  .side_effect = "the service is refused instead of waited for",
                  .severe = true};
    std::uint64_t counted = 0;
    for (const Rule* rule : host.arriving) {
        const NeighbourEntry* neighbour = rule->action == Action::kDnat && rule->to
                                              ? missing_neighbour(host, *rule->to)
                                              : nullptr;
        if (neighbour == nullptr) {
            continue;
        }
        hazard.evidence.push_back(evidence_of(*rule));
        hazard.evidence.push_back(
            {"neighbour " + to_string(neighbour->address) + " on " + neighbour->device,
             neighbour->state});
        hazard.remedy = "`" + removal_of(*rule) + "`, or who was to answer.";
        counted += rule->packets.value_or(0);
    }
    if (counted != 0) {
        hazard.harm = "sent there so far: " + plural(counted, "flow");
    }
    return hazard;
}

Hazard bridge_mac(Host& host) {
    Hazard hazard{
        .what =
            "A bridge has no MAC of its own but a port's: when that container goes, the bridge "
            "takes another, and its neighbours send to the old one until their entries are "
            "renewed.",
        .side_effect = "neighbours learn the address anew, once"};
    for (const Device& bridge : host.facts.devices) {
        if (bridge.kind != "bridge" || bridge.mac.empty() || bridge.addresses.empty()) {
            continue;
        }
        for (const Device* port : host.ports_of(bridge)) {
            if (port->mac == bridge.mac) {
                hazard.evidence.push_back(evidence_of(
                    bridge, fmt::format("{}, that of its port {}", bridge.mac, port->name)));
                hazard.remedy = fmt::format("`ip link set {} address {}` (it stays then).",
                                            bridge.name, bridge.mac);
            }
        }
    }
    return hazard;
}

Hazard lost_ra_route(Host& host) {
    Hazard hazard{
        .what =
            "The device has learned its addresses by router advertisement, and takes none since "
            "forwarding is on: its default route goes, or is gone.",
        .side_effect = "the host believes routers although it is one",
        .severe = true};
    for (const Device& device : host.facts.devices) {
        const std::string prefix = "net.ipv6.conf." + device.name;
        if (!device.has_learned_address || host.sysctl(prefix + ".accept_ra") != "1" ||
            host.sysctl(prefix + ".forwarding") != "1") {
            continue;
        }
        hazard.evidence.push_back(
            {"sysctl " + prefix + ".accept_ra", "1, and " + prefix + ".forwarding is 1"});
        hazard.remedy = fmt::format("`sysctl -w {}.accept_ra=2`.", prefix);
    }
    return hazard;
}

Hazard missing_helper(Host& host) {
    Hazard hazard{
        .what =
            "A protocol answers by another flow than it was asked by, packets are translated, and "
            "no rule gives the flow its helper (the kernel has assigned none by itself since "
            "Linux 6.0): the answers are not let back.",
        .side_effect = "the helper opens a way in for what the packet's text asks for"};
    if (host.leaving.empty() || host.sysctl("net.netfilter.nf_conntrack_helper") == "1") {
        return {};
    }
    for (const HelpedProtocol& protocol : kHelped) {
        const auto unanswered = host.facts.unanswered.find(protocol.name);
        const bool helped = std::ranges::any_of(host.facts.rules.chains, [&](const Chain& chain) {
            return std::ranges::any_of(chain.rules, [&](const Rule& rule) {
                return rule.text.find("helper") != std::string::npos &&
                       rule.text.find(protocol.name) != std::string::npos;
            });
        });
        if (helped || unanswered == host.facts.unanswered.end()) {
            continue;
        }
        const char* words = protocol.protocol == 17 ? "udp" : "tcp";
        hazard.evidence.push_back(
            {"conntrack", fmt::format("{} entries of {} port {} without an answer",
                                      unanswered->second, words, protocol.port)});
        hazard.harm = plural(unanswered->second, "flow") + " without an answer";
        hazard.remedy =
            fmt::format("`iptables -t raw -A PREROUTING -p {} --dport {} -j CT --helper {}`.",
                        words, protocol.port, protocol.name);
    }
    return hazard;
}

Hazard unmirrored_zone(Host& host) {
    Hazard hazard{
        .what =
            "A rule puts what is asked into a zone of conntrack, and no rule puts the answers "
            "there: each leaves an entry without an answer and another for the answer.",
        .side_effect = "none on other packets",
        .severe = true};
    const auto zone_of = [](const Rule& rule) -> std::optional<std::uint16_t> {
        for (const Effect& effect : rule.effects) {
            if (effect.kind == Effect::Kind::kZone) {
                return effect.zone;
            }
        }
        return std::nullopt;
    };
    for (const char* family : kFamilies) {
        for (const auto& [asked, answered] : {std::pair{"output", "prerouting"}}) {
            const auto mirrors =
                host.walker.reachable(host.walker.bases(answered, family, "filter"));
            for (const Rule* rule :
                 host.walker.reachable(host.walker.bases(asked, family, "filter"))) {
                const auto zone = zone_of(*rule);
                const Packet query = packet_of(*rule);
                if (!zone || *zone == 0 || !query.destination) {
                    continue;
                }
                Packet answer{.source = query.destination, .protocol = query.protocol};
                answer.source_port = query.destination_port;
                // A place that no rule of a service names, for what the answer is sent to.
                answer.destination = query.destination->plus(1);
                answer.destination_port = 1;
                const bool mirrored = std::ranges::any_of(mirrors, [&](const Rule* each) {
                    if (zone_of(*each) != zone) {
                        return false;
                    }
                    Ruleset alone{
                        .chains = {{.hook = "prerouting", .type = "filter", .rules = {*each}}}};
                    alone.chains[0].rules[0].action = Action::kDrop;
                    return Walker(alone).walk(alone.chains[0], answer).front().kind ==
                           Ending::Kind::kDrop;
                });
                if (!mirrored) {
                    hazard.evidence.push_back(evidence_of(*rule));
                    hazard.remedy = fmt::format(
                        "a rule for the answers: `iptables -t raw -A PREROUTING -s {} -p {}{} -j "
                        "CT "
                        "--zone {}`.",
                        to_string(*query.destination),
                        query.protocol.empty() ? "all" : query.protocol,
                        query.destination_port ? fmt::format(" --sport {}", *query.destination_port)
                                               : "",
                        *zone);
                }
            }
        }
    }
    return hazard;
}

Hazard whole_mark(Host& host) {
    Hazard hazard{
        .what =
            "A rule writes all bits of a packet's mark, and another asks for one bit: what "
            "was set before is lost.",
        .remedy =
            "a mask in the rule that writes: `-j MARK --set-xmark VALUE/VALUE` (nft: "
            "`meta mark set meta mark or VALUE`).",
        .side_effect = "bits that the rule cleared by the way stay set"};
    for (const char* family : kFamilies) {
        std::vector<const Rule*> rules;
        for (const char* hook : {"prerouting", "output"}) {
            for (const char* type : {"filter", "nat", "route"}) {
                const auto more = host.walker.reachable(host.walker.bases(hook, family, type));
                rules.insert(rules.end(), more.begin(), more.end());
            }
        }
        const auto writes = [](const Rule* rule) {
            return std::ranges::any_of(rule->effects, [](const Effect& effect) {
                return effect.kind == Effect::Kind::kMark && effect.cleared == 0xffffffff &&
                       effect.flipped != 0;
            });
        };
        const auto asks = [](const Rule* rule) {
            return std::ranges::any_of(rule->conditions, [](const Condition& condition) {
                return condition.field == Field::kMark && condition.mask != 0xffffffff;
            });
        };
        const auto all = host.walker.reachable([&] {
            std::vector<const Chain*> bases;
            for (const char* hook : {"prerouting", "forward", "postrouting", "output"}) {
                for (const char* type : {"filter", "nat"}) {
                    const auto more = host.walker.bases(hook, family, type);
                    bases.insert(bases.end(), more.begin(), more.end());
                }
            }
            return bases;
        }());
        const auto writer = std::ranges::find_if(rules, writes);
        const auto reader = std::ranges::find_if(all, asks);
        if (writer != rules.end() && reader != all.end()) {
            hazard.evidence.push_back(evidence_of(**writer));
            hazard.evidence.push_back(evidence_of(**reader));
        }
    }
    return hazard;
}

}  // namespace pathproof::hazards
