#include "harness/predict/simulator.h"

#include "tests/predict/fixture.h"

BOOST_AUTO_TEST_SUITE(predict_simulator)

using namespace pathproof;
using namespace pathproof::predict;
using fixture::Host;

namespace {

constexpr const char* kFlow = "udp 10.1.0.5:4000 10.96.0.10:53";

struct Case {
    const char* what;
    const char* rules;
    std::string says;  // of the only outcome
};

const Case kCases[] = {
    {"no rules", "", "leaves by s0 to 10.96.0.10:53 via 10.2.0.2, untracked"},
    {"a policy", "*filter\n:FORWARD DROP [0:0]\nCOMMIT\n",
     "is dropped by policy DROP of filter FORWARD (ip, iptables (nf_tables)), untracked"},
    {"a rule before the policy",
     "*filter\n:FORWARD DROP [0:0]\n-A FORWARD -i c0 -j ACCEPT\nCOMMIT\n",
     "leaves by s0 to 10.96.0.10:53 via 10.2.0.2, untracked"},
    {"a service",
     "*nat\n:PREROUTING ACCEPT [0:0]\n:SVC - [0:0]\n-A PREROUTING -j SVC\n-A SVC -d 10.96.0.10/32 "
     "-p "
     "udp -m udp --dport 53 -j DNAT --to-destination 10.2.0.7:5353\nCOMMIT\n",
     "leaves by s0 to 10.2.0.7:5353"},
    {"a return before the translation",
     "*nat\n:PREROUTING ACCEPT [0:0]\n-A PREROUTING -s 10.1.0.0/24 -j RETURN\n-A PREROUTING -p udp "
     "-j "
     "DNAT --to-destination 10.2.0.7\nCOMMIT\n",
     "leaves by s0 to 10.96.0.10:53 via 10.2.0.2"},
    {"a mark that POSTROUTING asks for",
     "*mangle\n:PREROUTING ACCEPT [0:0]\n-A PREROUTING -j MARK --set-xmark 0x4000/0x4000\nCOMMIT\n"
     "*nat\n:POSTROUTING ACCEPT [0:0]\n-A POSTROUTING -m mark --mark 0x4000/0x4000 -j "
     "MASQUERADE\nCOMMIT\n",
     "leaves by s0 to 10.96.0.10:53 via 10.2.0.2, with the source 10.2.0.1"},
    {"a mark that it does not ask for",
     "*mangle\n:PREROUTING ACCEPT [0:0]\n-A PREROUTING -j MARK --set-xmark 0x1/0x1\nCOMMIT\n"
     "*nat\n:POSTROUTING ACCEPT [0:0]\n-A POSTROUTING -m mark --mark 0x4000/0x4000 -j "
     "MASQUERADE\nCOMMIT\n",
     "leaves by s0 to 10.96.0.10:53 via 10.2.0.2"},
    {"NOTRACK: NAT is passed by",
     "*raw\n:PREROUTING ACCEPT [0:0]\n-A PREROUTING -p udp -j NOTRACK\nCOMMIT\n*nat\n:PREROUTING "
     "ACCEPT [0:0]\n-A PREROUTING -p udp -j DNAT --to-destination 10.2.0.7\nCOMMIT\n",
     "leaves by s0 to 10.96.0.10:53 via 10.2.0.2, untracked"},
    {"a zone",
     "*raw\n:PREROUTING ACCEPT [0:0]\n-A PREROUTING -p udp -j CT --zone "
     "3\nCOMMIT\n*nat\n:PREROUTING "
     "ACCEPT [0:0]\nCOMMIT\n",
     "leaves by s0 to 10.96.0.10:53 via 10.2.0.2, in zone 3"},
    {"a network for a network, alone in the rules",
     "*nat\n:PREROUTING ACCEPT [0:0]\n-A PREROUTING -d 10.96.0.0/24 -j NETMAP --to "
     "10.2.0.0/24\nCOMMIT\n",
     "leaves by s0 to 10.2.0.10:53"},
    {"a network for the source's",
     "*nat\n:POSTROUTING ACCEPT [0:0]\n:S - [0:0]\n-A POSTROUTING -j S\n-A S -s 10.1.0.0/24 -j "
     "NETMAP --to 10.99.0.0/24\nCOMMIT\n",
     "leaves by s0 to 10.96.0.10:53 via 10.2.0.2, with the source 10.99.0.5"},
    {"a helper: the kernel tracks",
     "*raw\n:PREROUTING ACCEPT [0:0]\n-A PREROUTING -p udp -m udp --dport 69 -j CT --helper "
     "tftp\nCOMMIT\n",
     "leaves by s0 to 10.96.0.10:53 via 10.2.0.2"},
    {"to this host",
     "*nat\n:PREROUTING ACCEPT [0:0]\n-A PREROUTING -p udp -j REDIRECT --to-ports 5353\nCOMMIT\n",
     "is delivered here, to 10.1.0.1:5353"},
    {"a goto does not come back",
     "*nat\n:PREROUTING ACCEPT [0:0]\n:A - [0:0]\n:B - [0:0]\n-A PREROUTING -j A\n-A A -g B\n-A A "
     "-p "
     "udp -j DNAT --to-destination 10.2.0.9\n-A B -s 10.9.9.9 -j RETURN\nCOMMIT\n",
     "leaves by s0 to 10.96.0.10:53 via 10.2.0.2"},
    {"an unknown match that does not matter",
     "*filter\n:FORWARD ACCEPT [0:0]\n-A FORWARD -m limit --limit 5/sec -j ACCEPT\nCOMMIT\n",
     "leaves by s0 to 10.96.0.10:53 via 10.2.0.2, untracked"},
};

}  // namespace

BOOST_AUTO_TEST_CASE(one_packet_goes_as_the_rules_say) {
    for (const Case& each : kCases) {
        BOOST_TEST_CONTEXT(each.what) {
            Host host(each.rules);
            const auto outcomes = host.simulate(kFlow);
            BOOST_REQUIRE_EQUAL(outcomes.size(), 1U);
            BOOST_TEST(sentence_of(outcomes[0]) == each.says);
        }
    }
}

BOOST_AUTO_TEST_CASE(chance_gives_an_outcome_for_each_way_and_says_so) {
    Host host(
        "*nat\n:PREROUTING ACCEPT [0:0]\n:SVC - [0:0]\n-A PREROUTING -d 10.96.0.10 -j SVC\n-A SVC "
        "-p "
        "udp -m statistic --mode random --probability 0.5 -j DNAT --to-destination 10.2.0.7\n-A "
        "SVC "
        "-p udp -j DNAT --to-destination 10.2.0.8\nCOMMIT\n");
    const auto outcomes = host.simulate(kFlow);
    BOOST_REQUIRE_EQUAL(outcomes.size(), 2U);
    BOOST_TEST(outcomes[0].has_doubt("chance"));
    BOOST_TEST(frame::to_string(outcomes[0].destination) !=
               frame::to_string(outcomes[1].destination));
}

BOOST_AUTO_TEST_CASE(a_limit_that_drops_is_not_decided) {
    Host host(
        "*filter\n:FORWARD ACCEPT [0:0]\n-A FORWARD -m limit --limit 5/sec -j DROP\nCOMMIT\n");
    const auto outcomes = host.simulate(kFlow);
    BOOST_REQUIRE_EQUAL(outcomes.size(), 2U);
    BOOST_TEST(outcomes[0].has_doubt("-m limit"));
}

BOOST_AUTO_TEST_CASE(the_order_of_two_nat_chains_of_one_priority_is_in_doubt) {
    const std::string to =
        "*nat\n:PREROUTING ACCEPT [0:0]\n-A PREROUTING -p udp -j DNAT --to-destination ";
    Host host(to + "10.2.0.7\nCOMMIT\n");
    const auto legacy = hazards::parse_iptables_save(to + "10.2.0.8\nCOMMIT\n",
                                                     hazards::Origin::kIptablesLegacy, "ip");
    host.facts.rules.chains.insert(host.facts.rules.chains.end(), legacy->chains.begin(),
                                   legacy->chains.end());
    BOOST_TEST(host.simulate(kFlow).size() == 2U);
}

BOOST_AUTO_TEST_CASE(the_reverse_path_filter_is_named) {
    Host host(
        "*nat\n:PREROUTING ACCEPT [0:0]\n-A PREROUTING -p udp -j DNAT --to-destination "
        "10.2.0.66\nCOMMIT\n");
    host.routes.refused = "10.2.0.66";
    const auto outcomes = host.simulate(kFlow);
    BOOST_REQUIRE_EQUAL(outcomes.size(), 1U);
    BOOST_TEST((outcomes[0].end == End::kReversePath));
}

BOOST_AUTO_TEST_CASE(an_answer_says_for_which_sources_it_holds) {
    Host host(
        "*nat\n:PREROUTING ACCEPT [0:0]\n-A PREROUTING -s 10.1.0.0/28 -p udp -j DNAT "
        "--to-destination 10.2.0.7\nCOMMIT\n");
    const Simulator simulator(host.facts, host.routes);
    const auto tuple = *netfilter::parse_flow({kFlow});
    Region region;
    simulator.simulate({.tuple = tuple, .in = "c0"}, region);
    BOOST_TEST(region.contains(*frame::parse_endpoint("10.1.0.15:9")));
    BOOST_TEST(!region.contains(*frame::parse_endpoint("10.1.0.16:9")));
}

BOOST_AUTO_TEST_CASE(maps_and_sets_of_nftables_are_followed) {
    Host host("");
    const auto rules = hazards::parse_nft(R"({"nftables": [
      {"chain": {"family": "ip", "table": "k", "name": "ep", "handle": 1}},
      {"chain": {"family": "ip", "table": "k", "name": "pre", "handle": 2, "type": "nat",
                 "hook": "prerouting", "prio": -100, "policy": "accept"}},
      {"map": {"family": "ip", "name": "svc", "table": "k", "map": "verdict",
               "elem": [[{"concat": ["10.96.0.10", "udp", 53]}, {"goto": {"target": "ep"}}]]}},
      {"rule": {"family": "ip", "table": "k", "chain": "ep", "handle": 7, "expr": [
        {"match": {"op": "==", "left": {"meta": {"key": "l4proto"}}, "right": "udp"}},
        {"dnat": {"addr": "10.2.0.7", "port": 5353}}]}},
      {"rule": {"family": "ip", "table": "k", "chain": "pre", "handle": 8, "expr": [
        {"vmap": {"key": {"concat": [{"payload": {"protocol": "ip", "field": "daddr"}},
          {"meta": {"key": "l4proto"}}, {"payload": {"protocol": "th", "field": "dport"}}]},
          "data": "@svc"}}]}}]})",
                                          "");
    BOOST_REQUIRE_MESSAGE(rules, rules.error().message);
    host.facts.rules = *rules;
    const auto outcomes = host.simulate(kFlow);
    BOOST_REQUIRE_EQUAL(outcomes.size(), 1U);
    BOOST_TEST(sentence_of(outcomes[0]) == "leaves by s0 to 10.2.0.7:5353");
    BOOST_REQUIRE(outcomes[0].destination_rule != nullptr);
    BOOST_TEST(outcomes[0].destination_rule->handle == 7U);
    BOOST_TEST(host.simulate("udp 10.1.0.5:4000 10.96.0.10:54")[0].destination_rule == nullptr);
}

// inet_select_addr(): a secondary address and one of host scope are passed over, and where the device has
// none, the first of another device is taken.
BOOST_AUTO_TEST_CASE(masquerade_takes_the_address_that_the_kernel_takes) {
    Host host("*nat\n:POSTROUTING ACCEPT [0:0]\n-A POSTROUTING -j MASQUERADE\nCOMMIT\n");
    const auto source = [&] {
        const auto outcomes = host.simulate("udp 10.1.0.5:4000 10.96.0.10:53");
        BOOST_REQUIRE_EQUAL(outcomes.size(), 1U);
        return outcomes[0].sources.empty() ? std::string()
                                           : frame::to_string(outcomes[0].sources[0].first);
    };
    auto& own = host.facts.devices[2].addresses;
    own = {fixture::address("10.2.0.8/24"), fixture::address("10.2.0.1/24")};
    own[0].secondary = true;
    BOOST_TEST(source() == "10.2.0.1");
    own[0] = fixture::address("10.2.0.8/24");
    own[0].scope = "link";
    BOOST_TEST(source() == "10.2.0.1");
    own.clear();
    BOOST_TEST(source() == "10.1.0.1");
    host.facts.devices[1].addresses.clear();
    const auto outcomes = host.simulate("udp 10.1.0.5:4000 10.96.0.10:53");
    BOOST_TEST((outcomes[0].end == End::kDropped));
}

BOOST_AUTO_TEST_SUITE_END()
