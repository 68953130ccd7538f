#include "harness/lab/plan.h"

namespace pathproof::lab {
namespace {

using frame::IpAddress;
using frame::MacAddress;

IpAddress v4(unsigned a, unsigned b, unsigned c, unsigned d) {
    return IpAddress::v4(a << 24 | b << 16 | c << 8 | d);
}

MacAddress mac_of(std::uint8_t kind, std::uint8_t side) {
    return {{0x02, 0x70, 0x70, 0x01, kind, side}};
}

// A node and all that belongs to it.
struct Side {
    std::string node, pod, tester_port;
    IpAddress node_address;
    IpAddress pod_address, pod_gateway, pod_network;
    IpAddress vxlan_address;
    MacAddress tester_mac, node_mac, gateway_mac, pod_mac, vxlan_mac;
};

Side side_a(const OverlayNames& names) {
    return {names.node_a,        names.pod_a,
            names.tester_port_a, names.node_a_address,
            names.pod_a_address, v4(198, 18, 10, 1),
            v4(198, 18, 10, 0),  v4(198, 18, 0, 1),
            mac_of(0, 0xa),      names.node_a_mac.value_or(mac_of(1, 0xa)),
            mac_of(2, 0xa),      mac_of(3, 0xa),
            mac_of(4, 0xa)};
}

Side side_b(const OverlayNames& names) {
    return {names.node_b,        names.pod_b,        names.tester_port_b, names.node_b_address,
            names.pod_b_address, v4(198, 18, 20, 1), v4(198, 18, 20, 0),  v4(198, 18, 0, 2),
            mac_of(0, 0xb),      mac_of(1, 0xb),     mac_of(2, 0xb),      mac_of(3, 0xb),
            mac_of(4, 0xb)};
}

Link cable(const OverlayNames& names, const Side& side) {
    return {{names.tester, side.tester_port, to_string(side.tester_mac)},
            {side.node, names.underlay, to_string(side.node_mac)},
            kUnderlayMtu};
}

Link pod_link(const Side& side) {
    return {{side.node, "pod0", to_string(side.gateway_mac)},
            {side.pod, "eth0", to_string(side.pod_mac)},
            kOverlayMtu};
}

// Permanent neighbours: no ARP is needed, so the first frame on the wire is the first one of a
// probe.
std::string node_commands(const OverlayNames& names, const Side& side, const Side& far) {
    return fmt::format(
        "link set {0} up\n"
        "link set pod0 up\n"
        "address add {1}/24 dev {0}\n"
        "address add {2}/24 dev pod0\n"
        "neigh replace {3} lladdr {4} nud permanent dev {0}\n"
        "neigh replace {5} lladdr {6} nud permanent dev pod0\n",
        names.underlay, to_string(side.node_address), to_string(side.pod_gateway),
        to_string(far.node_address), to_string(far.node_mac), to_string(side.pod_address),
        to_string(side.pod_mac));
}

std::string pod_commands(const Side& side) {
    return fmt::format(
        "link set eth0 up\n"
        "address add {0}/24 dev eth0\n"
        "route add default via {1} dev eth0\n"
        "neigh replace {1} lladdr {2} nud permanent dev eth0\n",
        to_string(side.pod_address), to_string(side.pod_gateway), to_string(side.gateway_mac));
}

// `remote` is the static forwarding entry for every inner address, as a CNI's static FDB is.
std::string vxlan_commands(const OverlayNames& names, bool udp_checksum, const Side& side,
                           const Side& far) {
    return fmt::format(
        "link add name {0} address {1} mtu {2} type vxlan id {3} dstport {4} local {5} remote {6} "
        "nolearning {7}\n"
        "link set {0} up\n"
        "address add {8}/30 dev {0}\n"
        "neigh replace {9} lladdr {10} nud permanent dev {0}\n"
        "route replace {11}/24 via {9} dev {0}\n",
        names.vxlan, to_string(side.vxlan_mac), kOverlayMtu, names.vni, names.vxlan_port,
        to_string(side.node_address), to_string(far.node_address),
        udp_checksum ? "udpcsum" : "noudpcsum", to_string(side.vxlan_address),
        to_string(far.vxlan_address), to_string(far.vxlan_mac), to_string(far.pod_network));
}

// Has conntrack see all traffic, as on a node of a cluster, also where nothing is translated.
constexpr const char* kTracksAll =
    "-A FORWARD -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT\n";

Settings forwards(const std::string& underlay) {
    Settings settings{setting::sysctl(HostRole::kDut, "net.ipv4.ip_forward", "1"),
                      setting::rules(HostRole::kDut, "tracks-all", "filter", kTracksAll)};
    for (const std::string& device :
         {std::string("all"), std::string("default"), underlay, std::string("pod0")}) {
        settings.push_back(setting::sysctl(HostRole::kDut,
                                           fmt::format("net.ipv4.conf.{}.rp_filter", device), "0"));
    }
    return settings;
}

}  // namespace

OverlayNames overlay_names(const std::string& run_id) {
    const std::string prefix = "pp-" + run_id + "-";
    OverlayNames names;
    names.tester = prefix + "tester";
    names.node_a = prefix + "node-a";
    names.node_b = prefix + "node-b";
    names.pod_a = prefix + "pod-a";
    names.pod_b = prefix + "pod-b";
    names.node_a_address = v4(198, 51, 100, 1);
    names.node_b_address = v4(198, 51, 100, 2);
    names.pod_a_address = v4(198, 18, 10, 2);
    names.pod_b_address = v4(198, 18, 20, 2);
    return names;
}

setting::Names place_names(const OverlayNames& names) {
    return {{"$TUNNEL", names.vxlan}, {"$UNDERLAY", names.underlay}};
}

Topology overlay_topology(const OverlayNames& names) {
    const Side a = side_a(names);
    const Side b = side_b(names);
    // The tester's kernel must neither ask nor answer: no address, no ARP.
    const std::string tester = fmt::format("link set {} arp off up\nlink set {} arp off up\n",
                                           a.tester_port, b.tester_port);
    return {.hosts = {{names.tester, {}, tester},
                      {a.node,
                       {HostRole::kNodeA, HostRole::kDut, HostRole::kTunnelEnds},
                       node_commands(names, a, b)},
                      {b.node,
                       {HostRole::kNodeB, HostRole::kDut, HostRole::kTunnelEnds},
                       node_commands(names, b, a)},
                      {a.pod, {HostRole::kPodA, HostRole::kClient}, pod_commands(a)},
                      {b.pod, {HostRole::kPodB, HostRole::kClient}, pod_commands(b)}},
            .links = {cable(names, a), cable(names, b), pod_link(a), pod_link(b)},
            .settings = forwards(names.underlay)};
}

Settings overlay_tunnel(const OverlayNames& names, bool udp_checksum) {
    const Side a = side_a(names);
    const Side b = side_b(names);
    const auto end = [&](HostRole node, const Side& side, const Side& far) {
        return setting::links(
            node, "tunnel", names.underlay,
            {{vxlan_commands(names, udp_checksum, side, far), "link delete dev " + names.vxlan}});
    };
    return {end(HostRole::kNodeA, a, b), end(HostRole::kNodeB, b, a)};
}

setting::Setting overlay_snat(const OverlayNames& names) {
    return setting::rules(
        HostRole::kDut, "outer-snat", "nat",
        fmt::format("-A POSTROUTING -o {} -p udp -m udp --dport {} {}\n", names.underlay,
                    names.vxlan_port, target_of(Snat::kMasqueradeRandomFully)));
}

}  // namespace pathproof::lab
