// dns-tcp-limit, nodelocal, and the first race and the map of dns-race on the running kernel, run as a user runs them, with their symptoms by other
// causes planted beside them. In `few`, the few cells that show each.
#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <fstream>
#include <thread>

#include "harness/netfilter/create.h"
#include "tests/scenario/traps.h"

BOOST_AUTO_TEST_SUITE(dns_paths)

using nlohmann::json;
using namespace std::chrono_literals;

namespace {

const std::string kTcpLimit = "dns-tcp-limit";
const std::string kNodelocal = "nodelocal";

void nothing_false_in(const json& scenario) {
    for (const std::string& claim : contradictions(scenario, {})) {
        BOOST_TEST(false, claim);
    }
}

// dnsmasq of any run's namespace.
bool dnsmasq_runs() {
    const auto found = pathproof::process::run_program(
        {"sh", "-c",
         "for n in $(ip netns list | cut -d' ' -f1); do ip netns pids $n; done | "
         "while read p; do cat /proc/$p/comm; done 2>/dev/null | grep -x dnsmasq"});
    return found && !found->out.empty();
}

json run_of(const std::string& id, const std::vector<std::string>& more, int exit_status) {
    const MachineState before = MachineState::read();
    const Scratch out;
    std::vector<std::string> arguments = {"repro", id, "--out", out.path(), "--json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const auto run = pathproof_run(arguments);
    BOOST_TEST_MESSAGE(run.err);
    BOOST_TEST(run.exit_status == exit_status);
    const json scenario = scenario_named(json::parse(run.out), id);
    nothing_false_in(scenario);
    BOOST_TEST(MachineState::read() == before);
    BOOST_TEST(!dnsmasq_runs());
    return scenario;
}

// A matrix cell and its control with a trap beside them: nothing is concluded, and the other cause is
// named in the control.
void trapped(const std::string& id, const std::string& cells, const std::string& control,
             const std::string& cause, const std::function<void(Planter&)>& plant) {
    const Sprung run = spring({.arguments = {"repro", id, "--cells", cells}, .plant = plant});
    BOOST_REQUIRE_MESSAGE(run.report.is_object(), run.log);
    for (const std::string& trouble : run.troubles) {
        BOOST_TEST(false, trouble);
    }
    const json& scenario = run.scenario(id);
    BOOST_TEST_MESSAGE(scenario["headline"]);
    BOOST_TEST(run.exit_status == 3);
    BOOST_TEST(scenario["verdict"] == "INCONCLUSIVE", scenario["headline"]);
    BOOST_TEST(scenario["cause"] == "");
    nothing_false_in(scenario);
    BOOST_TEST(cell_named(scenario, control)["cause"] == cause, scenario["headline"]);
}

auto once_there(const std::string& role, const std::string& text) {
    return [role, text](Planter& lab) {
        lab.wait_for_namespace("server", "s0");
        lab.in(role, text);
    };
}

}  // namespace

BOOST_AUTO_TEST_SUITE(few)

// The time to the first race is printed and fails no test: it depends on what else runs.
BOOST_AUTO_TEST_CASE(the_first_race_comes_with_its_entries_beside_a_control) {
    const json scenario = run_of("dns-race", {"--first"}, 1);
    BOOST_TEST(scenario["verdict"] == "EXPOSED", scenario["headline"]);
    const json& cell = cell_named(scenario, "first.two-cpus");
    BOOST_TEST(measure(cell, "clash_resolve") > 0);
    BOOST_TEST(measure(cell, "first_race") > 0);
    BOOST_TEST_MESSAGE(scenario["headline"]);
    BOOST_TEST(measure(cell_named(scenario, "control.first.one-cpu"), "clash_resolve") == 0);
    BOOST_REQUIRE(!scenario["proofs"].empty());
    const std::string told = scenario["proofs"][0].dump();
    BOOST_TEST(told.find("conntrack: an entry") != std::string::npos, told);
    BOOST_TEST(told.find("NAT_CLASH") != std::string::npos, told);
}

BOOST_AUTO_TEST_CASE(more_connections_than_workers_are_found_and_named) {
    json scenario;
    // On a busy machine 80 processes of dnsmasq may take longer to start than a client waits.
    for (int tries = 0; tries < 3; ++tries) {
        scenario = run_of(kTcpLimit,
                          {"--cells", "control.burst-15,burst-80,cure.burst-80.more-workers"}, 0);
        if (cell_named(scenario, "cure.burst-80.more-workers")["verdict"] == "PASS") {
            break;
        }
    }
    BOOST_TEST(scenario["verdict"] == "REPRODUCED", scenario["headline"]);
    const json& cell = cell_named(scenario, "burst-80");
    BOOST_TEST(cell["cause"] == "worker-limit");
    BOOST_TEST(measure(cell, "in_use") == 20);
    BOOST_TEST(measure(cell, "workers") == 20);
    BOOST_TEST(cell_named(scenario, "cure.burst-80.more-workers")["verdict"] == "PASS");
}

BOOST_AUTO_TEST_CASE(a_cache_on_the_node_keeps_lookups_out_of_conntrack) {
    const json scenario =
        run_of(kNodelocal, {"--cells", "cure.link-local,cache-down,input-by-state.*"}, 3);
    const json& cell = cell_named(scenario, "cure.link-local");
    BOOST_TEST(cell["verdict"] == "PASS", cell["reason"]);
    BOOST_TEST(measure(cell, "client_entries") == 0);
    BOOST_TEST(measure(cell, "raw_hits") == 2 * measure(cell, "pairs"));
    for (const char* id :
         {"cache-down", "input-by-state.notrack-alone", "input-by-state.all-rules"}) {
        BOOST_TEST(cell_named(scenario, id)["verdict"] == "PASS", id);
    }
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(all)

BOOST_AUTO_TEST_CASE(the_map_shows_where_pairs_race_and_where_resolvers_are) {
    const json scenario = run_of("dns-race", {"--map"}, 1);
    BOOST_TEST(scenario["verdict"] == "EXPOSED", scenario["headline"]);
    BOOST_TEST(scenario["seconds"] < 120);
    BOOST_TEST(measure(cell_named(scenario, "control.map.one-cpu"), "raced_share") == 0);
    BOOST_REQUIRE(scenario["charts"].size() == 4U);
    for (const json& chart : scenario["charts"]) {
        BOOST_TEST(chart["curves"].size() >= 2U);
        BOOST_TEST(chart["x_label"].get<std::string>().find("far port") != std::string::npos);
        BOOST_REQUIRE(!chart["marks"].empty());
        BOOST_TEST(chart["marks"][0]["label"] == "glibc");
        BOOST_TEST(chart["marks"][0]["middle"] > 0);
    }
    const std::string resolvers = scenario["explanation"].dump();
    for (const char* absent : {"Go: not measured", "systemd-resolved: not measured"}) {
        BOOST_TEST(resolvers.find(absent) != std::string::npos, resolvers);
    }
}

BOOST_AUTO_TEST_CASE(the_limits_of_dnsmasq_are_found_named_and_cured) {
    const json scenario = run_of(kTcpLimit, {}, 0);
    BOOST_TEST(scenario["verdict"] == "REPRODUCED", scenario["headline"]);
    BOOST_TEST(scenario["cure_shown"] == true, scenario["cure"]);
    BOOST_TEST(scenario["unexplained"] == 0);
    for (const char* id : {"idle-20", "burst-80", "burst-80.after-cure", "idle-20.after-cure"}) {
        const json& cell = cell_named(scenario, id);
        BOOST_TEST(cell["cause"] == "worker-limit", id);
        BOOST_TEST(measure(cell, "in_use") == measure(cell, "most_workers"), id);
        BOOST_TEST(measure(cell, "most_waiting") > 0, id);
    }
    const json& forward = cell_named(scenario, "forward-200");
    BOOST_TEST(forward["cause"] == "forward-max");
    BOOST_TEST(measure(forward, "refused") == 50);
    BOOST_TEST(measure(forward, "forward_max") == 150);
    const json& idle = cell_named(scenario, "idle-20");
    BOOST_TEST(measure(idle, "freed") > 0);
    // The story of one lookup.
    BOOST_REQUIRE(!scenario["proofs"].empty());
    const std::string story = scenario["proofs"][0].dump();
    BOOST_TEST(story.find("waits in the queue of dnsmasq's socket") != std::string::npos);
    BOOST_TEST(story.find("stand-in for CoreDNS") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(node_local_dnscache_is_shown_as_the_cure_of_the_race) {
    const json scenario = run_of(kNodelocal, {}, 0);
    BOOST_TEST(scenario["verdict"] == "REPRODUCED", scenario["headline"]);
    BOOST_TEST(scenario["cure_shown"] == true, scenario["cure"]);
    BOOST_TEST(scenario["unexplained"] == 0);
    for (const char* id : {"cure.link-local", "cure.service-address"}) {
        const json& cell = cell_named(scenario, id);
        BOOST_TEST(cell["verdict"] == "PASS", id);
        BOOST_TEST(measure(cell, "client_entries") == 0, id);
        BOOST_TEST(measure(cell, "service_hits") == 0, id);
        BOOST_TEST(measure(cell, "raw_hits") == 2 * measure(cell, "pairs"), id);
    }
    BOOST_TEST(measure(cell_named(scenario, "control.one-by-one"), "clash_resolve") == 0);
}

// The server behind dnsmasq does not answer: its workers wait.
BOOST_AUTO_TEST_CASE(a_server_that_is_slow_by_itself_has_another_cause) {
    trapped(kTcpLimit, "control.burst-15,burst-80", "control.burst-15", "server-slow",
            once_there("server", "iptables -A INPUT -i lo -p tcp --dport 10053 -j DROP"));
}

BOOST_AUTO_TEST_CASE(answers_that_are_lost_on_the_path_have_another_cause) {
    trapped(kTcpLimit, "control.burst-15,burst-80", "control.burst-15", "answer-lost",
            once_there("server",
                       "iptables -A OUTPUT -o s0 -p tcp --sport 53 --tcp-flags PSH PSH -j DROP"));
}

BOOST_AUTO_TEST_CASE(a_filter_on_tcp_53_has_another_cause) {
    trapped(kTcpLimit, "control.burst-15,burst-80", "control.burst-15", "syn-lost",
            once_there("server", "iptables -A INPUT -p tcp --dport 53 -j DROP"));
    trapped(kTcpLimit, "control.burst-15", "control.burst-15", "connection-refused",
            once_there("server",
                       "iptables -A INPUT -p tcp --dport 53 -j REJECT --reject-with tcp-reset"));
}

// The server of somebody else answers all queries with REFUSED.
BOOST_AUTO_TEST_CASE(lookups_that_an_access_list_refuses_have_another_cause) {
    const auto plant =
        once_there("server",
                   "dnsmasq --conf-file=/dev/null --user=root --pid-file= --no-resolv --no-hosts "
                   "--bind-interfaces --listen-address=203.0.113.2 --port=5354; "
                   "iptables -t nat -A PREROUTING -p udp --dport 53 -j REDIRECT --to-ports 5354; "
                   "iptables -t nat -A PREROUTING -p tcp --dport 53 -j REDIRECT --to-ports 5354");
    trapped(kTcpLimit, "control.forward-100,forward-200", "control.forward-100", "refused", plant);
    trapped(kTcpLimit, "control.burst-15", "control.burst-15", "server-error", plant);
}

BOOST_AUTO_TEST_CASE(a_server_that_answers_rubbish_has_another_cause) {
    trapped(kTcpLimit, "control.burst-15,burst-80", "control.burst-15", "rubbish-answer",
            once_there("server", rubbish_server(5354) +
                                     " iptables -t nat -A PREROUTING -p tcp --dport 53 -j REDIRECT "
                                     "--to-ports 5354"));
}

BOOST_AUTO_TEST_CASE(lost_answers_are_not_the_race) {
    trapped(kNodelocal, "control.one-by-one,no-cache", "control.one-by-one", "lost",
            once_there("dut",
                       "iptables -t mangle -A FORWARD -p udp --sport 53 -m statistic --mode nth "
                       "--every 20 --packet 0 -j DROP"));
}

BOOST_AUTO_TEST_CASE(errors_of_the_server_are_not_the_race) {
    trapped(kNodelocal, "control.one-by-one,no-cache", "control.one-by-one", "server-error",
            once_there("server",
                       "dnsmasq --conf-file=/dev/null --user=root --pid-file= --no-resolv "
                       "--no-hosts --bind-interfaces --listen-address=203.0.113.2 --port=5354; "
                       "iptables -t nat -A PREROUTING -p udp -d 203.0.113.16/29 --dport 53 -j DNAT "
                       "--to-destination 203.0.113.2:5354"));
}

// Answers that another program un-translates wrongly.
BOOST_AUTO_TEST_CASE(answers_from_elsewhere_without_a_clash_are_not_the_race) {
    trapped(kNodelocal, "control.one-by-one,no-cache", "control.one-by-one", "untranslated-answer",
            once_there("dut",
                       "nft 'add table ip trap; add chain ip trap skip { type filter hook "
                       "prerouting priority -300; }; add rule ip trap skip udp sport 53 "
                       "notrack'"));
}

// The DUT's table is filled with answered flows, again whenever the scenario has emptied it. The first
// cell may be over before it is full.
BOOST_AUTO_TEST_CASE(a_table_that_is_really_full_is_not_the_race) {
    trapped(kNodelocal, "control.one-by-one,no-cache", "no-cache", "table-full", [](Planter& lab) {
        lab.wait_for_namespace("server", "s0");
        const std::string dut = lab.name_of("dut");
        while (lab.going_on()) {
            // Up to the entry for which there is no room.
            const auto full =
                pathproof::netfilter::create_entries(dut, 2'000'000, [](std::uint64_t number) {
                    const auto host = static_cast<std::uint32_t>(number / 50'000);
                    return pathproof::netfilter::NewEntry{
                        .source = {pathproof::frame::IpAddress::v4(0xc6130001 + host),
                                   static_cast<std::uint16_t>(10'000 + number % 50'000)},
                        .destination = {pathproof::frame::IpAddress::v4(0xc0000201), 9},
                        .protocol = 17,
                        .status = pathproof::netfilter::kAnsweredFlow};
                });
            BOOST_WARN(!full.has_value());
            std::this_thread::sleep_for(20ms);
        }
    });
}

namespace {

// One run with a file in the place of dnsmasq; $real is the one that it covers.
std::string run_with(const std::string& script, const std::string& mode,
                     const std::string& arguments) {
    const Scratch folder;
    const std::string file = folder.path() + "/dnsmasq";
    std::ofstream(file) << script;
    const auto ran = pathproof::process::run_program(
        {"unshare", "-m", "sh", "-c",
         "d=$(command -v dnsmasq); export real=" + folder.path() + "/real; cp $d $real; chmod " +
             mode + " " + file + " && mount --bind " + file + " $d && " + binary() + " repro " +
             kTcpLimit + " " + arguments},
        {.timeout = std::chrono::minutes(2)});
    BOOST_REQUIRE(ran.has_value());
    return ran->out + ran->err;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_host_without_dnsmasq_and_one_that_dies_are_said) {
    const std::string absent = run_with("", "600", "");
    BOOST_TEST(absent.find("install the package dnsmasq-base") != std::string::npos, absent);
    const std::string dies =
        run_with("#!/bin/sh\necho dnsmasq: its last words >&2\nexit 5\n", "755", "");
    BOOST_TEST(dies.find("its last words") != std::string::npos, dies);
}

// The port is taken by a server that this script starts first.
BOOST_AUTO_TEST_CASE(a_port_that_is_taken_is_said) {
    const std::string taken =
        run_with("#!/bin/sh\n$real \"$@\" >/dev/null 2>&1 &\nsleep 1\nexec $real \"$@\"\n", "755",
                 "--cells control.burst-15");
    BOOST_TEST(taken.find("ddress already in use") != std::string::npos, taken);
    BOOST_TEST(!dnsmasq_runs());
}

// Stopped before it says that it serves. Its process id comes first: it tells it itself.
BOOST_AUTO_TEST_CASE(a_server_that_accepts_none_has_another_cause) {
    const std::string stopped = run_with(
        "#!/bin/sh\ntrap '' USR1\n"
        "{ sh -c 'echo $$; exec \"$real\" \"$@\" 2>&1' sh \"$@\" & wait; } | { read -r p\n"
        "while read -r l; do case \"$l\" in *'started, version'*) kill -STOP $p;; esac\n"
        "echo \"$l\" >&2; done; }\n",
        "755", "--cells control.burst-15,burst-80");
    BOOST_TEST(stopped.find("INCONCLUSIVE") != std::string::npos, stopped);
    BOOST_TEST(stopped.find("by UDP dnsmasq did") != std::string::npos, stopped);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE_END()
