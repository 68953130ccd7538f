#include "tests/predict/project_rules.h"

namespace pathproof::predict::fixture {
namespace {

// Services with one endpoint, with two, without any, and a port of the node.
constexpr const char* kKubeProxy = R"(*mangle
:KUBE-IPTABLES-HINT - [0:0]
:KUBE-KUBELET-CANARY - [0:0]
COMMIT
*filter
:KUBE-EXTERNAL-SERVICES - [0:0]
:KUBE-FIREWALL - [0:0]
:KUBE-FORWARD - [0:0]
:KUBE-NODEPORTS - [0:0]
:KUBE-PROXY-FIREWALL - [0:0]
:KUBE-SERVICES - [0:0]
-A INPUT -m conntrack --ctstate NEW -j KUBE-PROXY-FIREWALL
-A INPUT -j KUBE-NODEPORTS
-A INPUT -m conntrack --ctstate NEW -j KUBE-EXTERNAL-SERVICES
-A INPUT -j KUBE-FIREWALL
-A FORWARD -m conntrack --ctstate NEW -j KUBE-PROXY-FIREWALL
-A FORWARD -j KUBE-FORWARD
-A FORWARD -m conntrack --ctstate NEW -j KUBE-SERVICES
-A FORWARD -m conntrack --ctstate NEW -j KUBE-EXTERNAL-SERVICES
-A OUTPUT -m conntrack --ctstate NEW -j KUBE-PROXY-FIREWALL
-A OUTPUT -m conntrack --ctstate NEW -j KUBE-SERVICES
-A OUTPUT -j KUBE-FIREWALL
-A KUBE-FIREWALL ! -s 127.0.0.0/8 -d 127.0.0.0/8 -m conntrack ! --ctstate RELATED,ESTABLISHED,DNAT -j DROP
-A KUBE-FORWARD -m conntrack --ctstate INVALID -j DROP
-A KUBE-FORWARD -m mark --mark 0x4000/0x4000 -j ACCEPT
-A KUBE-FORWARD -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT
-A KUBE-SERVICES -d 10.96.0.11/32 -p udp -m udp --dport 443 -j REJECT --reject-with icmp-port-unreachable
COMMIT
*nat
:KUBE-EXT-WEB - [0:0]
:KUBE-MARK-MASQ - [0:0]
:KUBE-NODEPORTS - [0:0]
:KUBE-POSTROUTING - [0:0]
:KUBE-SEP-DNS1 - [0:0]
:KUBE-SEP-DNS2 - [0:0]
:KUBE-SEP-WEB1 - [0:0]
:KUBE-SERVICES - [0:0]
:KUBE-SVC-DNS - [0:0]
:KUBE-SVC-WEB - [0:0]
-A PREROUTING -j KUBE-SERVICES
-A OUTPUT -j KUBE-SERVICES
-A POSTROUTING -j KUBE-POSTROUTING
-A KUBE-EXT-WEB -j KUBE-MARK-MASQ
-A KUBE-EXT-WEB -j KUBE-SVC-WEB
-A KUBE-MARK-MASQ -j MARK --set-xmark 0x4000/0x4000
-A KUBE-NODEPORTS -p tcp -m tcp --dport 8080 -j KUBE-EXT-WEB
-A KUBE-POSTROUTING -m mark ! --mark 0x4000/0x4000 -j RETURN
-A KUBE-POSTROUTING -j MARK --set-xmark 0x4000/0x0
-A KUBE-POSTROUTING -j MASQUERADE --random-fully
-A KUBE-SEP-DNS1 -s 10.2.0.2/32 -j KUBE-MARK-MASQ
-A KUBE-SEP-DNS1 -p udp -m udp -j DNAT --to-destination 10.2.0.2:53
-A KUBE-SEP-DNS2 -s 10.3.0.2/32 -j KUBE-MARK-MASQ
-A KUBE-SEP-DNS2 -p udp -m udp -j DNAT --to-destination 10.3.0.2:53
-A KUBE-SEP-WEB1 -s 10.2.0.9/32 -j KUBE-MARK-MASQ
-A KUBE-SEP-WEB1 -p tcp -m tcp -j DNAT --to-destination 10.2.0.9:8080
-A KUBE-SERVICES -d 10.96.0.10/32 -p udp -m udp --dport 53 -j KUBE-SVC-DNS
-A KUBE-SERVICES -d 10.96.0.10/32 -p tcp -m tcp --dport 80 -j KUBE-SVC-WEB
-A KUBE-SERVICES -d 10.96.0.11/32 -p tcp -m tcp --dport 443 -j KUBE-EXT-WEB
-A KUBE-SERVICES -m addrtype --dst-type LOCAL -j KUBE-NODEPORTS
-A KUBE-SVC-DNS ! -s 10.1.0.0/30 -d 10.96.0.10/32 -p udp -m udp --dport 53 -j KUBE-MARK-MASQ
-A KUBE-SVC-DNS -m statistic --mode random --probability 0.50000000000 -j KUBE-SEP-DNS1
-A KUBE-SVC-DNS -j KUBE-SEP-DNS2
-A KUBE-SVC-WEB ! -s 10.1.0.0/30 -d 10.96.0.10/32 -p tcp -m tcp --dport 80 -j KUBE-MARK-MASQ
-A KUBE-SVC-WEB -j KUBE-SEP-WEB1
COMMIT
)";

// Verdict maps by address, protocol and port, and a chain for each service and endpoint.
constexpr const char* kKubeProxyNft = R"(table ip kube-proxy {
  set cluster-ips { type ipv4_addr; elements = { 10.96.0.10, 10.96.0.11 } }
  set nodeport-ips { type ipv4_addr; elements = { 10.1.0.1 } }
  map no-endpoint-services {
    type ipv4_addr . inet_proto . inet_service : verdict
    elements = { 10.96.0.11 . udp . 443 : goto reject-chain }
  }
  map service-ips {
    type ipv4_addr . inet_proto . inet_service : verdict
    elements = { 10.96.0.10 . udp . 53 : goto service-dns, 10.96.0.10 . tcp . 80 : goto service-web,
                 10.96.0.11 . tcp . 443 : goto external-web }
  }
  map service-nodeports {
    type inet_proto . inet_service : verdict
    elements = { tcp . 8080 : goto external-web }
  }
  chain reject-chain { reject comment "r1"
  }
  chain mark-for-masquerade { meta mark set meta mark or 0x4000 comment "r2"
  }
  chain masquerading {
    meta mark & 0x4000 == 0 return comment "r3"
    meta mark set meta mark xor 0x4000 comment "r4"
    masquerade fully-random comment "r5"
  }
  chain endpoint-dns1 {
    ip saddr 10.2.0.2 jump mark-for-masquerade comment "r6"
    meta l4proto udp dnat to 10.2.0.2:53 comment "r7"
  }
  chain endpoint-dns2 {
    ip saddr 10.3.0.2 jump mark-for-masquerade comment "r8"
    meta l4proto udp dnat to 10.3.0.2:53 comment "r9"
  }
  chain endpoint-web1 {
    ip saddr 10.2.0.9 jump mark-for-masquerade comment "r10"
    meta l4proto tcp dnat to 10.2.0.9:8080 comment "r11"
  }
  chain service-dns {
    ip daddr 10.96.0.10 udp dport 53 ip saddr != 10.1.0.0/30 jump mark-for-masquerade comment "r12"
    numgen random mod 2 vmap { 0 : goto endpoint-dns1, 1 : goto endpoint-dns2 } comment "r13"
  }
  chain service-web {
    ip daddr 10.96.0.10 tcp dport 80 ip saddr != 10.1.0.0/30 jump mark-for-masquerade comment "r14"
    numgen random mod 1 vmap { 0 : goto endpoint-web1 } comment "r15"
  }
  chain external-web {
    jump mark-for-masquerade comment "r16"
    goto service-web comment "r17"
  }
  chain services {
    ip daddr . meta l4proto . th dport vmap @service-ips comment "r18"
    ip daddr @nodeport-ips meta l4proto . th dport vmap @service-nodeports comment "r19"
  }
  chain service-endpoints-check {
    ip daddr . meta l4proto . th dport vmap @no-endpoint-services comment "r20"
  }
  chain cluster-ips-check {
    ip daddr @cluster-ips reject comment "r21"
  }
  chain filter-prerouting { type filter hook prerouting priority -110; policy accept;
    ct state new jump filter-nothing comment "r22"
  }
  chain filter-nothing { return comment "r23"
  }
  chain filter-forward { type filter hook forward priority -110; policy accept;
    ct state new jump service-endpoints-check comment "r24"
    ct state new jump cluster-ips-check comment "r25"
  }
  chain filter-output { type filter hook output priority -110; policy accept;
    ct state new jump filter-nothing comment "r26"
  }
  chain nat-output { type nat hook output priority -100; policy accept; jump services comment "r27"
  }
  chain nat-postrouting { type nat hook postrouting priority 100; policy accept;
    jump masquerading comment "r28"
  }
  chain nat-prerouting { type nat hook prerouting priority -100; policy accept;
    jump services comment "r29"
  }
}
)";

constexpr const char* kFlannel = R"(*filter
:FORWARD DROP [0:0]
:FLANNEL-FWD - [0:0]
-A FORWARD -m comment --comment "flanneld forward" -j FLANNEL-FWD
-A FLANNEL-FWD -s 10.1.0.0/16 -m comment --comment "flanneld forward" -j ACCEPT
-A FLANNEL-FWD -d 10.1.0.0/16 -m comment --comment "flanneld forward" -j ACCEPT
COMMIT
*nat
:FLANNEL-POSTRTG - [0:0]
-A POSTROUTING -m comment --comment "flanneld masq" -j FLANNEL-POSTRTG
-A FLANNEL-POSTRTG -m mark --mark 0x4000/0x4000 -m comment --comment "flanneld masq" -j RETURN
-A FLANNEL-POSTRTG -s 10.1.0.0/24 -d 10.1.0.0/16 -m comment --comment "flanneld masq" -j RETURN
-A FLANNEL-POSTRTG -s 10.1.0.0/16 -d 10.1.0.0/24 -m comment --comment "flanneld masq" -j RETURN
-A FLANNEL-POSTRTG ! -s 10.1.0.0/16 -d 10.1.0.0/24 -m comment --comment "flanneld masq" -j RETURN
-A FLANNEL-POSTRTG -s 10.1.0.0/16 ! -d 224.0.0.0/4 -m comment --comment "flanneld masq" -j MASQUERADE --random-fully
-A FLANNEL-POSTRTG ! -s 10.1.0.0/16 -d 10.1.0.0/16 -m comment --comment "flanneld masq" -j MASQUERADE --random-fully
COMMIT
)";

// Calico's rules, with networks in place of its IP sets, and the clients' device as a workload's.
constexpr const char* kCalico = R"(*raw
:cali-PREROUTING - [0:0]
:cali-OUTPUT - [0:0]
-A PREROUTING -j cali-PREROUTING
-A OUTPUT -j cali-OUTPUT
-A cali-PREROUTING -j MARK --set-xmark 0x0/0xf0000
-A cali-PREROUTING -i c+ -j MARK --set-xmark 0x40000/0x40000
-A cali-PREROUTING -m mark --mark 0x10000/0x10000 -j ACCEPT
-A cali-OUTPUT -j MARK --set-xmark 0x0/0xf0000
COMMIT
*mangle
:cali-PREROUTING - [0:0]
-A PREROUTING -j cali-PREROUTING
-A cali-PREROUTING -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT
-A cali-PREROUTING -m mark --mark 0x10000/0x10000 -j ACCEPT
COMMIT
*filter
:cali-FORWARD - [0:0]
:cali-INPUT - [0:0]
:cali-OUTPUT - [0:0]
:cali-from-wl-dispatch - [0:0]
:cali-to-wl-dispatch - [0:0]
:cali-fw-c0 - [0:0]
:cali-tw-c0 - [0:0]
:cali-pro-ksa - [0:0]
:cali-wl-to-host - [0:0]
-A INPUT -j cali-INPUT
-A FORWARD -j cali-FORWARD
-A FORWARD -m mark --mark 0x10000/0x10000 -j ACCEPT
-A FORWARD -j MARK --set-xmark 0x10000/0x10000
-A OUTPUT -j cali-OUTPUT
-A cali-FORWARD -j MARK --set-xmark 0x0/0xe0000
-A cali-FORWARD -i c+ -j cali-from-wl-dispatch
-A cali-FORWARD -o c+ -j cali-to-wl-dispatch
-A cali-INPUT -p udp -m multiport --dports 4789 -m addrtype --dst-type LOCAL -j DROP
-A cali-INPUT -i c+ -g cali-wl-to-host
-A cali-INPUT -m mark --mark 0x10000/0x10000 -j ACCEPT
-A cali-wl-to-host -j cali-from-wl-dispatch
-A cali-wl-to-host -m comment --comment "Configured DefaultEndpointToHostAction" -j ACCEPT
-A cali-OUTPUT -m mark --mark 0x10000/0x10000 -j ACCEPT
-A cali-OUTPUT -o c+ -j RETURN
-A cali-from-wl-dispatch -i c0 -g cali-fw-c0
-A cali-from-wl-dispatch -m comment --comment "Unknown interface" -j DROP
-A cali-to-wl-dispatch -o c0 -g cali-tw-c0
-A cali-to-wl-dispatch -m comment --comment "Unknown interface" -j DROP
-A cali-fw-c0 -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT
-A cali-fw-c0 -m conntrack --ctstate INVALID -j DROP
-A cali-fw-c0 -j MARK --set-xmark 0x0/0x30000
-A cali-fw-c0 -p udp -m multiport --dports 4789 -j DROP
-A cali-fw-c0 -p 4 -j DROP
-A cali-fw-c0 -j cali-pro-ksa
-A cali-fw-c0 -m mark --mark 0x10000/0x10000 -j RETURN
-A cali-fw-c0 -m comment --comment "Drop if no profiles matched" -j DROP
-A cali-tw-c0 -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT
-A cali-tw-c0 -m conntrack --ctstate INVALID -j DROP
-A cali-tw-c0 -j MARK --set-xmark 0x0/0x30000
-A cali-tw-c0 -j DROP
-A cali-pro-ksa ! -s 10.2.0.77/32 -j MARK --set-xmark 0x10000/0x10000
-A cali-pro-ksa -m mark --mark 0x10000/0x10000 -j RETURN
COMMIT
*nat
:cali-PREROUTING - [0:0]
:cali-POSTROUTING - [0:0]
:cali-fip-dnat - [0:0]
:cali-nat-outgoing - [0:0]
-A PREROUTING -j cali-PREROUTING
-A POSTROUTING -j cali-POSTROUTING
-A cali-PREROUTING -j cali-fip-dnat
-A cali-POSTROUTING -j cali-nat-outgoing
-A cali-POSTROUTING -o tunl0 -m addrtype ! --src-type LOCAL --limit-iface-out -m addrtype --src-type LOCAL -j MASQUERADE
-A cali-nat-outgoing -s 10.1.0.0/24 ! -d 10.1.0.0/24 -j MASQUERADE --random-fully
COMMIT
)";

// Two ports of the node, one of them for one address alone.
constexpr const char* kPortmap = R"(*nat
:CNI-DN-aaaaaaaaaaaaaaaaaaaaa - [0:0]
:CNI-DN-bbbbbbbbbbbbbbbbbbbbb - [0:0]
:CNI-HOSTPORT-DNAT - [0:0]
:CNI-HOSTPORT-MASQ - [0:0]
:CNI-HOSTPORT-SETMARK - [0:0]
-A PREROUTING -m addrtype --dst-type LOCAL -j CNI-HOSTPORT-DNAT
-A OUTPUT -m addrtype --dst-type LOCAL -j CNI-HOSTPORT-DNAT
-A POSTROUTING -m comment --comment "CNI portfwd requiring masquerade" -j CNI-HOSTPORT-MASQ
-A CNI-DN-aaaaaaaaaaaaaaaaaaaaa -s 10.2.0.0/24 -p tcp -m tcp --dport 8080 -j CNI-HOSTPORT-SETMARK
-A CNI-DN-aaaaaaaaaaaaaaaaaaaaa -s 127.0.0.1/32 -p tcp -m tcp --dport 8080 -j CNI-HOSTPORT-SETMARK
-A CNI-DN-aaaaaaaaaaaaaaaaaaaaa -p tcp -m tcp --dport 8080 -j DNAT --to-destination 10.2.0.2:80
-A CNI-DN-bbbbbbbbbbbbbbbbbbbbb -d 10.1.0.1/32 -s 10.1.0.0/24 -p udp -m udp --dport 53 -j CNI-HOSTPORT-SETMARK
-A CNI-DN-bbbbbbbbbbbbbbbbbbbbb -d 10.1.0.1/32 -p udp -m udp --dport 53 -j DNAT --to-destination 10.3.0.2:53
-A CNI-HOSTPORT-DNAT -p tcp -m comment --comment "dnat name: \"net\" id: \"a\"" -m multiport --dports 8080 -j CNI-DN-aaaaaaaaaaaaaaaaaaaaa
-A CNI-HOSTPORT-DNAT -p udp -m comment --comment "dnat name: \"net\" id: \"b\"" -m multiport --dports 53 -j CNI-DN-bbbbbbbbbbbbbbbbbbbbb
-A CNI-HOSTPORT-MASQ -m mark --mark 0x2000/0x2000 -j MASQUERADE
-A CNI-HOSTPORT-SETMARK -m comment --comment "CNI portfwd masquerade mark" -j MARK --set-xmark 0x2000/0x2000
COMMIT
*filter
:CNI-ADMIN - [0:0]
:CNI-FORWARD - [0:0]
-A FORWARD -m comment --comment "CNI firewall plugin rules" -j CNI-FORWARD
-A CNI-FORWARD -m comment --comment "CNI firewall plugin admin overrides" -j CNI-ADMIN
-A CNI-FORWARD -d 10.2.0.2/32 -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT
-A CNI-FORWARD -s 10.2.0.2/32 -j ACCEPT
COMMIT
)";

// The servers' device in place of docker0, and a second bridge.
constexpr const char* kDocker = R"(*filter
:FORWARD DROP [0:0]
:DOCKER - [0:0]
:DOCKER-ISOLATION-STAGE-1 - [0:0]
:DOCKER-ISOLATION-STAGE-2 - [0:0]
:DOCKER-USER - [0:0]
-A FORWARD -j DOCKER-USER
-A FORWARD -j DOCKER-ISOLATION-STAGE-1
-A FORWARD -o s0 -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT
-A FORWARD -o s0 -j DOCKER
-A FORWARD -i s0 ! -o s0 -j ACCEPT
-A FORWARD -i s0 -o s0 -j ACCEPT
-A FORWARD -o s1 -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT
-A FORWARD -o s1 -j DOCKER
-A FORWARD -i s1 ! -o s1 -j ACCEPT
-A FORWARD -i s1 -o s1 -j ACCEPT
-A DOCKER -d 10.2.0.2/32 ! -i s0 -o s0 -p tcp -m tcp --dport 80 -j ACCEPT
-A DOCKER -d 10.3.0.2/32 ! -i s1 -o s1 -p udp -m udp --dport 53 -j ACCEPT
-A DOCKER-ISOLATION-STAGE-1 -i s0 ! -o s0 -j DOCKER-ISOLATION-STAGE-2
-A DOCKER-ISOLATION-STAGE-1 -i s1 ! -o s1 -j DOCKER-ISOLATION-STAGE-2
-A DOCKER-ISOLATION-STAGE-1 -j RETURN
-A DOCKER-ISOLATION-STAGE-2 -o s0 -j DROP
-A DOCKER-ISOLATION-STAGE-2 -o s1 -j DROP
-A DOCKER-ISOLATION-STAGE-2 -j RETURN
-A DOCKER-USER -j RETURN
COMMIT
*nat
:DOCKER - [0:0]
-A PREROUTING -m addrtype --dst-type LOCAL -j DOCKER
-A OUTPUT ! -d 127.0.0.0/8 -m addrtype --dst-type LOCAL -j DOCKER
-A POSTROUTING -s 10.2.0.0/24 ! -o s0 -j MASQUERADE
-A POSTROUTING -s 10.3.0.0/24 ! -o s1 -j MASQUERADE
-A POSTROUTING -s 10.2.0.2/32 -d 10.2.0.2/32 -p tcp -m tcp --dport 80 -j MASQUERADE
-A DOCKER -i s0 -j RETURN
-A DOCKER -i s1 -j RETURN
-A DOCKER ! -i s0 -p tcp -m tcp --dport 8080 -j DNAT --to-destination 10.2.0.2:80
-A DOCKER ! -i s1 -p udp -m udp --dport 53 -j DNAT --to-destination 10.3.0.2:53
COMMIT
)";

}  // namespace

std::vector<ProjectRules> project_rules() {
    return {{"kube-proxy, iptables", false, kKubeProxy},
            {"kube-proxy, nftables", true, kKubeProxyNft},
            {"flannel", false, kFlannel},
            {"Calico", false, kCalico},
            {"portmap and firewall", false, kPortmap},
            {"Docker", false, kDocker},
            {"kube-proxy and flannel", false, std::string(kKubeProxy) + kFlannel}};
}

}  // namespace pathproof::predict::fixture
