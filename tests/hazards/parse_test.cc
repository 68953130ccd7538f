#include <boost/test/unit_test.hpp>

#include "tests/hazards/fixture.h"

using namespace pathproof;
using namespace pathproof::hazards;

namespace {

Rule rule_of(const std::string& text) {
    const auto rules = parse_iptables_save(
        "*nat\n:POSTROUTING ACCEPT [0:0]\n" + text + "\nCOMMIT\n", Origin::kIptablesLegacy, "ip");
    BOOST_REQUIRE_MESSAGE(rules, rules.error().message);
    BOOST_REQUIRE(!rules->chains[0].rules.empty());
    return rules->chains[0].rules[0];
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_saved_rule_is_taken_apart) {
    const Rule rule = rule_of(
        "[7:420] -A POSTROUTING ! -s 10.0.0.0/8 -p udp -m multiport --dports 53,100:200 -m comment "
        "--comment \"name: \\\"a b\\\" -j DROP\" -j MASQUERADE --to-ports 1-2 --random-fully");
    BOOST_TEST((rule.action == Action::kMasquerade && rule.random));
    BOOST_REQUIRE_EQUAL(rule.conditions.size(), 3U);
    BOOST_TEST((rule.conditions[0].field == Field::kSource && rule.conditions[0].negated));
    BOOST_TEST(rule.conditions[1].words[0] == "udp");
    BOOST_TEST((rule.conditions[2].ports ==
                std::vector<std::pair<std::uint16_t, std::uint16_t>>{{53, 53}, {100, 200}}));
    BOOST_TEST(rule.text.starts_with("-A POSTROUTING ! -s"));
}

BOOST_AUTO_TEST_CASE(what_is_not_known_of_a_rule_may_hold_or_not) {
    const Rule rule = rule_of("-A POSTROUTING -m hashlimit --hashlimit-upto 3/sec -j ACCEPT");
    BOOST_TEST((rule.conditions.front().field == Field::kOther));
}

BOOST_AUTO_TEST_CASE(marks_are_set_as_their_options_say) {
    const Rule either = rule_of("-A POSTROUTING -j MARK --set-xmark 0x4000/0x4000");
    BOOST_TEST((either.action == Action::kSetMark && either.cleared == 0x4000U &&
                either.flipped == 0x4000U));
    BOOST_TEST(rule_of("-A POSTROUTING -j MARK --set-xmark 0x4000/0x0").cleared == 0U);
}

BOOST_AUTO_TEST_CASE(text_that_iptables_save_never_prints_is_refused_with_its_line) {
    const auto refused = [](const std::string& text) {
        const auto rules = parse_iptables_save(text, Origin::kIptablesNft, "ip");
        return rules ? "" : rules.error().message;
    };
    BOOST_TEST(refused("-A INPUT -j DROP\n").find("line 1: this stands in no table") !=
               std::string::npos);
    BOOST_TEST(refused("*nat\nhello\n").find("line 2") != std::string::npos);
    const auto rules = parse_iptables_save("# Table `nat' is incompatible, use 'nft' tool.\n",
                                           Origin::kIptablesNft, "ip6");
    BOOST_TEST((rules->incompatible == std::vector<std::string>{"ip6 nat"}));
}

BOOST_AUTO_TEST_CASE(json_that_is_not_nfts_is_refused) {
    BOOST_TEST(!parse_nft("{}", ""));
    BOOST_TEST(!parse_nft("no", ""));
    BOOST_TEST(
        !parse_nft(R"({"nftables":[{"rule":{"family":"ip","table":"t","chain":"c"}}]})", ""));
    BOOST_TEST(parse_nft(R"({"nftables":[]})", "").has_value());
}

BOOST_AUTO_TEST_CASE(a_name_or_comment_that_is_not_utf8_hides_nothing_else) {
    const auto devices = parse_devices(
        "[{\"ifname\":\"d\xff\",\"mtu\":1500},{\"ifname\":\"eth0\",\"mtu\":9000}]", "[]", "[]");
    BOOST_REQUIRE(devices);
    BOOST_REQUIRE(devices->size() == 2u);
    BOOST_TEST(devices->front().name == "d\xef\xbf\xbd");
    BOOST_TEST(devices->back().name == "eth0");
    BOOST_TEST(devices->back().mtu == 9000u);
}

BOOST_AUTO_TEST_CASE(networks_are_ranges) {
    const auto net = parse_range("10.244.0.0/14");
    BOOST_TEST(to_string(net->last) == "10.247.255.255");
    BOOST_TEST(to_string(parse_range("2001:db8::/33")->last) ==
               "2001:db8:7fff:ffff:ffff:ffff:ffff:ffff");
    for (const char* bad : {"", "10.0.0.0/33", "10.0.0.0/", "10.0.0.0/x", "-", "a-b"}) {
        BOOST_TEST(!parse_range(bad));
    }
}

BOOST_AUTO_TEST_CASE(devices_and_routes_are_read_from_ips_json) {
    const auto devices = parse_devices(fixture::file("flannel", "links.json"),
                                       fixture::file("flannel", "addresses.json"),
                                       fixture::file("flannel", "fdb.json"));
    const auto tunnel = std::ranges::find(*devices, "flannel.1", &Device::name);
    BOOST_REQUIRE(tunnel != devices->end());
    BOOST_TEST((tunnel->kind == "vxlan" && tunnel->port == 8472 && tunnel->udp_checksum &&
                tunnel->below == "u0" && tunnel->mtu == 1450));
    BOOST_TEST(to_string(tunnel->addresses[0].address) == "10.244.1.0");
    BOOST_TEST((tunnel->remotes == std::vector{*frame::parse_ip("198.18.0.2")}));
    BOOST_TEST(!parse_devices("{}", "[]", "[]"));
    BOOST_TEST(parse_routes("")->empty());
    BOOST_TEST(!parse_routes("default via"));
    const auto routes = parse_routes(
        R"([{"dst":"default","nexthops":[{"dev":"a"},{"dev":"b"}]},{"type":"local","dst":"1.2.3.4","dev":"lo"}])");
    BOOST_TEST((routes->size() == 1U && (*routes)[0].devices.size() == 2U));
    BOOST_TEST(*parse_routing_rules(R"([{"priority":0},{"priority":100},{"priority":32766}])") ==
               1U);
}

BOOST_AUTO_TEST_CASE(counters_priorities_and_targets_are_read) {
    const auto rules = parse_iptables_save(
        "*nat\n:PREROUTING DROP [5:300]\n[7:420] -A PREROUTING -p tcp -m tcp --dport 80 -j DNAT "
        "--to-destination 10.1.0.2-10.1.0.4:8080-8090\n-A PREROUTING -p udp -j REDIRECT --to-ports "
        "53\nCOMMIT\n*raw\n:OUTPUT ACCEPT [0:0]\n-A OUTPUT -p udp -m icmp --icmp-type 8/0 -j CT "
        "--zone "
        "7\n-A OUTPUT -j NFQUEUE --queue-num 1\nCOMMIT\n",
        Origin::kIptablesNft, "ip");
    BOOST_REQUIRE(rules);
    const Chain& nat = rules->chains[0];
    BOOST_TEST(nat.priority == -100);
    BOOST_TEST(nat.packets == 5U);
    BOOST_TEST(nat.rules[0].packets.value_or(0) == 7U);
    const NatTarget& target = nat.rules[0].nat.at(0);
    BOOST_TEST((target.addresses == *parse_range("10.1.0.2-10.1.0.4")));
    BOOST_TEST((target.ports == std::pair<std::uint16_t, std::uint16_t>(8080, 8090)));
    BOOST_TEST((nat.rules[1].action == Action::kRedirect));
    const Chain& raw = rules->chains[1];
    BOOST_TEST(raw.priority == -300);
    BOOST_TEST(raw.rules[0].effects.at(0).zone == 7);
    BOOST_TEST((raw.rules[0].conditions.at(1).field == Field::kIcmpType));
    BOOST_TEST(raw.rules[1].unmodelled == "NFQUEUE");
}

BOOST_AUTO_TEST_CASE(handles_are_taken_from_the_other_program) {
    auto rules = *parse_iptables_save(
        "*nat\n:PREROUTING ACCEPT [0:0]\n-A PREROUTING -j A\n-A PREROUTING -j B\nCOMMIT\n",
        Origin::kIptablesNft, "ip");
    const char* const shown =
        "table ip nat { # handle 1\n\tchain PREROUTING { # handle 1\n\t\tcounter jump A # handle "
        "4\n\t\tcounter jump B # handle 9\n\t}\n}\n";
    take_handles(shown, "ip", "mangle", rules);
    BOOST_TEST(rules.chains[0].rules[0].handle == 0U);
    take_handles(shown, "ip", "nat", rules);
    BOOST_TEST(rules.chains[0].rules[1].handle == 9U);
}

// nft prints names that it does not take as a name ("limits"): the table is cut out of the whole.
BOOST_AUTO_TEST_CASE(a_table_is_found_in_the_whole_ruleset) {
    const char* const whole =
        R"({"nftables":[{"metainfo":{"version":"1.0.6"}},{"table":{"family":"ip","name":"limits","handle":1}},{"table":{"family":"ip","name":"other","handle":2}},)"
        R"({"chain":{"family":"ip","table":"limits","name":"f","handle":1,"type":"filter","hook":"forward","prio":5,"policy":"drop"}},{"chain":{"family":"ip","table":"other","name":"g","handle":1}}]})";
    const auto one = table_of_ruleset(whole, {"ip", "limits"});
    BOOST_TEST_REQUIRE(one.has_value());
    const auto rules = parse_nft(*one, "");
    BOOST_TEST_REQUIRE(rules.has_value());
    BOOST_REQUIRE_EQUAL(rules->chains.size(), 1U);
    BOOST_TEST(rules->chains[0].name == "f");
    BOOST_TEST(rules->chains[0].drops);
    BOOST_TEST(!table_of_ruleset("[]", {"ip", "limits"}));
}

BOOST_AUTO_TEST_CASE(neighbours_services_of_ipvs_and_local_addresses_are_read) {
    const auto neighbours = *parse_neighbours(
        R"([{"dst":"10.1.0.2","dev":"br0","state":["FAILED"]},{"dst":"fe80::1","dev":"br0","lladdr":"02:00:00:00:00:09","state":["STALE"]}])");
    BOOST_REQUIRE_EQUAL(neighbours.size(), 2U);
    BOOST_TEST(neighbours[0].state == "FAILED");
    BOOST_TEST(neighbours[1].mac == "02:00:00:00:00:09");
    BOOST_TEST(!parse_neighbours("{}"));
    const auto services = parse_ipvs(
        "IP Virtual Server version 1.2.1 (size=4096)\nTCP  0A600001:0050 rr\n  -> 0A010002:0050    "
        "  "
        "Masq    1      0          0\nUDP  [2001:0db8:0000:0000:0000:0000:0000:0010]:0035 rr\nFWM  "
        "00000001 rr\n");
    BOOST_REQUIRE_EQUAL(services.size(), 2U);
    BOOST_TEST(to_string(services[0].at) == "10.96.0.1:80");
    BOOST_TEST(to_string(services[1].at) == "[2001:db8::10]:53");
    const char* const routes =
        R"([{"dst":"default","dev":"u0"},{"type":"local","dst":"10.1.0.1","dev":"br0","table":"local"}])";
    BOOST_TEST(parse_locals(routes)->size() == 1U);
    // It leads packets with a mark to a proxy (TPROXY), and makes no address this host's own.
    const char* const proxy =
        R"([{"type":"local","dst":"default","dev":"lo","table":"100"},{"type":"local","dst":"10.1.0.1","dev":"br0","table":"local"}])";
    BOOST_TEST(parse_locals(proxy)->size() == 1U);
    BOOST_TEST(parse_prefixes(routes)->size() == 2U);
    const char* const ip_rules =
        R"([{"priority":100,"src":"10.1.0.0","srclen":24,"table":"101"},{"priority":101,"dst":"10.9.0.1","table":"5"}])";
    BOOST_TEST(parse_rule_sources(ip_rules)->size() == 1U);
    BOOST_TEST(parse_rule_prefixes(ip_rules)->size() == 2U);
}
