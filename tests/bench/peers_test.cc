// Output of the peers, as it was captured from them, and the figures read out of it.
#include <algorithm>
#include <boost/test/unit_test.hpp>

#include "harness/bench/peers/dnsperf.h"
#include "harness/bench/peers/kxdpgun.h"
#include "harness/bench/peers/testpmd.h"
#include "harness/bench/peers/tools.h"
#include "harness/bench/peers/trafgen.h"

using namespace pathproof;
using namespace pathproof::bench;

namespace {

// dpdk-testpmd of DPDK 22.11.11 on net_null0,no-rx=1.
constexpr const char* kFlowgen = R"(Interactive-mode selected
Set flowgen packet forwarding mode
Auto-start selected
Configuring Port 0 (socket 0)
Port 0: D2:48:0C:98:68:A4
Checking link statuses...
testpmd> stop
testpmd> quit
Done
Start automatic packet forwarding
flowgen packet forwarding - ports=1 - cores=1 - streams=1 - NUMA support enabled, MP allocation mode: native
Logical Core 1 (socket 0) forwards packets on 1 streams:
  RX P=0/Q=0 (socket 0) -> TX P=0/Q=0 (socket 0) peer=02:00:00:00:00:00

Telling cores to stop...
Waiting for lcores to finish...

  ---------------------- Forward statistics for port 0  ----------------------
  RX-packets: 0              RX-dropped: 0             RX-total: 0
  TX-packets: 37209536       TX-dropped: 0             TX-total: 37209536
  ----------------------------------------------------------------------------

  +++++++++++++++ Accumulated forward statistics for all ports+++++++++++++++
  RX-packets: 0              RX-dropped: 0             RX-total: 0
  TX-packets: 37209536       TX-dropped: 0             TX-total: 37209536
  ++++++++++++++++++++++++++++++++++++++++++++++++++++++++++++++++++++++++++++

  CPU cycles/packet=94.88 (total cycles=3530524410 / total flowgen packets=37209536) at 2700 MHz Clock

Done.
)";

// kxdpgun 3.2.6 against our responder over a veth pair.
constexpr const char* kKxdpgun = R"(using interface v0, XDP threads 1, UDP, native mode
thread#00: sent 49888, received 49888
total queries:     49888 (49888 pps)
total replies:     49888 (49888 pps) (100%)
average DNS reply size: 72 B
average Ethernet reply rate: 45497856 bps (45.50 Mbps)
responded NOERROR:   49888
duration: 1 s
)";

// kxdpgun without a server.
constexpr const char* kKxdpgunUnanswered = R"(using interface v0, XDP threads 1, UDP, native mode
thread#00: sent 1124576, received 0
total queries:     1124576 (562288 pps)
total replies:     0 (0 pps) (0%)
average DNS reply size: 0 B
average Ethernet reply rate: 0 bps (0.00 Mbps)
duration: 2 s
)";

// trafgen 0.6.8, ended by SIGINT.
constexpr const char* kTrafgen = R"(  1000 packets to schedule
 98000 bytes in total
Running! Hang up with ^C!


     1510144 packets outgoing
   147994112 bytes outgoing
           1 sec, 983967 usec on CPU0 (1510144 packets)
)";

// dnsperf 2.10.0.
constexpr const char* kDnsperf = R"(DNS Performance Testing Tool
Version 2.10.0

[Status] Command line: dnsperf -s 198.18.7.2 -d q2.txt -l 2 -c 8 -q 1000
[Status] Sending queries (to 198.18.7.2:53)
[Status] Started at: Sat Nov 21 09:56:37 2026
[Status] Stopping after 2.000000 seconds
[Status] Testing complete (time limit)

Statistics:

  Queries sent:         168710
  Queries completed:    168706 (100.00%)
  Queries lost:         4 (0.00%)

  Response codes:       NOERROR 168706 (100.00%)
  Average packet size:  request 56, response 72
  Run time (s):         2.026837
  Queries per second:   83238.069958

  Average Latency (s):  0.009937 (min 0.000019, max 0.029469)
  Latency StdDev (s):   0.004982

)";

bool has(const std::vector<std::string>& words, const std::string& word) {
    return std::find(words.begin(), words.end(), word) != words.end();
}

}  // namespace

BOOST_AUTO_TEST_SUITE(peers)

BOOST_AUTO_TEST_CASE(cycles_and_packets_of_testpmd_are_read) {
    const auto report = parse_testpmd(kFlowgen);
    BOOST_REQUIRE(report);
    BOOST_TEST(report->cycles_per_packet == 94.88);
    BOOST_TEST(report->tsc_mhz == 2700);
    BOOST_TEST(report->sent == 37209536U);
    BOOST_TEST(report->received == 0U);
    BOOST_TEST(report->dropped == 0U);
}

BOOST_AUTO_TEST_CASE(testpmd_that_was_cut_short_has_no_figures) {
    const std::string whole = kFlowgen;
    BOOST_TEST(!parse_testpmd(whole.substr(0, whole.find("CPU cycles"))));
    BOOST_TEST(!parse_testpmd(""));
}

BOOST_AUTO_TEST_CASE(testpmd_sends_from_the_worker_and_waits_on_the_other_cpu) {
    const auto words = testpmd_command(
        {.vdev = "net_null0,no-rx=1", .mode = "txonly", .flows = TestpmdJob::Flows::kMany},
        {.control = 3, .worker = 5});
    BOOST_TEST(has(words, "0@3,1@5"));
    BOOST_TEST(has(words, "--txonly-multi-flow"));
    BOOST_TEST(has(words, "--record-core-cycles"));
    BOOST_TEST(has(words, "--txpkts=64"));
    const auto flowgen = testpmd_command({.vdev = "net_ring0", .mode = "flowgen"}, {});
    BOOST_TEST(!has(flowgen, "--txpkts=64"));  // it does not know the option
}

BOOST_AUTO_TEST_CASE(totals_of_kxdpgun_are_read) {
    const auto answered = parse_kxdpgun(kKxdpgun);
    BOOST_REQUIRE(answered);
    BOOST_TEST(answered->queries == 49888U);
    BOOST_TEST(answered->replies == 49888U);
    const auto unanswered = parse_kxdpgun(kKxdpgunUnanswered);
    BOOST_REQUIRE(unanswered);
    BOOST_TEST(unanswered->queries == 1124576U);
    BOOST_TEST(unanswered->replies == 0U);
    BOOST_TEST(!parse_kxdpgun("using interface v0, XDP threads 1, UDP, native mode\n"));
}

BOOST_AUTO_TEST_CASE(totals_of_trafgen_are_read) {
    const auto report = parse_trafgen(kTrafgen);
    BOOST_REQUIRE(report);
    BOOST_TEST(report->packets == 1510144U);
    BOOST_TEST(!parse_trafgen("  1000 packets to schedule\nRunning! Hang up with ^C!\n"));
}

BOOST_AUTO_TEST_CASE(trafgen_is_given_frames_byte_by_byte_and_leaves_the_machine_alone) {
    const std::vector<std::vector<std::uint8_t>> frames{{0x02, 0x00, 0xff}, {0x0a}};
    BOOST_TEST(trafgen_packets(frames) == "{ 0x02, 0x00, 0xff }\n{ 0x0a }\n");
    const auto words = trafgen_command("v0", "packets");
    BOOST_TEST(has(words, "--no-sock-mem"));
    BOOST_TEST(has(words, "--notouch-irq"));
}

BOOST_AUTO_TEST_CASE(statistics_of_dnsperf_are_read) {
    const auto report = parse_dnsperf(kDnsperf);
    BOOST_REQUIRE(report);
    BOOST_TEST(report->sent == 168710U);
    BOOST_TEST(report->completed == 168706U);
    BOOST_TEST(report->lost == 4U);
    BOOST_TEST(report->seconds == 2.026837);
    BOOST_TEST(report->queries_per_second == 83238.069958);
    const std::string whole = kDnsperf;
    BOOST_TEST(!parse_dnsperf(whole.substr(0, whole.find("Run time"))));
}

BOOST_AUTO_TEST_CASE(versions_are_read_and_an_absent_tool_says_what_to_install) {
    BOOST_TEST(version_after("EAL: RTE Version: 'DPDK 22.11.11'\nEAL: Detected",
                             "RTE Version: '") == "DPDK 22.11.11");
    BOOST_TEST(version_after("kxdpgun (Knot DNS), version 3.2.6\n", "version ") == "3.2.6");
    BOOST_TEST(version_after("something else", "version ") == "unknown version");
    const Tool there{.program = "dnsperf", .package = "dnsperf", .version = "2.10.0"};
    BOOST_TEST(there.absence() == "");
    const Tool absent{.program = "kxdpgun", .package = "knot-dnsutils", .version = {}};
    BOOST_TEST(absent.absence() == "not measured: install kxdpgun (apt-get install knot-dnsutils)");
}

BOOST_AUTO_TEST_SUITE_END()
