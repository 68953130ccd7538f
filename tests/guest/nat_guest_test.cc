// A guest of QEMU as NAT box: the races in its kernel, by the driver of an emulated NIC; and whoever is
// killed in the middle leaves neither guest nor namespace.
//
// PATHPROOF is the binary under test.
#include <unistd.h>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <csignal>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "harness/process/program.h"
#include "tests/lab/support.h"
#include "tests/lab/temp_folder.h"

using namespace pathproof;
using lab::contains;
using nlohmann::json;

namespace {

constexpr std::chrono::minutes kPatience{15};

struct Ran {
    int exit_status = 0;
    std::string said;
    json report;
};

Ran run(const std::vector<std::string>& words) {
    const lab::TempFolder folder;
    std::vector<std::string> argv = {lab::binary_path()};
    argv.insert(argv.end(), words.begin(), words.end());
    argv.insert(argv.end(), {"--no-hugepages", "--out", folder.path() + "/report"});
    const auto ran = process::run_program(argv, {.timeout = kPatience});
    BOOST_REQUIRE_MESSAGE(ran, (ran ? "" : ran.error().message));
    std::ifstream file(folder.path() + "/report/report.json");
    json report = json::parse(file, nullptr, false);
    BOOST_REQUIRE_MESSAGE(report.is_object(), ran->err);
    BOOST_TEST_MESSAGE(ran->out);
    return {ran->exit_status, ran->err + ran->out, std::move(report)};
}

const json* cell_of(const json& scenario, const std::string& id) {
    for (const char* list : {"cells", "controls"}) {
        for (const json& cell : scenario[list]) {
            if (cell["id"] == id) {
                return &cell;
            }
        }
    }
    return nullptr;
}

std::uint64_t measure(const json& cell, const std::string& name) {
    if (cell["measures"].contains(name)) {
        return cell["measures"][name]["value"].get<std::uint64_t>();
    }
    BOOST_FAIL("no measure " << name << " in " << cell["id"]);
    return 0;
}

std::string fact(const json& report, const std::string& group, const std::string& name) {
    for (const json& each : report["environment"]) {
        for (const json& one : each["title"] == group ? each["facts"] : json::array()) {
            if (one["name"] == name) {
                return one["value"].is_null() ? "" : one["value"].get<std::string>();
            }
        }
    }
    return "";
}

// Lists the processes in the namespaces that a run left, by their names in our own /run.
std::string processes_in_labs() {
    return lab::shell("", "for n in $(ip netns list | cut -d' ' -f1); do ip netns pids $n; done");
}

}  // namespace

// One CPU does for the race, where a driver hands packets up in lists; without lists there is none.
BOOST_AUTO_TEST_CASE(two_queries_in_one_list_race_in_the_guests_kernel_and_the_controls_are_clean) {
    const Ran ran = run({"repro", "dns-race", "--lab", "qemu", "--nic", "e1000e", "--cells",
                         "same-tuple.list-receive,control.same-tuple.*"});
    const json& scenario = ran.report["scenarios"][0];
    BOOST_TEST_CONTEXT(ran.said) {
        BOOST_TEST(scenario["controls"].size() == 3u);
        for (const json& control : scenario["controls"]) {
            BOOST_TEST(control["verdict"] == "PASS", control["id"]);
            BOOST_TEST(measure(control, "clash_resolve") == 0u, control["id"]);
            BOOST_TEST(measure(control, "queries_answered") == 2 * measure(control, "pairs"));
        }
        const json* raced = cell_of(scenario, "same-tuple.list-receive");
        BOOST_REQUIRE(raced != nullptr);
        BOOST_TEST(2 * measure(*raced, "clash_resolve") > measure(*raced, "pairs"));
        const std::string verdict = scenario["verdict"];
        BOOST_TEST((verdict == "REPRODUCED" || verdict == "EXPOSED"), verdict);
        // The report says what was offered, and why not more.
        const std::string load = fact(ran.report, "Offered load of the NAT box lab", "at most");
        BOOST_TEST(contains(load, "pairs/s"), load);
        BOOST_TEST(measure(*raced, "offered") <= std::stoul(load));
        BOOST_TEST(
            contains(fact(ran.report, "What the NAT box is made of", "emulated NIC"), "e1000e"));
        BOOST_TEST(contains(fact(ran.report, "DUT: Board", "system"), "PC"));
    }
    lab::check_nothing_left();
}

BOOST_AUTO_TEST_CASE(two_clients_with_one_port_collide_in_the_guests_kernel) {
    const Ran ran = run({"repro", "snat-race", "--lab", "qemu", "--nic", "virtio-net"});
    const json& scenario = ran.report["scenarios"][0];
    BOOST_TEST_CONTEXT(ran.said) {
        const json* control = cell_of(scenario, "control.snat-collision.no-nat");
        const json* cure = cell_of(scenario, "cure.random-fully");
        BOOST_REQUIRE((control != nullptr && cure != nullptr));
        BOOST_TEST((*control)["verdict"] == "PASS");
        BOOST_TEST((*cure)["verdict"] == "PASS");
        BOOST_TEST(measure(*cure, "changed_ports") > 0u);
        // The two emulated CPUs decide whether two packets meet; no loss may be unexplained.
        BOOST_TEST(scenario["verdict"] != "INCONCLUSIVE");
    }
}

// The client and the server are namespaces of this machine, behind ports of the tester on the guest's cables.
BOOST_AUTO_TEST_CASE(a_flow_outlives_its_endpoint_in_the_guests_kernel_and_the_cure_ends_it) {
    const Ran ran = run({"repro", "stale-udp", "--lab", "qemu", "--nic", "e1000e"});
    const json& scenario = ran.report["scenarios"][0];
    BOOST_TEST_CONTEXT(ran.said) {
        BOOST_TEST(scenario["verdict"] == "REPRODUCED");
        BOOST_TEST(scenario["cure_shown"] == true);
        BOOST_TEST(contains(ran.report["environment"].dump(), "Cables that the tester carried"));
        const json* ipv6 = cell_of(scenario, "ipv6.other-endpoint");
        BOOST_REQUIRE(ipv6 != nullptr);
        BOOST_TEST((*ipv6)["verdict"] == "FAIL");
    }
    lab::check_nothing_left();
}

BOOST_AUTO_TEST_CASE(what_takes_a_second_agent_on_the_dut_is_not_run_in_a_guest_and_says_so) {
    const Ran ran = run({"repro", "nodelocal", "--lab", "qemu", "--nic", "e1000e"});
    BOOST_TEST(ran.exit_status == 3);
    BOOST_TEST(contains(ran.said, "it takes a client on the node itself"), ran.said);
}

// A vxlan device on an emulated NIC whose offloads are as found must show what vxlan-checksum shows
// between two nodes.
BOOST_AUTO_TEST_CASE(the_outer_checksum_of_a_tunnel_on_an_emulated_nic_is_of_before_nat) {
    const Ran ran = run({"repro", "offload-truth", "--lab", "qemu", "--nic", "e1000"});
    const json& scenario = ran.report["scenarios"][0];
    BOOST_TEST_CONTEXT(ran.said) {
        const auto tunnel = [&](const std::string& point) -> const json& {
            const json* cell = cell_of(scenario, "e1000.tunnel." + point);
            BOOST_REQUIRE_MESSAGE(cell != nullptr, point);
            return *cell;
        };
        for (const std::string kind : {"vxlan", "geneve"}) {
            BOOST_TEST(tunnel(kind + ".tx-on.no-nat")["verdict"] == "PASS", kind);
            BOOST_TEST(tunnel(kind + ".tx-off.masquerade")["verdict"] == "PASS", kind);
            const json& stale = tunnel(kind + ".tx-on.masquerade");
            BOOST_TEST(stale["verdict"] == "FAIL", kind);
            BOOST_TEST(stale["cause"] == "stale-port", kind);
            BOOST_TEST(measure(stale, "frames_wrong") == measure(stale, "proven_by_conntrack"));
        }
        for (const char* kind : {"vxlan6.tx-on.no-nat", "gre.tx-on.no-nat", "ipip.tx-on.no-nat"}) {
            BOOST_TEST(measure(tunnel(kind), "frames_seen") == 24u, kind);
        }
    }
    lab::check_nothing_left();
}

// The controller is killed in each phase: from before there is anything, through the guest's boot,
// to the frames that its NIC carries. The seed once made an IPv6 packet without payload behind
// which a trailer stood: into its length QEMU's e1000e writes the trailer's
// (net_tx_pkt_fix_ip6_payload_len), and no path was proven.
BOOST_AUTO_TEST_CASE(a_controller_that_is_killed_in_any_phase_takes_its_guest_and_tap_with_it) {
    struct Phase {
        const char* name;
        const char* reached;  // a command that succeeds then
    };
    const std::string said = "said";
    const std::vector<Phase> phases = {
        {"started", "true"},
        {"a namespace", "ip netns list | grep -q '^pp-'"},
        {"a tap", "ip -all netns exec ip -o link 2>/dev/null | grep -q tap0"},
        {"the first lines of the kernel", "ip netns list | grep -q '^pp-' && sleep 2"},
        {"the boot", "ip netns list | grep -q '^pp-' && sleep 5"},
        {"the tap is up", "ip -all netns exec ip -o link show up 2>/dev/null | grep -q tap0"},
        {"the path", "grep -q ' path' said"},
        {"a setting", "grep -q ' tx.as-found' said"},
        {"another setting", "test $(grep -c ' tx\\.' said) -ge 3"},
        {"receiving", "grep -q ' rx\\.' said"},
    };
    for (const Phase& phase : phases) {
        BOOST_TEST_CONTEXT(phase.name) {
            const lab::TempFolder folder;
            std::ostringstream script;
            script << "cd '" << folder.path() << "'; '" << lab::binary_path()
                   << "' repro offload-truth --lab qemu --nic e1000e --no-hugepages --seed 126798 "
                      ">out 2>said & "
                      "p=$!\n"
                      "for i in $(seq 1500); do kill -0 $p 2>/dev/null || break; if "
                   << phase.reached
                   << "; then reached=1; break; fi; sleep 0.1; done\n"
                      "kill -9 $p; wait $p; echo status $? reached $reached; tail -n 20 out said\n";
            const auto ended =
                process::run_program({"sh", "-c", script.str()}, {.timeout = kPatience});
            BOOST_REQUIRE_MESSAGE(ended, (ended ? "" : ended.error().message));
            BOOST_TEST(contains(ended->out, "status 137 reached 1"), ended->out + ended->err);
            std::string left;
            for (int look = 0; look < 100; ++look) {
                left = processes_in_labs();
                if (left.empty()) {
                    break;
                }
                usleep(100'000);
            }
            BOOST_TEST(left == "");
            BOOST_TEST(lab::shell_status("", "'" + lab::binary_path() + "' restore >/dev/null") ==
                       0);
            lab::check_nothing_left();
        }
    }
}
