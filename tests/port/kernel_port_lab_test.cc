// Ports on one end of a veth, by AF_XDP and by packet sockets, in a network namespace of this
// process alone.
#define BOOST_TEST_MODULE kernel_port_lab
#include <arpa/inet.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/test/unit_test.hpp>
#include <chrono>
#include <cstring>
#include <optional>
#include <thread>
#include <vector>

#include "dataplane/base/counts.h"
#include "dataplane/port/kernel_interface.h"
#include "dataplane/port/port.h"
#include "harness/process/program.h"
#include "tests/port/eal_fixture.h"

using namespace pathproof;
using namespace pathproof::port;

namespace {

constexpr std::uint16_t kEtherType = 0x88b5;  // IEEE 802, local experiments
constexpr std::size_t kFrameBytes = 60;
constexpr std::uint32_t kSendBuffer = 4 << 20;

struct TwoDevices : OneEal {
    TwoDevices()
        : OneEal({.worker_cpus = {usable_cpus().front()},
                  .memory_mib = 256,
                  .vdevs = {"net_af_xdp0,iface=x0",
                            "net_af_packet0,iface=p0,framecnt=2048,qdisc_bypass=0"}}) {}
};

// Comes before the EAL, whose driver looks for x0 when it starts.
struct OwnNamespace {
    OwnNamespace() {
        BOOST_REQUIRE_MESSAGE(unshare(CLONE_NEWNET) == 0, "network namespaces need root");
        for (const std::vector<std::string>& command :
             {std::vector<std::string>{"ip", "link", "add", "x0", "type", "veth", "peer", "name",
                                       "x1"},
              {"ip", "link", "add", "p0", "type", "veth", "peer", "name", "p1"},
              {"ip", "link", "set", "x0", "addrgenmode", "none", "up"},
              {"ip", "link", "set", "x1", "addrgenmode", "none", "up"},
              {"ip", "link", "set", "p0", "addrgenmode", "none", "up"},
              {"ip", "link", "set", "p1", "addrgenmode", "none", "up"},
              // 4 frames a millisecond: what was sent stays in the sender's account for a while.
              {"tc", "qdisc", "add", "dev", "p0", "root", "tbf", "rate", "2mbit", "burst", "1600",
               "limit", "1000000"}}) {
            const auto ran = process::run_checked(command);
            BOOST_REQUIRE_MESSAGE(ran, ran.error().message);
        }
    }
};

// One for all cases: DPDK's device is gone when its port is closed.
struct OpenPort {
    static inline std::optional<Port> held;
    OpenPort() {
        auto port =
            Port::open({.name = "x0", .device = "net_af_xdp0", .send_buffer_bytes = kSendBuffer});
        BOOST_REQUIRE_MESSAGE(port, port.error().message);
        held.emplace(std::move(*port));
    }
    ~OpenPort() { held.reset(); }
};

Port& the_port() {
    BOOST_REQUIRE(OpenPort::held);
    return *OpenPort::held;
}

struct FarEnd {
    FarEnd() : handle(socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK, htons(kEtherType))) {
        sockaddr_ll address{};
        address.sll_family = AF_PACKET;
        address.sll_protocol = htons(kEtherType);
        address.sll_ifindex = static_cast<int>(if_nametoindex("x1"));
        BOOST_REQUIRE(bind(handle, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
    }
    ~FarEnd() { close(handle); }
    const int handle;
};

std::array<std::uint8_t, kFrameBytes> frame_to_all() {
    std::array<std::uint8_t, kFrameBytes> frame{};
    std::fill_n(frame.begin(), 6, std::uint8_t{0xff});
    frame[6] = 0x02;
    frame[12] = kEtherType >> 8;
    frame[13] = kEtherType & 0xff;
    return frame;
}

// Frames that come within a second.
std::size_t receive(std::size_t wanted) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(1);
    std::array<rte_mbuf*, 32> burst{};
    std::size_t received = 0;
    while (received < wanted && std::chrono::steady_clock::now() < end) {
        const std::uint16_t got = the_port().rx_burst(0, burst.data(), burst.size());
        rte_pktmbuf_free_bulk(burst.data(), got);
        received += got;
    }
    return received;
}

}  // namespace

// Makes these in order; Boost has no order for several global fixtures.
struct Setup {
    OwnNamespace namespace_of_ours;
    TwoDevices eal;
    OpenPort port;
};
BOOST_TEST_GLOBAL_FIXTURE(Setup);

// The kernel drops a frame whose buffer it does not take for one of its UMEM's, and the driver
// counts it as sent.
BOOST_AUTO_TEST_CASE(a_frame_from_each_buffer_of_the_pool_leaves_the_interface) {
    const PortCounters before = the_port().counters();
    const auto frame = frame_to_all();
    std::vector<rte_mbuf*> all;
    while (rte_mbuf* const mbuf = rte_pktmbuf_alloc(the_port().pool())) {
        std::memcpy(rte_pktmbuf_append(mbuf, kFrameBytes), frame.data(), frame.size());
        all.push_back(mbuf);
    }
    BOOST_TEST_MESSAGE(all.size() << " buffers");
    BOOST_REQUIRE(all.size() > 3000);
    std::size_t sent = 0;
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (sent < all.size() && std::chrono::steady_clock::now() < end) {
        const std::size_t rest = std::min<std::size_t>(32, all.size() - sent);
        sent += the_port().tx_burst(0, all.data() + sent, static_cast<std::uint16_t>(rest));
    }
    BOOST_TEST(sent == all.size());
    const PortCounters counted = counts_between(before, the_port().counters());
    BOOST_TEST(counted.tx_packets == sent);
    BOOST_TEST(counted.tx_by_interface == sent);
}

BOOST_AUTO_TEST_CASE(frames_come_in_for_as_long_as_they_are_taken) {
    const PortCounters before = the_port().counters();
    const FarEnd far;
    const auto frame = frame_to_all();
    constexpr std::size_t kAtOnce = 64;
    const std::size_t rounds = 3 * rte_mempool_avail_count(the_port().pool()) / kAtOnce;
    std::size_t received = 0;
    for (std::size_t round = 0; round < rounds; ++round) {
        for (std::size_t n = 0; n < kAtOnce; ++n) {
            BOOST_REQUIRE(send(far.handle, frame.data(), frame.size(), 0) ==
                          static_cast<ssize_t>(frame.size()));
        }
        received += receive(kAtOnce);
    }
    BOOST_TEST(received == rounds * kAtOnce);
    BOOST_TEST(counts_between(before, the_port().counters()).rx_missed == 0u);
}

BOOST_AUTO_TEST_CASE(a_receive_ring_that_ran_over_is_the_ports_own_loss) {
    const PortCounters before = the_port().counters();
    const FarEnd far;
    const auto frame = frame_to_all();
    constexpr std::size_t kMany = 6000;
    for (std::size_t n = 0; n < kMany; ++n) {
        BOOST_REQUIRE(send(far.handle, frame.data(), frame.size(), 0) ==
                      static_cast<ssize_t>(frame.size()));
    }
    const std::size_t received = receive(kMany);
    BOOST_TEST(received < kMany);
    const std::uint64_t missed = counts_between(before, the_port().counters()).rx_missed;
    BOOST_TEST(received + missed == kMany);
    // A veth has them among its rx_dropped, other interfaces may not.
    BOOST_TEST(XdpSockets::all().dropped_at_full_ring() == missed);
}

// The kernel takes as many as the send buffer has room for, and net_af_packet asks it again when it
// has more to send: the last frames of a run would stay.
BOOST_AUTO_TEST_CASE(what_a_packet_socket_had_no_room_for_is_pushed_out) {
    auto packets = Port::open({.name = "p0", .device = "net_af_packet0"});
    BOOST_REQUIRE_MESSAGE(packets, packets.error().message);
    const auto frame = frame_to_all();
    constexpr std::size_t kMany = 2000;
    std::size_t sent = 0;
    for (std::size_t n = 0; n < kMany; ++n) {
        rte_mbuf* mbuf = rte_pktmbuf_alloc(packets->pool());
        BOOST_REQUIRE(mbuf != nullptr);
        std::memcpy(rte_pktmbuf_append(mbuf, kFrameBytes), frame.data(), frame.size());
        const std::uint16_t taken = packets->tx_burst(0, &mbuf, 1);
        sent += taken;
        rte_pktmbuf_free_bulk(&mbuf, 1u - taken);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    BOOST_TEST(packets->counters().tx_by_interface < sent);
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(5);
    while (!packets->push_out() && std::chrono::steady_clock::now() < end) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    BOOST_TEST(packets->push_out());
    while (packets->counters().tx_by_interface < sent && std::chrono::steady_clock::now() < end) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    BOOST_TEST(packets->counters().tx_by_interface == sent);
}

BOOST_AUTO_TEST_CASE(a_send_buffer_is_the_sockets) {
    the_port();
    int sockets = 0;
    for (int file = 0; file < 1024; ++file) {
        int domain = -1;
        socklen_t size = sizeof domain;
        if (getsockopt(file, SOL_SOCKET, SO_DOMAIN, &domain, &size) == 0 && domain == AF_XDP) {
            int bytes = 0;
            size = sizeof bytes;
            BOOST_REQUIRE(getsockopt(file, SOL_SOCKET, SO_SNDBUF, &bytes, &size) == 0);
            BOOST_TEST(static_cast<std::uint32_t>(bytes) == kSendBuffer);
            ++sockets;
        }
    }
    BOOST_TEST(sockets == 1);
}
