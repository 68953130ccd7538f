#include "dataplane/search/mlrsearch.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>

#include "tests/search/simulated_device.h"

using namespace pathproof;
using namespace pathproof::search;

namespace {

MlrPlan plan_of(const std::vector<std::string>& goals, double max_load = 10e6) {
    MlrPlan plan{.min_load_pps = 1000, .max_load_pps = max_load};
    for (const std::string& goal : goals) {
        plan.goals.push_back(preset(goal).value());
    }
    return plan;
}

struct Found {
    MlrResult result;
    std::size_t trials = 0;
    double seconds = 0;
    std::vector<double> loads;

    const GoalResult& goal(std::size_t n = 0) const { return result.goals.at(n); }
};

Found search_on(SimulatedDevice& device, const MlrPlan& plan) {
    Trials trials(device, device.budget());
    auto result = mlr_search(plan, trials);
    BOOST_REQUIRE_MESSAGE(result, result.error().message);
    return {*result, device.trials(), device.elapsed_seconds(), device.loads};
}

Found search_on(const LossFunction& loss, const MlrPlan& plan, std::uint64_t seed = 1) {
    SimulatedDevice device(loss, seed);
    return search_on(device, plan);
}

void check_width(const GoalResult& goal) {
    BOOST_REQUIRE(goal.lower && goal.upper);
    const double high = goal.upper->load_pps;
    BOOST_TEST(goal.lower->load_pps < high);
    BOOST_TEST((high - goal.lower->load_pps) / high <= goal.goal.relative_width);
}

void check_holds(const GoalResult& goal, double truth) {
    check_width(goal);
    BOOST_TEST(goal.lower->load_pps <= truth);
    BOOST_TEST(goal.upper->load_pps >= truth);
}

bool has(const GoalResult& goal, Irregularity wanted) {
    return std::count(goal.irregularities.begin(), goal.irregularities.end(), wanted) == 1;
}

const std::vector<std::vector<std::string>> kGoalSets = {
    {"ndr"}, {"pdr"}, {"ndr", "pdr"}, {"rfc2544"}, {"tst009"}, {"rfc2544", "tst009", "ndr", "pdr"}};

}  // namespace

BOOST_AUTO_TEST_CASE(bounds_contain_the_capacity_of_a_device_with_a_step) {
    for (const auto& goals : kGoalSets) {
        for (const double max_load : {1.3e6, 2e6, 10e6, 148.8e6}) {
            const Found found = search_on(step_loss, plan_of(goals, max_load));
            for (const GoalResult& goal : found.result.goals) {
                BOOST_TEST_CONTEXT(goal.goal.name << " up to " << max_load) {
                    // At a load of C / (1 - r) the device loses the share r.
                    check_holds(goal, kCapacity / (1 - goal.goal.criteria.loss_ratio));
                    BOOST_TEST(goal.conclusive());
                    BOOST_TEST((goal.limit == Limit::kDevice));
                    BOOST_TEST(!goal.passes_again_pps);
                }
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(bounds_of_a_sloped_device_differ_by_goal_and_contain_each_truth) {
    for (const double max_load : {2e6, 10e6, 148.8e6}) {
        const Found found = search_on(sloped_loss, plan_of({"ndr", "pdr"}, max_load));
        // A load just above the knee loses less than half a frame of a trial.
        check_width(found.goal(0));
        BOOST_TEST(found.goal(0).upper->load_pps > sloped_load_at(0));
        BOOST_TEST(found.goal(0).lower->load_pps <= sloped_load_at(1e-6));
        check_holds(found.goal(1), sloped_load_at(0.005));
        BOOST_TEST(found.goal(0).conclusive());
        BOOST_TEST(found.goal(1).conclusive());
    }
}

BOOST_AUTO_TEST_CASE(conditional_throughput_is_what_the_lower_bound_forwards) {
    const Found found = search_on(sloped_loss, plan_of({"pdr"}));
    const double load = found.goal().lower->load_pps;
    const double loss = sloped_loss({.load_pps = load});
    BOOST_TEST(found.goal().conditional_throughput_pps == load * (1 - loss),
               boost::test_tools::tolerance(1e-5));
    BOOST_TEST(found.goal().conditional_throughput_pps < load);
}

BOOST_AUTO_TEST_CASE(bounds_and_conditional_throughput_tell_what_was_really_offered) {
    SimulatedDevice device(sloped_loss);
    device.short_by = 0.004;
    const Found found = search_on(device, plan_of({"ndr", "pdr"}));
    for (const GoalResult& goal : found.result.goals) {
        BOOST_TEST(goal.conclusive());
        for (const auto& bound : {goal.lower, goal.upper}) {
            BOOST_TEST(bound->offered_pps == 0.996 * bound->load_pps,
                       boost::test_tools::tolerance(1e-9));
        }
    }
    const Bound& lower = *found.goal(1).lower;
    BOOST_TEST(found.goal(1).conditional_throughput_pps ==
                   lower.offered_pps * (1 - sloped_loss({.load_pps = lower.load_pps})),
               boost::test_tools::tolerance(1e-5));
}

// The numbers of trials and their seconds that FD.io CSIT's MLRsearch library (version of July
// 2026, least load 1000, no warm-up) needs on these devices with the same goals.
struct Anchor {
    std::vector<std::string> goals;
    double max_load;
    double (*loss)(const Moment&);
    double trials;
    double seconds;
};
const std::vector<Anchor> kAnchors = {
    {{"ndr"}, 2e6, step_loss, 27, 27},
    {{"ndr"}, 10e6, sloped_loss, 29, 29},
    {{"ndr"}, 148.8e6, sloped_loss, 42, 42},
    {{"pdr"}, 10e6, step_loss, 27, 27},
    {{"pdr"}, 148.8e6, sloped_loss, 42, 42},
    {{"ndr", "pdr"}, 2e6, step_loss, 35, 35},
    {{"ndr", "pdr"}, 2e6, sloped_loss, 59, 59},
    {{"ndr", "pdr"}, 10e6, sloped_loss, 57, 57},
    {{"ndr", "pdr"}, 148.8e6, step_loss, 35, 35},
    {{"ndr", "pdr"}, 148.8e6, sloped_loss, 68, 68},
    {{"rfc2544"}, 2e6, step_loss, 7, 138.5},
    {{"rfc2544"}, 2e6, sloped_loss, 12, 136.7},
    {{"tst009"}, 10e6, step_loss, 8, 204.9},
    {{"tst009"}, 2e6, sloped_loss, 14, 210.9},
    {{"rfc2544", "ndr", "pdr"}, 2e6, sloped_loss, 38, 162.7},
    {{"rfc2544", "ndr", "pdr"}, 148.8e6, step_loss, 10, 141.5},
};

BOOST_AUTO_TEST_CASE(a_search_needs_at_most_a_fifth_more_than_csits) {
    for (const Anchor& anchor : kAnchors) {
        MlrPlan plan = plan_of(anchor.goals, anchor.max_load);
        plan.closing_trials = 0;  // CSIT's has none
        const Found found = search_on(anchor.loss, plan);
        BOOST_TEST_CONTEXT(anchor.goals.front()
                           << " of " << anchor.goals.size() << " up to " << anchor.max_load) {
            BOOST_TEST(static_cast<double>(found.trials) <= 1.2 * anchor.trials);
            BOOST_TEST(found.seconds <= 1.2 * anchor.seconds);
        }
    }
}

// 20 seeds of the noisy device took CSIT's library 83.7, 74.8 and 88.8 trials on average.
BOOST_AUTO_TEST_CASE(noise_costs_no_more_than_it_costs_csit) {
    const std::vector<std::pair<double, double>> anchors = {
        {2e6, 83.7}, {10e6, 74.75}, {148.8e6, 88.75}};
    for (const auto& [max_load, csit] : anchors) {
        double trials = 0;
        for (std::uint64_t seed = 0; seed < 20; ++seed) {
            MlrPlan plan = plan_of({"ndr"}, max_load);
            plan.closing_trials = 0;
            trials += static_cast<double>(search_on(noisy_loss, plan, seed).trials) / 20;
        }
        BOOST_TEST(trials <= 1.2 * csit);
    }
}

BOOST_AUTO_TEST_CASE(bounds_of_a_noisy_device_lie_where_half_of_its_trials_lose) {
    unsigned near = 0;
    constexpr unsigned kSeeds = 50;
    for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
        const Found found = search_on(noisy_loss, plan_of({"ndr"}), seed);
        check_width(found.goal());
        const double middle = (found.goal().lower->load_pps + found.goal().upper->load_pps) / 2;
        near += std::abs(middle / noisy_load_at_half() - 1) < 0.05 ? 1 : 0;
    }
    // 11 of 21 trials decide a load. 5 % away from the middle 34 or 60 % of the trials lose: with
    // that chance a load is misjudged in 6 or 18 % of the cases, and a search meets several loads.
    BOOST_TEST(near >= kSeeds * 8 / 10);
}

BOOST_AUTO_TEST_CASE(the_same_seed_gives_the_same_search) {
    const Found once = search_on(noisy_loss, plan_of({"ndr", "pdr"}), 7);
    const Found again = search_on(noisy_loss, plan_of({"ndr", "pdr"}), 7);
    const Found other = search_on(noisy_loss, plan_of({"ndr", "pdr"}), 8);
    BOOST_TEST(once.loads == again.loads, boost::test_tools::per_element());
    BOOST_TEST((once.loads != other.loads));
}

// A buffer hides an overload for its first seconds: short trials pass, long ones do not.
BOOST_AUTO_TEST_CASE(loss_that_comes_only_after_some_seconds_is_found_by_full_length_trials) {
    const auto buffered = [](const Moment& moment) {
        constexpr double kBuffer = 2e6;  // frames
        const double excess = (moment.load_pps - kCapacity) * moment.duration_s - kBuffer;
        return std::max(0.0, excess / (moment.load_pps * moment.duration_s));
    };
    // A trial of 60 s passes up to 2e6 / 60 frames per second beyond the capacity, one of 1 s up to
    // 2e6 beyond.
    check_holds(search_on(buffered, plan_of({"rfc2544"}, 5e6)).goal(), kCapacity + 2e6 / 60);
    check_holds(search_on(buffered, plan_of({"ndr"}, 5e6)).goal(), kCapacity + 2e6);
}

// Whenever it happens, the result is either that of the slower device or not a regular one.
BOOST_AUTO_TEST_CASE(a_device_that_gets_slower_during_the_search_is_never_overrated) {
    unsigned caught = 0;
    const Found steady = search_on(step_loss, plan_of({"ndr"}));
    BOOST_TEST(steady.goal().closing_run == 1);
    BOOST_TEST(steady.goal().closing_failed == 0);
    for (double when = 0; when < steady.seconds; when += 1) {
        const auto tiring = [when](const Moment& moment) {
            const double capacity = kCapacity * (moment.at_s < when ? 1 : 0.7);
            return std::max(0.0, 1 - capacity / moment.load_pps);
        };
        const GoalResult goal = search_on(tiring, plan_of({"ndr"})).goal();
        BOOST_TEST((!goal.conclusive() || goal.lower->load_pps <= 0.7 * kCapacity));
        caught += has(goal, Irregularity::kDidNotHold) ? 1 : 0;
    }
    BOOST_TEST(caught > 0);
}

BOOST_AUTO_TEST_CASE(a_goal_that_allows_no_loss_does_not_hold_after_one_failed_trial_at_the_end) {
    const auto late = [](const Moment& moment) {
        const double capacity = kCapacity * (moment.at_s < 130 ? 1 : 0.9);
        return std::max(0.0, 1 - capacity / moment.load_pps);
    };
    const Found found = search_on(late, plan_of({"rfc2544"}));
    BOOST_TEST(has(found.goal(), Irregularity::kDidNotHold));
    BOOST_TEST(found.goal().closing_run == 1);
}

BOOST_AUTO_TEST_CASE(a_device_that_always_loses_gives_an_irregular_result) {
    const Found found = search_on([](const Moment&) { return 0.3; }, plan_of({"ndr", "pdr"}));
    for (const GoalResult& goal : found.result.goals) {
        BOOST_TEST(has(goal, Irregularity::kMinLoadFails));
        BOOST_TEST(!goal.lower);
        BOOST_REQUIRE(goal.upper.has_value());
        BOOST_TEST(goal.upper->load_pps == 1000);
        BOOST_TEST(goal.conditional_throughput_pps == 0);
        BOOST_TEST(!goal.conclusive());
    }
}

BOOST_AUTO_TEST_CASE(a_device_that_never_loses_gives_an_irregular_result) {
    const Found found = search_on([](const Moment&) { return 0.0; }, plan_of({"ndr", "pdr"}));
    for (const GoalResult& goal : found.result.goals) {
        BOOST_TEST(has(goal, Irregularity::kMaxLoadPasses));
        BOOST_TEST(!goal.upper);
        BOOST_REQUIRE(goal.lower.has_value());
        BOOST_TEST(goal.lower->load_pps == 10e6);
        BOOST_TEST((goal.limit == Limit::kNotFound));
        BOOST_TEST(!goal.conclusive());
    }
    BOOST_TEST(found.trials < 40);
}

BOOST_AUTO_TEST_CASE(the_tester_is_named_where_it_was_the_limit) {
    SimulatedDevice device([](const Moment&) { return 0.0; });
    device.tester_pps = 800'000;
    const Found found = search_on(device, plan_of({"ndr", "pdr"}));
    for (const GoalResult& goal : found.result.goals) {
        check_width(goal);
        BOOST_TEST((goal.limit == Limit::kTester));
        BOOST_TEST(!goal.conclusive());
        BOOST_TEST(goal.upper->tester_limited == goal.upper->trials);
    }
    BOOST_TEST(found.goal().lower->load_pps <= 800'000);
    // Frames that the tester did not offer at the loss goal's lower bound are no throughput.
    BOOST_TEST(found.goal(1).conditional_throughput_pps <= 800'000 * (1 + 1e-6));
    BOOST_TEST(found.goal(1).conditional_throughput_pps > 790'000);
    BOOST_TEST(found.goal().upper->load_pps >= 800'000);
}

BOOST_AUTO_TEST_CASE(a_tester_faster_than_the_device_is_not_blamed) {
    SimulatedDevice device(step_loss);
    device.tester_pps = 2e6;
    const Found found = search_on(device, plan_of({"ndr"}));
    check_holds(found.goal(), kCapacity);
    BOOST_TEST(found.goal().conclusive());
}

// Interrupt moderation may set in: below it a device loses what it carries above.
BOOST_AUTO_TEST_CASE(a_load_that_passes_above_the_upper_bound_is_reported) {
    const auto dip = [](const Moment& moment) {
        const bool inside = moment.load_pps > 700'000 && moment.load_pps < 1'100'000;
        return inside ? 0.02 : step_loss(moment);
    };
    const Found found = search_on(dip, plan_of({"ndr", "pdr"}, 1.2e6));
    bool reported = false;
    for (const GoalResult& goal : found.result.goals) {
        if (goal.upper && goal.upper->load_pps < 1'100'000) {
            reported |= goal.passes_again_pps.has_value() && *goal.passes_again_pps > 1'100'000;
        } else {
            BOOST_TEST(has(goal, Irregularity::kMaxLoadPasses));
            reported = true;
        }
    }
    BOOST_TEST(reported);
    // Found from below, the dip is the end: with a device that fails at the top too.
    const auto twice = [&](const Moment& moment) {
        if (moment.load_pps > 5e6) {
            return 0.5;
        }
        return moment.load_pps > 2e6 ? 0.0 : dip(moment);
    };
    const Found low = search_on(twice, plan_of({"ndr"}, 8e6));
    check_width(low.goal());
}

BOOST_AUTO_TEST_CASE(a_search_that_runs_out_of_time_gives_the_bounds_so_far) {
    SimulatedDevice device(step_loss);
    Budget budget = device.budget();
    budget.time = std::chrono::seconds(12);
    Trials trials(device, budget);
    const MlrResult result = mlr_search(plan_of({"ndr"}), trials).value();
    BOOST_TEST((result.ending == Ending::kOutOfTime));
    BOOST_TEST(device.elapsed_seconds() <= 12);
    BOOST_TEST(has(result.goals[0], Irregularity::kNotConverged));
    BOOST_TEST(!result.goals[0].conclusive());
}

BOOST_AUTO_TEST_CASE(a_search_that_is_stopped_at_once_has_no_bounds) {
    SimulatedDevice device(step_loss);
    const std::atomic<bool> stop = true;
    Budget budget = device.budget();
    budget.stop = &stop;
    Trials trials(device, budget);
    const MlrResult result = mlr_search(plan_of({"ndr"}), trials).value();
    BOOST_TEST((result.ending == Ending::kStopped));
    BOOST_TEST(!result.goals[0].lower);
    BOOST_TEST(!result.goals[0].upper);
    BOOST_TEST(has(result.goals[0], Irregularity::kNotConverged));
}

BOOST_AUTO_TEST_CASE(loads_stay_between_the_least_and_the_greatest) {
    const Found found = search_on(noisy_loss, plan_of({"rfc2544", "ndr", "pdr"}, 1.24e6), 3);
    for (const double load : found.loads) {
        BOOST_TEST(load >= 1000);
        BOOST_TEST(load <= 1.24e6);
    }
}

BOOST_AUTO_TEST_CASE(plans_that_cannot_be_searched_are_refused) {
    SimulatedDevice device(step_loss);
    Trials trials(device, device.budget());
    MlrPlan none = plan_of({});
    BOOST_TEST((mlr_search(none, trials).error().code == ErrorCode::kBadInput));
    MlrPlan upside_down = plan_of({"ndr"}, 500);
    BOOST_TEST((mlr_search(upside_down, trials).error().code == ErrorCode::kBadInput));
    MlrPlan bad_goal = plan_of({"ndr"});
    bad_goal.goals[0].criteria.loss_ratio = 2;
    BOOST_TEST((mlr_search(bad_goal, trials).error().code == ErrorCode::kBadInput));
    BOOST_TEST(device.trials() == 0);
}
