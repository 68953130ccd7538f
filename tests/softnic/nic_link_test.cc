// The software NIC between two ports of rings: requests go in by mbuf, verdicts come out by mbuf,
// and only bytes cross.
#include "dataplane/softnic/nic_link.h"

#include <rte_mbuf.h>
#include <rte_ring.h>

#include <boost/test/unit_test.hpp>
#include <chrono>
#include <thread>

#include "tests/port/eal_fixture.h"
#include "tests/port/ring_ports.h"
#include "tests/softnic/frames.h"
#include "tests/softnic/nic_frames.h"

using namespace pathproof;
using namespace pathproof::softnic;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(nic_link)

namespace {

// Two ports, the far ends of their rings in the test's hands, and a link between.
struct Linked {
    std::string name;
    port::RingEnd a;
    port::RingEnd b;
    std::vector<port::Port> ports;
    std::unique_ptr<NicLink> link;

    explicit Linked(const NicLinkPlan& plan) {
        static int made = 0;
        name = "link" + std::to_string(made++);
        for (auto [end, suffix] : {std::pair{&a, "a"}, std::pair{&b, "b"}}) {
            port::RingPort ring = port::RingPort::make(name + suffix);
            *end = ring.end;
            ports.push_back(std::move(ring.port));
        }
        auto started = NicLink::start(port::eal(), 0, std::span<port::Port, 2>(ports), plan);
        BOOST_REQUIRE_MESSAGE(started, started.error().message);
        link = std::move(*started);
    }

    // Hands a frame over to a port, with its request, in as many buffers as it says.
    void send(const TxFrame& frame, const std::string& to = "a_in") {
        rte_mempool* pool = ports[0].pool();
        rte_mbuf* head = nullptr;
        std::size_t at = 0;
        std::vector<std::uint32_t> lengths = frame.buffers;
        if (lengths.empty()) {
            lengths.push_back(static_cast<std::uint32_t>(frame.bytes.size()));
        }
        for (const std::uint32_t length : lengths) {
            rte_mbuf* buffer = rte_pktmbuf_alloc(pool);
            BOOST_REQUIRE(buffer != nullptr);
            char* room = rte_pktmbuf_append(buffer, static_cast<std::uint16_t>(length));
            BOOST_REQUIRE(room != nullptr);
            std::copy_n(frame.bytes.begin() + static_cast<std::ptrdiff_t>(at), length, room);
            at += length;
            if (head == nullptr) {
                head = buffer;
            } else {
                BOOST_REQUIRE(rte_pktmbuf_chain(head, buffer) == 0);
            }
        }
        frame::apply_offload(*head, frame.request.offload);
        head->vlan_tci = frame.request.vlan_tci;
        head->hash.rss = 0xdecafbad;
        BOOST_REQUIRE(rte_ring_enqueue(ring(to), head) == 0);
    }

    rte_mbuf* arrived(const std::string& at = "b_out") {
        for (int look = 0; look < 4000; ++look) {
            void* taken = nullptr;
            if (rte_ring_dequeue(ring(at), &taken) == 0) {
                return static_cast<rte_mbuf*>(taken);
            }
            std::this_thread::sleep_for(1ms);
        }
        BOOST_FAIL("no frame came");
        return nullptr;
    }

    rte_ring* ring(const std::string& which) {
        rte_ring* found = rte_ring_lookup((name + which).c_str());
        BOOST_REQUIRE(found != nullptr);
        return found;
    }
};

Frame bytes_of(const rte_mbuf* mbuf) {
    Frame all;
    for (; mbuf != nullptr; mbuf = mbuf->next) {
        const auto* bytes = rte_pktmbuf_mtod(mbuf, const std::uint8_t*);
        all.insert(all.end(), bytes, bytes + rte_pktmbuf_data_len(mbuf));
    }
    return all;
}

frame::FrameSpec udp_spec(std::size_t payload) {
    frame::FrameSpec spec;
    spec.packet.source = *frame::parse_endpoint("198.18.0.1:1000");
    spec.packet.destination = *frame::parse_endpoint("198.18.0.2:80");
    spec.packet.transport_checksum = frame::ChecksumMode::kOffload;
    spec.packet.ip_checksum = frame::ChecksumMode::kOffload;
    spec.payload = bytes(payload);
    return spec;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_request_is_honoured_and_nothing_of_it_leaks) {
    Linked linked({});
    TxFrame frame = handed_over(udp_spec(100));
    frame.buffers = {20, 61, 61};
    linked.send(frame);
    rte_mbuf* mbuf = linked.arrived();
    BOOST_TEST((bytes_of(mbuf) == in_software(udp_spec(100))));
    BOOST_TEST(mbuf->ol_flags == (RTE_MBUF_F_RX_IP_CKSUM_GOOD | RTE_MBUF_F_RX_L4_CKSUM_GOOD));
    BOOST_TEST(mbuf->tx_offload == 0u);
    BOOST_TEST(mbuf->hash.rss != 0xdecafbadu);
    BOOST_TEST(mbuf->pool == linked.ports[1].pool());
    rte_pktmbuf_free(mbuf);
    const NicLinkReport report = linked.link->stop();
    BOOST_TEST(report.directions[0].taken == 1u);
    BOOST_TEST(report.directions[0].delivered == 1u);
    BOOST_TEST(report.directions[0].nic.rx_frames == 1u);
    BOOST_TEST(report.directions[1].taken == 0u);
    BOOST_TEST(report.objections.empty());
}

BOOST_AUTO_TEST_CASE(a_super_frame_arrives_in_segments) {
    Linked linked({});
    frame::FrameSpec spec = udp_spec(1000);
    spec.packet.transport = frame::Transport::kTcp;
    spec.segment_bytes = 300;
    linked.send(handed_over(spec));
    Frame payload;
    for (int segment = 0; segment < 4; ++segment) {
        rte_mbuf* mbuf = linked.arrived();
        const Frame frame = bytes_of(mbuf);
        payload.insert(payload.end(), frame.begin() + 54, frame.end());
        BOOST_TEST(mbuf->ol_flags == (RTE_MBUF_F_RX_IP_CKSUM_GOOD | RTE_MBUF_F_RX_L4_CKSUM_GOOD));
        rte_pktmbuf_free(mbuf);
    }
    BOOST_TEST((payload == spec.payload));
}

BOOST_AUTO_TEST_CASE(a_frame_longer_than_a_buffer_arrives_in_a_chain) {
    Linked linked({});
    TxFrame frame = handed_over(udp_spec(8000));
    for (std::size_t left = frame.bytes.size(); left > 0;) {
        const auto piece = static_cast<std::uint32_t>(std::min<std::size_t>(left, 1500));
        frame.buffers.push_back(piece);
        left -= piece;
    }
    linked.send(frame);
    rte_mbuf* mbuf = linked.arrived();
    BOOST_TEST(mbuf->nb_segs > 1u);
    BOOST_TEST(mbuf->pkt_len == frame.bytes.size());
    BOOST_TEST((bytes_of(mbuf) == in_software(udp_spec(8000))));
    rte_pktmbuf_free(mbuf);
}

BOOST_AUTO_TEST_CASE(faults_act_on_what_the_first_port_sends_and_receives_and_are_reported) {
    Linked linked(
        {.faults = {*parse_fault("tx.plain.udp.PSEUDO"), *parse_fault("rx.plain.l4.GOOD_ON_BAD")}});
    const TxFrame frame = handed_over(udp_spec(50));
    linked.send(frame);
    rte_mbuf* mbuf = linked.arrived();
    const Frame spoilt = bytes_of(mbuf);
    BOOST_TEST(raw::get(spoilt, 40) == raw::get(frame.bytes, 40));
    BOOST_TEST((mbuf->ol_flags & RTE_MBUF_F_RX_L4_CKSUM_BAD) != 0u);
    rte_pktmbuf_free(mbuf);
    linked.send({.bytes = spoilt}, "b_in");
    mbuf = linked.arrived("a_out");
    BOOST_TEST((mbuf->ol_flags & RTE_MBUF_F_RX_L4_CKSUM_GOOD) != 0u);
    rte_pktmbuf_free(mbuf);
    const NicLinkReport report = linked.link->stop();
    BOOST_TEST((report.directions[0].fault_hits == std::vector<std::uint64_t>{1, 0}));
    BOOST_TEST((report.directions[1].fault_hits == std::vector<std::uint64_t>{0, 1}));
}

BOOST_AUTO_TEST_CASE(refused_frames_are_counted_and_do_not_leave) {
    Linked linked({});
    TxFrame frame = handed_over(udp_spec(50));
    frame.request.offload.l3_len = 24;
    linked.send(frame);
    linked.send(handed_over(udp_spec(51)));
    rte_mbuf* mbuf = linked.arrived();
    BOOST_TEST((bytes_of(mbuf) == in_software(udp_spec(51))));
    rte_pktmbuf_free(mbuf);
    const NicLinkReport report = linked.link->stop();
    const NicCounters& nic = report.directions[0].nic;
    BOOST_TEST(nic.tx_refused == 1u);
    BOOST_TEST(nic.refused_by[static_cast<std::size_t>(Refusal::kNoNetworkHeader)] == 1u);
    BOOST_TEST(report.directions[0].taken == 2u);
}

BOOST_AUTO_TEST_SUITE_END()
