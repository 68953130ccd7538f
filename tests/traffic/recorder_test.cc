#include "dataplane/traffic/recorder.h"

#include <rte_ether.h>
#include <rte_mbuf.h>
#include <rte_ring.h>

#include <array>
#include <boost/test/unit_test.hpp>
#include <cstring>

#include "tests/port/eal_fixture.h"
#include "tests/port/ring_ports.h"
#include "tests/traffic/frames.h"

BOOST_AUTO_TEST_SUITE(recorder)

using namespace pathproof;
using namespace pathproof::traffic;
using namespace std::chrono_literals;

namespace {

// One port in the middle of three, so that an index that is not looked at shows. Rings live as long
// as the EAL does, which is gone when static objects are.
struct Bench {
    std::vector<port::Port> ports;
    port::RingEnd end;
    Bench() {
        for (const char* name : {"rec0", "rec1", "rec2"}) {
            port::RingPort made = port::RingPort::make(name);
            ports.push_back(std::move(made.port));
            if (ports.size() == 2) {
                end = made.end;
            }
        }
    }
};
Bench& bench() {
    static Bench& the_bench = *new Bench;
    return the_bench;
}

std::unique_ptr<Recorder> start(RecordPlan plan) {
    plan.port = 1;
    auto recorder = Recorder::start(port::eal(), 0, bench().ports, plan);
    BOOST_REQUIRE_MESSAGE(recorder, recorder.error().message);
    return std::move(*recorder);
}

// Makes a frame of this many bytes; the last byte tells frames apart.
Frame numbered(std::size_t bytes, std::uint8_t number) {
    Frame frame(bytes, 0x11);
    frame.back() = number;
    return frame;
}

// Two buffers, and a VLAN tag that the driver put aside.
void arrive_in_pieces(const Frame& frame, std::size_t first, std::uint16_t tci) {
    rte_mempool* pool = rte_mempool_lookup("rec1_end");
    rte_ring* ring = rte_ring_lookup("rec1_in");
    BOOST_REQUIRE((pool != nullptr && ring != nullptr));
    const auto piece = [&](std::size_t begin, std::size_t end) {
        rte_mbuf* mbuf = rte_pktmbuf_alloc(pool);
        BOOST_REQUIRE(mbuf != nullptr);
        const auto bytes = static_cast<std::uint16_t>(end - begin);
        std::memcpy(rte_pktmbuf_append(mbuf, bytes), frame.data() + begin, bytes);
        return mbuf;
    };
    rte_mbuf* head = piece(0, first);
    BOOST_REQUIRE(rte_pktmbuf_chain(head, piece(first, frame.size())) == 0);
    head->ol_flags |= RTE_MBUF_F_RX_VLAN | RTE_MBUF_F_RX_VLAN_STRIPPED;
    head->vlan_tci = tci;
    BOOST_REQUIRE(rte_ring_enqueue(ring, head) == 0);
}

}  // namespace

BOOST_AUTO_TEST_CASE(frames_are_kept_whole_and_in_order_until_all_came) {
    const auto recorder = start({});
    Frames sent;
    for (std::uint8_t number = 0; number < 200; ++number) {
        sent.push_back(numbered(60u + number * 5u, number));
        bench().end.arrive(sent.back());
    }
    const Recording recording = recorder->stop({.expected = 200, .quiet = 10s, .longest = 10s});
    BOOST_TEST((recording.frames == sent));
    BOOST_TEST(recording.received == 200u);
    BOOST_TEST(recording.left_out == 0u);
    BOOST_TEST(recording.cut == 0u);
    BOOST_TEST(recording.tester_lost == 0u);
}

BOOST_AUTO_TEST_CASE(without_a_number_the_end_is_when_nothing_more_comes) {
    const auto recorder = start({});
    bench().end.arrive(numbered(64, 1));
    const Recording recording = recorder->stop({.quiet = 200ms, .longest = 60s});
    BOOST_TEST(recording.frames.size() == 1u);
    const auto idle = start({});
    BOOST_TEST(idle->stop({.expected = 5, .quiet = 60s, .longest = 50ms}).frames.empty());
}

BOOST_AUTO_TEST_CASE(what_the_plan_has_no_room_for_is_counted) {
    const auto few = start({.most_frames = 3});
    for (std::uint8_t number = 0; number < 5; ++number) {
        bench().end.arrive(numbered(64, number));
    }
    const Recording three = few->stop({.expected = 5, .quiet = 10s, .longest = 10s});
    BOOST_REQUIRE(three.frames.size() == 3u);
    BOOST_TEST(three.frames[2].back() == 2);
    BOOST_TEST(three.received == 5u);
    BOOST_TEST(three.left_out == 2u);

    const auto small = start({.most_bytes = 200});
    for (const std::size_t bytes : {100u, 101u, 100u}) {
        bench().end.arrive(numbered(bytes, 7));
    }
    const Recording two = small->stop({.expected = 3, .quiet = 10s, .longest = 10s});
    BOOST_REQUIRE(two.frames.size() == 2u);
    BOOST_TEST(two.frames[1].size() == 100u);
    BOOST_TEST(two.left_out == 1u);
}

BOOST_AUTO_TEST_CASE(a_frame_in_pieces_is_put_together_with_the_tag_that_was_put_aside) {
    Frame frame(150);
    for (std::size_t i = 0; i < frame.size(); ++i) {
        frame[i] = static_cast<std::uint8_t>(i);
    }
    // Apart within the addresses, behind them, and far behind.
    for (const std::size_t first : {7u, 12u, 90u}) {
        const auto recorder = start({});
        arrive_in_pieces(frame, first, 0x2abc);
        const Recording recording = recorder->stop({.expected = 1, .quiet = 10s, .longest = 10s});
        BOOST_REQUIRE(recording.frames.size() == 1u);
        Frame expected = frame;
        constexpr std::array<std::uint8_t, 4> kTag = {0x81, 0x00, 0x2a, 0xbc};
        expected.insert(expected.begin() + 2 * RTE_ETHER_ADDR_LEN, kTag.begin(), kTag.end());
        BOOST_TEST((recording.frames[0] == expected));
    }
}

BOOST_AUTO_TEST_CASE(a_port_that_is_not_there_and_a_busy_worker_are_refused) {
    const auto none = Recorder::start(port::eal(), 0, bench().ports, {.port = 3});
    BOOST_REQUIRE(!none);
    BOOST_TEST(none.error().message == "record at port 3: there are 3 ports");
    const auto recorder = start({});
    BOOST_TEST(!Recorder::start(port::eal(), 0, bench().ports, {.port = 0}));
    BOOST_TEST(recorder->stop({.quiet = 0ms}).received == 0u);
    // Frames are handed out only once.
    BOOST_TEST(recorder->stop({.quiet = 0ms}).frames.empty());
    // The worker is free again.
    BOOST_TEST(start({})->stop({.quiet = 0ms}).frames.empty());
}

BOOST_AUTO_TEST_SUITE_END()
