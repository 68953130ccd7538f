#define BOOST_TEST_MODULE hazards
#include "harness/hazards/hazards.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>

#include "tests/hazards/fixture.h"

using namespace pathproof;
using namespace pathproof::hazards;
using fixture::Host;

namespace {

constexpr const char* kTimestamps = "net.ipv4.tcp_timestamps";
constexpr const char* kBridge = "net.bridge.bridge-nf-call-iptables";

bool has(Host& host, const std::string& id) {
    return (" " + host.ids() + " ").find(" " + id + " ") != std::string::npos;
}

}  // namespace

BOOST_AUTO_TEST_CASE(hosts_have_the_hazards_that_their_rules_make) {
    BOOST_TEST(Host("bridge").ids() == "snat-race");
    BOOST_TEST(Host("kube").ids() == "snat-timestamps dns-race");
    BOOST_TEST(Host("kubeold").ids() == "vxlan-checksum snat-timestamps invalid-rst dns-race");
    BOOST_TEST(Host("kubeafter").ids() == "hairpin-accept snat-race snat-timestamps");
    BOOST_TEST(Host("flannelmtu").ids() == "hairpin-mode snat-timestamps pmtu-blackhole");
    BOOST_TEST(Host("nft").ids() == "forward-drop snat-timestamps dns-race");
}

BOOST_AUTO_TEST_CASE(clean_hosts_have_none) {
    for (const char* host : {"kubeclean", "flannel"}) {
        Host clean(host);
        BOOST_TEST(clean.ids() == "");
        BOOST_TEST(clean.find().unread.empty());
    }
}

BOOST_AUTO_TEST_CASE(each_hazard_has_all_that_a_reader_needs) {
    for (const char* name : {"bridge", "kube", "kubeold", "kubeafter", "flannelmtu", "nft"}) {
        for (const Hazard& hazard : Host(name).find().hazards) {
            const auto known = known_hazards();
            BOOST_TEST(std::ranges::count(known, hazard.id) == 1);
            BOOST_TEST((!hazard.evidence.empty() && !hazard.what.empty() &&
                        !hazard.remedy.empty() && !hazard.side_effect.empty()));
        }
    }
}

BOOST_AUTO_TEST_CASE(the_cure_of_snat_race_names_what_it_breaks) {
    for (const Hazard& hazard : Host("bridge").find().hazards) {
        BOOST_TEST(hazard.remedy.find("--random-fully") != std::string::npos);
        BOOST_TEST(hazard.side_effect.find("snat-timestamps") != std::string::npos);
    }
}

BOOST_AUTO_TEST_CASE(the_rule_is_named) {
    const Evidence plain = Host("bridge").evidence("snat-race");
    BOOST_TEST(plain.where == "nat CNI-HOSTPORT-MASQ rule 1, ip, iptables (nf_tables)");
    BOOST_TEST(plain.text == "-A CNI-HOSTPORT-MASQ -m mark --mark 0x2000/0x2000 -j MASQUERADE");
    BOOST_TEST(Host("kubeafter").evidence("hairpin-accept").text.ends_with("-j ACCEPT"));
    const Evidence drawn = Host("nft").evidence("dns-race");
    BOOST_TEST(drawn.where ==
               "kube-proxy service-X-kube-system/kube-dns/udp/dns handle 20, ip, nftables");
    BOOST_TEST(drawn.text.starts_with("numgen random mod 2 vmap"));
}

BOOST_AUTO_TEST_CASE(a_plain_masquerade_that_no_packet_meets_is_none) {
    Host host("bridge");
    // Nobody jumps there any more.
    host.replace("-A POSTROUTING", "-A UNUSED");
    BOOST_TEST(host.ids() == "");
    Host icmp("kubeclean");
    icmp.replace("COMMIT\n", "-A POSTROUTING -p icmp -j MASQUERADE\nCOMMIT\n");
    BOOST_TEST(icmp.ids() == "");
    Host plain("kubeclean");
    plain.replace("MASQUERADE --random-fully", "MASQUERADE");
    BOOST_TEST(plain.ids() == "snat-race");
}

BOOST_AUTO_TEST_CASE(random_ports_are_a_hazard_of_timestamps_alone) {
    Host host("kubeclean");
    host.facts.sysctls[kTimestamps] = "1";
    BOOST_TEST(host.ids() == "snat-timestamps");
    host.facts.sysctls[kTimestamps] = "0";  // sequence numbers are compared then
    BOOST_TEST(host.ids() == "snat-timestamps");
    Host udp("kubeclean");
    udp.facts.sysctls[kTimestamps] = "1";
    udp.replace("-j MASQUERADE --random-fully", "-p udp -j MASQUERADE --random-fully");
    BOOST_TEST(udp.ids() == "");
}

BOOST_AUTO_TEST_CASE(invalid_segments_that_somebody_else_drops_are_none) {
    Host without("kubeclean");
    without.replace("-A KUBE-FORWARD -m conntrack --ctstate INVALID -j DROP\n", "");
    BOOST_TEST(without.ids() == "invalid-rst");
    without.facts.sysctls["net.netfilter.nf_conntrack_tcp_be_liberal"] = "1";
    BOOST_TEST(without.ids() == "");
    Host elsewhere("kubeclean");
    elsewhere.replace("-A KUBE-FORWARD -m conntrack --ctstate INVALID -j DROP",
                      "-A FORWARD -m conntrack --ctstate INVALID -j DROP");
    BOOST_TEST(elsewhere.ids() == "");
    // A rule that drops only some invalid segments does not count.
    Host some("kubeclean");
    some.replace("--ctstate INVALID -j DROP", "--ctstate INVALID -i eth7 -j DROP");
    BOOST_TEST(some.ids() == "invalid-rst");
    Host nft("nft");
    nft.facts.sysctls[kTimestamps] = "2";
    nft.replace("\"right\": \"invalid\"", "\"right\": \"untracked\"");
    BOOST_TEST(nft.ids() == "forward-drop invalid-rst dns-race");
}

BOOST_AUTO_TEST_CASE(a_bridge_that_does_not_ask_is_one_where_client_and_endpoint_are_on_it) {
    Host host("kubeclean");
    host.facts.sysctls[kBridge] = "0";
    BOOST_TEST(host.ids() == "bridge-unnat");
    host.facts.sysctls.erase(kBridge);  // br_netfilter is not loaded
    BOOST_TEST(host.ids() == "bridge-unnat");
    BOOST_TEST(host.find().hazards[0].evidence.back().text.find("not loaded") != std::string::npos);
    host.device("cni0").calls_iptables = true;
    BOOST_TEST(host.ids() == "");
    // Endpoints on another node; one pod alone; all of it masqueraded.
    Host far("flannel");
    far.facts.sysctls[kBridge] = "0";
    BOOST_TEST(far.ids() == "");
    Host alone("kubeafter");
    alone.facts.sysctls[kBridge] = "0";
    BOOST_TEST(!has(alone, "bridge-unnat"));
    Host masqueraded("kubeclean");
    masqueraded.facts.sysctls[kBridge] = "0";
    masqueraded.replace("-A KUBE-POSTROUTING -m mark !",
                        "-A POSTROUTING -s 10.244.1.0/24 -d 10.244.1.0/24 -j MASQUERADE "
                        "--random-fully\n-A KUBE-POSTROUTING -m mark !");
    BOOST_TEST(masqueraded.ids() == "");
}

BOOST_AUTO_TEST_CASE(mtus_are_held_against_what_the_tunnel_leaves) {
    Host host("flannelmtu");
    std::vector<std::string> devices;
    for (const Hazard& hazard : host.find().hazards) {
        for (const Evidence& each : hazard.evidence) {
            if (hazard.id == "pmtu-blackhole") {
                devices.push_back(each.where);
                BOOST_TEST(hazard.remedy.find("at most 1350 ") != std::string::npos);
            }
        }
    }
    BOOST_TEST((devices == std::vector<std::string>{"device flannel.1", "device cni0"}));
    // A bridge without pods, and one without a tunnel, may have what they like.
    Host other("flannel");
    other.facts.devices.push_back({.name = "docker0", .kind = "bridge", .mtu = 1500});
    BOOST_TEST(other.ids() == "");
    other.device("cni0").mtu = 1451;
    BOOST_TEST(other.ids() == "pmtu-blackhole");
    BOOST_TEST(!has(*std::make_unique<Host>("bridge"), "pmtu-blackhole"));
}

BOOST_AUTO_TEST_CASE(mtus_are_held_against_the_way_out_without_a_tunnel_and_through_two) {
    Host host("flannel");
    host.device("cni0").mtu = 1450;
    const auto text = [&] {
        const auto hazards = host.find().hazards;
        const auto found = std::ranges::find(hazards, "pmtu-blackhole", &Hazard::id);
        return found == hazards.end() ? "" : found->evidence.back().text;
    };
    BOOST_TEST(text() == "");
    // A route of a VPN daemon.
    host.facts.routes.push_back(
        {.to = *parse_range("203.0.113.0/24"), .devices = {"u0"}, .mtu = 1420});
    BOOST_TEST(text() == "MTU 1450, and there are routes by way of u0, which leaves 1420");
    // The way to the tunnel's far end counts, too.
    host.device("flannel.1").remotes = {*frame::parse_ip("203.0.113.9")};
    BOOST_TEST(text() == "MTU 1450, and there are routes by way of flannel.1, which leaves 1370");
}

BOOST_AUTO_TEST_CASE(a_strict_reverse_path_is_one_where_there_are_two_ways) {
    Host host("kubeclean");
    auto& sysctls = host.facts.sysctls;
    sysctls["net.ipv4.conf.all.rp_filter"] = "0";
    sysctls["net.ipv4.conf.u0.rp_filter"] = "1";
    BOOST_TEST(host.ids() == "");  // one way
    Route second = host.facts.routes.front();
    BOOST_REQUIRE((second.to == *parse_range("0.0.0.0/0")));
    second.devices = {"eth9"};
    host.facts.routes.push_back(second);
    BOOST_TEST(host.ids() == "rp-filter");
    BOOST_TEST(host.evidence("rp-filter").where == "sysctl net.ipv4.conf.u0.rp_filter");
    sysctls["net.ipv4.conf.all.rp_filter"] = "2";  // the larger holds: loose
    BOOST_TEST(host.ids() == "");
    sysctls["net.ipv4.conf.all.rp_filter"] = "0";
    host.facts.routes.back().table = "100";  // nothing looks there
    BOOST_TEST(host.ids() == "");
    host.facts.routing_rules = 1;
    BOOST_TEST(host.ids() == "rp-filter");
}

BOOST_AUTO_TEST_CASE(outer_packets_are_translated_by_rules_that_can_take_them) {
    Host old("kubeold");
    const Evidence by_mark = old.evidence("vxlan-checksum");
    BOOST_TEST(by_mark.text.find("--mark 0x4000/0x4000 -j MASQUERADE") != std::string::npos);
    old.device("flannel.1").tx_checksum = false;
    BOOST_TEST(!has(old, "vxlan-checksum"));
    old.device("flannel.1").tx_checksum = true;
    old.device("flannel.1").udp_checksum = false;
    BOOST_TEST(!has(old, "vxlan-checksum"));
    const auto with = [](const std::string& rule) {
        Host host("flannel");
        host.replace("-A POSTROUTING -m comment --comment \"flanneld masq\"",
                     rule + "\n-A POSTROUTING -m comment --comment \"flanneld masq\"");
        return has(host, "vxlan-checksum");
    };
    BOOST_TEST(with("-A POSTROUTING -o u0 -j MASQUERADE --random-fully"));
    BOOST_TEST(with("-A POSTROUTING -p udp --dport 8472 -j MASQUERADE --random-fully"));
    BOOST_TEST(!with("-A POSTROUTING -p udp --dport 4789 -j MASQUERADE --random-fully"));
    BOOST_TEST(!with("-A POSTROUTING -p tcp -o u0 -j MASQUERADE --random-fully"));
    BOOST_TEST(!with("-A POSTROUTING -s 10.244.0.0/16 -o u0 -j MASQUERADE --random-fully"));
    BOOST_TEST(!with("-A POSTROUTING -o eth5 -j MASQUERADE --random-fully"));
    BOOST_TEST(
        !with("-A POSTROUTING -p udp --dport 8472 -j RETURN\n"
              "-A POSTROUTING -o u0 -j MASQUERADE --random-fully"));
}

BOOST_AUTO_TEST_CASE(a_set_that_decides_and_is_not_known_is_said) {
    Host host("calico");
    const Findings findings = host.find();
    BOOST_TEST(findings.hazards.empty());
    BOOST_REQUIRE_EQUAL(findings.unread.size(), 1U);
    BOOST_TEST(findings.unread[0].what == "set cali40masq-ipam-pools");
    host.facts.sysctls[kTimestamps] = "1";
    BOOST_TEST(host.ids() == "snat-timestamps");
}

BOOST_AUTO_TEST_CASE(hairpin_needs_kube_proxys_rule_first_and_ports_that_send_back) {
    Host host("kubeafter");
    BOOST_TEST(has(host, "hairpin-accept"));
    Host other("kubeafter");  // the accepted network is not the pods'
    other.replace("-d 10.244.1.0/24 -m comment", "-d 10.9.0.0/24 -m comment");
    BOOST_TEST(!has(other, "hairpin-accept"));
    Host ports("flannelmtu");
    BOOST_TEST(ports.evidence("hairpin-mode").text == "hairpin off, a port of cni0");
    ports.device("cni0").promiscuous = true;
    BOOST_TEST(!has(ports, "hairpin-mode"));
    Host bridged("flannelmtu");
    bridged.facts.sysctls[kBridge] = "0";
    BOOST_TEST(!has(bridged, "hairpin-mode"));
}

BOOST_AUTO_TEST_CASE(a_udp_service_that_draws_is_one_unless_its_packets_are_not_tracked) {
    // The TCP service of this host draws too, and its UDP service has one endpoint.
    BOOST_TEST(!has(*std::make_unique<Host>("kubeclean"), "dns-race"));
    Host untracked("kube");
    const std::string raw =
        "*raw\n:PREROUTING ACCEPT [0:0]\n:OUTPUT ACCEPT [0:0]\n"
        "-A PREROUTING -d 10.96.0.10/32 -p udp -m udp --dport 53 -j NOTRACK\n"
        "COMMIT\n";
    untracked.rules += raw;
    BOOST_TEST(!has(untracked, "dns-race"));
    Host other("kube");
    other.rules += raw;
    other.replace("-d 10.96.0.10/32 -p udp -m udp --dport 53 -j NOTRACK",
                  "-d 10.96.0.11/32 -p udp -m udp --dport 53 -j NOTRACK");
    BOOST_TEST(has(other, "dns-race"));
}

BOOST_AUTO_TEST_CASE(untracked_packets_that_a_policy_drops_are_found) {
    const std::string raw =
        "*raw\n:PREROUTING ACCEPT [0:0]\n"
        "-A PREROUTING -d 198.18.0.1/32 -p udp -m udp --dport 53 -j NOTRACK\n"
        "COMMIT\n*filter\n:INPUT ";
    const std::string by_state =
        " [0:0]\n-A INPUT -m conntrack --ctstate RELATED,ESTABLISHED,NEW "
        "-j ACCEPT\n";
    const auto ids = [&](const std::string& filter) {
        Host host("kubeclean");
        host.rules += raw + filter + "COMMIT\n";
        // The first chain of a name counts: that of this table.
        host.replace(":INPUT ACCEPT [0:0]\n:FORWARD", ":FORWARD");
        return host.ids();
    };
    BOOST_TEST(ids("DROP" + by_state) == "notrack-accept");
    BOOST_TEST(ids("ACCEPT" + by_state) == "");
    BOOST_TEST(ids("DROP" + by_state +
                   "-A INPUT -d 198.18.0.1/32 -p udp -m udp --dport 53 -j ACCEPT\n") == "");
    BOOST_TEST(ids("DROP" + by_state + "-A INPUT -m conntrack --ctstate UNTRACKED -j ACCEPT\n") ==
               "");
    BOOST_TEST(ids("ACCEPT" + by_state + "-A INPUT -j REJECT\n") == "notrack-accept");
}

BOOST_AUTO_TEST_CASE(what_was_not_read_is_handed_on) {
    Host host("kubeclean");
    host.facts.unread.push_back({"devices", "because"});
    BOOST_TEST(host.find().unread.size() == 1U);
}

namespace {

// Facts of a host with these rules of iptables and two devices.
Facts plain_facts(const std::string& rules) {
    Facts facts;
    facts.rules = *parse_iptables_save(rules, Origin::kIptablesNft, "ip");
    facts.devices = {
        {.name = "br0",
         .kind = "bridge",
         .addresses = {{*pathproof::frame::parse_ip("10.1.0.1"), *parse_range("10.1.0.0/24")}},
         .mac = "02:00:00:00:00:01"},
        {.name = "v0", .kind = "veth", .master = "br0", .mac = "02:00:00:00:00:02"}};
    facts.sysctls = {{"net.ipv4.ip_forward", "1"},
                     {"net.ipv6.conf.br0.forwarding", "1"},
                     {"net.ipv6.conf.br0.accept_ra", "1"},
                     {"net.netfilter.nf_conntrack_helper", "0"}};
    return facts;
}

std::string ids_of(const Facts& facts) {
    std::string ids;
    for (const Hazard& hazard : find_hazards(facts).hazards) {
        ids += (ids.empty() ? "" : " ") + hazard.id;
    }
    return ids;
}

const Hazard first_of(const Facts& facts) {
    const auto hazards = find_hazards(facts).hazards;
    BOOST_REQUIRE(!hazards.empty());
    return hazards.front();
}

struct PlainCase {
    const char* rules;
    const char* ids;
};

const PlainCase kPlainCases[] = {
    {"", ""},
    {"*filter\n:FORWARD DROP [12:720]\nCOMMIT\n", "forward-drop"},
    {"*filter\n:FORWARD DROP [12:720]\n-A FORWARD -i br0 -j ACCEPT\nCOMMIT\n", ""},
    {"*filter\n:FORWARD ACCEPT [0:0]\n[3:180] -A FORWARD -j REJECT --reject-with "
     "icmp-port-unreachable\n-A FORWARD -i br0 -j ACCEPT\nCOMMIT\n",
     "forward-drop"},
    {"*nat\n:PREROUTING ACCEPT [0:0]\n-A PREROUTING -p tcp -m tcp --dport 80 -j DNAT "
     "--to-destination 10.1.0.2:80\n-A PREROUTING -p tcp -m tcp --dport 80 -j DNAT "
     "--to-destination "
     "10.1.0.3:80\nCOMMIT\n",
     "shadowed-dnat"},
    // By chance, and to one place: not in each other's way.
    {"*nat\n:PREROUTING ACCEPT [0:0]\n-A PREROUTING -p tcp -m tcp --dport 80 -m statistic --mode "
     "random --probability 0.5 -j DNAT --to-destination 10.1.0.2:80\n-A PREROUTING -p tcp -m tcp "
     "--dport 80 -j DNAT --to-destination 10.1.0.3:80\nCOMMIT\n",
     ""},
    {"*raw\n:OUTPUT ACCEPT [0:0]\n:PREROUTING ACCEPT [0:0]\n-A OUTPUT -d 10.9.0.53/32 -p udp -m "
     "udp "
     "--dport 53 -j CT --zone 1\n-A PREROUTING -d 10.9.0.53/32 -p udp -m udp --sport 53 -j CT "
     "--zone "
     "1\nCOMMIT\n",
     "zone-mirror"},
    {"*raw\n:OUTPUT ACCEPT [0:0]\n:PREROUTING ACCEPT [0:0]\n-A OUTPUT -d 10.9.0.53/32 -p udp -m "
     "udp "
     "--dport 53 -j CT --zone 1\n-A PREROUTING -s 10.9.0.53/32 -p udp -m udp --sport 53 -j CT "
     "--zone "
     "1\nCOMMIT\n",
     ""},
    {"*mangle\n:PREROUTING ACCEPT [0:0]\n-A PREROUTING -p udp -j MARK --set-xmark "
     "0x1/0xffffffff\nCOMMIT\n*filter\n:FORWARD ACCEPT [0:0]\n-A FORWARD -m mark --mark "
     "0x4000/0x4000 -j ACCEPT\nCOMMIT\n",
     "whole-mark"},
    {"*mangle\n:PREROUTING ACCEPT [0:0]\n-A PREROUTING -p udp -j MARK --set-xmark "
     "0x1/0x1\nCOMMIT\n*filter\n:FORWARD ACCEPT [0:0]\n-A FORWARD -m mark --mark 0x4000/0x4000 -j "
     "ACCEPT\nCOMMIT\n",
     ""},
};

}  // namespace

BOOST_AUTO_TEST_CASE(rules_that_stand_in_their_own_way_are_found) {
    for (const PlainCase& each : kPlainCases) {
        BOOST_TEST_CONTEXT(each.rules) {
            BOOST_TEST(ids_of(plain_facts(each.rules)) == each.ids);
        }
    }
}

BOOST_AUTO_TEST_CASE(what_is_counted_comes_first_and_says_how_much) {
    const Facts facts = plain_facts(
        "*raw\n:OUTPUT ACCEPT [0:0]\n-A OUTPUT -d 10.9.0.53/32 -p udp -m udp --dport 53 -j CT "
        "--zone "
        "1\nCOMMIT\n*filter\n:FORWARD DROP [12:720]\nCOMMIT\n");
    BOOST_TEST(ids_of(facts) == "forward-drop zone-mirror");
    BOOST_TEST(first_of(facts).harm == "dropped so far: 12 packets");
}

BOOST_AUTO_TEST_CASE(devices_neighbours_and_flows_have_hazards_of_their_own) {
    Facts bridge = plain_facts("");
    bridge.devices[1].mac = bridge.devices[0].mac;
    BOOST_TEST(ids_of(bridge) == "bridge-mac");
    Facts learned = plain_facts("");
    learned.devices[0].has_learned_address = true;
    BOOST_TEST(ids_of(learned) == "ra-route");
    learned.sysctls["net.ipv6.conf.br0.accept_ra"] = "2";
    BOOST_TEST(ids_of(learned).empty());
    Facts dead = plain_facts(
        "*nat\n:PREROUTING ACCEPT [0:0]\n[4:240] -A PREROUTING -p tcp -m tcp --dport 80 -j DNAT "
        "--to-destination 10.1.0.2:80\nCOMMIT\n");
    BOOST_TEST(ids_of(dead).empty());
    dead.neighbours = {{*pathproof::frame::parse_ip("10.1.0.2"), "br0", "FAILED"}};
    BOOST_TEST(ids_of(dead) == "dead-dnat");
    BOOST_TEST(first_of(dead).harm == "sent there so far: 4 flows");
    const std::string masquerade =
        "*nat\n:POSTROUTING ACCEPT [0:0]\n-A POSTROUTING -p icmp -j MASQUERADE\nCOMMIT\n";
    Facts tftp = plain_facts(masquerade);
    tftp.unanswered["tftp"] = 3;
    BOOST_TEST(ids_of(tftp) == "no-helper");
    tftp =
        plain_facts(masquerade +
                    "*raw\n:PREROUTING ACCEPT [0:0]\n-A PREROUTING -p udp -m udp --dport 69 -j CT "
                    "--helper tftp\nCOMMIT\n");
    tftp.unanswered["tftp"] = 3;
    BOOST_TEST(ids_of(tftp).empty());
}
