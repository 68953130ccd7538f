#include "harness/hazards/hazards.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <set>
#include <unordered_set>

#include "harness/hazards/walk.h"

namespace pathproof::hazards {
namespace {

constexpr std::uint32_t kKubeMark = 0x4000;  // kube-proxy's for packets that are to be masqueraded
constexpr const char* kFamilies[] = {"ip", "ip6"};

// What a tunnel adds to a packet, with an outer header of IPv4: RFC 7348 section 5 (vxlan), RFC 2784
// (gre), RFC 2003 (ipip).
struct Overhead {
    const char* kind;
    std::uint32_t bytes;
};
constexpr Overhead kOverheads[] = {
    {"vxlan", 50}, {"geneve", 50}, {"gre", 24}, {"ipip", 20}, {"wireguard", 0}};
constexpr std::uint32_t kMoreOfIpv6 = 20;

bool is_masquerade(const Rule& rule) {
    return rule.action == Action::kMasquerade || rule.action == Action::kSnat;
}

bool has(const Rule& rule, Field field, const std::string& word) {
    return std::ranges::any_of(rule.conditions, [&](const Condition& condition) {
        return condition.field == field && !condition.negated &&
               std::ranges::find(condition.words, word) != condition.words.end();
    });
}

// Whether its conditions let packets of the protocol meet it.
bool takes(const Rule& rule, const std::string& protocol) {
    return std::ranges::all_of(rule.conditions, [&](const Condition& condition) {
        return condition.field != Field::kProtocol ||
               (std::ranges::find(condition.words, protocol) != condition.words.end()) !=
                   condition.negated;
    });
}

Evidence evidence_of(const Rule& rule) {
    return {fmt::format("{} {} {}, {}, {}", rule.table, rule.chain,
                        rule.handle != 0 ? fmt::format("handle {}", rule.handle)
                                         : fmt::format("rule {}", rule.number),
                        rule.family, name(rule.origin)),
            rule.text};
}

Evidence evidence_of(const Chain& chain, std::string text) {
    return {fmt::format("{} {}, {}, {}", chain.table, chain.name, chain.family, name(chain.origin)),
            std::move(text)};
}

Evidence evidence_of(const Device& device, std::string text) {
    return {"device " + device.name, std::move(text)};
}

class Search {
  public:
    explicit Search(const Facts& facts) : facts_(facts), walker_(facts.rules) {
        findings_.unread = facts.unread;
        std::unordered_set<const Rule*> left, arrived;
        for (const char* family : kFamilies) {
            for (const Chain* base : walker_.bases("postrouting", family, "nat")) {
                add_reachable(*base, leaving_, left);
            }
            for (const char* hook : {"prerouting", "output"}) {
                for (const Chain* base : walker_.bases(hook, family, "nat")) {
                    add_reachable(*base, arriving_, arrived);
                }
            }
        }
    }

    Findings find() {
        plain_masquerade();
        random_masquerade();
        invalid_forwarded();
        bridge_passes_by();
        tunnel_mtu();
        strict_reverse_path();
        outer_nat();
        accept_before_kube();
        hairpin_mode();
        drawn_udp();
        untracked_dropped();
        return std::move(findings_);
    }

  private:
    void add_reachable(const Chain& base, std::vector<const Rule*>& rules,
                       std::unordered_set<const Rule*>& seen) {
        for (const Rule* rule : walker_.reachable(base)) {
            if (seen.insert(rule).second) {
                rules.push_back(rule);
            }
        }
    }

    void add(Hazard hazard) {
        if (!hazard.evidence.empty()) {
            findings_.hazards.push_back(std::move(hazard));
        }
    }

    void doubt(const std::string& what, const std::string& why) {
        const bool said = std::ranges::any_of(findings_.unread, [&](const Unread& unread) {
            return unread.what == what && unread.why == why;
        });
        if (!said) {
            findings_.unread.push_back({what, why});
        }
    }

    std::string sysctl(const std::string& name) const {
        const auto found = facts_.sysctls.find(name);
        return found == facts_.sysctls.end() ? "" : found->second;
    }

    void plain_masquerade() {
        Hazard hazard{
            .id = "snat-race",
            .scenario = "snat-race",
            .what =
                "SNAT keeps a client's source port where it looks free: of two clients with one "
                "source port that start together, the entry that is inserted second is refused "
                "and its packet is lost.",
            .remedy =
                "`-j MASQUERADE --random-fully` in these rules (nft: `masquerade "
                "fully-random`).",
            .side_effect =
                "where the server closes first, connects through a random port may take "
                "1, 2, 4 s (snat-timestamps); `sysctl -w net.ipv4.tcp_timestamps=2` on "
                "the clients avoids it"};
        bool is_cni = false;
        for (const Rule* rule : leaving_) {
            if (is_masquerade(*rule) && !rule->random &&
                (takes(*rule, "udp") || takes(*rule, "tcp"))) {
                hazard.evidence.push_back(evidence_of(*rule));
                is_cni |= rule->chain.starts_with("CNI-");
            }
        }
        if (is_cni) {
            hazard.remedy +=
                " What the plug-ins bridge and ptp (ipMasq) and portmap write has no "
                "such setting: \"ipMasq\": false and a rule of one's own.";
        }
        add(std::move(hazard));
    }

    void random_masquerade() {
        const std::string timestamps = sysctl("net.ipv4.tcp_timestamps");
        Hazard hazard{
            .id = "snat-timestamps",
            .scenario = "snat-timestamps",
            .what =
                timestamps == "0"
                    ? "SNAT draws source ports, and TCP has no timestamps here: a SYN whose "
                      "sequence number was made for the port before NAT may meet a TIME_WAIT of "
                      "the port after it, and the connect takes 1, 2 or 4 s."
                    : "SNAT draws source ports, and TCP timestamps have an offset made for the "
                      "port before NAT: a SYN may meet a TIME_WAIT of the port after it with a "
                      "newer one, and the connect takes 1, 2 or 4 s.",
            .remedy =
                "`sysctl -w net.ipv4.tcp_timestamps=2` on the clients; pods have the sysctl "
                "for themselves, and what was read here is this namespace's.",
            .side_effect =
                "timestamps then have no random offset: who receives them can tell how "
                "long the host is up. MASQUERADE without --random-fully is no remedy: it "
                "brings snat-race"};
        if (timestamps.empty() || timestamps == "2") {
            return;
        }
        for (const Rule* rule : leaving_) {
            if (is_masquerade(*rule) && rule->random && takes(*rule, "tcp")) {
                hazard.evidence.push_back(evidence_of(*rule));
            }
        }
        if (!hazard.evidence.empty()) {
            hazard.evidence.push_back({"sysctl net.ipv4.tcp_timestamps", timestamps});
        }
        add(std::move(hazard));
    }

    // Whether what is INVALID is dropped in the forward hook whatever else it is.
    bool drops_invalid(const std::string& family) const {
        for (const Chain* base : walker_.bases("forward", family, "filter")) {
            for (const Rule* rule : walker_.reachable(*base)) {
                if (rule->action == Action::kDrop && rule->conditions.size() == 1 &&
                    has(*rule, Field::kState, "invalid")) {
                    return true;
                }
            }
        }
        return false;
    }

    void invalid_forwarded() {
        Hazard hazard{
            .id = "invalid-rst",
            .scenario = "invalid-rst",
            .what =
                "A segment that conntrack calls INVALID is forwarded untranslated; the client's "
                "RST to it ends the connection.",
            .remedy =
                "`iptables -I KUBE-FORWARD -m conntrack --ctstate INVALID -j DROP`, as "
                "kube-proxy has it since 1.15, or `sysctl -w "
                "net.netfilter.nf_conntrack_tcp_be_liberal=1`.",
            .side_effect =
                "the rule cuts connections of which this host sees one direction only; "
                "be_liberal lets segments outside the window pass, forged ones too"};
        if (sysctl("net.netfilter.nf_conntrack_tcp_be_liberal") == "1") {
            return;
        }
        for (const char* family : kFamilies) {
            for (const Chain* base : walker_.bases("forward", family, "filter")) {
                const bool is_own = base->table == "kube-proxy" && base->family == family;
                const Chain* kube = is_own ? base : nullptr;
                for (const Rule* rule : walker_.reachable(*base)) {
                    for (const std::string& target : rule->targets) {
                        kube = target == "KUBE-FORWARD" ? walker_.find(*rule, target) : kube;
                    }
                }
                if (kube != nullptr && !drops_invalid(family)) {
                    hazard.evidence.push_back(
                        evidence_of(*kube, "no rule drops what conntrack calls INVALID"));
                }
            }
        }
        add(std::move(hazard));
    }

    const Device* find_device(const std::string& name) const {
        const auto found = std::ranges::find(facts_.devices, name, &Device::name);
        return found == facts_.devices.end() ? nullptr : &*found;
    }

    std::vector<const Device*> ports_of(const Device& bridge) const {
        std::vector<const Device*> ports;
        for (const Device& device : facts_.devices) {
            if (device.master == bridge.name && device.kind == "veth") {
                ports.push_back(&device);
            }
        }
        return ports;
    }

    // Rules that translate what comes in to an address of a network of the bridge.
    std::vector<const Rule*> services_on(const Device& bridge) const {
        std::vector<const Rule*> rules;
        for (const Rule* rule : arriving_) {
            if (rule->action == Action::kDnat && rule->to &&
                std::ranges::any_of(bridge.addresses, [&](const Address& own) {
                    return own.network.contains(*rule->to);
                })) {
                rules.push_back(rule);
            }
        }
        return rules;
    }

    bool filters_bridges(const Device& bridge, frame::Family family) const {
        const std::string value =
            sysctl(family == frame::Family::kIpv4 ? "net.bridge.bridge-nf-call-iptables"
                                                  : "net.bridge.bridge-nf-call-ip6tables");
        return value == "1" || bridge.calls_iptables;
    }

    // Whether all that goes from the endpoint's network to the endpoint leaves with another source,
    // so that answers come back by way of the host.
    bool is_masqueraded(const frame::IpAddress& endpoint, const AddressRange& network) const {
        const frame::IpAddress neighbour =
            network.first.plus(1) == endpoint ? network.first.plus(2) : network.first.plus(1);
        const char* family = endpoint.family == frame::Family::kIpv4 ? "ip" : "ip6";
        for (const Chain* base : walker_.bases("postrouting", family, "nat")) {
            const auto endings =
                walker_.walk(*base, {.source = neighbour, .destination = endpoint});
            if (std::ranges::all_of(endings, [](const Ending& ending) {
                    return ending.kind == Ending::Kind::kNat;
                })) {
                return true;
            }
        }
        return false;
    }

    void bridge_passes_by() {
        Hazard hazard{
            .id = "bridge-unnat",
            .scenario = "bridge-unnat",
            .what =
                "Client and endpoint of a service are ports of one bridge that does not ask "
                "netfilter: the answer goes from port to port with the endpoint's own address, "
                "and the client does not take it.",
            .remedy =
                "`modprobe br_netfilter; sysctl -w net.bridge.bridge-nf-call-iptables=1` (for "
                "IPv6 bridge-nf-call-ip6tables).",
            .side_effect =
                "what is bridged then passes the rules of iptables too, and a service "
                "that a pod reaches through itself takes hairpin mode of the bridge's "
                "ports"};
        for (const Device& bridge : facts_.devices) {
            if (bridge.kind != "bridge" || ports_of(bridge).size() < 2) {
                continue;
            }
            for (const Rule* rule : services_on(bridge)) {
                const auto own = std::ranges::find_if(bridge.addresses, [&](const Address& each) {
                    return each.network.contains(*rule->to);
                });
                if (!filters_bridges(bridge, rule->to->family) &&
                    !is_masqueraded(*rule->to, own->network)) {
                    hazard.evidence.push_back(evidence_of(*rule));
                }
            }
            if (!hazard.evidence.empty()) {
                const std::string value = sysctl("net.bridge.bridge-nf-call-iptables");
                hazard.evidence.push_back(evidence_of(
                    bridge, fmt::format("{} ports; net.bridge.bridge-nf-call-iptables {}",
                                        ports_of(bridge).size(),
                                        value.empty() ? "is not there: br_netfilter is not loaded"
                                                      : "is " + value)));
            }
        }
        add(std::move(hazard));
    }

    // Where packets to this address go by the main table.
    std::vector<std::string> devices_to(const frame::IpAddress& to) const {
        const Route* best = nullptr;
        for (const Route& route : facts_.routes) {
            if (route.table == "main" && route.to.contains(to) &&
                (best == nullptr || best->to.first < route.to.first ||
                 route.to.last < best->to.last)) {
                best = &route;
            }
        }
        return best == nullptr ? std::vector<std::string>() : best->devices;
    }

    const Device* below(const Device& tunnel) const {
        if (!tunnel.below.empty()) {
            return find_device(tunnel.below);
        }
        for (const Device& device : facts_.devices) {
            for (const Address& own : device.addresses) {
                if (tunnel.local && own.address == *tunnel.local) {
                    return &device;
                }
            }
        }
        return nullptr;
    }

    void tunnel_mtu() {
        Hazard hazard{
            .id = "pmtu-blackhole",
            .scenario = "pmtu-blackhole",
            .what =
                "Packets are made larger than what the tunnel leaves: where its fragments or the "
                "ICMP of the hop are filtered, ping works and large transfers hang.",
            .side_effect =
                "devices that exist keep their MTU: pods have to be made anew; smaller "
                "packets cost more CPU a byte"};
        std::uint32_t least = 0;
        for (const Device& tunnel : facts_.devices) {
            const auto* overhead =
                std::ranges::find(kOverheads, tunnel.kind,
                                  [](const Overhead& each) { return std::string(each.kind); });
            if (overhead == std::end(kOverheads)) {
                continue;
            }
            std::uint32_t leaves = tunnel.mtu;
            const Device* underlay = overhead->bytes == 0 ? nullptr : below(tunnel);
            if (underlay != nullptr) {
                const bool is_v6 = tunnel.local && tunnel.local->family == frame::Family::kIpv6;
                const std::uint32_t taken = overhead->bytes + (is_v6 ? kMoreOfIpv6 : 0);
                const std::uint32_t most = underlay->mtu > taken ? underlay->mtu - taken : 0;
                if (tunnel.mtu > most) {
                    hazard.evidence.push_back(evidence_of(
                        tunnel, fmt::format("MTU {}; {} of MTU {} leaves {}", tunnel.mtu,
                                            underlay->name, underlay->mtu, most)));
                }
                leaves = std::min(leaves, most);
            }
            const std::size_t before = hazard.evidence.size();
            larger_than(tunnel, leaves, underlay, hazard);
            if (hazard.evidence.size() != before || tunnel.mtu > leaves) {
                least = least == 0 ? leaves : std::min(least, leaves);
            }
        }
        hazard.remedy = fmt::format(
            "an MTU of at most {} for pods, bridge and tunnel (\"mtu\" in "
            "the conflist).",
            least);
        add(std::move(hazard));
    }

    // Devices of pods that send into the tunnel with a larger MTU.
    void larger_than(const Device& tunnel, std::uint32_t leaves, const Device* underlay,
                     Hazard& hazard) const {
        const bool is_used = std::ranges::any_of(facts_.routes, [&](const Route& route) {
            return std::ranges::find(route.devices, tunnel.name) != route.devices.end();
        });
        for (const Device& device : facts_.devices) {
            const bool is_bridge = device.kind == "bridge" && !ports_of(device).empty();
            // A route to one address through a veth device: a pod's, without a bridge.
            const bool is_pod = device.kind == "veth" && device.master.empty() &&
                                std::ranges::any_of(facts_.routes, [&](const Route& route) {
                                    return route.to.first == route.to.last &&
                                           route.devices == std::vector<std::string>{device.name};
                                });
            if (is_used && &device != underlay && (is_bridge || is_pod) && device.mtu > leaves) {
                hazard.evidence.push_back(
                    evidence_of(device, fmt::format("MTU {}, and there are routes by way of {}, "
                                                    "which leaves {}",
                                                    device.mtu, tunnel.name, leaves)));
            }
        }
    }

    unsigned reverse_path(const std::string& device) const {
        const auto value = [&](const std::string& name) {
            return static_cast<unsigned>(
                std::atoi(sysctl("net.ipv4.conf." + name + ".rp_filter").c_str()));
        };
        return std::max(value("all"), value(device));  // ip-sysctl: the larger of both holds
    }

    void strict_reverse_path() {
        Hazard hazard{
            .id = "rp-filter",
            .what =
                "The reverse path filter is strict on devices where answers may come in by "
                "another way than packets go out: they are dropped without a word.",
            .remedy = "`sysctl -w net.ipv4.conf.DEVICE.rp_filter=2` (loose).",
            .side_effect = "forged sources that have a route by any device pass"};
        std::set<std::string> candidates;
        const auto consider = [&](const std::vector<std::string>& devices) {
            if (devices.size() > 1) {
                candidates.insert(devices.begin(), devices.end());
            }
        };
        std::map<std::pair<frame::IpAddress, frame::IpAddress>, std::vector<std::string>> ways;
        for (const Route& route : facts_.routes) {
            if (route.to.first.family != frame::Family::kIpv4 ||
                (route.table != "main" && facts_.routing_rules == 0)) {
                continue;
            }
            auto& devices = ways[{route.to.first, route.to.last}];
            for (const std::string& device : route.devices) {
                if (std::ranges::find(devices, device) == devices.end()) {
                    devices.push_back(device);
                }
            }
        }
        for (const auto& [to, devices] : ways) {
            consider(devices);
        }
        for (const std::string& device : candidates) {
            if (reverse_path(device) != 1) {
                continue;
            }
            for (const auto& [to, devices] : ways) {
                if (devices.size() > 1 && std::ranges::find(devices, device) != devices.end()) {
                    const std::string others = fmt::format("{}", fmt::join(devices, ", "));
                    hazard.evidence.push_back(
                        {"sysctl net.ipv4.conf." + device + ".rp_filter",
                         fmt::format("1 (the larger of {} and all), and packets to {}{} go by {}",
                                     device, to_string(to.first),
                                     to.first == to.second ? "" : "-" + to_string(to.second),
                                     others)});
                }
            }
        }
        if (const auto dropped = facts_.counters.find("TcpExt.IPReversePathFilter");
            !hazard.evidence.empty() && dropped != facts_.counters.end()) {
            hazard.evidence.push_back({"counter TcpExt.IPReversePathFilter",
                                       fmt::format("{} packets dropped so far", dropped->second)});
        }
        add(std::move(hazard));
    }

    // Marks that a packet may have when it has left the host's own NAT towards the tunnel: those
    // that rules set before they translate to an address behind it, less what POSTROUTING clears.
    // The outer packet keeps them (skb_scrub_packet() leaves the mark within a namespace).
    std::set<std::uint32_t> marks_into(const Device& tunnel, const std::string& family) const {
        std::set<std::uint32_t> inner{0}, outer;
        for (const char* hook : {"prerouting", "output"}) {
            for (const Chain* base : walker_.bases(hook, family, "nat")) {
                for (const Ending& ending : walker_.walk(*base, {})) {
                    const bool translates = ending.kind == Ending::Kind::kNat &&
                                            ending.rule != nullptr && ending.rule->to;
                    const auto devices =
                        translates ? devices_to(*ending.rule->to) : std::vector<std::string>();
                    if (std::ranges::find(devices, tunnel.name) != devices.end()) {
                        inner.insert(ending.packet.mark);
                    }
                }
            }
        }
        for (const Chain* base : walker_.bases("postrouting", family, "nat")) {
            for (const std::uint32_t mark : inner) {
                for (const Ending& ending :
                     walker_.walk(*base, {.out = tunnel.name, .mark = mark})) {
                    outer.insert(ending.packet.mark);
                }
            }
        }
        outer.insert(0);
        return outer;
    }

    // Adds the rules that may translate an outer packet.
    void translated(const Packet& outer, const std::string& family, std::set<const Rule*>& named,
                    Hazard& hazard) {
        for (const Chain* base : walker_.bases("postrouting", family, "nat")) {
            for (const Ending& ending : walker_.walk(*base, outer)) {
                if (ending.kind != Ending::Kind::kNat) {
                    continue;
                }
                if (!ending.doubt.empty()) {
                    doubt("set " + ending.doubt,
                          "whether a rule translates the tunnel's outer packets depends on its "
                          "content: " +
                              ending.rule->text);
                } else if (named.insert(ending.rule).second) {
                    hazard.evidence.push_back(evidence_of(*ending.rule));
                }
            }
        }
    }

    void outer_nat() {
        Hazard hazard{
            .id = "vxlan-checksum",
            .scenario = "vxlan-checksum",
            .what =
                "NAT may change the source port of the tunnel's outer packets after their UDP "
                "checksum was made: ping between pods works, TCP and DNS time out.",
            .remedy =
                "`ethtool -K DEVICE tx-checksum-ip-generic off` for the vxlan device on every "
                "node, or a rule before this one that returns for UDP to the tunnel's port.",
            .side_effect =
                "the CPU then makes the checksums of what is sent into the tunnel, and "
                "large TCP segments are cut before it: more CPU a byte"};
        for (const Device& tunnel : facts_.devices) {
            if (tunnel.kind != "vxlan" || !tunnel.udp_checksum ||
                !tunnel.tx_checksum.value_or(false)) {
                continue;
            }
            const Device* underlay = below(tunnel);
            const std::string family =
                tunnel.local && tunnel.local->family == frame::Family::kIpv6 ? "ip6" : "ip";
            std::set<const Rule*> named;
            for (const std::uint32_t mark : marks_into(tunnel, family)) {
                Packet outer{.source = tunnel.local,
                             .protocol = "udp",
                             .destination_port = tunnel.port,
                             .out = underlay != nullptr ? underlay->name : "",
                             .state = "new",
                             .to_local = false,
                             .mark = mark};
                if (tunnel.remotes.empty()) {
                    translated(outer, family, named, hazard);
                }
                for (const frame::IpAddress& remote : tunnel.remotes) {
                    outer.destination = remote;
                    translated(outer, family, named, hazard);
                }
            }
            if (!named.empty()) {
                hazard.evidence.push_back(evidence_of(
                    tunnel,
                    fmt::format("tx-checksum-ip-generic on, udpcsum, UDP port {}", tunnel.port)));
            }
        }
        add(std::move(hazard));
    }

    // Addresses of pods on this host: endpoints of services, and those that a rule of POSTROUTING
    // names one by one.
    std::set<frame::IpAddress> pods() const {
        std::set<frame::IpAddress> addresses;
        for (const Rule* rule : arriving_) {
            if (rule->action == Action::kDnat && rule->to) {
                addresses.insert(*rule->to);
            }
        }
        for (const Rule* rule : leaving_) {
            for (const Condition& condition : rule->conditions) {
                if (condition.field == Field::kSource && !condition.negated &&
                    condition.addresses.size() == 1 &&
                    condition.addresses[0].first == condition.addresses[0].last) {
                    addresses.insert(condition.addresses[0].first);
                }
            }
        }
        return addresses;
    }

    bool masquerades_marked(const Chain& base) const {
        const auto rules = walker_.reachable(base);
        return std::ranges::any_of(rules, [](const Rule* rule) {
            return is_masquerade(*rule) && rule->chain == "KUBE-POSTROUTING";
        });
    }

    void accept_before_kube() {
        Hazard hazard{
            .id = "hairpin-accept",
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
                "holds until something else is put in front"};
        std::set<const Rule*> named;
        const auto addresses = pods();
        for (const char* family : kFamilies) {
            for (const Chain* base : walker_.bases("postrouting", family, "nat")) {
                if (!masquerades_marked(*base)) {
                    continue;
                }
                for (const frame::IpAddress& pod : addresses) {
                    if ((pod.family == frame::Family::kIpv4) != (family == kFamilies[0])) {
                        continue;
                    }
                    for (const Ending& ending : walker_.walk(
                             *base, {.source = pod, .destination = pod, .mark = kKubeMark})) {
                        if (ending.kind == Ending::Kind::kAccept && ending.rule != nullptr &&
                            ending.certain && named.insert(ending.rule).second) {
                            hazard.evidence.push_back(evidence_of(*ending.rule));
                        }
                    }
                }
            }
        }
        add(std::move(hazard));
    }

    void hairpin_mode() {
        Hazard hazard{
            .id = "hairpin-mode",
            .what =
                "Ports of a bridge do not send back where a packet came from, and the bridge asks "
                "netfilter: what a pod sends to a service that ends at itself is dropped there, "
                "without an entry of conntrack.",
            .remedy =
                "\"hairpinMode\": true of the plug-in bridge, or `bridge link set dev PORT "
                "hairpin on`.",
            .side_effect =
                "broadcasts and multicasts come back to who sent them; a pod with IPv6 "
                "may take its own neighbour solicitation for a duplicate address"};
        for (const Device& bridge : facts_.devices) {
            if (bridge.kind != "bridge" || bridge.promiscuous ||
                !filters_bridges(bridge, frame::Family::kIpv4) || services_on(bridge).empty()) {
                continue;
            }
            for (const Device* port : ports_of(bridge)) {
                if (port->hairpin.has_value() && !*port->hairpin) {
                    hazard.evidence.push_back(
                        evidence_of(*port, "hairpin off, a port of " + bridge.name));
                }
            }
        }
        add(std::move(hazard));
    }

    // The endpoints, of UDP, behind the targets of a rule.
    void endpoints_behind(const Rule& rule, std::set<frame::IpAddress>& endpoints) const {
        for (const std::string& target : rule.targets) {
            const Chain* chain = walker_.find(rule, target);
            for (const Rule& each : chain == nullptr ? std::vector<Rule>() : chain->rules) {
                if (each.action == Action::kDnat && each.to && takes(each, "udp") &&
                    has(each, Field::kProtocol, "udp")) {
                    endpoints.insert(*each.to);
                }
            }
        }
    }

    // Whether a packet that matches the conditions of one of the rules that lead to the chain is not
    // tracked.
    bool is_untracked(const Rule& drawing) const {
        for (const Rule* rule : arriving_) {
            const bool leads =
                std::ranges::find(rule->targets, drawing.chain) != rule->targets.end();
            Packet packet{.protocol = "udp"};
            for (const Condition& condition : rule->conditions) {
                if (condition.field == Field::kDestination && condition.addresses.size() == 1) {
                    packet.destination = condition.addresses[0].first;
                } else if (condition.field == Field::kDestinationPort &&
                           condition.ports.size() == 1) {
                    packet.destination_port = condition.ports[0].first;
                }
            }
            if (leads && packet.destination && packet.destination_port &&
                is_untracked(packet, rule->family)) {
                return true;
            }
        }
        return false;
    }

    bool is_untracked(const Packet& packet, const std::string& family) const {
        for (const Chain* base : walker_.bases("prerouting", family, "filter")) {
            for (const Rule* rule : walker_.reachable(*base)) {
                if (rule->action != Action::kNotrack) {
                    continue;
                }
                // The rule alone, in a chain of its own: does it surely take the packet?
                Ruleset alone{.chains = {{.hook = "prerouting", .type = "filter"}}};
                Rule one = *rule;
                one.action = Action::kDrop;
                alone.chains[0].rules = {one};
                const auto endings = Walker(alone).walk(alone.chains[0], packet);
                if (endings.front().kind == Ending::Kind::kDrop && endings.front().certain) {
                    return true;
                }
            }
        }
        return false;
    }

    void drawn_udp() {
        Hazard hazard{
            .id = "dns-race",
            .scenario = "dns-race",
            .what =
                "A UDP service draws one of several endpoints for each packet that has no entry "
                "yet: A and AAAA that leave one socket together may be sent to two, and the "
                "answer of one is lost, or comes back untranslated after 1 s.",
            .remedy =
                "`options single-request-reopen` or `use-vc` in the clients' resolv.conf, or a "
                "caching agent on the node whose address is not tracked (NOTRACK, as NodeLocal "
                "DNSCache has it).",
            .side_effect =
                "single-request-reopen doubles the time of a lookup, musl knows none of "
                "these options, and with use-vc glibc waits without end for an answer that "
                "is lost; NOTRACK takes rules that ACCEPT what is not tracked"};
        std::set<std::string> chains;
        for (const Rule* rule : arriving_) {
            const bool by_chance =
                rule->draws || std::ranges::any_of(rule->conditions, [](const Condition& each) {
                    return each.field == Field::kRandom;
                });
            const bool jumps = rule->action == Action::kJump || rule->action == Action::kGoto;
            if (!by_chance || !jumps) {
                continue;
            }
            const std::string key = fmt::format("{} {} {} {}", static_cast<int>(rule->origin),
                                                rule->family, rule->table, rule->chain);
            std::set<frame::IpAddress> endpoints;
            endpoints_behind(*rule, endpoints);
            if (endpoints.empty() || !chains.insert(key).second) {
                continue;
            }
            // In iptables each endpoint has a rule, and the last has no chance in it.
            for (const Rule& other : walker_.find(*rule, rule->chain)->rules) {
                endpoints_behind(other, endpoints);
            }
            if (endpoints.size() > 1 && !is_untracked(*rule)) {
                hazard.evidence.push_back(evidence_of(*rule));
            }
        }
        add(std::move(hazard));
    }

    bool is_local(const frame::IpAddress& address) const {
        return std::ranges::any_of(facts_.devices, [&](const Device& device) {
            return std::ranges::any_of(device.addresses,
                                       [&](const Address& own) { return own.address == address; });
        });
    }

    void untracked_dropped() {
        Hazard hazard{
            .id = "notrack-accept",
            .what =
                "Packets that a rule takes out of conntrack are dropped later, for they belong to "
                "no connection that a rule could accept.",
            .remedy =
                "rules in front that ACCEPT the same packets by address and port, in INPUT and "
                "OUTPUT.",
            .side_effect = "they are accepted whoever sent them: there is no state to ask"};
        for (const char* family : kFamilies) {
            for (const Chain* raw : walker_.bases("prerouting", family, "filter")) {
                for (const Rule* rule : walker_.reachable(*raw)) {
                    if (rule->action == Action::kNotrack &&
                        drops_untracked(*rule, family, hazard)) {
                        hazard.evidence.push_back(evidence_of(*rule));
                    }
                }
            }
        }
        add(std::move(hazard));
    }

    // Whether packets of that rule end in a drop whatever else they are; says where.
    bool drops_untracked(const Rule& rule, const char* family, Hazard& hazard) const {
        Packet packet{.state = "untracked"};
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
        const bool stays = !packet.destination || is_local(*packet.destination);
        packet.to_local = stays;
        for (const Chain* base : walker_.bases(stays ? "input" : "forward", family, "filter")) {
            const auto endings = walker_.walk(*base, packet);
            if (std::ranges::all_of(endings, [](const Ending& ending) {
                    return ending.kind == Ending::Kind::kDrop;
                })) {
                const Rule* by = endings.front().rule;
                hazard.evidence.push_back(by != nullptr
                                              ? evidence_of(*by)
                                              : evidence_of(*base,
                                                            "policy DROP, and no rule before "
                                                            "accepts what is not tracked"));
                return true;
            }
        }
        return false;
    }

    const Facts& facts_;
    Walker walker_;
    std::vector<const Rule*> leaving_, arriving_;  // of nat: POSTROUTING; PREROUTING and OUTPUT
    Findings findings_;
};

}  // namespace

Findings find_hazards(const Facts& facts) {
    return Search(facts).find();
}

std::vector<std::string> known_hazards() {
    return {"snat-race",      "snat-timestamps", "invalid-rst",    "bridge-unnat",
            "pmtu-blackhole", "rp-filter",       "vxlan-checksum", "hairpin-accept",
            "hairpin-mode",   "dns-race",        "notrack-accept"};
}

}  // namespace pathproof::hazards
