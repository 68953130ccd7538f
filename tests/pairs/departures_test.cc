#include "dataplane/pairs/departures.h"

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(departures)

using namespace pathproof::pairs;

BOOST_AUTO_TEST_CASE(departures_are_summed_up_exactly) {
    const std::vector<std::int64_t> deadlines = {0, 0, 100'000, 100'000, 200'000, 200'000};
    const std::vector<std::int64_t> sent = {5, 25, 110'001, 109'901, kNeverSent, 200'000};
    const auto summary = summarize_departures(sent, deadlines, 1);
    BOOST_TEST(summary.sent == 5u);
    BOOST_TEST(summary.refused == 1u);
    BOOST_TEST(summary.late == 1u);
    BOOST_TEST(summary.worst_late_ns == 10'001);
    BOOST_TEST(summary.skew_p50_ns == -100);
    BOOST_TEST(summary.skew_p99_ns == 20);
}

BOOST_AUTO_TEST_CASE(each_query_is_due_by_its_plan) {
    PairPlan plan;
    plan.pairs_per_second = 3;
    const std::vector<std::int64_t> sent = {1'000, 1'000, kNeverSent, kNeverSent};
    plan.departure = Departure::kOneBurst;
    BOOST_TEST((deadlines(plan, 700, sent) ==
                std::vector<std::int64_t>{700, 700, 333'334'033, 333'334'033}));
    plan.departure = Departure::kTwoPorts;
    plan.skew = Nanoseconds(-200);
    BOOST_TEST((deadlines(plan, 700, sent) ==
                std::vector<std::int64_t>{700, 500, 333'334'033, 333'333'833}));
    plan.departure = Departure::kInTurn;
    plan.skew = Nanoseconds(5'000);
    // The second packet is due behind the departure of the first, or behind its deadline where the
    // first never left.
    BOOST_TEST((deadlines(plan, 700, sent) ==
                std::vector<std::int64_t>{700, 6'000, 333'334'033, 333'339'033}));
}

BOOST_AUTO_TEST_SUITE_END()
