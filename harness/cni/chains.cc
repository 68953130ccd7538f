#include "harness/cni/chains.h"

#include <algorithm>

namespace pathproof::cni {
namespace {

// IPAM for both families, with both default routes.
#define PATHPROOF_DUAL_IPAM                                                         \
    R"("ipam":{"type":"host-local","ranges":[[{"subnet":"10.244.{{node}}.0/24"}],)" \
    R"([{"subnet":"fd00:10:244:{{node}}::/64"}]],"routes":[{"dst":"0.0.0.0/0"},{"dst":"::/0"}]})"
#define PATHPROOF_PORTMAP R"({"type":"portmap","capabilities":{"portMappings":true}})"
// On the nodes' network, 198.18.0.0/24: .10 to .19, and .20 to .29.
#define PATHPROOF_LINK_IPAM                                                    \
    R"("ipam":{"type":"host-local","ranges":[[{"subnet":"198.18.0.0/24",)"     \
    R"("rangeStart":"198.18.0.{{node}}0","rangeEnd":"198.18.0.{{node}}9"}],)"  \
    R"([{"subnet":"2001:db8:18::/64","rangeStart":"2001:db8:18::{{node}}:1",)" \
    R"("rangeEnd":"2001:db8:18::{{node}}:ff"}]]})"
// The plug-in to which flannel's CNI plug-in delegates: its /run/flannel/subnet.env and bridge,
// with the MTU that the tunnel leaves.
#define PATHPROOF_OVERLAY_BRIDGE                                                              \
    R"({"type":"bridge","mtu":1450,"hairpinMode":true,"ipMasq":false,"isGateway":true,)"      \
    R"("isDefaultGateway":true,"ipam":{"type":"host-local","subnet":"10.244.{{node}}.0/24",)" \
    R"("routes":[{"dst":"10.244.0.0/16"}]}})"

const std::vector<Chain> kChains = {
    {"bridge", "bridge, portmap, firewall: a plain cluster's", Overlay::kRoutes,
     R"({"name":"podnet","cniVersion":"1.0.0","plugins":[{"type":"bridge","bridge":"cni0",)"
     R"("isGateway":true,"ipMasq":true,"hairpinMode":true,)" PATHPROOF_DUAL_IPAM
     "}," PATHPROOF_PORTMAP R"(,{"type":"firewall"}]})"},
    {"ptp", "ptp, portmap: a route to each pod", Overlay::kRoutes,
     R"({"name":"podnet","cniVersion":"1.0.0","plugins":[{"type":"ptp","ipMasq":true,)" PATHPROOF_DUAL_IPAM
     "}," PATHPROOF_PORTMAP "]}"},
    {"macvlan", "macvlan of the nodes' device", Overlay::kNone,
     R"({"name":"podnet","cniVersion":"1.0.0","plugins":[{"type":"macvlan","master":"eth0",)"
     R"("mode":"bridge",)" PATHPROOF_LINK_IPAM "}]}"},
    {"ipvlan", "ipvlan of the nodes' device", Overlay::kNone,
     R"({"name":"podnet","cniVersion":"1.0.0","plugins":[{"type":"ipvlan","master":"eth0",)"
     R"("mode":"l2",)" PATHPROOF_LINK_IPAM "}]}"},
    {"flannel", "bridge, portmap, and a vxlan as flannel makes it", Overlay::kFlannel,
     R"({"name":"cbr0","cniVersion":"1.0.0","plugins":[)" PATHPROOF_OVERLAY_BRIDGE
     "," PATHPROOF_PORTMAP "]}"},
    {"calico", "bridge, portmap, and a vxlan as calico makes it", Overlay::kCalico,
     R"({"name":"k8s-pod-network","cniVersion":"1.0.0","plugins":[)" PATHPROOF_OVERLAY_BRIDGE
     "," PATHPROOF_PORTMAP "]}"},
};

#undef PATHPROOF_DUAL_IPAM
#undef PATHPROOF_PORTMAP
#undef PATHPROOF_LINK_IPAM
#undef PATHPROOF_OVERLAY_BRIDGE

std::string flannel_rules(unsigned node) {
    const std::string masquerade = "-A FLANNEL-POSTRTG -m comment --comment \"flanneld masq\" ";
    const std::string forward = "-A FLANNEL-FWD -m comment --comment \"flanneld forward\" ";
    const std::string own = fmt::format("10.244.{}.0/24", node);
    const std::string cluster = "10.244.0.0/16";
    return "*nat\n:FLANNEL-POSTRTG - [0:0]\n"
           "-A POSTROUTING -m comment --comment \"flanneld masq\" -j FLANNEL-POSTRTG\n" +
           masquerade + "-m mark --mark 0x4000/0x4000 -j RETURN\n" + masquerade + "-s " + own +
           " -d " + cluster + " -j RETURN\n" + masquerade + "-s " + cluster + " -d " + own +
           " -j RETURN\n" + masquerade + "! -s " + cluster + " -d " + own + " -j RETURN\n" +
           masquerade + "-s " + cluster + " ! -d 224.0.0.0/4 -j MASQUERADE --random-fully\n" +
           masquerade + "! -s " + cluster + " -d " + cluster +
           " -j MASQUERADE --random-fully\nCOMMIT\n"
           "*filter\n:FLANNEL-FWD - [0:0]\n"
           "-A FORWARD -m comment --comment \"flanneld forward\" -j FLANNEL-FWD\n" +
           forward + "-s " + cluster + " -j ACCEPT\n" + forward + "-d " + cluster +
           " -j ACCEPT\nCOMMIT\n";
}

std::string calico_rules() {
    return "*nat\n:cali-POSTROUTING - [0:0]\n:cali-nat-outgoing - [0:0]\n"
           "-I POSTROUTING 1 -m comment --comment \"cali:O3lYWMrLQYEMJtB5\" -j cali-POSTROUTING\n"
           "-A cali-POSTROUTING -j cali-nat-outgoing\n"
           "-A cali-nat-outgoing -s 10.244.0.0/16 ! -d 10.244.0.0/16 -j MASQUERADE --random-fully\n"
           "COMMIT\n";
}

}  // namespace

const std::vector<Chain>& built_in_chains() {
    return kChains;
}

const Chain* find_chain(const std::string& name) {
    const auto found = std::ranges::find(kChains, name, &Chain::name);
    return found == kChains.end() ? nullptr : &*found;
}

OverlaySetup overlay_setup(Overlay overlay, unsigned node, bool udp_checksum) {
    const unsigned twin = 3 - node;
    const bool flannel = overlay == Overlay::kFlannel;
    OverlaySetup setup{.device = flannel ? "flannel.1" : "vxlan.calico",
                       .vni = flannel ? 1u : 4096u,
                       .port = static_cast<std::uint16_t>(flannel ? 8472 : 4789)};
    const auto mac = [&](unsigned number) {
        return fmt::format("{}:0a:f4:{:02x}:00", flannel ? "02:00" : "66:00", number);
    };
    setup.tunnel = fmt::format(
        "link add {0} address {1} mtu 1450 type vxlan id {2} dev eth0 local 198.18.0.{3} "
        "dstport {4} nolearning{7}\n"
        "address add 10.244.{3}.0/32 dev {0}\n"
        "link set {0} up\n"
        "neigh replace 10.244.{5}.0 lladdr {6} nud permanent dev {0}\n"
        "route replace 10.244.{5}.0/24 via 10.244.{5}.0 dev {0} onlink\n",
        setup.device, mac(node), setup.vni, node, setup.port, twin, mac(twin),
        udp_checksum ? "" : " noudpcsum");
    setup.forwarding = {"bridge", "fdb",        "replace", mac(twin),
                        "dev",    setup.device, "dst",     fmt::format("198.18.0.{}", twin),
                        "self",   "permanent"};
    setup.rules = flannel ? flannel_rules(node) : calico_rules();
    return setup;
}

}  // namespace pathproof::cni
