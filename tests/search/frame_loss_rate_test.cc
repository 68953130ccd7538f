#include "dataplane/search/frame_loss_rate.h"

#include <boost/test/unit_test.hpp>

#include "tests/search/simulated_device.h"

using namespace pathproof;
using namespace pathproof::search;

BOOST_AUTO_TEST_CASE(the_curve_goes_down_until_two_loads_lose_nothing) {
    SimulatedDevice device(step_loss);
    Trials trials(device, device.budget());
    const LossCurve curve = measure_loss_curve({.max_load_pps = 2e6}, trials).value();
    // 100, 90, 80 and 70 % of two million are above the capacity, 60 and 50 % below it.
    BOOST_REQUIRE(curve.points.size() == 6);
    for (std::size_t n = 0; n < 6; ++n) {
        const double load = 2e6 * (1 - 0.1 * static_cast<double>(n));
        BOOST_TEST(curve.points[n].load_pps == load, boost::test_tools::tolerance(1e-9));
        BOOST_TEST(std::abs(curve.points[n].loss_ratio - step_loss({.load_pps = load})) < 1e-6);
    }
    BOOST_TEST(curve.clean_end);
    BOOST_TEST(curve.monotone);
    BOOST_TEST(curve.conclusive());
}

BOOST_AUTO_TEST_CASE(one_clean_load_between_lossy_ones_does_not_end_the_curve) {
    SimulatedDevice device([](const Moment& moment) {
        const bool clean = moment.load_pps > 850 && moment.load_pps < 950;
        return clean || moment.load_pps < 550 ? 0.0 : 0.1;
    });
    Trials trials(device, device.budget());
    const LossCurve curve = measure_loss_curve({.max_load_pps = 1000}, trials).value();
    BOOST_TEST(curve.points.size() == 7);
    BOOST_TEST(curve.clean_end);
    BOOST_TEST(!curve.monotone);
}

BOOST_AUTO_TEST_CASE(a_curve_that_never_gets_clean_ends_at_the_last_step_and_says_so) {
    SimulatedDevice device([](const Moment&) { return 0.01; });
    Trials trials(device, device.budget());
    const LossCurvePlan plan{.max_load_pps = 1e6, .step = 0.05};
    const LossCurve curve = measure_loss_curve(plan, trials).value();
    BOOST_TEST(curve.points.size() == 20);
    BOOST_TEST(!curve.clean_end);
    BOOST_TEST(!curve.conclusive());
    BOOST_TEST(device.elapsed_seconds() == seconds(longest_time(plan)));
}

BOOST_AUTO_TEST_CASE(points_that_the_tester_limited_are_marked) {
    SimulatedDevice device([](const Moment&) { return 0.0; });
    device.tester_pps = 0.75e6;
    Trials trials(device, device.budget());
    const LossCurve curve = measure_loss_curve({.max_load_pps = 1e6}, trials).value();
    BOOST_REQUIRE(curve.points.size() == 5);
    BOOST_TEST(curve.points[2].tester_limited);
    BOOST_TEST(!curve.points[3].tester_limited);
    BOOST_TEST(curve.clean_end);
    BOOST_TEST(!curve.conclusive());
}

BOOST_AUTO_TEST_CASE(steps_coarser_than_the_rfc_allows_are_refused) {
    SimulatedDevice device(step_loss);
    Trials trials(device, device.budget());
    for (const double step : {0.0, -0.1, 0.2, 1.0}) {
        BOOST_TEST(!measure_loss_curve({.max_load_pps = 1e6, .step = step}, trials));
    }
    BOOST_TEST(!measure_loss_curve({.max_load_pps = 0}, trials));
    BOOST_TEST(device.trials() == 0);
}
