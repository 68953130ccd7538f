#include "dataplane/pairs/pair_intake.h"

#include <rte_mbuf.h>

#include <boost/test/unit_test.hpp>
#include <cstring>

#include "dataplane/pairs/query_frames.h"
#include "tests/pairs/middle.h"

BOOST_AUTO_TEST_SUITE(pair_intake)

using namespace pathproof;
using namespace pathproof::pairs;

BOOST_AUTO_TEST_CASE(what_is_kept_names_the_port_of_the_tester) {
    const PairPlan plan = small_plan();
    const PairBook book = PairBook::make(plan).value();
    judge::Ledger ledger(book, plan.service, std::nullopt);
    PairIntake intake({4, 7}, ledger, judge::Intake({}, 8), 8);
    Frame bad = traffic::query_frame(traffic::plain_spec(), frame::kDnsTypeA);
    bad.back() ^= 1;
    rte_mbuf* mbuf = rte_pktmbuf_alloc(ring_ports()[0].pool());
    BOOST_REQUIRE(mbuf != nullptr);
    std::memcpy(rte_pktmbuf_append(mbuf, static_cast<std::uint16_t>(bad.size())), bad.data(),
                bad.size());
    intake.take({&mbuf, 1}, 1, 500);
    rte_pktmbuf_free(mbuf);
    const std::vector<judge::KeptFrame> kept = intake.intake().take_bad_frames();
    BOOST_REQUIRE(kept.size() == 1u);
    BOOST_TEST(kept[0].port == 7u);
    BOOST_TEST(kept[0].time_ns == 500);
    BOOST_TEST((kept[0].bytes == bad));
    BOOST_TEST(intake.received().received == 1u);
    BOOST_TEST(intake.arrived() == 0u);
}

BOOST_AUTO_TEST_SUITE_END()
