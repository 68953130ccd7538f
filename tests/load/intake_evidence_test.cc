// Evidence that an intake keeps to explain its counts: bad frames, frames around anomalies, what
// the NIC reported; and the totals of several intakes.
#include <rte_mbuf.h>
#include <rte_mbuf_ptype.h>

#include <boost/test/unit_test.hpp>

#include "dataplane/load/tracked_intake.h"
#include "tests/load/taken_frames.h"

using namespace pathproof;
using namespace pathproof::load;
using frame::Family;
using frame::TrafficClass;

BOOST_AUTO_TEST_SUITE(intake_evidence)

BOOST_AUTO_TEST_CASE(a_frame_with_a_wrong_checksum_is_kept_and_enters_no_ledger) {
    TrackedIntake intake = intake_of(frames_expected());
    std::vector<Frame> frames = queries(5);
    frames[2].back() ^= 1;
    take(intake, frames);
    BOOST_TEST(intake.totals().received.bad_checksum == 1u);
    BOOST_TEST(intake.totals().streams[0].unique == 4u);
    const auto kept = intake.take_bad_frames();
    BOOST_REQUIRE(kept.size() == 1u);
    BOOST_TEST(kept[0].bytes == frames[2], boost::test_tools::per_element());
    BOOST_TEST(kept[0].port == 3u);
    BOOST_TEST(kept[0].time_ns == std::int64_t{kNow});
    BOOST_TEST(name(kept[0].finding.layer) == "UDP");
    take(intake, frames);
    BOOST_TEST(intake.take_bad_frames().size() == 1u);
}

BOOST_AUTO_TEST_CASE(what_the_nic_said_is_held_against_what_is) {
    const std::vector<Frame> sent = queries(2);
    std::vector<Frame> broken = sent;
    broken[1][payload_at(sent[1]) + 40] ^= 1;
    TrackedIntake intake = intake_of(frames_expected());
    take(intake, broken, kNow, {RTE_MBUF_F_RX_IP_CKSUM_GOOD | RTE_MBUF_F_RX_L4_CKSUM_GOOD});
    take(intake, broken, kNow, {RTE_MBUF_F_RX_IP_CKSUM_BAD | RTE_MBUF_F_RX_L4_CKSUM_BAD});
    take(intake, broken, kNow, {});
    take(intake, broken, kNow, {RTE_MBUF_F_RX_IP_CKSUM_NONE | RTE_MBUF_F_RX_L4_CKSUM_NONE});
    const RxFlagCounts& ip = intake.totals().ip_flags;
    const RxFlagCounts& l4 = intake.totals().l4_flags;
    BOOST_TEST(ip.good_on_good == 2u);
    BOOST_TEST(ip.bad_on_good == 2u);
    BOOST_TEST(ip.good_on_bad + ip.bad_on_bad == 0u);
    BOOST_TEST(ip.unknown == 4u);
    BOOST_TEST(l4.good_on_good == 1u);
    BOOST_TEST(l4.good_on_bad == 1u);
    BOOST_TEST(l4.bad_on_good == 1u);
    BOOST_TEST(l4.bad_on_bad == 1u);
    BOOST_TEST(l4.unknown == 4u);
}

BOOST_AUTO_TEST_CASE(of_a_tunnel_a_nic_speaks_of_the_packet_that_its_type_names) {
    std::vector<Frame> frames =
        made(plan_of(TrafficClass::kDnsA, Family::kIpv4, Envelope::kVxlan), 1);
    frames[0][18] ^= 1;  // the outer identification
    const std::uint64_t good = RTE_MBUF_F_RX_IP_CKSUM_GOOD | RTE_MBUF_F_RX_L4_CKSUM_GOOD;
    TrackedIntake reads_it = intake_of(frames_expected());
    take(reads_it, frames, kNow, {good, RTE_PTYPE_TUNNEL_VXLAN});
    BOOST_TEST(reads_it.totals().ip_flags.good_on_good == 1u);
    TrackedIntake does_not = intake_of(frames_expected());
    take(does_not, frames, kNow, {good, 0});
    BOOST_TEST(does_not.totals().ip_flags.good_on_bad == 1u);
    BOOST_TEST(does_not.totals().l4_flags.good_on_good == 1u);
}

BOOST_AUTO_TEST_CASE(frames_around_each_of_the_first_anomalies_are_kept) {
    std::vector<Frame> sent = queries(40);
    std::vector<Frame> arriving(sent.begin(), sent.begin() + 10);
    arriving[1].back() ^= 1;       // 1: bad
    arriving.push_back(sent[12]);  // 10
    arriving.push_back(sent[10]);  // 11: reordered
    arriving.push_back(sent[12]);  // 12: duplicate
    arriving.insert(arriving.end(), sent.begin() + 13, sent.begin() + 20);
    arriving.push_back(sent[13]);  // 20: the last, a duplicate
    IntakePlan plan = frames_expected();
    plan.frames_around = 3;
    TrackedIntake intake = intake_of(plan);
    take(intake, arriving);
    const std::vector<Anomaly> found = intake.take_anomalies();
    BOOST_REQUIRE(found.size() == 4u);
    const auto check = [&](std::size_t i, Anomaly::Kind kind, std::size_t number, std::size_t first,
                           std::size_t last) {
        BOOST_TEST((found[i].kind == kind));
        BOOST_TEST(found[i].number == number);
        BOOST_REQUIRE(found[i].around.size() == last - first + 1);
        for (std::size_t n = first; n <= last; ++n) {
            BOOST_TEST(found[i].around[n - first].number == n);
            BOOST_TEST((found[i].around[n - first].bytes == arriving[n]));
            BOOST_TEST(found[i].around[n - first].at_ns == std::int64_t{kNow});
        }
    };
    check(0, Anomaly::Kind::kBadChecksum, 1, 0, 4);
    check(1, Anomaly::Kind::kReordered, 11, 8, 14);
    check(2, Anomaly::Kind::kDuplicate, 12, 9, 15);
    check(3, Anomaly::Kind::kDuplicate, 20, 17, 20);
    BOOST_TEST(intake.take_anomalies().empty());
}

BOOST_AUTO_TEST_CASE(no_more_anomalies_are_kept_than_asked_for_and_none_without_frames_around) {
    std::vector<Frame> frames = queries(20);
    for (Frame& frame : frames) {
        frame.back() ^= 1;
    }
    IntakePlan plan = frames_expected();
    TrackedIntake none = intake_of(plan);
    take(none, frames);
    BOOST_TEST(none.take_anomalies().empty());
    plan.frames_around = 2;
    plan.anomalies = 5;
    TrackedIntake five = intake_of(plan);
    take(five, frames);
    BOOST_TEST(five.take_anomalies().size() == 5u);
    take(five, frames);
    BOOST_TEST(five.take_anomalies().size() == 5u);
}

BOOST_AUTO_TEST_CASE(the_totals_of_two_lcores_are_those_of_one) {
    const std::vector<Frame> sent = queries(100);
    std::vector<Frame> broken = sent;
    broken[7].back() ^= 1;
    const auto half = static_cast<std::ptrdiff_t>(50);
    TrackedIntake all = intake_of(frames_expected());
    TrackedIntake first = intake_of(frames_expected());
    TrackedIntake second = intake_of(frames_expected());
    take(all, broken);
    take(first, {broken.begin(), broken.begin() + half});
    take(second, {broken.begin() + half, broken.end()});
    IntakeTotals both = first.totals();
    add(both, second.totals());
    const IntakeTotals& one = all.totals();
    BOOST_TEST(both.received.received == one.received.received);
    BOOST_TEST(both.received.bad_checksum == one.received.bad_checksum);
    BOOST_TEST((both.checksums == one.checksums));
    BOOST_TEST(both.streams[0].unique == one.streams[0].unique);
    BOOST_TEST(both.streams[0].highest == one.streams[0].highest);
    BOOST_TEST(both.quick == one.quick);
    BOOST_TEST(both.classes[0].unique == one.classes[0].unique);
    BOOST_TEST(both.classes[0].latency.quantile_ns(0.5) == one.classes[0].latency.quantile_ns(0.5));
    BOOST_TEST(both.l4_flags.unknown == one.l4_flags.unknown);
}

BOOST_AUTO_TEST_SUITE_END()
