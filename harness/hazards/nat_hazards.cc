#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "dataplane/base/contains.h"
#include "harness/hazards/kinds.h"
#include "harness/setting/cures.h"

namespace pathproof::hazards {
namespace {

// The endpoints, of UDP, behind the targets of a rule.
void endpoints_behind(const Host& host, const Rule& rule, std::set<frame::IpAddress>& endpoints) {
    for (const std::string& target : rule.targets) {
        const Chain* chain = host.walker.find(rule, target);
        for (const Rule& each : chain == nullptr ? std::vector<Rule>() : chain->rules) {
            if (each.action == Action::kDnat && each.to && takes(each, "udp") &&
                has(each, Field::kProtocol, "udp")) {
                endpoints.insert(*each.to);
            }
        }
    }
}

bool is_untracked(const Host& host, const Packet& packet, const std::string& family) {
    const auto rules = host.walker.reachable(host.walker.bases("prerouting", family, "filter"));
    return std::ranges::any_of(rules, [&](const Rule* rule) {
        if (rule->action != Action::kNotrack) {
            return false;
        }
        // The rule alone, in a chain of its own: does it surely take the packet?
        Ruleset alone{.chains = {{.hook = "prerouting", .type = "filter", .rules = {*rule}}}};
        alone.chains[0].rules[0].action = Action::kDrop;
        const Ending ending = Walker(alone).walk(alone.chains[0], packet).front();
        return ending.kind == Ending::Kind::kDrop && ending.certain;
    });
}

// Returns whether packets that match one of the rules that lead to the chain are not tracked.
bool is_untracked(const Host& host, const Rule& drawing) {
    const auto [first, last] = host.arriving_to.equal_range(drawing.chain);
    for (auto each = first; each != last; ++each) {
        const Rule* rule = each->second;
        Packet packet = packet_of(*rule);
        packet.protocol = "udp";
        if (packet.destination && packet.destination_port &&
            is_untracked(host, packet, rule->family)) {
            return true;
        }
    }
    return false;
}

}  // namespace

Hazard plain_masquerade(Host& host) {
    Hazard hazard{
        .scenario = "snat-race",
        .what =
            "SNAT keeps a client's source port where it looks free: of two clients with one "
            "source port that start together, the entry that is inserted second is refused "
            "and its packet is lost.",
        .remedy = setting::cure("random-fully").quoted() +
                  " in these rules (nft: `masquerade fully-random`).",
        .side_effect =
            "where the server closes first, connects through a random port may take "
            "1, 2, 4 s (snat-timestamps); " +
            setting::cure("timestamps-2").text() + " avoids it"};
    bool is_cni = false;
    for (const Rule* rule : host.leaving) {
        if (is_masquerade(*rule) && !rule->random && (takes(*rule, "udp") || takes(*rule, "tcp"))) {
            hazard.evidence.push_back(evidence_of(*rule));
            is_cni |= rule->chain.starts_with("CNI-");
        }
    }
    if (is_cni) {
        hazard.remedy +=
            " What the plug-ins bridge and ptp (ipMasq) and portmap write has no "
            "such setting: \"ipMasq\": false and a rule of one's own.";
    }
    return hazard;
}

Hazard random_masquerade(Host& host) {
    const std::string timestamps = host.sysctl("net.ipv4.tcp_timestamps");
    Hazard hazard{
        .scenario = "snat-timestamps",
        .what = timestamps == "0"
                    ? "SNAT draws source ports, and TCP has no timestamps here: a SYN whose "
                      "sequence number was made for the port before NAT may meet a TIME_WAIT of "
                      "the port after it, and the connect takes 1, 2 or 4 s."
                    : "SNAT draws source ports, and TCP timestamps have an offset made for the "
                      "port before NAT: a SYN may meet a TIME_WAIT of the port after it with a "
                      "newer one, and the connect takes 1, 2 or 4 s.",
        .remedy =
            setting::cure("timestamps-2").text() +
            "; pods have the sysctl for themselves, and what was read here is this namespace's.",
        .side_effect =
            "timestamps then have no random offset: who receives them can tell how "
            "long the host is up. MASQUERADE without " +
            setting::cure("random-fully").brief + " is no remedy: it brings snat-race"};
    if (timestamps.empty() || timestamps == "2") {
        return {};
    }
    for (const Rule* rule : host.leaving) {
        if (is_masquerade(*rule) && rule->random && takes(*rule, "tcp")) {
            hazard.evidence.push_back(evidence_of(*rule));
        }
    }
    if (!hazard.evidence.empty()) {
        hazard.evidence.push_back({"sysctl net.ipv4.tcp_timestamps", timestamps});
    }
    return hazard;
}

Hazard drawn_udp(Host& host) {
    Hazard hazard{
        .scenario = "dns-race",
        .what =
            "A UDP service draws one of several endpoints for each packet that has no entry "
            "yet: A and AAAA that leave one socket together may be sent to two, and the "
            "answer of one is lost, or comes back untranslated after 1 s.",
        .remedy = setting::cure("single-request-reopen").quoted() +
                  " or `use-vc` in the clients' resolv.conf, or a "
                  "caching agent on the node whose address is not tracked (NOTRACK, as NodeLocal "
                  "DNSCache has it).",
        .side_effect =
            "single-request-reopen doubles the time of a lookup, musl knows none of "
            "these options, and with use-vc glibc waits without end for an answer that "
            "is lost; NOTRACK takes rules that ACCEPT what is not tracked"};
    std::set<const Chain*> chains;
    for (const Rule* rule : host.arriving) {
        const bool by_chance =
            rule->draws || std::ranges::any_of(rule->conditions, [](const Condition& each) {
                return each.field == Field::kRandom;
            });
        const bool jumps = rule->action == Action::kJump || rule->action == Action::kGoto;
        if (!by_chance || !jumps) {
            continue;
        }
        const Chain* chain = host.walker.find(*rule, rule->chain);
        std::set<frame::IpAddress> endpoints;
        endpoints_behind(host, *rule, endpoints);
        if (endpoints.empty() || !chains.insert(chain).second) {
            continue;
        }
        // In iptables each endpoint has a rule, and the last has no chance in it.
        for (const Rule& other : chain->rules) {
            endpoints_behind(host, other, endpoints);
        }
        if (endpoints.size() > 1 && !is_untracked(host, *rule)) {
            hazard.evidence.push_back(evidence_of(*rule));
        }
    }
    return hazard;
}

}  // namespace pathproof::hazards
