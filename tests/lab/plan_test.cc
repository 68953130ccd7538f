#include "harness/lab/plan.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <set>
#include <sstream>

#include "harness/lab/link_changes.h"
#include "harness/lab/path_settings.h"
#include "harness/lab/rule_hits.h"
#include "harness/setting/cures.h"
#include "tests/contains.h"

BOOST_AUTO_TEST_SUITE(plan)

using namespace pathproof;
using namespace pathproof::lab;

namespace {

using pathproof::test::contains;

std::size_t count(const std::string& text, const std::string& part) {
    std::size_t found = 0;
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
        ++found;
    }
    return found;
}

std::string rules_with(unsigned backends, Snat snat = Snat::kNone) {
    const NatBoxNames names = nat_box_names("1a2b");
    return setting::merged({nat_box_service(names, backends), nat_box_snat(names, snat)},
                           {HostRole::kDut}, place_names(names))[0]
        .value;
}

// The chance that a packet ends at each backend, by walking the service's chain as the kernel does.
std::vector<double> shares(unsigned backends) {
    std::istringstream lines(rules_with(backends));
    std::vector<double> found;
    double still_here = 1;
    std::string line;
    while (std::getline(lines, line)) {
        if (!line.starts_with("-A KUBE-SVC-TCOU7JCQXEZGVUNU ")) {  // kube-system/kube-dns:dns, UDP
            continue;
        }
        const std::string key = "--probability ";
        const std::size_t at = line.find(key);
        const double taken = at == std::string::npos ? 1 : std::stod(line.substr(at + key.size()));
        found.push_back(still_here * taken);
        still_here *= 1 - taken;
    }
    return found;
}

// All that ip(8) is told of it.
std::string all_commands(const Topology& topology) {
    std::string all;
    for (const TopologyHost& host : topology.hosts) {
        all += host.commands;
    }
    for (const Link& link : topology.links) {
        all += link_command(link);
    }
    return all;
}

std::string all_values(const Settings& settings) {
    std::string all;
    for (const setting::Setting& setting : settings) {
        for (const agent::HostChange& change : setting.changes) {
            all += change.value + "\n";
        }
    }
    return all;
}

}  // namespace

BOOST_AUTO_TEST_CASE(every_namespace_carries_the_run_in_its_name) {
    for (const std::string& name : overlay_topology(overlay_names("1a2b")).namespaces()) {
        BOOST_TEST(name.starts_with("pp-1a2b-"));
    }
    BOOST_TEST((nat_box_topology(nat_box_names("1a2b")).namespaces() ==
                std::vector<std::string>{"pp-1a2b-tester", "pp-1a2b-dut"}));
}

BOOST_AUTO_TEST_CASE(each_backend_gets_an_equal_share) {
    for (unsigned backends : {1U, 2U, 3U, 77U, kMostBackends}) {
        const std::vector<double> found = shares(backends);
        BOOST_REQUIRE(found.size() == backends);
        for (double share : found) {
            BOOST_TEST(share == 1.0 / backends, boost::test_tools::tolerance(1e-5));
        }
    }
}

BOOST_AUTO_TEST_CASE(each_endpoint_chain_translates_to_its_own_backend) {
    const std::string rules = rules_with(3);
    for (const char* end : {"-p udp -m udp -j DNAT --to-destination 203.0.113.2:53\n",
                            "-p udp -m udp -j DNAT --to-destination 203.0.113.4:53\n",
                            "-p tcp -m tcp -j DNAT --to-destination 203.0.113.3:53\n"}) {
        BOOST_TEST(contains(rules, end), end);
    }
    BOOST_TEST(count(rules, "DNAT") == 6U);
    BOOST_TEST(count(rules, "COMMIT") == 1U);
}

BOOST_AUTO_TEST_CASE(source_nat_is_as_asked) {
    BOOST_TEST(!contains(rules_with(2), "MASQUERADE"));
    BOOST_TEST(contains(rules_with(2, Snat::kMasquerade), "-o ds -j MASQUERADE\n"));
    BOOST_TEST(contains(rules_with(2, Snat::kMasqueradeRandomFully),
                        "-o ds -j MASQUERADE --random-fully\n"));
}

// Returns the DUT's changes under these settings, one a line.
std::string dut_rules(const NatPathNames& names, const Settings& settings) {
    std::string rules;
    for (const auto& change : setting::merged(both(path_defaults(names), settings),
                                              {HostRole::kDut}, place_names(names))) {
        rules += change.value + "\n";
    }
    return rules;
}

BOOST_AUTO_TEST_CASE(the_nat_path_translates_as_set) {
    const NatPathNames names = nat_path_names("1a2b");
    BOOST_TEST((nat_path_topology(names).namespaces() ==
                std::vector<std::string>{"pp-1a2b-client", "pp-1a2b-dut", "pp-1a2b-server"}));
    BOOST_TEST(contains(dut_rules(names, {masquerade(names, {})}),
                        "-A PATH-POSTROUTING -o d1 -p tcp -j MASQUERADE --random-fully\n"));
    BOOST_TEST(contains(
        dut_rules(names, {masquerade(names, {.snat = Snat::kMasquerade, .ports = {30000, 30255}})}),
        "-j MASQUERADE --to-ports 30000-30255\n"));
    BOOST_TEST(!contains(dut_rules(names, {}), "MASQUERADE"));
    BOOST_TEST(contains(dut_rules(names, {}), "-m conntrack --ctstate NEW -j PATH-SERVICES"));
    BOOST_TEST(!contains(dut_rules(names, {}), "*filter"));
    BOOST_TEST(contains(dut_rules(names, setting::cure("hairpin-masquerade").settings),
                        "-s 198.18.0.1/24 -d 198.18.0.1/24 -p udp -j MASQUERADE\n"));
}

BOOST_AUTO_TEST_CASE(a_cure_is_on_top_of_what_is_set_and_makes_no_snat_of_its_own) {
    const NatPathNames names = nat_path_names("1a2b");
    const auto cured = [&](const Settings& settings, const char* id) {
        return dut_rules(names, both(settings, setting::cure(id).settings));
    };
    BOOST_TEST(contains(cured({masquerade(names, {.snat = Snat::kMasquerade})}, "random-fully"),
                        "-p tcp -j MASQUERADE --random-fully\n"));
    BOOST_TEST(!contains(cured({}, "random-fully"), "MASQUERADE"));
    BOOST_TEST(contains(cured({}, "drop-invalid"),
                        "-A FORWARD -o d0 -p tcp -m conntrack --ctstate INVALID -j DROP\n"));
    const auto client =
        setting::merged(both({setting::sysctl(HostRole::kClient, setting::kTimestamps, "0")},
                             setting::cure("timestamps-2").settings),
                        {HostRole::kClient}, {});
    BOOST_REQUIRE(client.size() == 1u);
    BOOST_TEST(client[0].value == "2");
}

BOOST_AUTO_TEST_CASE(the_nat_path_has_the_same_of_ipv6) {
    const NatPathNames names = nat_path_names("1a2b", frame::Family::kIpv6);
    const auto changes =
        setting::merged(path_defaults(names), {HostRole::kDut}, place_names(names));
    BOOST_REQUIRE(changes.size() == 1u);
    BOOST_TEST(changes[0].name == "ip6 nat");
    const std::string commands = all_values(nat_path_ipv6(names));
    BOOST_TEST(contains(commands, "address add 2001:db8:18::2/64 dev c0 nodad\n"));
    BOOST_TEST(contains(commands, "route replace ::/0 via 2001:db8:113::1 dev s0\n"));
}

BOOST_AUTO_TEST_CASE(what_a_rule_of_nft_has_counted_is_read_from_its_line) {
    const std::string table =
        "meta l4proto tcp counter packets 12 bytes 624 dnat to 203.0.113.16:8080\n"
        "meta l4proto tcp counter packets 3 bytes 9 dnat to 203.0.113.16:80\n"
        "dnat to 203.0.113.16:8080\n";
    BOOST_TEST(nft_hits_of(table, " dnat to 203.0.113.16:8080") == 12U);
    BOOST_TEST(nft_hits_of(table, " dnat to 203.0.113.17:8080") == 0U);
}

BOOST_AUTO_TEST_CASE(what_a_rule_has_counted_is_read_from_its_line) {
    const std::string rules =
        "*nat\n[12:624] -A A -d 198.51.100.10/32 -j DNAT --to-destination 203.0.113.1:80\n"
        "[3:9] -A A -j DNAT --to-destination 203.0.113.1:8080\n[5:9] -A B -d 198.51.100.10/32 -j "
        "C\n";
    BOOST_TEST(hits_of(rules, " --to-destination 203.0.113.1:80") == 12U);
    BOOST_TEST(hits_of(rules, " --to-destination 203.0.113.1:8080") == 3U);
    BOOST_TEST(hits_of(rules, " -d 198.51.100.10/32") == 17U);
    BOOST_TEST(hits_of(rules, " -d 198.51.100.1/32") == 0U);
}

BOOST_AUTO_TEST_CASE(the_overlay_follows_its_settings) {
    const OverlayNames names = overlay_names("1a2b");
    BOOST_TEST(count(all_values(overlay_tunnel(names, true)), " udpcsum\n") == 2U);
    BOOST_TEST(count(all_values(overlay_tunnel(names, false)), " noudpcsum\n") == 2U);
    BOOST_TEST(contains(all_values({overlay_snat(names)}),
                        "-o eth0 -p udp -m udp --dport 4789 -j MASQUERADE --random-fully"));
    // conntrack is at work where nothing is translated, too.
    BOOST_TEST(contains(all_values(overlay_topology(names).settings), "-m conntrack"));
}

BOOST_AUTO_TEST_CASE(a_vxlan_frame_of_a_full_inner_packet_fits_the_underlay) {
    // RFC 7348: outer IPv4 20, UDP 8, VXLAN 8, inner Ethernet 14.
    BOOST_TEST(kOverlayMtu + 20 + 8 + 8 + 14 <= kUnderlayMtu);
    BOOST_TEST(
        contains(all_values(overlay_tunnel(overlay_names("1a2b"), true)), "mtu 1450 type vxlan"));
}

BOOST_AUTO_TEST_CASE(no_two_devices_share_a_mac_address) {
    const OverlayNames overlay = overlay_names("1a2b");
    const Topology nat_box = nat_box_topology(nat_box_names("1a2b"));
    for (const std::string& commands :
         {all_commands(overlay_topology(overlay)) + all_values(overlay_tunnel(overlay, true)),
          all_commands(nat_box) + all_values(nat_box.settings)}) {
        std::istringstream words(commands);
        std::set<std::string> seen;
        std::string word;
        while (words >> word) {
            if (word == "address" && words >> word && word.find(':') != std::string::npos) {
                BOOST_TEST(seen.insert(word).second, word);
            }
        }
        BOOST_TEST(seen.size() >= 6U);
    }
}

BOOST_AUTO_TEST_CASE(a_host_s_commands_can_be_said_again) {
    const Topology topology = overlay_topology(overlay_names("1a2b"));
    const TopologyHost& node = topology.host(HostRole::kNodeA);
    const std::string commands = links_of(node).changes[0].value;
    BOOST_TEST(commands.starts_with("link set lo up\n"));
    BOOST_TEST(contains(commands, "address replace 198.51.100.1/24 dev eth0\n"));
    BOOST_TEST(!contains(commands, " add "));
}

BOOST_AUTO_TEST_CASE(clients_servers_and_carried_clients_lie_in_their_networks) {
    const NatBoxNames names = nat_box_names("1a2b");
    BOOST_TEST(to_string(names.service) == "198.51.100.10:53");
    BOOST_TEST((names.first_client[0].v4_host_order() >> 15) == (0xc6120000U >> 15));
    BOOST_TEST((names.first_client[1].v4_host_order() >> 15) == (0xc6128000U >> 15));
    BOOST_TEST((names.first_carried_client.v4_host_order() >> 16) == 0xc613U);
    const auto backends = backend_addresses(kMostBackends);
    BOOST_TEST(to_string(backends.front()) == "203.0.113.2");
    BOOST_TEST(to_string(backends.back()) == "203.0.113.254");
}

BOOST_AUTO_TEST_SUITE_END()
