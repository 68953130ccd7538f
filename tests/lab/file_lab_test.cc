// Scenarios on a DUT that is somebody else's: its namespace, devices, addresses and rules were there
// before, and are so again whatever ends the run.
//
// PATHPROOF_SERIES is at how many moments one side is killed, PATHPROOF_SERIES_SEED what they are
// drawn from.
#include <unistd.h>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <csignal>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>

#include "harness/agent/client.h"
#include "harness/agent/host_change.h"
#include "tests/lab/site.h"
#include "tests/lab/support.h"

using namespace pathproof;
using namespace pathproof::lab;
using agent::HostChange;
using nlohmann::json;

namespace {

std::shared_ptr<agent::Client> agent_there() {
    auto started = agent::Client::start_behind({binary_path(), "agent"}, "site-dut", "the agent",
                                               std::chrono::seconds(30));
    BOOST_REQUIRE_MESSAGE(started, started.error().message);
    return std::move(*started);
}

HostChange forwarding() {
    return {.kind = HostChange::Kind::kSysctl, .name = "net.ipv4.ip_forward", .value = "1"};
}

// Goes on for some ten seconds, with the DUT changed from the first on.
const std::string kLongRun =
    "repro dns-race --lab site.toml --no-hugepages --seed 7 --pairs 500 --cells 'late-answer.*'";

}  // namespace

BOOST_AUTO_TEST_CASE(qualify_runs_what_the_file_has_roles_for_and_says_what_it_has_not) {
    const Site site;
    const auto run = site.run("qualify --lab site.toml --no-hugepages --seed 7 --pairs 300");
    const json report = site.report("report");
    BOOST_REQUIRE_MESSAGE(report.is_object(), run.said);
    const json race = scenario_of(report, "dns-race");
    BOOST_TEST((race["verdict"] == "REPRODUCED" || race["verdict"] == "EXPOSED"), race["verdict"]);
    BOOST_TEST(race["cells"].size() + race["controls"].size() == 14u);
    BOOST_TEST(scenario_of(report, "snat-race")["verdict"] == "REPRODUCED");
    BOOST_TEST(scenario_of(report, "offload-truth")["verdict"] == "NO DEFECT FOUND");
    const json overlay = scenario_of(report, "vxlan-checksum");
    BOOST_TEST(overlay["verdict"] == "REPRODUCED");
    BOOST_TEST(overlay["cure_shown"] == true);
    BOOST_TEST(report["lab"] == "site");
    BOOST_TEST(report["evidence_class"] == "virtual");
    BOOST_TEST((run.status == 0 || run.status == 1), run.said);
    BOOST_TEST(site.changed() == "");
}

BOOST_AUTO_TEST_CASE(what_a_lab_cannot_run_is_refused_before_anything_is_changed) {
    const Site site;
    for (const std::string words :
         {"repro pod-paths --lab site.toml", "qualify --only pod-paths --lab site.toml"}) {
        const auto run = site.run(words);
        BOOST_TEST(run.status == 2);
        BOOST_TEST(contains(run.said, "site.toml cannot run pod-paths: it takes pods"), run.said);
    }
    const std::string text = kSiteFile;
    const auto with = [&](const std::string& piece, const std::string& other,
                          const std::string& words = "repro dns-race --lab site.toml") {
        std::string changed = text;
        std::ofstream(site.file()) << changed.replace(changed.find(piece), piece.size(), other);
        return site.run(words);
    };
    auto run = with("\nclients = \"198.18.128.0/17\"", "");
    BOOST_TEST(run.status == 2);
    BOOST_TEST(contains(run.said, "two cabled tester ports with 'clients', and the file has 1"),
               run.said);
    run = with("\"203.0.113.3\"", "\"192.0.2.3\"");
    BOOST_TEST(run.status == 2);
    BOOST_TEST(contains(run.said, "the server 192.0.2.3 is in no network of the DUT device ds"),
               run.said);
    run = with("netns = \"site-dut\"", "netns = \"no-such-dut\"");
    BOOST_TEST(run.status == 2);
    BOOST_TEST(contains(run.said, "no-such-dut"), run.said);
    run = with("device = \"c1\"", "device = \"c7\"");
    BOOST_TEST(run.status == 2);
    BOOST_TEST(contains(run.said, "there is no device c7"), run.said);
    run = with(
        "[[dut.device]]\nname = \"d1\"\nport = \"client1\"\naddress = [\"198.18.128.1/24\"]\n\n"
        "[[dut.device]]\nname = \"ds\"\nport = \"server0\"\naddress = [\"203.0.113.1/24\"]\n",
        "", "repro stale-udp --lab site.toml");
    BOOST_TEST(run.status == 2);
    BOOST_TEST(contains(run.said,
                        "it takes two cables of the DUT, one to the client and one to the "
                        "server, and the file has 1"),
               run.said);
    // An address that the file does not have.
    shell("", "ip -n site-dut address add 10.9.9.9/24 dev ds");
    std::ofstream(site.file()) << text;
    run = site.run("repro dns-race --lab site.toml");
    BOOST_TEST(run.status == 2);
    BOOST_TEST(contains(run.said, "10.9.9.9"), run.said);
    shell("", "ip -n site-dut address delete 10.9.9.9/24 dev ds");
    BOOST_TEST(site.changed() == "");
}

BOOST_AUTO_TEST_CASE(hosts_behind_tester_ports_run_what_takes_a_client_and_a_server) {
    // Routes and settings that a device loses when it changes its namespace are planted.
    const Site site(
        "ip -n site-dut route add 10.7.0.0/16 via 198.18.0.77 dev d0 mtu 1400 metric 7\n"
        "ip -n site-dut route add 10.8.0.0/16 dev d0 scope link src 198.18.0.1 table 100\n"
        "ip -n site-dut link set d1 mtu 1450 promisc on\n"
        "ip netns exec site-dut sysctl -qw net.ipv4.conf.d0.accept_local=1\n");
    const auto verdict = [&](const std::string& id, const std::string& cells) {
        const auto run = site.run(fmt::format(
            "repro {} --lab site.toml --no-hugepages --seed 7 --out report --cells '{}'", id,
            cells));
        const json report = site.report("report");
        BOOST_REQUIRE_MESSAGE(report.is_object(), run.said);
        BOOST_TEST(contains(report["environment"].dump(), "driver net_af_xdp"), run.said);
        BOOST_TEST(site.changed() == "");
        return scenario_of(report, id)["verdict"].get<std::string>();
    };
    BOOST_TEST(
        verdict("stale-udp", "*other-endpoint,control.*new-flow,cure.delete-entry,*after-cure") ==
        "REPRODUCED");
    BOOST_TEST(verdict("bridge-unnat", "*") == "REPRODUCED");
}

BOOST_AUTO_TEST_CASE(the_duts_own_namespace_stays_as_it_is_during_a_run) {
    const Site site;
    const std::string own =
        "ip netns exec site-dut sh -c 'iptables-save | grep -v ^#; sysctl -a -r \"^net.ipv4\" 2>&1 "
        "| "
        "grep -v -e d0 -e d1 -e ds -e conntrack; ip rule; nft list tables 2>&1'";
    const std::string before = shell("", own);
    Started run(kLongRun, site.folder());
    for (int tenths = 0; tenths < 100 && shell("", "ip netns list | grep -c -- -dut") != "2\n";
         ++tenths) {
        usleep(100'000);
    }
    sleep(2);
    BOOST_TEST(shell_status("", "ip -n site-dut link show d0 >/dev/null 2>&1") != 0);
    BOOST_TEST(shell("", own) == before);
    run.signal(SIGINT);
    BOOST_TEST(run.wait() == 3);
    BOOST_TEST(site.changed(5000) == "");
}

BOOST_AUTO_TEST_CASE(a_device_that_would_lose_something_is_not_moved) {
    const Site site;
    const auto refused = [&](const std::string& make, const std::string& undo,
                             const std::string& said) {
        shell("", make);
        const auto run = site.run("repro stale-udp --lab site.toml");
        BOOST_TEST(run.status == 2, run.said);
        BOOST_TEST(contains(run.said, said), run.said);
        BOOST_TEST(
            contains(run.said, "'in_place = true' in the lab file leaves the device where it is"),
            run.said);
        shell("", undo);
        BOOST_TEST(site.changed(5000) == "");
    };
    refused("ip -n site-dut link add b7 type bridge; ip -n site-dut link set ds master b7",
            "ip -n site-dut link delete b7", "ds is a port of b7, which it would leave");
    refused("ip -n site-dut link add name vx7 type vxlan id 7 dstport 4789 dev d1",
            "ip -n site-dut link delete vx7", "vx7 sits on d1, which would leave it");
    refused(
        "tc -n site-dut qdisc add dev d1 clsact; tc -n site-dut filter add dev d1 ingress protocol "
        "ip "
        "u32 match u32 0 0 action mirred egress redirect dev d1",
        "tc -n site-dut qdisc delete dev d1 clsact", "tc filters at d1 (ingress)");
}

BOOST_AUTO_TEST_CASE(in_place_the_hosts_own_rules_are_tested) {
    const Site site("ip netns exec site-dut iptables -A FORWARD -p udp --dport 53 -j DROP\n");
    std::string text = kSiteFile;
    const std::string dut = "netns = \"site-dut\"\n";
    text.insert(text.find(dut) + dut.size(), "in_place = true\ndedicated = true\n");
    const auto run_of = [&](const std::string& file) {
        std::ofstream(site.file()) << file;
        site.run(
            "repro stale-udp --lab site.toml --no-hugepages --seed 7 --out report --cells "
            "other-endpoint");
        BOOST_TEST(site.changed() == "");
        return scenario_of(site.report("report"), "stale-udp")["cells"][0]["reason"]
            .get<std::string>();
    };
    // A run in place meets the host's own rule; a run in a namespace of its own does not.
    BOOST_TEST(
        contains(run_of(text), "before the change none of 3 datagrams reached the endpoint"));
    BOOST_TEST(!contains(run_of(kSiteFile), "none of 3 datagrams reached"));
}

BOOST_AUTO_TEST_CASE(net_config_of_the_selftests_is_a_lab) {
    const Site site;
    shell("", "ip -n site-tester address add 198.18.0.2/24 dev c0");
    std::ofstream(site.folder() + "/net.config")
        << "# of the machine\nNETIF=d0\nLOCAL_V4=\"198.18.0.1\"\nREMOTE_V4=198.18.0.2 # far\n"
           "REMOTE_TYPE=netns\nREMOTE_ARGS=site-tester\n";
    auto run = site.run("qualify --lab net.config --no-hugepages --seed 7 --ktap", "site-dut");
    BOOST_TEST(run.status == 0, run.said);
    BOOST_TEST(scenario_of(site.report("report"), "offload-truth")["verdict"] == "NO DEFECT FOUND");
    BOOST_TEST(contains(run.said, "KTAP version 1"), run.said);
    run = site.run("repro vxlan-checksum --lab net.config", "site-dut");
    BOOST_TEST(run.status == 2);
    BOOST_TEST(contains(run.said, "nothing says that nobody else needs them"), run.said);
    std::ofstream(site.folder() + "/net.config") << "NETIF=d0\nREMOTE_TYPE ssh\n";
    run = site.run("qualify --lab net.config", "site-dut");
    BOOST_TEST(run.status == 2);
    BOOST_TEST(contains(run.said, "net.config:2: 'REMOTE_TYPE ssh' is no NAME=VALUE"), run.said);
    shell("", "ip -n site-tester address delete 198.18.0.2/24 dev c0");
    BOOST_TEST(site.changed() == "");
}

BOOST_AUTO_TEST_CASE(one_controller_at_a_time_has_a_host) {
    const Site site;
    const auto first = agent_there();
    const auto second = agent_there();
    BOOST_TEST(first->apply({forwarding()}).has_value());
    const Status refused = second->apply({forwarding()});
    BOOST_REQUIRE(!refused);
    BOOST_TEST(contains(refused.error().message, "another run has the lab: pid"),
               refused.error().message);
    BOOST_TEST(first->put_back().has_value());
    BOOST_TEST(site.changed() == "");
    BOOST_TEST(second->apply({forwarding()}).has_value());
    BOOST_TEST(second->put_back().has_value());
    BOOST_TEST(site.changed() == "");
}

BOOST_AUTO_TEST_CASE(an_agent_puts_back_each_kind_of_change_and_leaves_what_others_changed) {
    const Site site;
    const std::vector<HostChange> all = {
        forwarding(),
        {.kind = HostChange::Kind::kIp,
         .device = "ds",
         .value = "address add 203.0.113.1/24 dev ds",
         .undo = "address delete 203.0.113.1/24 dev ds"},
        {.kind = HostChange::Kind::kRules,
         .name = "nat",
         .value =
             "*nat\n:PREROUTING ACCEPT [0:0]\n-A PREROUTING -d 198.51.100.10 -j ACCEPT\nCOMMIT\n"},
        {.kind = HostChange::Kind::kRules,
         .name = "raw",
         .value =
             "*raw\n:PREROUTING ACCEPT [0:0]\n-A PREROUTING -d 198.51.100.10 -j NOTRACK\nCOMMIT\n"},
        {.kind = HostChange::Kind::kRules,
         .name = "ip6 nat",
         .value = "*nat\n:PREROUTING ACCEPT [0:0]\n-A PREROUTING -d 2001:db8::1 -j "
                  "ACCEPT\nCOMMIT\n"},
        {.kind = HostChange::Kind::kNft,
         .name = "ip pathproof-test",
         .value = "table ip pathproof-test {\nchain c { ct state new accept; }\n}\n"},
        {.kind = HostChange::Kind::kFeature,
         .device = "d0",
         .name = "tx-checksum-ip-generic",
         .value = "off"},
        {.kind = HostChange::Kind::kSteering, .device = "d0", .value = "1"}};
    auto dut = agent_there();
    const Status applied = dut->apply(all);
    BOOST_REQUIRE_MESSAGE(applied, applied.error().message);
    BOOST_TEST(site.changed(0) != "");
    const auto put = dut->put_back();
    BOOST_REQUIRE_MESSAGE(put, put.error().message);
    BOOST_TEST(put->empty());
    BOOST_TEST(site.changed() == "");

    // An agent whose input ends puts its changes back. Those of a killed agent are left to the next
    // one.
    BOOST_REQUIRE(dut->apply(all).has_value());
    dut.reset();
    BOOST_TEST(site.changed(5000) == "");
    dut = agent_there();
    BOOST_REQUIRE(dut->apply(all).has_value());
    shell("", "kill -9 $(ip netns pids site-dut)");
    usleep(300'000);
    BOOST_TEST(site.changed(0) != "");
    dut = agent_there();
    BOOST_TEST(dut->apply({forwarding()}).has_value());
    BOOST_TEST(dut->put_back().has_value());
    BOOST_TEST(site.changed() == "");

    BOOST_REQUIRE(dut->apply(all).has_value());
    shell("", "ip netns exec site-dut iptables -t nat -A POSTROUTING -s 10.2.0.0/16 -j MASQUERADE");
    const auto others = dut->put_back();
    BOOST_REQUIRE_MESSAGE(others, others.error().message);
    BOOST_REQUIRE(others->size() == 1u);
    BOOST_TEST(contains(others->front(), "iptables table nat was changed by somebody else since"));
    BOOST_TEST(contains(shell("", "ip netns exec site-dut iptables-save -t nat"), "10.2.0.0/16"));
    // A table that others changed is not ours to fail for; everything else is put back.
    BOOST_TEST(!contains(site.changed(0), "ip_forward"));
}

BOOST_AUTO_TEST_CASE(a_change_without_its_value_is_taken_back_while_the_others_stay) {
    const Site site;
    const std::vector<HostChange> all = {
        {.kind = HostChange::Kind::kRules,
         .name = "raw",
         .value =
             "*raw\n:PREROUTING ACCEPT [0:0]\n-A PREROUTING -d 198.51.100.10 -j NOTRACK\nCOMMIT\n"},
        {.kind = HostChange::Kind::kFeature,
         .device = "d0",
         .name = "tx-checksum-ip-generic",
         .value = "off"},
        {.kind = HostChange::Kind::kSteering, .device = "d0", .value = "1"}};
    const auto dut = agent_there();
    BOOST_REQUIRE(dut->apply({forwarding()}).has_value());
    const std::string forwards = site.changed(0);
    BOOST_REQUIRE(dut->apply(all).has_value());
    BOOST_TEST(site.changed(0) != forwards);
    for (HostChange change : all) {
        change.value.clear();
        const Status back = dut->apply({change});
        BOOST_TEST_REQUIRE(back.has_value());
    }
    BOOST_TEST(site.changed(0) == forwards);
    BOOST_TEST(dut->put_back().has_value());
    BOOST_TEST(site.changed() == "");
}

BOOST_AUTO_TEST_CASE(a_change_that_would_take_something_away_is_refused_and_undone) {
    const Site site;
    const auto dut = agent_there();
    const Status refused =
        dut->apply({forwarding(),
                    {.kind = HostChange::Kind::kIp,
                     .device = "d0",
                     .value = "neigh add 198.18.0.77 lladdr 02:00:00:00:00:01 nud permanent dev d0",
                     .undo = "neigh delete 198.18.0.77 dev d0"}});
    BOOST_REQUIRE(!refused);
    BOOST_TEST(contains(refused.error().message, "which is not ours to change"),
               refused.error().message);
    BOOST_TEST(dut->put_back().has_value());
    BOOST_TEST(site.changed() == "");
}

BOOST_AUTO_TEST_CASE(whichever_side_is_killed_the_dut_is_as_it_was_found) {
    const Site site;
    const int count = std::atoi(variable("PATHPROOF_SERIES", "4").c_str());
    std::mt19937_64 random(std::stoull(variable("PATHPROOF_SERIES_SEED", "13")));
    int changed_before = 0;
    for (int number = 0; number < count; ++number) {
        const bool controller = number % 2 == 0;
        const double moment_s = std::uniform_real_distribution<double>(0.8, 6)(random);
        Started run(kLongRun, site.folder());
        usleep(static_cast<useconds_t>(moment_s * 1e6));
        changed_before += site.changed(0).empty() ? 0 : 1;
        const std::string what =
            fmt::format("{} killed after {:.2f} s", controller ? "controller" : "agent", moment_s);
        if (controller) {
            run.signal(SIGKILL);
            run.wait();
            BOOST_TEST(site.changed(5000) == "", what);
            shell_status("", binary_path() + " restore");
        } else {
            shell_status("", "kill -9 $(ip netns pids site-dut)");
            run.wait();
            BOOST_TEST(site.changed() == "", what);
        }
        BOOST_TEST(shell_status("", "test -e /run/pathproof") == 1, what);
    }
    BOOST_TEST(changed_before >= count * 3 / 4, changed_before << " of " << count);
}

// Takes half a minute: in the long ring.
BOOST_AUTO_TEST_CASE(a_dut_that_hears_nothing_puts_itself_back_and_the_run_is_incomplete,
                     *boost::unit_test::disabled()) {
    const Site site;
    Started run(kLongRun + " --out report", site.folder());
    usleep(3'000'000);
    BOOST_TEST(site.changed(0) != "");
    run.signal(SIGSTOP);
    sleep(24);
    // The tester's ports are as they were left: their process was not stopped.
    const std::string there = site.changed(0);
    BOOST_TEST(!contains(there, "ip_forward"), there);
    BOOST_TEST(!contains(there, "MASQUERADE"), there);
    run.signal(SIGCONT);
    BOOST_TEST(run.wait() == 3);
    BOOST_TEST(contains(read_file(site.folder() + "/said").value_or(""),
                        "nothing was heard of the controller for 20 s"));
    BOOST_TEST(site.changed() == "");
}
