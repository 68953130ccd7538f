// net_tap, a real DPDK driver that makes and checks checksums in its own code, in a namespace of
// its own: the port's frames come out at the kernel interface that it makes.
#include <unistd.h>

#include <algorithm>
#include <boost/test/unit_test.hpp>

#include "dataplane/port/device_name.h"
#include "dataplane/port/port_request.h"
#include "harness/process/program.h"
#include "harness/truth/check.h"
#include "harness/truth/port_exchange.h"

using namespace pathproof;
using namespace pathproof::truth;

namespace {

struct Namespace {
    std::string name = "pp-s2tap" + std::to_string(getpid());

    Namespace() { BOOST_REQUIRE(process::run_program({"ip", "netns", "add", name}).has_value()); }
    ~Namespace() { (void)process::run_program({"ip", "netns", "del", name}); }
};

bool offers(const std::vector<std::string>& offloads, const char* name) {
    return std::ranges::find(offloads, name) != offloads.end();
}

}  // namespace

BOOST_AUTO_TEST_SUITE(tap, *boost::unit_test::label("lab"))

BOOST_AUTO_TEST_CASE(what_net_tap_does_right_and_wrong_is_told_apart) {
    if (geteuid() != 0) {
        BOOST_FAIL("needs root");
    }
    const Namespace netns;
    auto client =
        tester::Client::start({.netns = netns.name,
                               .ports = {{.name = "t0",
                                          .device = "net_tap0,iface=t0",
                                          .offloads = port::PortOffloads::kAll},
                                         {.name = "far", .device = port::af_packet_device("t0")}},
                               .worker_cpus = {0}});
    BOOST_REQUIRE_MESSAGE(client, client.error().message);
    const port::PortInfo& device = (*client)->ports().front();
    BOOST_REQUIRE(offers(device.tx_offloads, "UDP_CKSUM"));
    BOOST_REQUIRE(offers(device.rx_offloads, "UDP_CKSUM"));
    PortExchange cable(**client);
    const auto run = run_rows(cable.path(), {.strength = matrix::Strength::kPairs, .probes = 4},
                              [](std::size_t, std::size_t) {});
    BOOST_REQUIRE_MESSAGE(run, run.error().message);
    const Findings findings = find_defects(*run, device, {});

    // Frames made by software come out as they went in, and the driver's claims about good and bad
    // frames are true.
    for (const TxRow& row : run->sent) {
        if (row.offloads.empty() && row.lacking.empty()) {
            BOOST_TEST(row.result.clean(), matrix::describe(row.row));
        }
    }
    BOOST_TEST(run->called_bad > 50u);
    BOOST_TEST(std::ranges::none_of(findings.defects, [](const Defect& defect) {
        return defect.direction == profile::Direction::kReceive;
    }));
    // Plain datagrams of ordinary values get their checksums from it: at least one row's four.
    std::uint64_t right = 0;
    for (const TxRow& row : run->sent) {
        right +=
            std::ranges::find(row.asked, "plain.udp") != row.asked.end() ? row.result.exact : 0;
    }
    BOOST_TEST(right >= 4u);
    // rte_gso knows no TCP over IPv6: the super-frame leaves uncut, though TCP_TSO is offered.
    const bool uncut = std::ranges::any_of(findings.defects, [](const Defect& defect) {
        return defect.title == "SIZE" || defect.title == "MISSING";
    });
    BOOST_TEST(uncut);
    // The driver sums up what lies behind the packet.
    BOOST_TEST(std::ranges::any_of(findings.defects, [](const Defect& defect) {
        return defect.signature() == "tx.plain.udp.PAD_DATA";
    }));
}

BOOST_AUTO_TEST_SUITE_END()
