// All that a port changes on a kernel interface is put back: at the end, by the next command, and
// by `pathproof restore` after a kill -9. Nothing that belongs to others is touched.
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/bpf.h>
#include <linux/if_link.h>
#include <net/if.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/test/unit_test.hpp>
#include <filesystem>

#include "harness/process/netns.h"
#include "tests/contains.h"
#include "tests/port/responder_rig.h"

using namespace pathproof;

namespace {

using pathproof::test::contains;

// A program of somebody else's that lets every frame pass.
std::uint32_t attach_foreign_program(const Cable& cable) {
    std::uint32_t id = 0;
    const Status attached = process::in_netns(cable.tester, [&]() -> Status {
        const std::array<bpf_insn, 2> pass = {
            {{.code = BPF_ALU64 | BPF_MOV | BPF_K,
              .dst_reg = 0,
              .src_reg = 0,
              .off = 0,
              .imm = XDP_PASS},
             {.code = BPF_JMP | BPF_EXIT, .dst_reg = 0, .src_reg = 0, .off = 0, .imm = 0}}};
        const int program = bpf_prog_load(BPF_PROG_TYPE_XDP, "foreign_pass", "GPL", pass.data(),
                                          pass.size(), nullptr);
        const int interface = static_cast<int>(if_nametoindex("r0"));
        const bool done = program >= 0 && bpf_xdp_attach(interface, program, 0, nullptr) == 0 &&
                          bpf_xdp_query_id(interface, 0, &id) == 0;
        close(program);
        return done ? Status() : fail(ErrorCode::kFailed, "attach a program to r0");
    });
    BOOST_REQUIRE_MESSAGE(attached, attached.error().message);
    return id;
}

void kill_in_the_middle(const Cable& cable, const std::string& port) {
    Responder doomed(cable, port, "");
    BOOST_TEST(contains(cable.link(), "promiscuity 1"));
    BOOST_TEST(doomed.end(SIGKILL) == 128 + SIGKILL);
}

void check_as_found(const Cable& cable) {
    BOOST_TEST(!contains(cable.link(), "xdp"));
    BOOST_TEST(!contains(cable.link(), "PROMISC"));
    BOOST_TEST(contains(cable.link(), "promiscuity 0"));
    BOOST_TEST(!std::filesystem::exists(cable.folder / "run"));
}

}  // namespace

BOOST_AUTO_TEST_SUITE(left_behind)

BOOST_AUTO_TEST_CASE(restore_takes_the_program_of_a_killed_run_off) {
    const Cable cable;
    kill_in_the_middle(cable, "af_xdp:r0");
    BOOST_TEST(contains(cable.link(), "prog/xdp"));
    const auto restored = pathproof_run("restore");
    BOOST_TEST(restored.exit_status == 0);
    BOOST_TEST(
        restored.out.starts_with("r0 in network namespace " + cable.tester + ": XDP program "),
        restored.out);
    BOOST_TEST(contains(restored.out, "(xsk_def_prog) taken off, left by run "));
    BOOST_TEST(std::ranges::count(restored.out, '\n') == 1);
    check_as_found(cable);
    BOOST_TEST(contains(pathproof_run("restore").out, "nothing had to be put back"));
}

BOOST_AUTO_TEST_CASE(a_killed_packet_socket_leaves_nothing) {
    const Cable cable;
    kill_in_the_middle(cable, "r0");
    check_as_found(cable);
    BOOST_TEST(contains(pathproof_run("restore").out, "nothing had to be put back"));
}

BOOST_AUTO_TEST_CASE(the_first_of_two_runs_to_end_leaves_the_other_one_its_promiscuous_mode) {
    const Cable cable;
    Responder first(cable, "r0", "");
    Responder second(cable, "r0", "");
    BOOST_TEST(contains(cable.link(), "promiscuity 2"));
    BOOST_TEST(first.end(SIGTERM) == 0);
    BOOST_TEST(contains(cable.link(), "promiscuity 1"));
    BOOST_TEST(second.end(SIGTERM) == 0);
    check_as_found(cable);
}

BOOST_AUTO_TEST_CASE(an_interface_that_another_run_has_is_refused_with_whose_it_is) {
    const Cable cable;
    Responder first(cable, "af_xdp:r0", "");
    const auto refused = pathproof_run("respond af_xdp:r0 --netns " + cable.tester +
                                       " --rule address=192.0.2.1 --duration 1");
    BOOST_TEST(refused.exit_status == 2);
    BOOST_TEST(contains(refused.err, "the AF_XDP port of another run of pathproof, pid "),
               refused.err);
    BOOST_TEST(!contains(refused.err, " off'"), refused.err);
    BOOST_TEST(cable.answered(20) == 20u);
    BOOST_TEST(first.end(SIGTERM) == 0);
    check_as_found(cable);
}

BOOST_AUTO_TEST_CASE(restore_tells_of_each_thing_when_it_is_asked_to) {
    const Cable cable;
    const std::string device = "r0 in network namespace " + cable.tester + ": XDP program ";
    kill_in_the_middle(cable, "af_xdp:r0");
    const std::string lines = pathproof_run("restore --verbose").out;
    BOOST_TEST(std::ranges::count(lines, '\n') == 1);
    BOOST_TEST(lines.starts_with(device), lines);
    kill_in_the_middle(cable, "af_xdp:r0");
    const auto line = nlohmann::json::parse(pathproof_run("restore --json").out);
    BOOST_TEST(contains(line["what"], "taken off"));
    BOOST_TEST(line["device"] == "r0");
    BOOST_TEST(line["netns"] == cable.tester);
    BOOST_TEST(contains(line["command"], "respond af_xdp:r0"));
    BOOST_TEST(pathproof_run("restore --json").out == "");
    BOOST_TEST(pathproof_run("restore --json --verbose").exit_status == 2);
}

BOOST_AUTO_TEST_CASE(the_next_run_puts_back_first_what_a_killed_one_left) {
    const Cable cable;
    kill_in_the_middle(cable, "af_xdp:r0");
    Responder second(cable, "af_xdp:r0", "");
    BOOST_TEST(contains(second.said(), "XDP program "));
    BOOST_TEST(cable.answered(20) == 20u);
    BOOST_TEST(second.end(SIGTERM) == 0);
    check_as_found(cable);
}

BOOST_AUTO_TEST_CASE(promiscuous_mode_that_was_on_stays_on) {
    const Cable cable;
    shell("ip -n " + cable.tester + " link set r0 promisc on");
    for (const std::string port : {"r0", "af_xdp:r0"}) {
        BOOST_TEST(Responder(cable, port, "").end(SIGINT) == 0);
        BOOST_TEST(contains(cable.link(), "PROMISC"), port);
        BOOST_TEST(Responder(cable, port, "").end(SIGKILL) == 128 + SIGKILL);
        BOOST_TEST(pathproof_run("restore").exit_status == 0);
        BOOST_TEST(contains(cable.link(), "PROMISC"), port);
    }
    BOOST_TEST(!std::filesystem::exists(cable.folder / "run"));
}

BOOST_AUTO_TEST_CASE(a_program_of_somebody_else_is_refused_and_left_alone) {
    const Cable cable;
    const std::string id = std::to_string(attach_foreign_program(cable));
    const auto refused = pathproof_run("respond af_xdp:r0 --netns " + cable.tester +
                                       " --rule address=192.0.2.1 --duration 1");
    BOOST_TEST(refused.exit_status == 2);
    BOOST_TEST(contains(refused.err, "XDP program 'foreign_pass' (id " + id + ")"), refused.err);
    BOOST_TEST(contains(refused.err, "'ip -n " + cable.tester + " link set dev r0 xdpdrv off'"),
               refused.err);
    BOOST_TEST(contains(cable.link(), "prog/xdp id " + id));
    BOOST_TEST(!contains(cable.link(), "PROMISC"));
    BOOST_TEST(!std::filesystem::exists(cable.folder / "run"));
}

BOOST_AUTO_TEST_CASE(a_program_that_somebody_put_in_the_place_of_ours_is_left_alone) {
    const Cable cable;
    kill_in_the_middle(cable, "af_xdp:r0");
    const std::string id = std::to_string(attach_foreign_program(cable));
    const auto restored = pathproof_run("restore");
    BOOST_TEST(restored.exit_status == 0);
    BOOST_TEST(!contains(restored.out, "XDP program"), restored.out);
    BOOST_TEST(contains(cable.link(), "prog/xdp id " + id));
}

BOOST_AUTO_TEST_CASE(an_interface_that_came_under_the_same_name_is_not_touched) {
    const Cable cable;
    kill_in_the_middle(cable, "af_xdp:r0");
    shell("ip -n " + cable.tester + " link del r0; ip -n " + cable.tester +
          " link add r0 type veth peer name p0; ip -n " + cable.tester + " link set r0 promisc on");
    BOOST_TEST(contains(pathproof_run("restore").out, "nothing had to be put back"));
    BOOST_TEST(contains(cable.link(), "PROMISC"));
    BOOST_TEST(!std::filesystem::exists(cable.folder / "run"));
}

BOOST_AUTO_TEST_CASE(an_interface_or_a_namespace_that_is_gone_is_done) {
    const Cable cable;
    kill_in_the_middle(cable, "af_xdp:r0");
    shell("ip -n " + cable.tester + " link del r0");
    BOOST_TEST(contains(pathproof_run("restore").out, "nothing had to be put back"));
    shell("ip -n " + cable.tester + " link add r0 type veth peer name c1; ip -n " + cable.tester +
          " link set r0 up");
    kill_in_the_middle(cable, "af_xdp:r0");
    // Another namespace gets the name, and an interface in it the other's name and index.
    const std::string index =
        shell("ip netns exec " + cable.tester + " cat /sys/class/net/r0/ifindex | tr -d '\\n'");
    shell("ip netns del " + cable.tester + "; ip netns add " + cable.tester + "; ip -n " +
          cable.tester + " link add r0 index " + index + " type veth peer name p0; ip -n " +
          cable.tester + " link set r0 promisc on");
    BOOST_TEST(contains(pathproof_run("restore").out, "nothing had to be put back"));
    BOOST_TEST(contains(cable.link(), "PROMISC"));
    BOOST_TEST(!std::filesystem::exists(cable.folder / "run"));
}

BOOST_AUTO_TEST_CASE(a_run_that_goes_on_is_named_and_left_alone) {
    const Cable cable;
    Responder responder(cable, "af_xdp:r0", "");
    const auto restored = pathproof_run("restore");
    BOOST_TEST(restored.exit_status == 0);
    BOOST_TEST(contains(restored.out, "goes on"), restored.out);
    BOOST_TEST(contains(cable.link(), "prog/xdp"));
    BOOST_TEST(cable.answered(20) == 20u);
    BOOST_TEST(responder.end(SIGINT) == 0);
    check_as_found(cable);
}

BOOST_AUTO_TEST_SUITE_END()
