// Settings and cures as plain data: what each host is to have, the way back, and the command.
#define BOOST_TEST_MODULE setting
#include <boost/test/unit_test.hpp>
#include <set>
#include <string>

#include "harness/setting/cures.h"

BOOST_AUTO_TEST_SUITE(settings)

using namespace pathproof;
using namespace pathproof::setting;
using agent::HostChange;
using Kind = HostChange::Kind;

namespace {

const Names kNames = {{"$TO_SERVER", "d1"}, {"$TO_CLIENT", "d0"}, {"$TUNNEL", "vx"}};

Setting masquerade() {
    return rules(HostRole::kDut, "masquerade", "nat",
                 ":PATH-POSTROUTING - [0:0]\n-A POSTROUTING -j PATH-POSTROUTING\n"
                 "-A PATH-POSTROUTING -o $TO_SERVER -p tcp -j MASQUERADE\n");
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_setting_has_the_command_that_a_person_types) {
    BOOST_TEST(sysctl(HostRole::kDut, "net.ipv4.ip_forward", "1").command ==
               "sysctl -w net.ipv4.ip_forward=1");
    BOOST_TEST(feature(HostRole::kDut, "d0", "rx-gro", false).command ==
               "ethtool -K d0 rx-gro off");
    BOOST_TEST(feature(HostRole::kDut, "d0", "rx-gro", true).changes[0].value == "on");
    BOOST_TEST(sysctl(HostRole::kDut, "net.ipv4.ip_forward", "1").id ==
               "sysctl -w net.ipv4.ip_forward=1");
    BOOST_TEST(sysctl(HostRole::kDut, "net.ipv4.ip_forward", "1", "forward").id == "forward");
    BOOST_TEST(
        links(HostRole::kDut, "x", "d0",
              {{"link add x type dummy", "link delete x"}, {"link set x up", "link set x down"}})
            .command == "ip link add x type dummy; ip link set x up");
}

BOOST_AUTO_TEST_CASE(rules_of_one_table_become_one_text_with_the_names_of_the_lab) {
    const Settings settings = {
        masquerade(), rules(HostRole::kDut, "accept", "nat", "-A PREROUTING -j ACCEPT\n"),
        rules(HostRole::kDut, "drop", "filter", ":INPUT DROP [0:0]\n-A INPUT -i lo -j ACCEPT\n"),
        rules(HostRole::kServer, "other", "nat", "-A INPUT -j ACCEPT\n"),
        rules(HostRole::kDut, "six", "nat", "-A INPUT -j ACCEPT\n", "", frame::Family::kIpv6)};
    const auto changes = merged(settings, {HostRole::kDut}, kNames);
    BOOST_REQUIRE(changes.size() == 3u);
    BOOST_TEST(changes[0].value ==
               "*nat\n:PREROUTING ACCEPT [0:0]\n:INPUT ACCEPT [0:0]\n:OUTPUT ACCEPT [0:0]\n"
               ":POSTROUTING ACCEPT [0:0]\n:PATH-POSTROUTING - [0:0]\n"
               "-A POSTROUTING -j PATH-POSTROUTING\n"
               "-A PATH-POSTROUTING -o d1 -p tcp -j MASQUERADE\n-A PREROUTING -j ACCEPT\nCOMMIT\n");
    BOOST_TEST(changes[1].value ==
               "*filter\n:INPUT DROP [0:0]\n:FORWARD ACCEPT [0:0]\n:OUTPUT ACCEPT [0:0]\n"
               "-A INPUT -i lo -j ACCEPT\nCOMMIT\n");
    BOOST_TEST(changes[2].name == "ip6 nat");
    BOOST_TEST(changes[2].value.starts_with("*nat\n"));
}

BOOST_AUTO_TEST_CASE(of_one_thing_the_last_setting_holds) {
    const auto changes = merged({sysctl(HostRole::kDut, "net.ipv4.tcp_timestamps", "1"),
                                 sysctl(HostRole::kDut, "net.ipv4.ip_forward", "1"),
                                 sysctl(HostRole::kDut, "net.ipv4.tcp_timestamps", "2")},
                                {HostRole::kDut}, {});
    BOOST_REQUIRE(changes.size() == 2u);
    BOOST_TEST(changes[0].value == "2");
}

BOOST_AUTO_TEST_CASE(a_setting_takes_the_place_of_an_earlier_one_of_its_id) {
    const Settings settings = {
        masquerade(), rules(HostRole::kDut, "masquerade", "nat", "-A POSTROUTING -j ACCEPT\n")};
    const auto changes = merged(settings, {HostRole::kDut, HostRole::kTunnelEnds}, kNames);
    BOOST_REQUIRE(changes.size() == 1u);
    BOOST_TEST(changes[0].value.find("MASQUERADE") == std::string::npos);
    BOOST_TEST(merged(settings, {HostRole::kClient}, kNames).empty());
}

BOOST_AUTO_TEST_CASE(each_change_is_taken_back_by_the_same_without_a_value) {
    const Setting tunnel =
        links(HostRole::kDut, "x", "d0", {{"link add x type dummy", "link delete x"}});
    const HostChange back = taken_back(tunnel.changes[0]);
    BOOST_TEST(back.value == "");
    BOOST_TEST(back.undo == "link delete x");
    BOOST_TEST(same_thing(back, tunnel.changes[0]));
    BOOST_TEST(!same_thing(sysctl(HostRole::kDut, "a.b", "1").changes[0],
                           sysctl(HostRole::kDut, "a.c", "1").changes[0]));
    BOOST_TEST(!same_thing(feature(HostRole::kDut, "d0", "rx-gro", true).changes[0],
                           feature(HostRole::kDut, "d1", "rx-gro", true).changes[0]));
}

BOOST_AUTO_TEST_CASE(a_cure_amends_the_rules_that_it_is_for_and_no_others) {
    const Settings settings = {
        masquerade(), rules(HostRole::kDut, "invalid", "filter", invalid_rules("ACCEPT")),
        rules(HostRole::kDut, "more", "nat", "-A POSTROUTING -j MASQUERADE --to-ports 1-2\n")};
    const auto with = [&](const char* id) {
        return merged(both(settings, cure(id).settings), {HostRole::kDut}, kNames);
    };
    const auto masqueraded = with("random-fully")[0].value;
    BOOST_TEST(masqueraded.find("-p tcp -j MASQUERADE --random-fully\n") != std::string::npos);
    BOOST_TEST(masqueraded.find("-j MASQUERADE --random-fully --to-ports 1-2\n") !=
               std::string::npos);
    const auto dropped = with("drop-invalid")[1].value;
    BOOST_TEST(dropped.find("-A FORWARD -o d0 -p tcp -m conntrack --ctstate INVALID -j DROP\n") !=
               std::string::npos);
    BOOST_TEST(dropped.find("INVALID -j ACCEPT") == std::string::npos);
    // drop-invalid makes its rules where the path has none; random-fully makes no MASQUERADE.
    BOOST_TEST(merged(cure("drop-invalid").settings, {HostRole::kDut}, kNames).size() == 1u);
    BOOST_TEST(merged(cure("random-fully").settings, {HostRole::kDut}, kNames).empty());
}

BOOST_AUTO_TEST_CASE(a_cure_is_told_by_its_command_and_where_it_is_set) {
    BOOST_TEST(cure("be-liberal").text() ==
               "`sysctl -w net.netfilter.nf_conntrack_tcp_be_liberal=1` on the DUT");
    BOOST_TEST(cure("timestamps-2").text() ==
               "`sysctl -w net.ipv4.tcp_timestamps=2` on the clients");
    BOOST_TEST(cure("tx-checksum-off").text() ==
               "`ethtool -K vx tx-checksum-ip-generic off` on every node");
    BOOST_TEST(cure("tx-checksum-off").quoted({{"$TUNNEL", "DEVICE"}}) ==
               "`ethtool -K DEVICE tx-checksum-ip-generic off`");
    BOOST_TEST(cure("drop-invalid").text() ==
               "`iptables -A FORWARD -m conntrack --ctstate INVALID -j DROP` on the DUT");
    BOOST_TEST(cure("single-request").text() == "`options single-request` in resolv.conf");
    BOOST_TEST(cure("trailing-dot").text() == "a dot behind the name");
    BOOST_TEST(cure("bridge-nf").told() ==
               "`modprobe br_netfilter; sysctl -w net.bridge.bridge-nf-call-iptables=1`");
    BOOST_TEST(cure("bridge-nf").in_words == "net.bridge.bridge-nf-call-iptables=1");
    BOOST_TEST(cure("be-liberal").told() == cure("be-liberal").quoted());
    BOOST_TEST(cure("tunnel-mtu").told() == "an MTU of the tunnel that fits the hop");
    BOOST_TEST(cure("timestamps-2").brief == "tcp_timestamps=2");
    BOOST_TEST(cure("random-fully").command.ends_with(" " + cure("random-fully").brief));
    BOOST_TEST((find_cure("no-such") == nullptr));
    std::set<std::string> ids;
    for (const Cure& each : all_cures()) {
        BOOST_TEST(ids.insert(each.id).second, each.id);
        BOOST_TEST(!each.text().empty(), each.id);
        for (const Setting& setting : each.settings) {
            BOOST_TEST(setting.id == each.id);
            BOOST_TEST((!setting.changes.empty() || setting.amends), each.id);
        }
    }
}

BOOST_AUTO_TEST_CASE(what_needs_a_part_of_the_kernel_says_which) {
    const Setting services = ipvs(HostRole::kDut, "web", "-A -t 198.51.100.10:80 -s rr\n");
    BOOST_TEST(services.needs.kernel == "IPVS (module ip_vs)");
    BOOST_TEST(agent::lacks(services.needs).find("\n") == std::string::npos);
    BOOST_TEST(
        agent::lacks({.probe = {"no-such-program-at-all"}, .package = "nothing", .kernel = ""}) ==
        "no-such-program-at-all is missing: install the package nothing");
    BOOST_TEST(agent::lacks({.probe = {"false"}, .package = "", .kernel = "part of that name"}) ==
               "this kernel has no part of that name");
    BOOST_TEST(agent::lacks({}) == "");
}

BOOST_AUTO_TEST_SUITE_END()
