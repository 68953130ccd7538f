#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <sys/stat.h>

#include <array>
#include <atomic>
#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <thread>

#include "dataplane/port/eal_log.h"
#include "tests/contains.h"
#include "tests/port/eal_fixture.h"
#include "tests/port/ring_ports.h"

using namespace pathproof;
using namespace pathproof::port;

namespace {

// Two workers on the first CPU that this process may use: lcores may share one.
EalOptions unprivileged() {
    const int cpu = usable_cpus().front();
    return {.worker_cpus = {cpu, cpu},
            .memory_mib = 128,
            .vdevs = {"net_null0,no-rx=1", "net_null1", "net_ring0"}};
}

struct UnprivilegedEal : OneEal {
    UnprivilegedEal() : OneEal(unprivileged()) {}
};

Port open(PortConfig config) {
    auto port = Port::open(config);
    BOOST_REQUIRE_MESSAGE(port, port.error().message);
    return std::move(*port);
}

std::string refusal(PortConfig config) {
    const auto port = Port::open(config);
    BOOST_REQUIRE(!port);
    return port.error().message;
}

using pathproof::test::contains;

}  // namespace

BOOST_TEST_GLOBAL_FIXTURE(UnprivilegedEal);

BOOST_AUTO_TEST_CASE(a_second_start_in_one_process_is_refused) {
    const auto again = Eal::start(unprivileged());
    BOOST_REQUIRE(!again);
    BOOST_TEST((again.error().code == ErrorCode::kNotSupported));
    BOOST_TEST(contains(again.error().message, "already started"));
}

BOOST_AUTO_TEST_CASE(options_that_cannot_be_are_refused_before_anything_starts) {
    EalOptions options = unprivileged();
    options.worker_cpus = {4000};
    const auto no_cpu = Eal::start(options);
    BOOST_REQUIRE(!no_cpu);
    BOOST_TEST(contains(no_cpu.error().message, "CPU 4000"));
    options = unprivileged();
    options.vdevs = {"net_null7", "net_null7,no-rx=1"};
    const auto twice = Eal::start(options);
    BOOST_REQUIRE(!twice);
    BOOST_TEST(contains(twice.error().message, "named twice"));
    options = unprivileged();
    options.memory_mib = 1u << 31;
    const auto too_much = Eal::start(options);
    BOOST_REQUIRE(!too_much);
    BOOST_TEST((too_much.error().code == ErrorCode::kBadInput));
    BOOST_TEST(contains(too_much.error().message, "need 2147483648 MiB of memory and "));
    options = unprivileged();
    options.pci = {"0000:ff:1f.7,representor=vf0"};
    const auto absent = Eal::start(options);
    BOOST_REQUIRE(!absent);
    BOOST_TEST(contains(absent.error().message, "no PCI device 0000:ff:1f.7;"));
}

BOOST_AUTO_TEST_CASE(workers_that_share_a_cpu_both_run_and_give_their_results) {
    BOOST_REQUIRE(eal().workers() == 2);
    std::atomic<int> arrived = 0;
    const auto meet = [&](int result) {
        return [&arrived, result] {
            ++arrived;
            while (arrived < 2) {
                std::this_thread::yield();
            }
            return result;
        };
    };
    BOOST_REQUIRE(eal().launch(0, meet(7)));
    BOOST_TEST(!eal().launch(0, meet(0)));  // busy
    BOOST_REQUIRE(eal().launch(1, meet(8)));
    BOOST_TEST(eal().join(0) == 7);
    BOOST_TEST(eal().join(1) == 8);
    BOOST_TEST(!eal().launch(2, meet(0)));  // there is no third
}

BOOST_AUTO_TEST_CASE(the_eal_logs_into_a_buffer_and_keeps_errors_apart) {
    const std::size_t before = eal_log_text().size();
    rte_log(RTE_LOG_INFO, RTE_LOGTYPE_USER1, "a remark\n");
    rte_log(RTE_LOG_ERR, RTE_LOGTYPE_USER1, "a failure\n");
    BOOST_TEST(contains(eal_log_text(), "a remark"));
    BOOST_TEST(eal_log_errors(before) == "a failure");
    BOOST_TEST(Eal::dpdk_version().starts_with("DPDK "));
}

BOOST_AUTO_TEST_CASE(a_null_port_takes_what_is_sent_and_counts_it) {
    Port port = open({.name = "sink", .device = "net_null0"});
    BOOST_TEST(port.info().driver == "net_null");
    BOOST_TEST((port.info().evidence == Evidence::kSimulated));
    BOOST_TEST((port.link() == Link::kUp));
    BOOST_TEST(port.info().link_mbps == 0u);
    std::array<rte_mbuf*, 32> frames{};
    BOOST_REQUIRE(rte_pktmbuf_alloc_bulk(port.pool(), frames.data(), frames.size()) == 0);
    for (rte_mbuf* frame : frames) {
        BOOST_REQUIRE(rte_pktmbuf_append(frame, 64) != nullptr);
    }
    BOOST_TEST(port.tx_burst(0, frames.data(), frames.size()) == frames.size());
    BOOST_TEST(port.counters().tx_packets == frames.size());
    BOOST_TEST(port.rx_burst(0, frames.data(), frames.size()) == 0);
}

BOOST_AUTO_TEST_CASE(an_offload_that_the_port_lacks_is_refused_by_its_name) {
    const std::string said =
        refusal({.name = "x",
                 .device = "net_null1",
                 .tx_offloads = RTE_ETH_TX_OFFLOAD_UDP_CKSUM | RTE_ETH_TX_OFFLOAD_OUTER_UDP_CKSUM});
    BOOST_TEST(contains(said, "UDP_CKSUM, OUTER_UDP_CKSUM"));
    BOOST_TEST(contains(said, "net_null"));
    BOOST_TEST(contains(
        refusal({.name = "x", .device = "net_null1", .rx_offloads = RTE_ETH_RX_OFFLOAD_TIMESTAMP}),
        "receive offload TIMESTAMP"));
}

BOOST_AUTO_TEST_CASE(what_the_device_cannot_do_is_refused_with_a_sentence) {
    const std::string unknown = refusal({.name = "x", .device = "net_nothing9"});
    BOOST_TEST(contains(unknown, "no device 'net_nothing9'"));
    BOOST_TEST(contains(unknown, "net_null1"));  // what there is
    BOOST_TEST(contains(refusal({.name = "x", .device = "net_null1", .rx_queues = 2000}),
                        "2000 and 1 were asked for"));
    BOOST_TEST(contains(refusal({.name = "x", .device = "net_null1", .mtu = 20}), "MTU 20"));
}

BOOST_AUTO_TEST_CASE(a_refused_port_can_still_be_opened_rightly) {
    BOOST_TEST(!Port::open({.name = "x", .device = "net_null1", .mtu = 20}));
    BOOST_TEST(!Port::open({.name = "x", .device = "net_null1", .tx_offloads = ~std::uint64_t{0}}));
    BOOST_TEST(open({.name = "x", .device = "net_null1"}).info().name == "x");
}

BOOST_AUTO_TEST_CASE(frames_pass_a_ring_port_until_it_is_full) {
    RingPort ring = RingPort::make("loop");
    ring.end.arrive({1, 2, 3});
    std::array<rte_mbuf*, 64> frames{};
    BOOST_REQUIRE(ring.port.rx_burst(0, frames.data(), frames.size()) == 1);
    std::uint64_t sent = ring.port.tx_burst(0, frames.data(), 1);
    BOOST_REQUIRE(sent == 1u);
    const auto left = ring.end.left();
    BOOST_REQUIRE(left.size() == 1u);
    BOOST_TEST(left[0] == (std::vector<std::uint8_t>{1, 2, 3}));
    // 2047 frames fit a ring of 2048.
    for (int burst = 0; burst < 40; ++burst) {
        BOOST_REQUIRE(rte_pktmbuf_alloc_bulk(ring.port.pool(), frames.data(), frames.size()) == 0);
        const std::uint16_t took = ring.port.tx_burst(0, frames.data(), frames.size());
        sent += took;
        rte_pktmbuf_free_bulk(frames.data() + took, static_cast<unsigned>(frames.size() - took));
    }
    BOOST_TEST(sent == 1u + 2047u);
    BOOST_TEST(ring.end.left().size() == 2047u);
}
