#include "tests/monitor/healthy_setups.h"

#include <utility>

namespace pathproof::monitor::lab {
namespace {

using Steps = std::vector<Step>;

// c0 - n0, n1 - s0: the node routes between two networks.
Steps routed() {
    return {{'n',
             "ip link add n0 type veth peer name c0 netns {c}\n"
             "ip link add n1 type veth peer name s0 netns {s}\n"
             "ip address add 10.1.0.1/24 dev n0; ip address add 10.2.0.1/24 dev n1\n"
             "ip -6 address add fd00:1::1/64 dev n0 nodad\n"
             "ip -6 address add fd00:2::1/64 dev n1 nodad\n"
             "ip link set n0 up; ip link set n1 up\n"
             "sysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1"},
            {'c',
             "ip address add 10.1.0.2/24 dev c0\n"
             "ip -6 address add fd00:1::2/64 dev c0 nodad\n"
             "ip link set c0 up; ip route add default via 10.1.0.1\n"
             "ip -6 route add default via fd00:1::1"},
            {'s',
             "ip address add 10.2.0.2/24 dev s0; ip address add 10.2.0.3/24 dev s0\n"
             "ip -6 address add fd00:2::2/64 dev s0 nodad\n"
             "ip link set s0 up; ip route add default via 10.2.0.1\n"
             "ip -6 route add default via fd00:2::1"}};
}

// Two ports of one bridge, which has the network's gateway.
Steps bridged() {
    return {{'n',
             "ip link add br0 type bridge; ip address add 10.1.0.1/24 dev br0\n"
             "ip link add n0 type veth peer name c0 netns {c}\n"
             "ip link add n1 type veth peer name s0 netns {s}\n"
             "for d in n0 n1; do ip link set $d master br0 up\n"
             "ip link set $d type bridge_slave hairpin on; done; ip link set br0 up\n"
             "sysctl -qw net.ipv4.ip_forward=1"},
            {'c',
             "ip address add 10.1.0.2/24 dev c0; ip link set c0 up\n"
             "ip route add default via 10.1.0.1"},
            {'s',
             "ip address add 10.1.0.3/24 dev s0; ip link set s0 up\n"
             "ip route add default via 10.1.0.1"}};
}

// Two links between node and server.
Steps two_links() {
    return {{'n',
             "ip link add n0 type veth peer name c0 netns {c}\n"
             "ip link add n1 type veth peer name s0 netns {s}\n"
             "ip link add n2 type veth peer name s1 netns {s}\n"
             "ip address add 10.1.0.1/24 dev n0; ip address add 10.2.0.1/24 dev n1\n"
             "ip address add 10.3.0.1/24 dev n2\n"
             "for d in n0 n1 n2; do ip link set $d up; done\n"
             "sysctl -qw net.ipv4.ip_forward=1 net.ipv4.conf.all.rp_filter=2"},
            {'c',
             "ip address add 10.1.0.2/24 dev c0; ip link set c0 up\n"
             "ip route add default via 10.1.0.1"},
            {'s',
             "ip address add 10.2.0.2/24 dev s0; ip address add 10.3.0.2/24 dev s1\n"
             "ip address add 10.9.0.9/32 dev lo\n"
             "ip link set s0 up; ip link set s1 up\n"
             "sysctl -qw net.ipv4.conf.all.rp_filter=2\n"
             "ip route add 10.1.0.0/24 via 10.2.0.1"}};
}

Steps operator+(Steps steps, Step more) {
    steps.push_back(std::move(more));
    return steps;
}

const char* const kStateful =
    "iptables -P FORWARD DROP\n"
    "iptables -A FORWARD -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT\n"
    "iptables -A FORWARD -m conntrack --ctstate INVALID -j DROP\n";

// A Service of two endpoints, as kube-proxy writes it with iptables.
const char* const kKubeProxy =
    "iptables-restore --noflush <<END\n"
    "*nat\n:KUBE-SERVICES -\n:KUBE-POSTROUTING -\n:KUBE-MARK-MASQ -\n:KUBE-SVC-A -\n"
    ":KUBE-SEP-1 -\n:KUBE-SEP-2 -\n"
    "-I PREROUTING -j KUBE-SERVICES\n-I OUTPUT -j KUBE-SERVICES\n"
    "-I POSTROUTING -j KUBE-POSTROUTING\n"
    "-A KUBE-POSTROUTING -m mark ! --mark 0x4000/0x4000 -j RETURN\n"
    "-A KUBE-POSTROUTING -j MARK --xor-mark 0x4000\n"
    "-A KUBE-POSTROUTING -j MASQUERADE --random-fully\n"
    "-A KUBE-MARK-MASQ -j MARK --or-mark 0x4000\n"
    "-A KUBE-SERVICES -d 10.96.0.10/32 -p udp -m udp --dport 53 -j KUBE-SVC-A\n"
    "-A KUBE-SVC-A ! -s 10.1.0.0/24 -d 10.96.0.10/32 -p udp -m udp --dport 53 -j KUBE-MARK-MASQ\n"
    "-A KUBE-SVC-A -m statistic --mode random --probability 0.5 -j KUBE-SEP-1\n"
    "-A KUBE-SVC-A -j KUBE-SEP-2\n"
    "-A KUBE-SEP-1 -s 10.2.0.2/32 -j KUBE-MARK-MASQ\n"
    "-A KUBE-SEP-1 -p udp -m udp -j DNAT --to-destination 10.2.0.2:53\n"
    "-A KUBE-SEP-2 -s 10.2.0.3/32 -j KUBE-MARK-MASQ\n"
    "-A KUBE-SEP-2 -p udp -m udp -j DNAT --to-destination 10.2.0.3:53\n"
    "COMMIT\n*filter\n:KUBE-FORWARD -\n-I FORWARD -j KUBE-FORWARD\n"
    "-A KUBE-FORWARD -m conntrack --ctstate INVALID -j DROP\n"
    "-A KUBE-FORWARD -m mark --mark 0x4000/0x4000 -j ACCEPT\n"
    "-A KUBE-FORWARD -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT\nCOMMIT\nEND\n";

const char* const kKubeProxyNft =
    "nft -f - <<END\n"
    "table ip kube-proxy {\n"
    " map service-ips { type ipv4_addr . inet_proto . inet_service : verdict\n"
    "  elements = { 10.96.0.10 . udp . 53 : goto service-a }; }\n"
    " set cluster-ips { type ipv4_addr; elements = { 10.96.0.10 }; }\n"
    " chain mark-for-masquerade { meta mark set meta mark or 0x4000; }\n"
    " chain endpoint-1 { ip saddr 10.2.0.2 jump mark-for-masquerade\n"
    "  meta l4proto udp dnat to 10.2.0.2:53; }\n"
    " chain endpoint-2 { ip saddr 10.2.0.3 jump mark-for-masquerade\n"
    "  meta l4proto udp dnat to 10.2.0.3:53; }\n"
    " chain service-a { ip daddr 10.96.0.10 ip saddr != 10.1.0.0/24 jump mark-for-masquerade\n"
    "  numgen random mod 2 vmap { 0 : goto endpoint-1, 1 : goto endpoint-2 }; }\n"
    " chain services { ip daddr . meta l4proto . th dport vmap @service-ips; }\n"
    " chain cluster-ips-check { ip daddr @cluster-ips reject; }\n"
    " chain filter-forward { type filter hook forward priority -110\n"
    "  ct state new jump cluster-ips-check; }\n"
    " chain nat-prerouting { type nat hook prerouting priority -100; jump services; }\n"
    " chain nat-output { type nat hook output priority -100; jump services; }\n"
    " chain masquerading { meta mark and 0x4000 == 0 return\n"
    "  meta mark set mark xor 0x4000; masquerade fully-random; }\n"
    " chain nat-postrouting { type nat hook postrouting priority 100; jump masquerading; }\n"
    "}\nEND\n";

void add_plain(std::vector<Setup>& all) {
    all.push_back({.name = "routed, and nothing tracks flows", .steps = routed()});
    all.push_back({.name = "stateful firewall, FORWARD policy DROP",
                   .steps = routed() + Step{'n', std::string(kStateful) +
                                                     "iptables -A FORWARD -p tcp --dport 80 "
                                                     "-m conntrack --ctstate NEW -j ACCEPT"},
                   .talk = Talk::kTcp,
                   .called_port = 80,
                   .server_port = 80});
    all.push_back(
        {.name = "nft firewall with sets, a verdict map and logs",
         .steps = routed() + Step{'n',
                                  "nft -f - <<END\n"
                                  "table inet fw {\n"
                                  " set good { type ipv4_addr; flags interval\n"
                                  "  elements = { 10.1.0.0/24, 192.0.2.0/24 } }\n"
                                  " chain known { ip saddr @good udp dport { 53, 123 } accept; }\n"
                                  " chain forward { type filter hook forward priority 0\n"
                                  "  policy drop\n"
                                  "  ct state vmap { established : accept, related : accept,"
                                  " invalid : drop }\n"
                                  "  log prefix \"fw \" group 5\n"
                                  "  iifname vmap { \"n0\" : jump known, \"lo\" : accept }\n"
                                  "  counter; }\n}\nEND\n"}});
    all.push_back({.name = "ICMP through a firewall and MASQUERADE",
                   .steps = routed() + Step{'n', std::string(kStateful) +
                                                     "iptables -A FORWARD -i n0 -j ACCEPT\n"
                                                     "iptables -t nat -A POSTROUTING -o n1 "
                                                     "-j MASQUERADE"},
                   .talk = Talk::kIcmp,
                   .seen_as = "10.2.0.1"});
    all.push_back(
        {.name = "rate limits that do not fire",
         .steps = routed() + Step{'n',
                                  "iptables -A FORWARD -p udp --dport 53 -m limit --limit 1000/s "
                                  "--limit-burst 1000 -j ACCEPT\n"
                                  "iptables -A FORWARD -p udp --dport 53 -j DROP\n"
                                  "iptables -I FORWARD -p udp -m hashlimit --hashlimit-above 900/s "
                                  "--hashlimit-burst 900 --hashlimit-mode srcip "
                                  "--hashlimit-name pp -j DROP\n"
                                  "nft -f - <<END\n"
                                  "table ip limits { chain f { type filter hook forward priority "
                                  "5\n  limit rate over 900/second burst 900 packets drop; }\n}\n"
                                  "END"}});
    all.push_back({.name = "limit of connections that is not reached",
                   .steps = routed() + Step{'n',
                                            "iptables -A FORWARD -p tcp --syn -m connlimit "
                                            "--connlimit-above 50 -j REJECT\n"
                                            "iptables -A FORWARD -p tcp -m recent --set --name pp"},
                   .talk = Talk::kTcp,
                   .called_port = 80,
                   .server_port = 80});
    all.push_back({.name = "fragments, put together for conntrack",
                   .steps = routed() + Step{'n', std::string(kStateful) +
                                                     "iptables -A FORWARD -p udp -j ACCEPT"},
                   .bytes = 4000});
    all.push_back(
        {.name = "fragments, and nothing tracks flows", .steps = routed(), .bytes = 4000});
    all.push_back({.name = "TCP over a smaller MTU behind the node",
                   .steps = routed() + Step{'n', std::string(kStateful) +
                                                     "ip link set n1 mtu 1280\n"
                                                     "iptables -A FORWARD -p tcp -j ACCEPT"},
                   .talk = Talk::kTcp,
                   .called_port = 80,
                   .server_port = 80,
                   .bytes = 20000});
    all.push_back(
        {.name = "clamped MSS, rewritten DSCP and TTL",
         .steps = routed() + Step{'n',
                                  "iptables -t mangle -A FORWARD -p tcp --syn -j TCPMSS "
                                  "--clamp-mss-to-pmtu\n"
                                  "iptables -t mangle -A FORWARD -j DSCP --set-dscp 10\n"
                                  "iptables -t mangle -A PREROUTING -j TTL --ttl-inc 1\n"
                                  "iptables -t mangle -A POSTROUTING -j CLASSIFY --set-class 1:1\n"
                                  "iptables -A FORWARD -j NFLOG --nflog-group 5"},
         .talk = Talk::kTcp,
         .called_port = 80,
         .server_port = 80});
    all.push_back({.name = "an upload that is answered now and then",
                   .steps = routed() + Step{'n', std::string(kStateful) +
                                                     "iptables -A FORWARD -i n0 -j ACCEPT"},
                   .talk = Talk::kUdpRare,
                   .called_port = 443,
                   .server_port = 443});
    all.push_back({.name = "answers from another port, and a helper for them",
                   .steps = routed() + Step{'n', std::string(kStateful) +
                                                     "iptables -A FORWARD -p udp --dport 69 -j "
                                                     "ACCEPT\n"
                                                     "iptables -t raw -A PREROUTING -p udp "
                                                     "--dport 69 -j CT --helper tftp\n"
                                                     "iptables -t nat -A POSTROUTING -o n1 "
                                                     "-j MASQUERADE"},
                   .talk = Talk::kUdpOther,
                   .called_port = 69,
                   .server_port = 69,
                   .seen_as = "10.2.0.1"});
    all.push_back({.name = "answers from another port, and no rules",
                   .steps = routed(),
                   .talk = Talk::kUdpOther,
                   .called_port = 69,
                   .server_port = 69});
    all.push_back({.name = "one host, through its loopback device",
                   .steps = {{'n',
                              "iptables -A INPUT -i lo -j ACCEPT\niptables -P INPUT DROP\n"
                              "iptables -A OUTPUT -m conntrack --ctstate NEW -j ACCEPT"}},
                   .talk = Talk::kTcp,
                   .client = "127.0.0.1",
                   .client_in = 'n',
                   .called = "127.0.0.1",
                   .called_port = 80,
                   .servers = {"127.0.0.1"},
                   .server_in = 'n',
                   .server_port = 80,
                   .watched = "n"});
    all.push_back({.name = "server on the node, INPUT policy DROP",
                   .steps = routed() + Step{'n',
                                            "iptables -P INPUT DROP\n"
                                            "iptables -A INPUT -m conntrack --ctstate ESTABLISHED "
                                            "-j ACCEPT\n"
                                            "iptables -A INPUT -p tcp -m tcp --dport 22 "
                                            "-m conntrack --ctstate NEW -j ACCEPT"},
                   .talk = Talk::kTcp,
                   .called = "10.1.0.1",
                   .called_port = 22,
                   .servers = {"10.1.0.1"},
                   .server_in = 'n',
                   .server_port = 22,
                   .watched = "nc"});
}

void add_nat(std::vector<Setup>& all) {
    const Step masquerade{'n', "iptables -t nat -A POSTROUTING -s 10.1.0.0/24 -o n1 -j MASQUERADE"};
    all.push_back(
        {.name = "MASQUERADE, UDP", .steps = routed() + masquerade, .seen_as = "10.2.0.1"});
    all.push_back({.name = "MASQUERADE, TCP",
                   .steps = routed() + masquerade,
                   .talk = Talk::kTcp,
                   .called_port = 80,
                   .server_port = 80,
                   .seen_as = "10.2.0.1"});
    all.push_back({.name = "SNAT to a range of addresses",
                   .steps = routed() + Step{'n',
                                            "for i in 50 51 52; do ip address add 10.2.0.$i/24 dev "
                                            "n1; done\n"
                                            "iptables -t nat -A POSTROUTING -o n1 -j SNAT "
                                            "--to-source 10.2.0.50-10.2.0.52 --random-fully"},
                   .seen_as = ""});
    all.push_back({.name = "DNAT to another port",
                   .steps = routed() + Step{'n',
                                            "iptables -t nat -A PREROUTING -d 10.1.0.1 -p tcp "
                                            "--dport 8080 -j DNAT --to-destination 10.2.0.2:80"},
                   .talk = Talk::kTcp,
                   .called = "10.1.0.1",
                   .called_port = 8080,
                   .server_port = 80});
    all.push_back({.name = "NETMAP, network to network",
                   .steps = routed() + Step{'n',
                                            "iptables -t nat -A PREROUTING -d 10.99.0.0/24 "
                                            "-j NETMAP --to 10.2.0.0/24"},
                   .called = "10.99.0.2"});
    all.push_back({.name = "REDIRECT to a proxy of the node",
                   .steps = routed() + Step{'n',
                                            "iptables -t nat -A PREROUTING -i n0 -p tcp --dport 80 "
                                            "-j REDIRECT --to-ports 3128"},
                   .talk = Talk::kTcp,
                   .called_port = 80,
                   .servers = {"10.1.0.1"},
                   .server_in = 'n',
                   .server_port = 3128,
                   .watched = "nc"});
    all.push_back({.name = "a side-car takes what leaves, but for its own",
                   .steps = routed() + Step{'n',
                                            "iptables -t nat -A OUTPUT -m owner --uid-owner 1337 "
                                            "-j RETURN\n"
                                            "iptables -t nat -A OUTPUT -p tcp ! -d 127.0.0.1 "
                                            "-j REDIRECT --to-ports 15001"},
                   .talk = Talk::kTcp,
                   .client = "10.2.0.1",
                   .client_in = 'n',
                   .called_port = 80,
                   .servers = {"127.0.0.1"},
                   .server_in = 'n',
                   .server_port = 15001,
                   .watched = "n"});
    all.push_back({.name = "TPROXY to a proxy of the node",
                   .steps = routed() + Step{'n',
                                            "ip rule add fwmark 1 lookup 100\n"
                                            "ip route add local default dev lo table 100\n"
                                            "iptables -t mangle -A PREROUTING -p tcp -m socket "
                                            "--transparent -j MARK --set-mark 1\n"
                                            "iptables -t mangle -A PREROUTING -i n0 -p tcp "
                                            "--dport 80 -j TPROXY --on-port 3129 --tproxy-mark 1"},
                   .talk = Talk::kTcp,
                   .called_port = 80,
                   .servers = {"0.0.0.0"},
                   .server_in = 'n',
                   .server_port = 3129,
                   .transparent = true,
                   .watched = "nc"});
    all.push_back({.name = "kube-proxy's iptables, a pod to a service",
                   .steps = routed() + Step{'n', kKubeProxy},
                   .called = "10.96.0.10",
                   .servers = {"10.2.0.2", "10.2.0.3"},
                   .seen_as = ""});
    all.push_back({.name = "kube-proxy's nftables, a pod to a service",
                   .steps = routed() + Step{'n', kKubeProxyNft},
                   .called = "10.96.0.10",
                   .servers = {"10.2.0.2", "10.2.0.3"},
                   .seen_as = ""});
    all.push_back({.name = "kube-proxy's iptables, the node itself to a service",
                   .steps = routed() + Step{'n', std::string(kKubeProxy) +
                                                     "ip route add default via 10.2.0.2"},
                   .client = "10.1.0.1",
                   .client_in = 'n',
                   .called = "10.96.0.10",
                   .servers = {"10.2.0.2", "10.2.0.3"},
                   .seen_as = "",
                   .watched = "n"});
    all.push_back({.name = "a host port by 127.0.0.1",
                   .steps = routed() + Step{'n',
                                            "sysctl -qw net.ipv4.conf.all.route_localnet=1\n"
                                            "iptables -t nat -A OUTPUT -d 127.0.0.1 -p tcp "
                                            "--dport 8080 -j DNAT --to-destination 10.2.0.2:80\n"
                                            "iptables -t nat -A POSTROUTING -s 127.0.0.1 "
                                            "-d 10.2.0.2 -j MASQUERADE"},
                   .talk = Talk::kTcp,
                   .client = "127.0.0.1",
                   .client_in = 'n',
                   .called = "127.0.0.1",
                   .called_port = 8080,
                   .server_port = 80,
                   .seen_as = "10.2.0.1",
                   .watched = "ns"});
}

void add_bridges(std::vector<Setup>& all) {
    const char* const kFilters = "sysctl -qw net.bridge.bridge-nf-call-iptables=1\n";
    const char* const kPasses = "sysctl -qw net.bridge.bridge-nf-call-iptables=0\n";
    all.push_back(
        {.name = "bridge, past the rules of IP",
         .steps = bridged() + Step{'n', std::string(kPasses) + kStateful +
                                            "iptables -A FORWARD -i br0 ! -o br0 -j ACCEPT"},
         .called = "10.1.0.3",
         .servers = {"10.1.0.3"}});
    all.push_back({.name = "bridge, by the rules of IP (br_netfilter)",
                   .steps = bridged() + Step{'n', std::string(kFilters) + kStateful +
                                                      "iptables -A FORWARD -m physdev "
                                                      "--physdev-in n0 -j ACCEPT"},
                   .talk = Talk::kTcp,
                   .called = "10.1.0.3",
                   .called_port = 80,
                   .servers = {"10.1.0.3"},
                   .server_port = 80});
    all.push_back({.name = "a service between two ports of a bridge",
                   .steps = bridged() + Step{'n', std::string(kFilters) +
                                                      "iptables -t nat -A PREROUTING -d 10.96.0.10 "
                                                      "-p udp --dport 53 -j DNAT --to-destination "
                                                      "10.1.0.3:53"},
                   .called = "10.96.0.10",
                   .servers = {"10.1.0.3"}});
    all.push_back({.name = "hairpin: a pod that is its own service",
                   .steps = bridged() + Step{'n', std::string(kFilters) +
                                                      "iptables -t nat -A PREROUTING -d 10.96.0.10 "
                                                      "-p udp --dport 53 -j DNAT --to-destination "
                                                      "10.1.0.2:53\n"
                                                      "iptables -t nat -A POSTROUTING -s 10.1.0.2 "
                                                      "-d 10.1.0.2 -j MASQUERADE"},
                   .called = "10.96.0.10",
                   .servers = {"10.1.0.2"},
                   .server_in = 'c',
                   .watched = "nc"});
    all.push_back({.name = "out of a bridge, with MASQUERADE",
                   .steps = {{'n',
                              "ip link add br0 type bridge; ip address add 10.1.0.1/24 dev br0\n"
                              "ip link add n0 type veth peer name c0 netns {c}\n"
                              "ip link add n1 type veth peer name s0 netns {s}\n"
                              "ip link set n0 master br0 up; ip link set br0 up\n"
                              "ip address add 10.2.0.1/24 dev n1; ip link set n1 up\n"
                              "sysctl -qw net.ipv4.ip_forward=1\n"
                              "iptables -t nat -A POSTROUTING -s 10.1.0.0/24 ! -d 10.1.0.0/24 "
                              "-j MASQUERADE"},
                             {'c',
                              "ip address add 10.1.0.2/24 dev c0; ip link set c0 up\n"
                              "ip route add default via 10.1.0.1"},
                             {'s', "ip address add 10.2.0.2/24 dev s0; ip link set s0 up"}},
                   .talk = Talk::kTcp,
                   .called_port = 80,
                   .server_port = 80,
                   .seen_as = "10.2.0.1"});
    all.push_back(
        {.name = "macvlan, past the node that lends its device",
         .steps = {{'n',
                    "ip link add n1 type veth peer name s0 netns {s}; ip link set n1 up\n"
                    "ip address add 10.2.0.1/24 dev n1\n"
                    "ip link add link n1 name c0 netns {c} type macvlan mode bridge\n"
                    "iptables -P FORWARD DROP; iptables -A FORWARD -m conntrack --ctstate "
                    "ESTABLISHED -j ACCEPT"},
                   {'c', "ip address add 10.2.0.7/24 dev c0; ip link set c0 up"},
                   {'s', "ip address add 10.2.0.2/24 dev s0; ip link set s0 up"}},
         .client = "10.2.0.7",
         .seen_as = "10.2.0.7"});
    all.push_back(
        {.name = "macvlan to a macvlan of the node",
         .steps = {{'n',
                    "ip link add n1 type veth peer name s0 netns {s}; ip link set n1 up\n"
                    "ip link add link n1 name shim type macvlan mode bridge\n"
                    "ip address add 10.2.0.1/24 dev shim; ip link set shim up\n"
                    "ip link add link n1 name c0 netns {c} type macvlan mode bridge\n"
                    "iptables -P INPUT DROP; iptables -A INPUT -p udp --dport 53 -j ACCEPT"},
                   {'s', "ip link set s0 up"},
                   {'c', "ip address add 10.2.0.7/24 dev c0; ip link set c0 up"}},
         .client = "10.2.0.7",
         .called = "10.2.0.1",
         .servers = {"10.2.0.1"},
         .server_in = 'n',
         .watched = "nc"});
    all.push_back(
        {.name = "VXLAN between two nodes",
         .steps = {{'n',
                    "ip link add n0 type veth peer name c0 netns {c}\n"
                    "ip link add n1 type veth peer name s0 netns {s}\n"
                    "ip address add 10.1.0.1/24 dev n0; ip address add 198.18.0.1/24 dev "
                    "n1\nip link set n0 up; ip link set n1 up\n"
                    "ip link add vx type vxlan id 1 dev n1 local 198.18.0.1 remote "
                    "198.18.0.2 dstport 8472\n"
                    "ip address add 10.2.0.1/24 dev vx; ip link set vx up mtu 1450\n"
                    "sysctl -qw net.ipv4.ip_forward=1\n"
                    "iptables -t nat -A POSTROUTING -s 10.1.0.0/24 ! -o vx -j MASQUERADE"},
                   {'c',
                    "ip address add 10.1.0.2/24 dev c0; ip link set c0 up\n"
                    "ip route add default via 10.1.0.1"},
                   {'s',
                    "ip address add 198.18.0.2/24 dev s0; ip link set s0 up\n"
                    "ip link add vx type vxlan id 1 dev s0 local 198.18.0.2 remote "
                    "198.18.0.1 dstport 8472\n"
                    "ip address add 10.2.0.2/24 dev vx; ip link set vx up mtu 1450\n"
                    "ip route add 10.1.0.0/24 via 10.2.0.1"}},
         .talk = Talk::kTcp,
         .called_port = 80,
         .server_port = 80});
    all.push_back({.name = "a pod's veth with proxy_arp, as calico has it",
                   .steps = {{'n',
                              "ip link add cali0 type veth peer name c0 netns {c}\n"
                              "ip link add cali1 type veth peer name s0 netns {s}\n"
                              "for d in cali0 cali1; do ip link set $d up\n"
                              "sysctl -qw net.ipv4.conf.$d.proxy_arp=1; done\n"
                              "sysctl -qw net.ipv4.neigh.cali0.proxy_delay=0\n"
                              "sysctl -qw net.ipv4.neigh.cali1.proxy_delay=0\n"
                              "ip link add up0 type bridge; ip address add 192.0.2.1/24 dev up0\n"
                              "ip link set up0 up; ip route add default via 192.0.2.254\n"
                              "ip route add 10.1.0.2 dev cali0; ip route add 10.1.0.3 dev cali1\n"
                              "sysctl -qw net.ipv4.ip_forward=1 net.ipv4.conf.all.rp_filter=1\n" +
                                  std::string(kStateful) +
                                  "iptables -A FORWARD -i cali+ -m conntrack --ctstate NEW "
                                  "-j ACCEPT"},
                             {'c',
                              "ip address add 10.1.0.2/32 dev c0; ip link set c0 up\n"
                              "ip route add 169.254.1.1 dev c0\n"
                              "ip route add default via 169.254.1.1 dev c0"},
                             {'s',
                              "ip address add 10.1.0.3/32 dev s0; ip link set s0 up\n"
                              "ip route add 169.254.1.1 dev s0\n"
                              "ip route add default via 169.254.1.1 dev s0"}},
                   .called = "10.1.0.3",
                   .servers = {"10.1.0.3"}});
}

void add_untracked(std::vector<Setup>& all) {
    all.push_back(
        {.name = "NodeLocal DNS: an address of the node, NOTRACK",
         .steps = routed() + Step{'n', std::string(kKubeProxy) +
                                           "ip link add nodelocaldns type bridge\n"
                                           "ip address add 169.254.20.10/32 dev nodelocaldns\n"
                                           "ip link set nodelocaldns up\n"
                                           "iptables -P INPUT DROP\n"
                                           "iptables -A INPUT -m conntrack --ctstate ESTABLISHED "
                                           "-j ACCEPT\n"
                                           "for d in '-d 169.254.20.10/32 -p udp --dport 53'; do\n"
                                           "iptables -t raw -A PREROUTING $d -j NOTRACK\n"
                                           "iptables -t raw -A OUTPUT $d -j NOTRACK\n"
                                           "iptables -A INPUT $d -j ACCEPT; done\n"
                                           "iptables -t raw -A OUTPUT -s 169.254.20.10/32 -p udp "
                                           "--sport 53 -j NOTRACK"},
         .called = "169.254.20.10",
         .servers = {"169.254.20.10"},
         .server_in = 'n',
         .watched = "nc"});
    all.push_back({.name = "NOTRACK on the way",
                   .steps = routed() + Step{'n',
                                            "iptables -t raw -A PREROUTING -p udp --dport 53 "
                                            "-j NOTRACK\n"
                                            "iptables -t raw -A PREROUTING -p udp --sport 53 "
                                            "-j NOTRACK\n"
                                            "iptables -P FORWARD DROP\n"
                                            "iptables -A FORWARD -m conntrack --ctstate UNTRACKED "
                                            "-j ACCEPT"}});
    all.push_back({.name = "a zone for both directions",
                   .steps = routed() + Step{'n', std::string(kStateful) +
                                                     "iptables -t raw -A PREROUTING -i n0 -j CT "
                                                     "--zone 7\n"
                                                     "iptables -t raw -A PREROUTING -i n1 -j CT "
                                                     "--zone 7\n"
                                                     "iptables -A FORWARD -i n0 -j ACCEPT"}});
    all.push_back({.name = "a zone of the questions alone",
                   .steps = routed() + Step{'n', std::string(kStateful) +
                                                     "iptables -t raw -A PREROUTING -i n0 -j CT "
                                                     "--zone-orig 9\n"
                                                     "iptables -A FORWARD -i n0 -j ACCEPT\n"
                                                     "iptables -t nat -A POSTROUTING -o n1 "
                                                     "-j MASQUERADE"},
                   .seen_as = "10.2.0.1"});
}

void add_paths(std::vector<Setup>& all) {
    all.push_back({.name = "two uplinks, each by the source's rule",
                   .steps = two_links() + Step{'n',
                                               "ip route add default via 10.2.0.2\n"
                                               "ip rule add from 10.1.0.2 lookup 200\n"
                                               "ip route add default via 10.3.0.2 table 200\n"
                                               "iptables -t nat -A POSTROUTING -o n1 "
                                               "-j MASQUERADE\n"
                                               "iptables -t nat -A POSTROUTING -o n2 "
                                               "-j MASQUERADE"},
                   .called = "10.9.0.9",
                   .servers = {"10.9.0.9"},
                   .seen_as = "10.3.0.1"});
    all.push_back({.name = "two uplinks of one route (multipath)",
                   .steps = two_links() + Step{'n',
                                               "ip route add 10.9.0.9 nexthop via 10.2.0.2 nexthop "
                                               "via 10.3.0.2\n"
                                               "sysctl -qw net.ipv4.fib_multipath_hash_policy=1\n" +
                                                   std::string(kStateful) +
                                                   "iptables -A FORWARD -i n0 -j ACCEPT"},
                   .called = "10.9.0.9",
                   .servers = {"10.9.0.9"}});
    all.push_back({.name = "there by one link, back by the other",
                   .steps = two_links() + Step{'n', "ip route add 10.9.0.9 via 10.3.0.2\n" +
                                                        std::string(kStateful) +
                                                        "iptables -A FORWARD -i n0 -j ACCEPT"},
                   .talk = Talk::kTcp,
                   .called = "10.9.0.9",
                   .called_port = 80,
                   .servers = {"10.9.0.9"},
                   .server_port = 80});
    all.push_back(
        {.name = "policy routing by a mark that conntrack keeps",
         .steps = two_links() + Step{'n',
                                     "ip route add default via 10.2.0.2\n"
                                     "ip rule add fwmark 0x2/0x2 lookup 200\n"
                                     "ip route add default via 10.3.0.2 table 200\n"
                                     "iptables -t mangle -A PREROUTING -i n0 -j CONNMARK "
                                     "--restore-mark\n"
                                     "iptables -t mangle -A PREROUTING -i n0 -p tcp --dport 80 "
                                     "-m mark --mark 0 -j MARK --set-mark 0x2\n"
                                     "iptables -t mangle -A PREROUTING -j CONNMARK --save-mark\n"
                                     "iptables -t nat -A POSTROUTING -o n2 -j MASQUERADE"},
         .talk = Talk::kTcp,
         .called = "10.9.0.9",
         .called_port = 80,
         .servers = {"10.9.0.9"},
         .server_port = 80,
         .seen_as = "10.3.0.1"});
    all.push_back({.name = "IPv6, stateful firewall",
                   .steps = routed() + Step{'n',
                                            "ip6tables -P FORWARD DROP\n"
                                            "ip6tables -A FORWARD -m conntrack --ctstate "
                                            "RELATED,ESTABLISHED -j ACCEPT\n"
                                            "ip6tables -A FORWARD -p icmpv6 -j ACCEPT\n"
                                            "ip6tables -A FORWARD -p tcp --dport 80 -j ACCEPT"},
                   .talk = Talk::kTcp,
                   .client = "fd00:1::2",
                   .called = "fd00:2::2",
                   .called_port = 80,
                   .servers = {"fd00:2::2"},
                   .server_port = 80,
                   .seen_as = "fd00:1::2"});
    all.push_back(
        {.name = "IPv6, a service and MASQUERADE",
         .steps = routed() + Step{'n',
                                  "ip6tables -t nat -A PREROUTING -d fd00:10:96::a -p udp "
                                  "--dport 53 -j DNAT --to-destination [fd00:2::2]:53\n"
                                  "ip6tables -t nat -A POSTROUTING -o n1 -j MASQUERADE"},
         .client = "fd00:1::2",
         .called = "fd00:10:96::a",
         .servers = {"fd00:2::2"},
         .seen_as = "fd00:2::1"});
    all.push_back({.name = "IPv6, ping",
                   .steps = routed() + Step{'n',
                                            "ip6tables -P FORWARD DROP\n"
                                            "ip6tables -A FORWARD -m conntrack --ctstate "
                                            "ESTABLISHED -j ACCEPT\n"
                                            "ip6tables -A FORWARD -p icmpv6 --icmpv6-type "
                                            "echo-request -j ACCEPT"},
                   .talk = Talk::kIcmp,
                   .client = "fd00:1::2",
                   .called = "fd00:2::2",
                   .servers = {"fd00:2::2"},
                   .seen_as = "fd00:1::2"});
    all.push_back({.name = "IPv6, fragments",
                   .steps = routed() + Step{'n',
                                            "ip6tables -A FORWARD -m conntrack --ctstate NEW "
                                            "-p udp -j ACCEPT"},
                   .client = "fd00:1::2",
                   .called = "fd00:2::2",
                   .servers = {"fd00:2::2"},
                   .bytes = 4000,
                   .seen_as = "fd00:1::2"});
}

// Kinds of devices, and IPVS, that not every kernel has.
void add_kinds(std::vector<Setup>& all) {
    all.push_back({.name = "VLAN",
                   .steps = {{'n',
                              "ip link add n0 type veth peer name c0 netns {c}\n"
                              "ip link add n1 type veth peer name s0 netns {s}\n"
                              "ip address add 10.1.0.1/24 dev n0; ip link set n0 up\n"
                              "ip link set n1 up; ip link add link n1 name n1.5 type vlan id 5\n"
                              "ip address add 10.2.0.1/24 dev n1.5; ip link set n1.5 up\n"
                              "sysctl -qw net.ipv4.ip_forward=1\n"
                              "iptables -t nat -A POSTROUTING -o n1.5 -j MASQUERADE"},
                             {'c',
                              "ip address add 10.1.0.2/24 dev c0; ip link set c0 up\n"
                              "ip route add default via 10.1.0.1"},
                             {'s',
                              "ip link set s0 up; ip link add link s0 name s0.5 type vlan id 5\n"
                              "ip address add 10.2.0.2/24 dev s0.5; ip link set s0.5 up"}},
                   .talk = Talk::kTcp,
                   .called_port = 80,
                   .server_port = 80,
                   .seen_as = "10.2.0.1",
                   .wants = "vlan",
                   .instead = "macvlan to a macvlan of the node"});
    all.push_back({.name = "bond",
                   .steps = {{'n',
                              "ip link add n0 type veth peer name c0 netns {c}\n"
                              "ip link add n1 type veth peer name s0 netns {s}\n"
                              "ip link add n2 type veth peer name s1 netns {s}\n"
                              "ip address add 10.1.0.1/24 dev n0; ip link set n0 up\n"
                              "ip link add bond0 type bond mode active-backup miimon 50\n"
                              "ip link set n1 master bond0; ip link set n2 master bond0\n"
                              "ip address add 10.2.0.1/24 dev bond0; ip link set bond0 up\n"
                              "ip link set n1 up; ip link set n2 up\n"
                              "sysctl -qw net.ipv4.ip_forward=1\n"
                              "iptables -t nat -A POSTROUTING -o bond0 -j MASQUERADE"},
                             {'c',
                              "ip address add 10.1.0.2/24 dev c0; ip link set c0 up\n"
                              "ip route add default via 10.1.0.1"},
                             {'s',
                              "ip link add br0 type bridge; ip link set s0 master br0 up\n"
                              "ip link set s1 master br0 up; ip link set br0 up\n"
                              "ip address add 10.2.0.2/24 dev br0"}},
                   .talk = Talk::kTcp,
                   .called_port = 80,
                   .server_port = 80,
                   .seen_as = "10.2.0.1",
                   .wants = "bond",
                   .instead = "two uplinks of one route (multipath)"});
    all.push_back(
        {.name = "ipvlan, past the node that lends its device",
         .steps = {{'n',
                    "ip link add n1 type veth peer name s0 netns {s}; ip link set n1 up\n"
                    "ip address add 10.2.0.1/24 dev n1\n"
                    "ip link add link n1 name c0 netns {c} type ipvlan mode l2\n"
                    "iptables -P FORWARD DROP; iptables -A FORWARD -m conntrack --ctstate "
                    "ESTABLISHED -j ACCEPT"},
                   {'c', "ip address add 10.2.0.7/24 dev c0; ip link set c0 up"},
                   {'s', "ip address add 10.2.0.2/24 dev s0; ip link set s0 up"}},
         .client = "10.2.0.7",
         .seen_as = "10.2.0.7",
         .wants = "ipvlan",
         .instead = "macvlan, past the node that lends its device"});
    all.push_back({.name = "IPVS, a service with masquerading",
                   .steps = routed() + Step{'n',
                                            "ip link add ipvs0 type dummy\n"
                                            "ip address add 10.96.0.10/32 dev ipvs0\n"
                                            "ip link set ipvs0 up\n"
                                            "sysctl -qw net.ipv4.vs.conntrack=1\n"
                                            "ipvsadm -A -u 10.96.0.10:53 -s rr\n"
                                            "ipvsadm -a -u 10.96.0.10:53 -r 10.2.0.2:53 -m\n"
                                            "ipvsadm -a -u 10.96.0.10:53 -r 10.2.0.3:53 -m"},
                   .called = "10.96.0.10",
                   .servers = {"10.2.0.2", "10.2.0.3"},
                   .seen_as = "",
                   .wants = "ipvs",
                   .instead = "kube-proxy's nftables, a pod to a service"});
}

}  // namespace

std::vector<Setup> healthy_setups() {
    std::vector<Setup> all;
    add_plain(all);
    add_nat(all);
    add_bridges(all);
    add_untracked(all);
    add_paths(all);
    add_kinds(all);
    return all;
}

}  // namespace pathproof::monitor::lab
