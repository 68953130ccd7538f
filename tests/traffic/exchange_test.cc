#include "dataplane/traffic/exchange.h"

#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include <boost/test/unit_test.hpp>
#include <cstring>

#include "tests/port/eal_fixture.h"
#include "tests/port/ring_ports.h"
#include "tests/traffic/frames.h"

BOOST_AUTO_TEST_SUITE(exchange_of_frames)

using namespace pathproof;
using namespace pathproof::traffic;
using pathproof::port::RingPort;

namespace {

constexpr std::size_t kOuterSum = 14 + 20 + 6;

// Clears the outer UDP checksum as rte_net_intel_cksum_prepare() does from DPDK 24.07 on.
std::uint16_t prepare_as_newer_drivers(void*, rte_mbuf** frames, std::uint16_t count) {
    for (std::uint16_t i = 0; i < count; ++i) {
        std::memset(rte_pktmbuf_mtod_offset(frames[i], char*, kOuterSum), 0, 2);
    }
    return count;
}

}  // namespace

BOOST_AUTO_TEST_CASE(an_outer_checksum_leaves_as_planned_whatever_the_driver_prepares) {
    RingPort ring = RingPort::make("exchange0");
    rte_eth_fp_ops[ring.port.id()].tx_pkt_prepare = prepare_as_newer_drivers;
    frame::FrameSpec spec = carried_spec();
    spec.packet.transport_checksum = frame::ChecksumMode::kOffload;
    const auto made = frame::FrameTemplate::make(spec);
    BOOST_REQUIRE_MESSAGE(made, made.error().message);
    const ExchangeFrame planned{.bytes = made->render(), .request = made->offload()};
    BOOST_REQUIRE((planned.bytes[kOuterSum] != 0 || planned.bytes[kOuterSum + 1] != 0));
    const ExchangePlan plan{
        .from = 0, .to = 0, .frames = {planned}, .quiet = std::chrono::milliseconds(1)};
    const auto report = exchange(port::eal(), 0, {&ring.port, 1}, plan);
    BOOST_REQUIRE_MESSAGE(report, report.error().message);
    BOOST_TEST(report->refusals.empty());
    const Frames left = ring.end.left();
    BOOST_REQUIRE(left.size() == 1u);
    BOOST_TEST(left[0] == planned.bytes);
}

BOOST_AUTO_TEST_SUITE_END()
