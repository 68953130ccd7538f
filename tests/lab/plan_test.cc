#include "harness/lab/plan.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <set>
#include <sstream>

#include "tests/contains.h"

BOOST_AUTO_TEST_SUITE(plan)

using namespace pathproof;
using namespace pathproof::lab;
using Snat = NatBoxOptions::Snat;

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
    return nat_box_rules(nat_box_names("1a2b"), {.backends = backends, .snat = snat});
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

std::string all_commands(const std::vector<Script>& scripts) {
    std::string all;
    for (const Script& script : scripts) {
        all += script.commands;
    }
    return all;
}

}  // namespace

BOOST_AUTO_TEST_CASE(every_namespace_carries_the_run_in_its_name) {
    for (const std::string& name : namespaces_of(overlay_names("1a2b"))) {
        BOOST_TEST(name.starts_with("pp-1a2b-"));
    }
    BOOST_TEST((namespaces_of(nat_box_names("1a2b")) ==
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

BOOST_AUTO_TEST_CASE(the_nat_path_translates_as_asked) {
    const NatPathNames names = nat_path_names("1a2b");
    BOOST_TEST((namespaces_of(names) ==
                std::vector<std::string>{"pp-1a2b-client", "pp-1a2b-dut", "pp-1a2b-server"}));
    BOOST_TEST(contains(nat_path_rules(names, {}),
                        "-A PATH-POSTROUTING -o d1 -p tcp -j MASQUERADE --random-fully\n"));
    BOOST_TEST(
        contains(nat_path_rules(names, {.snat = Snat::kMasquerade, .snat_ports = {30000, 30255}}),
                 "-j MASQUERADE --to-ports 30000-30255\n"));
    BOOST_TEST(!contains(nat_path_rules(names, {.snat = Snat::kNone}), "MASQUERADE"));
    BOOST_TEST(contains(nat_path_rules(names, {.snat = Snat::kNone}), "-m conntrack"));
    using Service = NatPathOptions::Service;
    const auto service = [&](Service which) { return nat_path_rules(names, {.service = which}); };
    const std::string to = " -d 198.51.100.10/32 -p udp -m udp --dport 53 -j ";
    BOOST_TEST(contains(service(Service::kSecond), to + "DNAT --to-destination 203.0.113.3:53\n"));
    BOOST_TEST(!contains(service(Service::kSecond), "REJECT"));
    BOOST_TEST(contains(service(Service::kNoEndpoint), "-A FORWARD" + to + "REJECT"));
    BOOST_TEST(!contains(service(Service::kNoEndpoint), "DNAT"));
    BOOST_TEST(!contains(service(Service::kNone), "*filter"));
    BOOST_TEST(
        contains(service(Service::kNeighbour), to + "DNAT --to-destination 198.18.0.3:53\n"));
    BOOST_TEST(contains(nat_path_rules(names, {.hairpin = true}),
                        "-s 198.18.0.1/24 -d 198.18.0.1/24 -p udp -j MASQUERADE\n"));
}

BOOST_AUTO_TEST_CASE(the_nat_path_counts_or_drops_what_is_invalid_and_lets_answers_pass_by) {
    using Invalid = NatPathOptions::Invalid;
    const NatPathNames names = nat_path_names("1a2b");
    const std::string rule = "-A FORWARD -o d0 -p tcp -m conntrack --ctstate INVALID -j ";
    BOOST_TEST(!contains(nat_path_rules(names, {}), "INVALID"));
    BOOST_TEST(contains(nat_path_rules(names, {.invalid = Invalid::kCounted}), rule + "ACCEPT\n"));
    BOOST_TEST(contains(nat_path_rules(names, {.invalid = Invalid::kDropped}), rule + "DROP\n"));
    BOOST_TEST(nat_path_route_of_answers(names, {}).commands ==
               "route replace 198.18.0.2/32 via 203.0.113.1\n");
    BOOST_TEST(nat_path_route_of_answers(names, {.answers_pass_by = true}).commands ==
               "route replace 198.18.0.2/32 dev s1\n");
}

BOOST_AUTO_TEST_CASE(a_cure_is_on_top_of_what_is_configured_and_makes_no_snat_of_its_own) {
    BOOST_TEST((with_cure({.snat = Snat::kMasquerade}, {.random_fully = true}).snat ==
                Snat::kMasqueradeRandomFully));
    BOOST_TEST((with_cure({.snat = Snat::kNone}, {.random_fully = true}).snat == Snat::kNone));
    BOOST_TEST((with_cure({.snat = Snat::kMasquerade}, {}).snat == Snat::kMasquerade));
    const NatPathOptions cured =
        with_cure({.timestamps = 1}, {.timestamps = 2, .be_liberal = true, .drops_invalid = true});
    BOOST_TEST(cured.timestamps == 2);
    BOOST_TEST(cured.be_liberal);
    BOOST_TEST((cured.invalid == NatPathOptions::Invalid::kDropped));
    BOOST_TEST(with_cure({.timestamps = 0}, {}).timestamps == 0);
}

BOOST_AUTO_TEST_CASE(the_nat_path_names_endpoints_as_kube_proxy_does) {
    const NatPathNames names = nat_path_names("1a2b");
    const auto closed = endpoints_that(EndpointState::kClosed);
    const std::string rules = nat_path_rules(
        names,
        {.web_endpoints = {endpoints_that(EndpointState::kServes)[0], closed[0], closed[7]}});
    for (const char* line :
         {"-j KUBE-SERVICES\n", "--probability 0.3333333333 -j KUBE-SEP-",
          "\"default/web:http cluster IP\" -d 198.51.100.10/32 -p tcp -m tcp --dport 80 ! -s "
          "198.18.0.1/24 -j KUBE-MARK-MASQ\n",
          "-p tcp -m tcp -j DNAT --to-destination 203.0.113.48:8080\n",
          "-p tcp -m tcp -j DNAT --to-destination 203.0.113.55:8080\n"}) {
        BOOST_TEST(contains(rules, line), line);
    }
    BOOST_TEST(!contains(nat_path_rules(names, {}), "KUBE"));
    BOOST_TEST(contains(nat_path_endpoint_filter(EndpointState::kSilent),
                        "-A INPUT -d 203.0.113.64/32 -j DROP\n"));
}

BOOST_AUTO_TEST_CASE(the_nat_path_has_the_same_of_ipv6_and_of_nftables) {
    const frame::Family v6 = frame::Family::kIpv6;
    const NatPathNames names = nat_path_names("1a2b", v6);
    NatPathOptions options{.service = NatPathOptions::Service::kSecond, .family = v6};
    BOOST_TEST(contains(nat_path_rules(names, options),
                        " -d 2001:db8:100::a/128 -p udp -m udp --dport 53 -j DNAT --to-destination "
                        "[2001:db8:113::3]:53\n"));
    options.service = NatPathOptions::Service::kNoEndpoint;
    BOOST_TEST(contains(nat_path_rules(names, options), "--reject-with icmp6-port-unreachable\n"));
    options.web_endpoints = endpoints_that(EndpointState::kClosed, v6);
    BOOST_TEST(
        contains(nat_path_rules(names, options), "--to-destination [2001:db8:113::30]:8080\n"));
    BOOST_TEST(!contains(nat_path_proxy_table(names, options), "{"));
    options.proxy = NatPathOptions::Proxy::kNftables;
    BOOST_TEST(!contains(nat_path_rules(names, options), "KUBE"));
    BOOST_TEST(
        contains(nat_path_proxy_table(names, options), "dnat to [2001:db8:113::37]:8080;\n"));
    BOOST_TEST(contains(nat_path_endpoint_filter(EndpointState::kRejected, v6),
                        "-A FORWARD -d 2001:db8:113::60/128 -j REJECT"));
    const std::string commands = all_commands(nat_path_scripts(names));
    BOOST_TEST(contains(commands, "address add 2001:db8:18::2/64 dev c0 nodad\n"));
    BOOST_TEST(contains(commands, "route add ::/0 via 2001:db8:113::1\n"));
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

BOOST_AUTO_TEST_CASE(options_out_of_range_are_refused_with_the_range) {
    BOOST_TEST(check(NatBoxOptions{}, nat_box_names("1a2b")).has_value());
    BOOST_TEST(check({.backends = kMostBackends}, nat_box_names("1a2b")).has_value());
    for (const NatBoxOptions& options :
         {NatBoxOptions{.backends = 0}, NatBoxOptions{.backends = kMostBackends + 1},
          NatBoxOptions{.udp_timeout_s = 0}, NatBoxOptions{.udp_timeout_s = 100'000}}) {
        const Status allowed = check(options, nat_box_names("1a2b"));
        BOOST_REQUIRE(!allowed);
        BOOST_TEST((allowed.error().code == ErrorCode::kBadInput));
        BOOST_TEST(contains(allowed.error().message, "1 to "));
    }
}

BOOST_AUTO_TEST_CASE(the_overlay_follows_its_options) {
    const OverlayNames names = overlay_names("1a2b");
    const std::string with = all_commands(overlay_vxlans(names, {.udp_checksum = true}));
    const std::string without = all_commands(overlay_vxlans(names, {.udp_checksum = false}));
    BOOST_TEST(count(with, " udpcsum\n") == 2U);
    BOOST_TEST(count(without, " noudpcsum\n") == 2U);
    BOOST_TEST(contains(overlay_rules(names, {.masquerade = true}),
                        "-o eth0 -p udp -m udp --dport 4789 -j MASQUERADE --random-fully"));
    BOOST_TEST(!contains(overlay_rules(names, {.masquerade = false}), "MASQUERADE"));
    BOOST_TEST(contains(overlay_rules(names, {.masquerade = false}), "conntrack"));
}

BOOST_AUTO_TEST_CASE(a_vxlan_frame_of_a_full_inner_packet_fits_the_underlay) {
    // RFC 7348: outer IPv4 20, UDP 8, VXLAN 8, inner Ethernet 14.
    BOOST_TEST(kOverlayMtu + 20 + 8 + 8 + 14 <= kUnderlayMtu);
    BOOST_TEST(
        contains(all_commands(overlay_vxlans(overlay_names("1a2b"), {})), "mtu 1450 type vxlan"));
}

BOOST_AUTO_TEST_CASE(no_two_devices_share_a_mac_address) {
    for (const std::string& commands : {all_commands(overlay_scripts(overlay_names("1a2b"))) +
                                            all_commands(overlay_vxlans(overlay_names("1a2b"), {})),
                                        all_commands(nat_box_scripts(nat_box_names("1a2b")))}) {
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
