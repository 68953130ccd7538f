// `pathproof respond` as a program on kernel interfaces: AF_XDP and fanned-out packet sockets carry
// queries of a real kernel's sockets and their answers, and leave nothing behind.
#define BOOST_TEST_MODULE respond_lab
#include <signal.h>

#include <boost/test/unit_test.hpp>

#include "tests/port/responder_rig.h"

using namespace pathproof;

namespace {

void check_complete(const nlohmann::json& report, unsigned queries) {
    BOOST_TEST(report["queries"]["received"] == queries);
    BOOST_TEST(report["queries"]["answered"] == queries);
    BOOST_TEST(report["queries"]["in_place"] == queries);
    BOOST_TEST(report["received"]["bad_checksum"] == 0);
    BOOST_TEST(report["objections"].empty(), report["objections"].dump());
}

std::string refusal(const Cable& cable, const std::string& port, const std::string& options) {
    const auto out = pathproof_run("respond " + port + " --netns " + cable.tester +
                                   " --rule address=192.0.2.1 --duration 0.1 " + options);
    BOOST_TEST(out.exit_status == 2);
    return out.err;
}

}  // namespace

BOOST_AUTO_TEST_CASE(an_af_xdp_port_carries_both_ways_and_leaves_no_program_behind) {
    const Cable cable;
    Responder responder(cable, "af_xdp:r0", "");
    BOOST_TEST(cable.link().find("prog/xdp") != std::string::npos);
    BOOST_TEST(cable.answered(300) == 300u);
    BOOST_TEST(responder.end(SIGINT) == 0);
    check_complete(responder.report(), 300);
    BOOST_TEST(responder.report()["driver"] == "net_af_xdp");
    BOOST_TEST(cable.link().find("xdp") == std::string::npos);
    BOOST_TEST(cable.link().find("PROMISC") == std::string::npos);
}

BOOST_AUTO_TEST_CASE(two_queues_of_a_fanned_out_packet_socket_get_every_query_between_them) {
    const Cable cable;
    Responder responder(cable, "r0", "--cpu 0,0");
    BOOST_TEST(cable.answered(400) == 400u);
    BOOST_TEST(responder.end(SIGINT) == 0);
    const nlohmann::json report = responder.report();
    check_complete(report, 400);
    const auto by_lcore = report["received_by_lcore"].get<std::vector<std::uint64_t>>();
    BOOST_REQUIRE(by_lcore.size() == 2u);
    // 400 source ports over two queues: fewer than 100 on one has a chance of 1e-24.
    BOOST_TEST(by_lcore[0] >= 100u);
    BOOST_TEST(by_lcore[1] >= 100u);
}

BOOST_AUTO_TEST_CASE(a_port_that_disappears_ends_the_run_and_is_named) {
    for (const std::string driver : {"", "af_xdp:"}) {
        const Cable cable;
        Responder responder(cable, driver + "r0", "");
        BOOST_TEST(cable.answered(5) == 5u);
        shell("ip -n " + cable.tester + " link del r0");
        BOOST_TEST(responder.end(0) == 3);
        const nlohmann::json report = responder.report();
        BOOST_TEST(report["queries"]["answered"] == 5);
        BOOST_TEST(report["partial"].get<bool>());
        BOOST_REQUIRE(!report["objections"].empty());
        BOOST_TEST(report["objections"].back() ==
                   "port r0: its kernel interface r0 no longer exists");
    }
}

BOOST_AUTO_TEST_CASE(a_link_that_was_down_for_a_while_makes_the_report_a_partial_one) {
    const Cable cable;
    Responder responder(cable, "r0", "");
    BOOST_TEST(cable.answered(5) == 5u);
    shell("ip -n " + cable.client + " link set c0 down; sleep 0.5; ip -n " + cable.client +
          " link set c0 up; sleep 0.5");
    BOOST_TEST(responder.end(SIGINT) == 3);
    const nlohmann::json report = responder.report();
    BOOST_TEST(report["partial"].get<bool>());
    BOOST_TEST(report["queries"]["answered"] == 5);
    BOOST_TEST(report["objections"].dump().find("for a part of the time") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(more_queues_than_there_are_and_queues_left_out_are_refused_with_the_reason) {
    const Cable cable;
    BOOST_TEST(refusal(cable, "af_xdp:r0", "--queues 2").find("r0 has 1 combined queue ") !=
               std::string::npos);
    BOOST_TEST(refusal(cable, "r0", "--queues 1 --cpu 0,0").find("a queue of its own") !=
               std::string::npos);
    BOOST_TEST(refusal(cable, "r0", "--queues 257").find("at most 256 packet sockets") !=
               std::string::npos);
    shell("ip -n " + cable.tester + " link set r0 mtu 9000; ip -n " + cable.client +
          " link set c0 mtu 9000");
    BOOST_TEST(refusal(cable, "af_xdp:r0", "").find("on interface r0 with its MTU 9000") !=
               std::string::npos);
    shell("ip -n " + cable.tester +
          " link add r2 numrxqueues 2 numtxqueues 2 type veth peer name c2 numrxqueues 2 "
          "numtxqueues 2; ip -n " +
          cable.tester + " link set r2 up");
    BOOST_TEST(refusal(cable, "af_xdp:r2", "").find("2 receive queues") != std::string::npos);
}
