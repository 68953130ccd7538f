#include "dataplane/search/throughput.h"

#include <boost/test/unit_test.hpp>

#include "tests/search/simulated_device.h"

using namespace pathproof;
using namespace pathproof::search;

namespace {

ThroughputResult find(SimulatedDevice& device, const ThroughputPlan& plan) {
    Trials trials(device, device.budget());
    auto result = find_throughput(plan, trials);
    BOOST_REQUIRE_MESSAGE(result, result.error().message);
    return *result;
}

}  // namespace

BOOST_AUTO_TEST_CASE(binary_search_finds_the_capacity_within_the_width_and_the_time_announced) {
    for (const double max_load : {1.3e6, 14.88e6, 148.8e6}) {
        SimulatedDevice device(step_loss);
        const ThroughputPlan plan{.max_load_pps = max_load};
        const ThroughputResult result = find(device, plan);
        BOOST_REQUIRE(result.passed && result.failed);
        BOOST_TEST(result.throughput_pps() <= kCapacity);
        BOOST_TEST(result.failed->load_pps > kCapacity);
        BOOST_TEST(result.throughput_pps() >= result.failed->load_pps * (1 - 0.005));
        BOOST_TEST(result.conclusive());
        BOOST_TEST(device.elapsed_seconds() <= seconds(longest_time(plan)));
    }
}

BOOST_AUTO_TEST_CASE(a_greatest_load_that_passes_is_said_and_costs_one_trial) {
    SimulatedDevice device(step_loss);
    const ThroughputResult result = find(device, {.max_load_pps = 1e6});
    BOOST_TEST(result.max_load_passes);
    BOOST_TEST(result.throughput_pps() == 1e6);
    BOOST_TEST(!result.failed);
    BOOST_TEST(!result.conclusive());
    BOOST_TEST(device.trials() == 1);
}

BOOST_AUTO_TEST_CASE(a_least_load_that_fails_ends_the_search) {
    SimulatedDevice device([](const Moment&) { return 0.1; });
    const ThroughputResult result = find(device, {.max_load_pps = 1e6});
    BOOST_TEST(!result.passed);
    BOOST_TEST(result.throughput_pps() == 0);
    BOOST_TEST(!result.conclusive());
    BOOST_TEST(device.trials() == 2);
}

// ETSI GS NFV-TST 009, 12.3.3.
BOOST_AUTO_TEST_CASE(loss_verification_forgives_loss_that_does_not_come_again) {
    const auto every_third = [n = 0](const Moment& moment) mutable {
        return step_loss(moment) + (++n % 3 == 0 ? 0.001 : 0);
    };
    SimulatedDevice strict(every_third);
    const ThroughputResult once = find(strict, {.max_load_pps = 10e6, .attempts = 1});
    BOOST_TEST(once.throughput_pps() < 0.95 * kCapacity);
    SimulatedDevice verified(every_third);
    const ThroughputResult twice = find(verified, {.max_load_pps = 10e6, .attempts = 2});
    BOOST_TEST(twice.throughput_pps() > 0.99 * kCapacity);
    BOOST_TEST(twice.throughput_pps() <= kCapacity);
}

BOOST_AUTO_TEST_CASE(a_binary_search_limited_by_the_tester_is_inconclusive) {
    SimulatedDevice device(step_loss);
    device.tester_pps = 1e6;
    const ThroughputResult result = find(device, {.max_load_pps = 10e6});
    BOOST_TEST((result.limit == Limit::kTester));
    BOOST_TEST(result.throughput_pps() <= 1e6);
    BOOST_TEST(!result.conclusive());
}

BOOST_AUTO_TEST_CASE(a_binary_search_out_of_time_keeps_its_bounds) {
    SimulatedDevice device(step_loss);
    Budget budget = device.budget();
    budget.time = std::chrono::seconds(60 * 5);
    Trials trials(device, budget);
    const ThroughputResult result = find_throughput({.max_load_pps = 10e6}, trials).value();
    BOOST_TEST((result.ending == Ending::kOutOfTime));
    BOOST_TEST(result.passed.has_value());
    BOOST_TEST(result.failed.has_value());
    BOOST_TEST(!result.conclusive());
}

BOOST_AUTO_TEST_CASE(throughput_plans_that_make_no_sense_are_refused) {
    for (const ThroughputPlan& plan :
         {ThroughputPlan{.max_load_pps = 10},
          ThroughputPlan{.max_load_pps = 1e6, .relative_width = 0},
          ThroughputPlan{.max_load_pps = 1e6, .loss_ratio = 1},
          ThroughputPlan{.max_load_pps = 1e6, .attempts = 0},
          ThroughputPlan{.max_load_pps = 1e6, .trial_duration = Nanoseconds(0)}}) {
        SimulatedDevice device(step_loss);
        Trials trials(device, device.budget());
        const auto result = find_throughput(plan, trials);
        BOOST_TEST((!result && result.error().code == ErrorCode::kBadInput));
        BOOST_TEST(device.trials() == 0);
    }
}
