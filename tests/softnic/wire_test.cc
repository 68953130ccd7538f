#define BOOST_TEST_MODULE softnic
#include "dataplane/softnic/wire.h"

#include <boost/test/unit_test.hpp>
#include <chrono>
#include <ctime>
#include <thread>

#include "tests/port/eal_fixture.h"
#include "tests/port/ring_ports.h"
#include "tests/softnic/frames.h"

using namespace pathproof;
using namespace pathproof::softnic;
using namespace std::chrono_literals;

namespace {

struct OneWorker : port::OneEal {
    OneWorker() : OneEal({.worker_cpus = port::usable_cpus(1), .memory_mib = 768}) {}
};

Frame tcp_frame(std::size_t size, Field field) {
    return ethernet(0x0800, ipv4(6, tcp(4, 1000, 80, bytes(size), field)));
}

constexpr judge::Layer kTcp{judge::Depth::kPlain, judge::Protocol::kTcp};
constexpr judge::Layer kIpv4{judge::Depth::kPlain, judge::Protocol::kIpv4};

std::uint64_t seen(const WireTally& tally, judge::Layer layer, judge::ChecksumState state) {
    return tally.checksums[judge::index_of(layer)][static_cast<std::size_t>(state)];
}

// Two ring ports, the test's ends of them, and a wire between.
struct Joined {
    port::RingEnd a;
    port::RingEnd b;
    std::vector<port::Port> ports;
    std::unique_ptr<Wire> wire;

    explicit Joined(const WirePlan& plan, unsigned ring_size = 2048) {
        static int made = 0;
        for (port::RingEnd* end : {&a, &b}) {
            port::RingPort ring = port::RingPort::make("wire" + std::to_string(made++), ring_size);
            *end = ring.end;
            ports.push_back(std::move(ring.port));
        }
        auto started = Wire::start(port::eal(), 0, ports, plan);
        BOOST_REQUIRE_MESSAGE(started, started.error().message);
        wire = std::move(*started);
    }
};

std::vector<Frame> take(port::RingEnd& from, std::size_t wanted) {
    std::vector<Frame> frames;
    for (int look = 0; look < 2000 && frames.size() < wanted; ++look) {
        for (Frame& frame : from.left()) {
            frames.push_back(std::move(frame));
        }
        std::this_thread::sleep_for(1ms);
    }
    return frames;
}

const WireTally& forth(const WireReport& report) {
    return report.directions[0];
}
const WireTally& back(const WireReport& report) {
    return report.directions[1];
}

}  // namespace

BOOST_TEST_GLOBAL_FIXTURE(OneWorker);

BOOST_AUTO_TEST_CASE(a_healthy_wire_completes_counts_and_forwards_both_ways) {
    Joined joined({.mode = WireMode::kHealthyNic});
    joined.a.arrive(tcp_frame(10, Field::kPartial));
    joined.a.arrive(tcp_frame(11, Field::kRight));
    joined.a.arrive(tcp_frame(12, Field::kWrong));
    joined.b.arrive(tcp_frame(13, Field::kPartial));
    const auto at_b = take(joined.b, 3);
    const auto at_a = take(joined.a, 1);
    const WireReport report = joined.wire->stop();

    BOOST_REQUIRE(at_b.size() == 3u);
    BOOST_TEST(at_b[0] == tcp_frame(10, Field::kRight), boost::test_tools::per_element());
    BOOST_TEST(at_b[1] == tcp_frame(11, Field::kRight), boost::test_tools::per_element());
    BOOST_TEST(at_b[2] == tcp_frame(12, Field::kWrong), boost::test_tools::per_element());
    BOOST_REQUIRE(at_a.size() == 1u);
    BOOST_TEST(at_a[0] == tcp_frame(13, Field::kRight), boost::test_tools::per_element());

    BOOST_TEST(forth(report).received == 3u);
    BOOST_TEST(forth(report).forwarded == 3u);
    BOOST_TEST(forth(report).not_forwarded == 0u);
    // A ring port cannot say what was left to it.
    BOOST_TEST(forth(report).completed_by_value == 1u);
    BOOST_TEST(forth(report).completed == 0u);
    BOOST_TEST(forth(report).handed_partial == 0u);
    BOOST_TEST(forth(report).bad_frames == 1u);
    BOOST_TEST(seen(forth(report), kTcp, judge::ChecksumState::kGood) == 2u);
    BOOST_TEST(seen(forth(report), kTcp, judge::ChecksumState::kBad) == 1u);
    BOOST_TEST(seen(forth(report), kIpv4, judge::ChecksumState::kGood) == 3u);
    BOOST_TEST(back(report).forwarded == 1u);
    BOOST_TEST(back(report).completed_by_value == 1u);
    BOOST_TEST(back(report).bad_frames == 0u);
    BOOST_TEST(report.objections.empty());
    BOOST_REQUIRE(report.kept.size() == 1u);
    BOOST_TEST((report.kept[0].direction == Direction::kAToB));
    BOOST_TEST(report.kept[0].bytes == tcp_frame(12, Field::kWrong),
               boost::test_tools::per_element());
    BOOST_REQUIRE(report.kept[0].bad.size() == 1u);
    BOOST_TEST((report.kept[0].bad[0].layer == kTcp));
    BOOST_REQUIRE(report.ports.size() == 2u);
    BOOST_TEST(report.ports[0].rx_packets == 3u);
    BOOST_TEST(report.ports[1].tx_packets == 3u);
}

BOOST_AUTO_TEST_CASE(a_wire_that_passes_through_changes_no_byte) {
    Joined joined({.mode = WireMode::kPassThrough});
    joined.a.arrive(tcp_frame(10, Field::kPartial));
    joined.a.arrive({1, 2, 3});  // no frame at all
    const auto at_b = take(joined.b, 2);
    const WireReport report = joined.wire->stop();
    BOOST_REQUIRE(at_b.size() == 2u);
    BOOST_TEST(at_b[0] == tcp_frame(10, Field::kPartial), boost::test_tools::per_element());
    BOOST_TEST(at_b[1] == (Frame{1, 2, 3}), boost::test_tools::per_element());
    BOOST_TEST(forth(report).completed == 0u);
    BOOST_TEST(forth(report).bad_frames == 1u);
    BOOST_TEST(forth(report).malformed == 1u);
    BOOST_TEST((report.mode == WireMode::kPassThrough));
}

BOOST_AUTO_TEST_CASE(only_the_first_bad_frames_are_kept_and_all_are_counted) {
    Joined joined({.mode = WireMode::kPassThrough, .keep_bad_frames = 3});
    for (std::size_t size = 0; size < 10; ++size) {
        joined.a.arrive(tcp_frame(size, Field::kWrong));
    }
    BOOST_TEST(take(joined.b, 10).size() == 10u);
    const WireReport report = joined.wire->stop();
    BOOST_TEST(forth(report).bad_frames == 10u);
    BOOST_REQUIRE(report.kept.size() == 3u);
    BOOST_TEST(report.kept[2].bytes == tcp_frame(2, Field::kWrong),
               boost::test_tools::per_element());
    BOOST_TEST(report.kept[0].time_ns <= report.kept[2].time_ns);
}

BOOST_AUTO_TEST_CASE(frames_that_the_far_port_will_not_take_are_counted_and_not_kept_as_forwarded) {
    // 63 frames fit a ring of 64, and nobody empties it.
    Joined joined({.mode = WireMode::kPassThrough}, 64);
    for (int frame = 0; frame < 100; ++frame) {
        joined.a.arrive(tcp_frame(20, Field::kWrong));
        while (!joined.a.all_taken()) {
            std::this_thread::sleep_for(100us);
        }
    }
    const WireReport report = joined.wire->stop();
    BOOST_TEST(forth(report).received == 100u);
    BOOST_TEST(forth(report).forwarded == 63u);
    BOOST_TEST(forth(report).not_forwarded == 37u);
    BOOST_TEST(forth(report).bad_frames == 63u);
    BOOST_TEST(report.kept.size() == 63u);
    BOOST_TEST(joined.b.left().size() == 63u);
}

BOOST_AUTO_TEST_CASE(only_the_plans_udp_ports_are_read_as_tunnels) {
    const Frame inner = tcp_frame(5, Field::kPartial);
    const Frame outer = ethernet(0x0800, ipv4(17, udp(4, 1, 8472, vxlan(inner), Field::kRight)));
    Joined plain({.mode = WireMode::kHealthyNic, .tunnel_ports = {4789}});
    plain.a.arrive(outer);
    BOOST_TEST(take(plain.b, 1).size() == 1u);
    BOOST_TEST(forth(plain.wire->stop()).completed_by_value == 0u);
    Joined tunnel({.mode = WireMode::kHealthyNic, .tunnel_ports = {4789, 8472}});
    tunnel.a.arrive(outer);
    BOOST_TEST(take(tunnel.b, 1).size() == 1u);
    BOOST_TEST(forth(tunnel.wire->stop()).completed_by_value == 1u);
}

BOOST_AUTO_TEST_CASE(a_wire_between_ports_that_are_not_there_is_refused) {
    std::vector<port::Port> none;
    const auto refused = Wire::start(port::eal(), 0, none, {});
    BOOST_REQUIRE(!refused);
    BOOST_TEST(refused.error().message.find("two ports; there are 0") != std::string::npos);
    Joined joined({});
    BOOST_TEST(!Wire::start(port::eal(), 0, std::span(joined.ports).first(1), {}));
    BOOST_TEST(!Wire::start(port::eal(), 0, joined.ports, {}));  // the worker is busy
    BOOST_TEST(!Wire::start(port::eal(), 9, joined.ports, {}));
}

BOOST_AUTO_TEST_CASE(an_idle_wire_gives_its_cpu_away) {
    Joined joined({});
    timespec before{};
    timespec after{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &before);
    std::this_thread::sleep_for(1s);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &after);
    const double used = static_cast<double>(after.tv_sec - before.tv_sec) +
                        static_cast<double>(after.tv_nsec - before.tv_nsec) * 1e-9;
    BOOST_TEST(used < 0.5);
}
