// The offload truth table on the real kernel: a veth pair whose far end is the tester's.
#include <fmt/format.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <fstream>
#include <thread>

#include "tests/scenario/lab_run.h"
#include "tests/scenario/offload_paths.h"

using namespace pathproof;
using namespace std::chrono_literals;
using nlohmann::json;

namespace {

std::string run(const std::vector<std::string>& argv, const std::string& netns = "") {
    const auto done = process::run_checked(argv, {.netns = netns});
    BOOST_REQUIRE_MESSAGE(done, done.error().message);
    return *done;
}

// e0 in one namespace, its peer u0 in another.
class Pair {
  public:
    Pair()
        : dut("pp-truth-dut-" + std::to_string(getpid())),
          far("pp-truth-far-" + std::to_string(getpid())) {
        run({"ip", "netns", "add", dut});
        run({"ip", "netns", "add", far});
        run({"ip", "link", "add", "e0", "netns", dut, "mtu", "4000", "type", "veth", "peer", "name",
             "u0", "netns", far, "mtu", "4000"});
        run({"ip", "link", "set", "e0", "up"}, dut);
        run({"ip", "link", "set", "u0", "arp", "off", "up"}, far);
    }
    ~Pair() {
        for (const std::string& netns : {dut, far}) {
            const auto done = process::run_program({"ip", "netns", "delete", netns});
            BOOST_TEST(done.has_value());
        }
    }
    std::string flags() const { return run({"ethtool", "-k", "e0"}, dut); }
    std::string addresses() const { return run({"ip", "-brief", "address", "show"}, dut); }

    const std::string dut;
    const std::string far;
};

json checked(const Pair& pair, int expected_status, const std::vector<std::string>& more = {}) {
    std::vector<std::string> words = {"offload", "check",  "e0", "--netns", pair.dut,
                                      "--quick", "--seed", "7",  "--json"};
    words.insert(words.end(), more.begin(), more.end());
    const auto done = pathproof_run(words);
    BOOST_TEST(done.exit_status == expected_status, done.err);
    return scenario_named(json::parse(done.out), "offload-truth");
}

// The table and the row of that name.
std::pair<const json*, const json*> find_row(const json& scenario, const std::string& offload) {
    for (const json& table : scenario["truth_tables"]) {
        for (const json& row : table["rows"]) {
            if (row["offload"] == offload) {
                return {&table, &row};
            }
        }
    }
    BOOST_REQUIRE_MESSAGE(false, "no row " << offload);
    return {&scenario, &scenario};
}

const json& row_named(const json& scenario, const std::string& offload) {
    return *find_row(scenario, offload).second;
}

const json& observed(const json& scenario, const std::string& offload,
                     const std::string& condition) {
    const auto [table, row] = find_row(scenario, offload);
    const json& conditions = (*table)["conditions"];
    for (std::size_t i = 0; i < conditions.size(); ++i) {
        if (conditions[i] == condition) {
            return (*row)["observed"][i];
        }
    }
    BOOST_REQUIRE_MESSAGE(false, "no condition " << condition);
    return scenario;
}

// The profiles with one line of veth's changed.
class Profiles {
  public:
    Profiles(const std::string& line, const std::string& in_its_place) {
        const char* original = std::getenv("NICPROFILES");
        BOOST_REQUIRE(original != nullptr);
        std::filesystem::copy(original, scratch_.path() + "/profiles",
                              std::filesystem::copy_options::recursive);
        const std::string file = scratch_.path() + "/profiles/veth.toml";
        std::ifstream in(file);
        std::string text{std::istreambuf_iterator<char>(in), {}};
        const std::size_t at = text.find(line);
        BOOST_REQUIRE(at != std::string::npos);
        std::ofstream(file, std::ios::trunc) << text.replace(at, line.size(), in_its_place);
        setenv("PATHPROOF_PROFILES", (scratch_.path() + "/profiles").c_str(), 1);
    }
    ~Profiles() { unsetenv("PATHPROOF_PROFILES"); }

  private:
    Scratch scratch_;
};

// A pair as it was made, checked once for the three cases that follow.
struct Plain {
    Plain() {
        const MachineState before = MachineState::read();
        {
            const Pair pair;
            const std::string flags = pair.flags();
            const std::string addresses = pair.addresses();
            scenario = checked(pair, 0);
            BOOST_TEST(pair.flags() == flags);
            BOOST_TEST(pair.addresses() == addresses);
        }
        BOOST_TEST(MachineState::read() == before);
    }
    json scenario;
};

const json& plain() {
    static const Plain checked_once;
    return checked_once.scenario;
}

}  // namespace

BOOST_AUTO_TEST_CASE(veth_leaves_checksums_by_design_and_is_right_with_the_offload_off) {
    const json& scenario = plain();
    BOOST_TEST(scenario["verdict"] == "NO DEFECT FOUND");
    for (const char* condition :
         {"plain UDP", "plain TCP", "tunnel inner", "tunnel outer", "VLAN"}) {
        const json& on = observed(scenario, "tx-checksum-ip-generic", condition);
        BOOST_TEST(on["observed"] == "by design", condition);
        BOOST_TEST(on["names"].dump().find("PSEUDO") != std::string::npos, on["names"].dump());
        const json& off = observed(scenario, "tx-checksum-ip-generic, alone off", condition);
        BOOST_TEST(off["observed"] == "right", condition);
        BOOST_TEST(off["frames"].get<int>() > 0, condition);
    }
    BOOST_TEST(observed(scenario, "tx-tcp-segmentation", "TSO")["names"].dump() ==
               "[\"super-frame\"]");
    BOOST_TEST(observed(scenario, "all of these off", "TSO")["observed"] == "right");
    BOOST_TEST(observed(scenario, "all as found", "nothing offloaded")["observed"] == "right");
    for (const json& cell : scenario["cells"]) {
        BOOST_TEST(cell["verdict"] == "PASS", cell["id"]);
    }
}

BOOST_AUTO_TEST_CASE(tunnel_segmentation_of_veth_hands_on_what_software_cuts_right) {
    const json& scenario = plain();
    for (const char* kind : {"tcp", "udp"}) {
        for (const char* sum : {"udpcsum", "noudpcsum"}) {
            const auto cell = [&](const char* state) -> const json& {
                return cell_named(scenario, fmt::format("segments.{}.{}.{}", sum, state, kind));
            };
            for (const char* state : {"as-found", "off", "all-software"}) {
                BOOST_TEST(cell(state)["verdict"] == "PASS", cell(state));
                BOOST_TEST(measure(cell(state), "segments_seen") > 40);
                BOOST_TEST(measure(cell(state), "segments_seen") ==
                           measure(cell(state), "segments"));
            }
            BOOST_TEST(measure(cell("as-found"), "super_frames_uncut") ==
                       measure(cell("as-found"), "super_frames"));
            BOOST_TEST(measure(cell("off"), "super_frames_uncut") == 0);
            BOOST_TEST(measure(cell("off"), "segments_unfinished") > 0);
            BOOST_TEST(measure(cell("all-software"), "segments_unfinished") == 0);
        }
    }
    BOOST_TEST(observed(scenario, "tx-udp_tnl-segmentation", "TSO")["note"].get<std::string>().find(
                   "VXLAN") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(veth_says_nothing_of_received_frames_and_the_kernel_counts_the_bad_ones) {
    const json& scenario = plain();
    for (const char* row : {"rx-checksum", "rx-checksum, alone off"}) {
        const json& seen = observed(scenario, row, "plain");
        BOOST_TEST(seen["observed"] == "no claim", seen);
        BOOST_TEST(seen["frames"].get<int>() > 24);
    }
    BOOST_TEST(row_named(scenario, "rx-checksum")["expected"] == "required");
    BOOST_TEST(observed(scenario, "delivery, as found", "VXLAN on 4789")["observed"] == "right");
    for (const char* kind : {"IPv4 header", "UDP over IPv4", "UDP over IPv6", "TCP over IPv4",
                             "TCP over IPv6", "ICMP", "ICMPv6"}) {
        for (const char* row : {"InCsumErrors, as found", "InCsumErrors, rx-checksum alone off"}) {
            BOOST_TEST(observed(scenario, row, kind)["observed"] == "right", kind);
        }
    }
    BOOST_TEST(measure(cell_named(scenario, "rx.as-found"), "frames_bad") > 100);
    BOOST_TEST(measure(cell_named(scenario, "rx.as-found"), "claims") == 0);
}

// GRO checks sums itself, and veth hands it frames of a peer without TSO.
BOOST_AUTO_TEST_CASE(a_claim_of_received_frames_is_shown_and_held_against_the_wire) {
    const Pair pair;
    run({"ethtool", "-K", "u0", "tso", "off", "gso", "off"}, pair.far);
    const json scenario = checked(pair, 0);
    const json& seen = observed(scenario, "rx-checksum and rx-gro, both on", "plain");
    BOOST_TEST(seen["observed"] == "right", seen);
    BOOST_TEST(seen["names"][0] == "csum valid");
    BOOST_TEST(measure(cell_named(scenario, "rx.all-on"), "claims") > 12);
    BOOST_TEST(observed(scenario, "rx-checksum", "plain")["observed"] == "no claim");
}

// Frames that a firewall keeps from the kernel's counters are held against neither the counters nor
// the device.
BOOST_AUTO_TEST_CASE(frames_that_a_firewall_drops_are_not_held_against_the_device) {
    const Cable cable(Cable::Between::kNothing);
    // The filter drops frames without payload: an eighth of the good and of the bad ones.
    const PathEnvironment& filter = path_environment("filter: prerouting drops UDP");
    const Kept held = filter.set(cable);
    const PathRun run = check_over(cable, filter);
    BOOST_TEST(run.status == 3, run.err);
    BOOST_TEST(run.scenario["verdict"] == "INCONCLUSIVE");
    const json& seen = observed(run.scenario, "InCsumErrors, as found", "UDP over IPv4");
    BOOST_TEST(seen["observed"] == "not tested");
    const std::string note = seen["note"];
    BOOST_TEST(note.find("NETFILTER_DROP") != std::string::npos, note);
    BOOST_TEST(note.find("ip netns exec " + cable.dut + " iptables-save") != std::string::npos,
               note);
    BOOST_TEST(observed(run.scenario, "InCsumErrors, as found", "TCP over IPv4")["observed"] ==
               "right");
    BOOST_TEST(cell_named(run.scenario, "rx.as-found.counters")["verdict"] == "INCONCLUSIVE");
}

BOOST_AUTO_TEST_CASE(a_healthy_device_is_not_accused_of_what_its_far_end_or_the_path_does) {
    // All environments are in the long ring.
    for (const char* name : {"far end: GRO", "MTU 1500, far end 1400"}) {
        const PathEnvironment& environment = path_environment(name);
        const Cable cable(Cable::Between::kNothing);
        const Kept held = environment.set(cable);
        const std::string before = run({"ethtool", "-k", "u0"}, cable.far);
        const PathRun done = check_over(cable, environment);
        const std::string headline = done.scenario["headline"];
        BOOST_TEST(done.status == 0, name << ": " << headline);
        BOOST_TEST(done.scenario["verdict"] == "NO DEFECT FOUND", name << ": " << headline);
        BOOST_TEST(run({"ethtool", "-k", "u0"}, cable.far) == before, name);
        BOOST_TEST((headline.find("mtu 1500`") != std::string::npos) ==
                       (std::string(name) == "MTU 1500, far end 1400"),
                   headline);
    }
}

// In the middle of it: what is dropped on the device's own side the kernel tells its sender.
BOOST_AUTO_TEST_CASE(a_path_that_loses_the_first_full_frame_carries_full_frames) {
    const Cable cable(Cable::Between::kNamespace);
    // br_netfilter, where it is loaded, cuts paddings off.
    run({"sh", "-c",
         "ip link add br0 type bridge mcast_snooping 0 && ip link set m0 master br0 && "
         "ip link set m1 master br0 && ip link set br0 up && "
         "for hook in /proc/sys/net/bridge/bridge-nf-call-ip*tables; do "
         "test ! -f $hook || echo 0 >$hook; done && "
         "nft 'table netdev lossy { chain in { type filter hook ingress device m0 priority 0; "
         "ip length 1500 numgen inc mod 1000000 == 0 drop; }; }'"},
        cable.middle);
    const PathRun done = check_over(cable, path_environment("as made"));
    const std::string headline = done.scenario["headline"];
    BOOST_TEST(done.status == 0, headline);
    BOOST_TEST(measure(cell_named(done.scenario, "path"), "mtu") == 1500, headline);
}

BOOST_AUTO_TEST_CASE(a_path_that_drops_frames_is_named_at_once_and_nothing_is_said_of_the_device) {
    const Cable cable(Cable::Between::kNothing);
    PathEnvironment wrong_port{
        .name = "wrong tester", .set = {}, .options = {"--tester", "net_ring0"}};
    PathRun run = check_over(cable, wrong_port);
    BOOST_TEST(run.status == 3);
    const std::string headline = run.scenario["headline"];
    BOOST_TEST(headline.find("--tester") != std::string::npos, headline);
    BOOST_TEST(run.report["reasons"].dump().find("defect") == std::string::npos,
               run.report["reasons"].dump());
    BOOST_TEST(run.seconds < 40);
    const PathEnvironment& filter = path_environment("filter: tc egress of the device");
    const Kept held = filter.set(cable);
    run = check_over(cable, filter);
    BOOST_TEST(run.status == 3);
    BOOST_TEST(run.scenario["verdict"] == "INCONCLUSIVE");
    const std::string named = run.scenario["headline"];
    BOOST_TEST(named.find("tc filter show dev e0 egress") != std::string::npos, named);
    BOOST_TEST(run.scenario["cells"].dump().find("FAIL") == std::string::npos);
}

// Judges the same frames as those of a NIC, whose cable they are on: there an unfinished checksum
// is wrong.
BOOST_AUTO_TEST_CASE(a_device_on_a_cable_that_leaves_checksums_is_found_named_and_cured) {
    const Pair pair;
    const Profiles profiles("evidence_class = \"virtual\"", "evidence_class = \"physical\"");
    const Scratch out;
    const json scenario = checked(pair, 1, {"--out", out.path()});
    BOOST_TEST(scenario["verdict"] == "DEFECT FOUND");
    const json& udp = observed(scenario, "tx-checksum-ip-generic", "plain UDP");
    BOOST_TEST(udp["observed"] == "wrong");
    BOOST_TEST(udp["wrong"] == udp["frames"]);
    BOOST_TEST(udp["names"][0] == "PSEUDO");
    BOOST_TEST(!row_named(scenario, "tx-checksum-ip-generic")["errata"].empty());
    BOOST_TEST(observed(scenario, "all as found", "nothing offloaded")["observed"] == "right");
    BOOST_TEST(observed(scenario, "tx-checksum-ip-generic, alone off", "plain UDP")["observed"] ==
               "right");
    BOOST_TEST(scenario["cure"].get<std::string>().find("tx-checksum-ip-generic off") !=
               std::string::npos);
    const std::string capture = out.path() + "/evidence/tx.as-found.udp.pcapng";
    BOOST_REQUIRE(std::filesystem::exists(capture));
    const std::string status = run({"tshark", "-r", capture, "-o", "udp.check_checksum:TRUE", "-T",
                                    "fields", "-e", "udp.checksum.status"});
    BOOST_TEST(!status.empty());
    BOOST_TEST(status.find('1') == std::string::npos, status);
}

BOOST_AUTO_TEST_CASE(what_the_driver_offers_against_its_profile_is_a_finding) {
    const Pair pair;
    const Profiles profiles("tx-vlan-hw-insert = { expect = \"optional\", default = \"on\"",
                            "tx-vlan-hw-insert = { expect = \"absent\"");
    const json scenario = checked(pair, 1);
    BOOST_TEST(scenario["verdict"] == "NO DEFECT FOUND");
    const json& row = row_named(scenario, "tx-vlan-hw-insert");
    BOOST_TEST(row["expected"] == "absent");
    BOOST_TEST(row["finding"].get<std::string>().find("UNEXPECTED") != std::string::npos,
               row["finding"]);
}

BOOST_AUTO_TEST_CASE(the_kernels_vxlan_under_outer_nat_is_proven_stale_by_conntrack_and_cured) {
    const MachineState before = MachineState::read();
    const Scratch out;
    const auto done = pathproof_run({"repro", "offload-truth", "--json", "--out", out.path()});
    const json scenario = scenario_named(json::parse(done.out), "offload-truth");
    const json& stale = cell_named(scenario, "tunnel.vxlan.tx-on.masquerade");
    BOOST_TEST(stale["verdict"] == "FAIL");
    BOOST_TEST(stale["cause"] == "stale-port");
    BOOST_TEST(measure(stale, "frames_wrong") > 0);
    BOOST_TEST(measure(stale, "proven_by_conntrack") == measure(stale, "frames_wrong"));
    BOOST_TEST(stale["reason"].get<std::string>().find("STALE") != std::string::npos,
               stale["reason"]);
    for (const char* id :
         {"tunnel.vxlan.tx-on.no-nat", "tunnel.vxlan.tx-off.masquerade",
          "tunnel.vxlan.tx-off.no-nat", "tx.as-found", "tx.all-off", "tx.flags-put-back"}) {
        BOOST_TEST(cell_named(scenario, id)["verdict"] == "PASS", id);
    }
    BOOST_TEST(scenario["verdict"] == "DEFECT FOUND");
    BOOST_TEST(scenario["cure_shown"] == true);
    for (const char* kind : {"vxlan-noudpcsum", "vxlan6-zerocsum"}) {
        const json& zero = cell_named(scenario, fmt::format("tunnel.{}.tx-on.no-nat", kind));
        BOOST_TEST(zero["verdict"] == "PASS", kind);
        BOOST_TEST(measure(zero, "outer_zero") == measure(zero, "datagrams_sent"));
    }
    const json& over_ipv6 = cell_named(scenario, "tunnel.vxlan6.tx-on.no-nat");
    BOOST_TEST(over_ipv6["verdict"] == "PASS");
    BOOST_TEST(measure(over_ipv6, "outer_zero") == 0);
    // The row names the device types that a kernel lacks.
    const json& gre = cell_named(scenario, "tunnel.gre.tx-on.no-nat");
    BOOST_TEST((gre["verdict"] != "SKIP" ||
                gre["reason"].get<std::string>().find("no gre devices") != std::string::npos));
    BOOST_TEST(cell_named(scenario, "segments.udpcsum.off.tcp")["verdict"] == "PASS");
    BOOST_TEST(done.exit_status == 0, done.err);
    BOOST_TEST(MachineState::read() == before);
}

BOOST_AUTO_TEST_CASE(after_kill_9_in_the_middle_restore_puts_the_flags_back) {
    const Pair pair;
    const std::string flags = pair.flags();
    const std::string program = binary();
    const pid_t child = fork();
    if (child == 0) {
        freopen("/dev/null", "w", stdout);
        freopen("/dev/null", "w", stderr);
        execl(program.c_str(), "pathproof", "offload", "check", "e0", "--netns", pair.dut.c_str(),
              nullptr);
        _exit(127);
    }
    std::string during = flags;
    for (int waited = 0; waited < 400 && during == flags; ++waited) {
        std::this_thread::sleep_for(20ms);
        during = pair.flags();
    }
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    BOOST_TEST(during != flags);
    const auto restored = pathproof_run({"restore"});
    BOOST_TEST(restored.exit_status == 0, restored.err);
    BOOST_TEST(pair.flags() == flags);
}

BOOST_AUTO_TEST_CASE(devices_that_are_in_use_or_have_no_far_end_are_refused) {
    const Pair pair;
    const std::string flags = pair.flags();
    const auto refused = [&](std::vector<std::string> more, const std::string& part) {
        more.insert(more.begin(), {"offload", "check"});
        const auto done = pathproof_run(more);
        BOOST_TEST(done.exit_status == 2, done.err);
        BOOST_TEST(done.err.find(part) != std::string::npos, done.err);
    };
    refused({"e0", "--netns", "pp-no-such"}, "'pp-no-such' does not exist");
    refused({"e9", "--netns", pair.dut}, "e9");
    refused({"e0", "--netns", pair.dut, "--profile", "no-such"}, "no-such");
    refused({"e0", "--netns", pair.dut, "--tester", "u9", "--tester-netns", pair.far}, "u9");
    run({"ip", "address", "add", "10.1.2.3/24", "dev", "e0"}, pair.dut);
    refused({"e0", "--netns", pair.dut}, "10.1.2.3");
    run({"ip", "address", "flush", "dev", "e0"}, pair.dut);
    run({"ip", "route", "add", "default", "dev", "e0"}, pair.dut);
    refused({"e0", "--netns", pair.dut}, "default route");
    BOOST_TEST(pair.flags() == flags);
}
