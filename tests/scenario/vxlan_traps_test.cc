// vxlan-checksum on the real kernel with another cause of its symptom planted: no verdict is false,
// no sentence is contradicted by a value of the run. `traps` runs on the fewest cells that show it.
#define BOOST_TEST_MODULE paths_lab
#include <filesystem>
#include <iostream>
#include <set>

#include "tests/scenario/vxlan_claims.h"

BOOST_AUTO_TEST_SUITE(vxlan_traps)

namespace {

constexpr const char* kSuspectId = "vx-tx-on.udpcsum.masquerade.eth0-tx-off";
constexpr const char* kNoNatId = "vx-tx-on.udpcsum.no-nat.eth0-tx-off";
// The suspect, its three controls, the cure, and the broken wire with something to leave and with
// nothing.
constexpr const char* kFew =
    "vx-tx-on.udpcsum.*.eth0-tx-off,vx-tx-on.noudpcsum.masquerade.eth0-tx-off,vx-tx-off.udpcsum."
    "masquerade.eth0-tx-off,"
    "cure.*,vx-tx-on.udpcsum.no-nat.eth0-tx-*.wire-leaves-partial";

void on_both_nodes(Planter& lab, const std::string& command) {
    for (const char* node : {"node-a", "node-b"}) {
        lab.in(node, command);
    }
}

void when_built(Planter& lab) {
    for (const char* node : {"node-a", "node-b"}) {
        lab.wait_for_namespace(node, "vx");
    }
    lab.wait_for_step("");
}

// The vxlan devices and the filter and nat tables are made anew for each cell: raw and mangle, and
// eth0, are not.
Sprung vxlan_with(const std::function<void(Planter&)>& plant, const std::string& cells = kFew) {
    Sprung run = spring(
        {.arguments = {"repro", "vxlan-checksum", "--cells", cells}, .plant = [&](Planter& lab) {
             when_built(lab);
             plant(lab);
         }});
    for (const std::string& trouble : run.troubles) {
        BOOST_ERROR("the trap was not planted: " + trouble);
    }
    BOOST_REQUIRE_MESSAGE(run.report.is_object(), run.log);
    const nlohmann::json& scenario = run.scenario("vxlan-checksum");
    for (const std::string& lie : contradictions(scenario, vxlan_claims())) {
        BOOST_ERROR(lie);
    }
    std::cout << boost::unit_test::framework::current_test_case().p_name << ": "
              << scenario["verdict"].get<std::string>() << ", run "
              << run.report["verdict"].get<std::string>() << ", exit " << run.exit_status << ", "
              << static_cast<int>(run.seconds) << " s: " << scenario["headline"].get<std::string>()
              << "\n";
    for (const nlohmann::json& cell : scenario["cells"]) {
        std::cout << "    " << cell["id"].get<std::string>() << " "
                  << cell["verdict"].get<std::string>() << " " << cell["cause"].get<std::string>()
                  << " - " << cell["reason"].get<std::string>();
        for (const auto& [name, made] : cell["measures"].items()) {
            if (name.starts_with("drop.")) {
                std::cout << " " << name << "=" << made["value"];
            }
        }
        std::cout << "\n";
    }
    std::cout.flush();
    return run;
}

std::string verdict_of(const Sprung& run) {
    return run.scenario("vxlan-checksum")["verdict"];
}
std::string cause_of(const Sprung& run, const std::string& cell) {
    return cell_named(run.scenario("vxlan-checksum"), cell)["cause"];
}
std::string cell_verdict(const Sprung& run, const std::string& cell) {
    return cell_named(run.scenario("vxlan-checksum"), cell)["verdict"];
}

// Runs a program on the frames that the nodes have sent, checksums finished, before the wire sees
// them.
void at_the_wires_ports(Planter& lab, const std::string& program) {
    const std::string object = lab.bpf_object(program);
    for (const char* port : {"u0", "u1"}) {
        lab.in("tester",
               std::string("ip link set dev ") + port + " xdpgeneric obj " + object + " sec prog");
    }
}

// The run claims neither that the bug was reproduced nor that the path is right.
void expect_no_verdict(const Sprung& run) {
    BOOST_TEST(verdict_of(run) == "INCONCLUSIVE");
    BOOST_TEST(run.report["verdict"] == "INCOMPLETE");
    BOOST_TEST(run.exit_status == 3);
}

// Inner IPv4 at a fixed place: Ethernet, IPv4 without options, UDP, VXLAN, Ethernet. Leaves inner
// TCP and UDP checksums at their pseudo-header's sum.
constexpr const char* kPseudoSums = R"(
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
SEC("prog") int trap(struct xdp_md* context) {
    unsigned char* data = (void*)(long)context->data;
    unsigned char* end = (void*)(long)context->data_end;
    if (data + 104 > end || data[12] != 8 || data[23] != 17 || data[36] != 0x12 || data[37] != 0xb5) return XDP_PASS;
    unsigned char* ip = data + 64;
    unsigned at = ip[9] == 6 ? 16 : 6;
    if ((ip[9] != 6 && ip[9] != 17) || ip[0] != 0x45) return XDP_PASS;
    unsigned sum = ip[9] + (ip[2] << 8 | ip[3]) - 20;
#pragma unroll
    for (int word = 12; word < 20; word += 2) sum += ip[word] << 8 | ip[word + 1];
    sum = (sum & 0xffff) + (sum >> 16);
    sum = (sum & 0xffff) + (sum >> 16);
    if (ip[9] == 6) { ip[36] = sum >> 8; ip[37] = sum; } else { ip[26] = sum >> 8; ip[27] = sum; }
    return XDP_PASS;
}
char terms[] SEC("license") = "GPL";
)";

constexpr const char* kNoOuterChecksum = R"(
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
SEC("prog") int trap(struct xdp_md* context) {
    unsigned char* data = (void*)(long)context->data;
    unsigned char* end = (void*)(long)context->data_end;
    if (data + 42 > end || data[12] != 8 || data[23] != 17 || data[36] != 0x12 || data[37] != 0xb5) return XDP_PASS;
    data[40] = data[41] = 0;
    return XDP_PASS;
}
char terms[] SEC("license") = "GPL";
)";

constexpr const char* kDropTunnel = R"(
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
SEC("prog") int trap(struct __sk_buff* packet) {
    unsigned char head[2];
    return bpf_skb_load_bytes(packet, 36, head, 2) == 0 && head[0] == 0x12 && head[1] == 0xb5 ? 2 : 0;
}
char terms[] SEC("license") = "GPL";
)";

}  // namespace

BOOST_AUTO_TEST_CASE(no_trap_the_bug_is_found_named_and_cured) {
    const Sprung run = vxlan_with([](Planter&) {});
    BOOST_TEST(verdict_of(run) == "REPRODUCED");
    BOOST_TEST(run.scenario("vxlan-checksum")["cure_shown"] == true);
    BOOST_TEST(run.report["verdict"] == "CONDITIONALLY QUALIFIED");
    BOOST_TEST(run.exit_status == 0);
}

// T1: what a kernel without the bug puts on the wire: no wrong outer checksum. 0 is none (RFC 768).
BOOST_AUTO_TEST_CASE(a_kernel_that_puts_no_wrong_checksum_on_the_wire_is_qualified) {
    const Sprung run = vxlan_with([](Planter& lab) { at_the_wires_ports(lab, kNoOuterChecksum); });
    BOOST_TEST(verdict_of(run) == "NOT REPRODUCED");
    BOOST_TEST(run.report["verdict"] == "QUALIFIED");
    BOOST_TEST(run.exit_status == 1);
}

// T2
BOOST_AUTO_TEST_CASE(a_tunnel_that_is_not_tracked_has_no_nat_and_no_verdict) {
    const Sprung run = vxlan_with([](Planter& lab) {
        on_both_nodes(lab, "iptables -t raw -A OUTPUT -p udp --dport 4789 -j CT --notrack");
    });
    expect_no_verdict(run);
    BOOST_TEST(cell_verdict(run, kSuspectId) == "INCONCLUSIVE");
}

// T5
BOOST_AUTO_TEST_CASE(a_filter_that_drops_the_wrong_packets_is_named_as_the_place) {
    const Sprung run = vxlan_with([](Planter& lab) {
        on_both_nodes(lab, "iptables -t mangle -A INPUT -m conntrack --ctstate INVALID -j DROP");
    });
    BOOST_TEST(verdict_of(run) == "REPRODUCED");
    const std::string cause = run.scenario("vxlan-checksum")["cause"];
    BOOST_TEST(cause.find("InCsumErrors") == std::string::npos, cause);
    BOOST_TEST(cause.find("NETFILTER_DROP") != std::string::npos, cause);
    BOOST_TEST(run.scenario("vxlan-checksum")["cure_shown"] == true);
}

// T6
BOOST_AUTO_TEST_CASE(a_filter_on_inner_tcp_is_not_taken_for_a_checksum) {
    const Sprung run = vxlan_with(
        [](Planter& lab) { lab.in("pod-b", "iptables -t mangle -A INPUT -p tcp -j DROP"); });
    expect_no_verdict(run);
    BOOST_TEST(cause_of(run, kNoNatId) == "filter");
}

BOOST_AUTO_TEST_CASE(a_filter_on_everything_is_not_taken_for_a_checksum) {
    const Sprung run = vxlan_with(
        [](Planter& lab) {
            lab.in("node-b", "iptables -t mangle -A INPUT -p udp --dport 4789 -j DROP");
        },
        kSuspectId);
    expect_no_verdict(run);
}

// T7
BOOST_AUTO_TEST_CASE(a_nat_that_is_flushed_while_the_cure_is_tried_shows_no_cure) {
    const Sprung run = vxlan_with([](Planter& lab) {
        lab.wait_for_step("cure.flag-off");
        on_both_nodes(lab, "iptables -t nat -F; conntrack -F");
        lab.wait_for_step("cure.flag-back-on");
        on_both_nodes(lab,
                      "iptables -t nat -A POSTROUTING -o eth0 -p udp --dport 4789 -j MASQUERADE "
                      "--random-fully");
    });
    BOOST_TEST(verdict_of(run) == "REPRODUCED");
    BOOST_TEST(run.scenario("vxlan-checksum")["cure_shown"] == false);
    BOOST_TEST(run.report["verdict"] == "INCOMPLETE");
}

// T9
BOOST_AUTO_TEST_CASE(a_link_that_goes_down_is_named) {
    const Sprung run = vxlan_with(
        [](Planter& lab) {
            while (lab.going_on()) {
                lab.try_in("tester", "ip link set u0 down; sleep 0.2; ip link set u0 up");
                std::this_thread::sleep_for(std::chrono::milliseconds(100));
            }
        },
        kNoNatId);
    expect_no_verdict(run);
    BOOST_TEST(cause_of(run, kNoNatId).find("link-down") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(an_mtu_that_is_too_small_is_named) {
    const Sprung run =
        vxlan_with([](Planter& lab) { on_both_nodes(lab, "ip link set eth0 mtu 1200"); }, kNoNatId);
    BOOST_TEST(verdict_of(run) == "INCONCLUSIVE");
    BOOST_TEST(cause_of(run, kNoNatId).find("mtu") != std::string::npos);
}

// T12
BOOST_AUTO_TEST_CASE(pseudo_sums_that_nobody_left_to_the_nic_are_not_completed) {
    const Sprung run =
        vxlan_with([](Planter& lab) { at_the_wires_ports(lab, kPseudoSums); }, kNoNatId);
    expect_no_verdict(run);
    BOOST_TEST(cause_of(run, kNoNatId) == "left-partial");
}

BOOST_AUTO_TEST_CASE(an_offload_that_another_hand_turns_on_again_is_noticed) {
    const Sprung run = vxlan_with(
        [](Planter& lab) {
            while (lab.going_on()) {
                lab.try_in("node-a", "ethtool -K eth0 tx on; sleep 0.05");
                lab.try_in("node-b", "ethtool -K eth0 tx on");
            }
        },
        kNoNatId);
    expect_no_verdict(run);
}

// T10: VXLAN does not care for its source port: a flush harms nobody.
BOOST_AUTO_TEST_CASE(a_conntrack_table_that_is_flushed_all_the_time_changes_no_verdict) {
    const Sprung run = vxlan_with([](Planter& lab) {
        while (lab.going_on()) {
            lab.try_in("node-a", "conntrack -F");
            lab.try_in("node-b", "conntrack -F");
            std::this_thread::sleep_for(std::chrono::milliseconds(150));
        }
    });
    BOOST_TEST((verdict_of(run) == "REPRODUCED" || verdict_of(run) == "INCONCLUSIVE"));
    BOOST_TEST(cause_of(run, kSuspectId) == "stale-port");
}

// T11
BOOST_AUTO_TEST_CASE(a_full_conntrack_table_is_named) {
    std::ifstream file("/proc/sys/net/netfilter/nf_conntrack_max");
    std::string most;
    file >> most;
    const Sprung run = vxlan_with(
        [](Planter& lab) {
            // One limit for all namespaces of the machine: other hosts' entries do not count
            // against it.
            std::ofstream("/proc/sys/net/netfilter/nf_conntrack_max") << 2;
            lab.wait_for_step("no such step");
        },
        kNoNatId);
    std::ofstream("/proc/sys/net/netfilter/nf_conntrack_max") << most;
    expect_no_verdict(run);
    BOOST_TEST(cause_of(run, kNoNatId).find("table-full") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_queue_that_drops_is_named) {
    const Sprung run = vxlan_with(
        [](Planter& lab) {
            on_both_nodes(lab,
                          "tc qdisc replace dev eth0 root tbf rate 40kbit burst 1600 limit 1600");
        },
        kNoNatId);
    BOOST_TEST(verdict_of(run) == "INCONCLUSIVE");
    BOOST_TEST((cell_verdict(run, kNoNatId) == "PASS" ||
                cause_of(run, kNoNatId).find("queue") != std::string::npos));
}

BOOST_AUTO_TEST_CASE(a_black_hole_for_the_far_vtep_is_no_checksum) {
    const Sprung run =
        vxlan_with([](Planter& lab) { lab.in("node-a", "ip route add blackhole 198.51.100.2/32"); },
                   kSuspectId);
    expect_no_verdict(run);
}

BOOST_AUTO_TEST_CASE(a_program_that_drops_at_ingress_is_named) {
    const Sprung run = vxlan_with(
        [](Planter& lab) {
            lab.in("node-b",
                   "tc qdisc add dev eth0 clsact && tc filter add dev eth0 ingress bpf da obj " +
                       lab.bpf_object(kDropTunnel) + " sec prog");
        },
        kNoNatId);
    expect_no_verdict(run);
    BOOST_TEST(cause_of(run, kNoNatId).find("traffic-control") != std::string::npos);
}

// T15, A40
BOOST_AUTO_TEST_CASE(a_run_that_is_cut_short_keeps_its_cells) {
    const Sprung interrupted =
        spring({.arguments = {"repro", "vxlan-checksum"}, .plant = [](Planter& lab) {
                    lab.wait_for_step("vx-tx-on.noudpcsum.no-nat.eth0-tx-on");
                    kill(lab.run().pid(), SIGINT);
                }});
    BOOST_TEST(interrupted.exit_status == 3);
    BOOST_REQUIRE_MESSAGE(interrupted.report.is_object(), interrupted.log);
    const nlohmann::json& scenario = interrupted.scenario("vxlan-checksum");
    BOOST_TEST(scenario["cells"].size() == 5u);  // four measured, one not
    BOOST_TEST(cell_verdict(interrupted, kSuspectId) == "FAIL");
    BOOST_TEST(interrupted.report["verdict"] == "INCOMPLETE");
}

BOOST_AUTO_TEST_SUITE_END()
