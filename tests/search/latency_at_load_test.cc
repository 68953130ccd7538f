#include "dataplane/search/latency_at_load.h"

#include <boost/test/unit_test.hpp>

#include "tests/search/simulated_device.h"

using namespace pathproof;
using namespace pathproof::search;

namespace {

// A device whose latency grows with the load; the n-th trial is n microseconds slower.
class Queueing : public Measurer {
  public:
    Result<TrialOutput> measure(const TrialInput& input) override {
        TrialOutput output{.input = input, .sent = 1000, .lost = lost};
        const auto base = static_cast<std::int64_t>(input.load_pps) * 10 + 1000 * trials_++;
        for (int n = 0; n < 1000; ++n) {
            output.latency.add(base + n);
        }
        return output;
    }
    std::uint64_t lost = 0;

  private:
    std::int64_t trials_ = 0;
};

}  // namespace

BOOST_AUTO_TEST_CASE(loaded_latency_is_asked_at_ten_fifty_and_ninety_percent) {
    const auto points = shares_of(1'000'000, "PDR");
    BOOST_REQUIRE(points.size() == 3);
    BOOST_TEST(points[0].load_pps == 100'000);
    BOOST_TEST(points[1].load_pps == 500'000);
    BOOST_TEST(points[2].load_pps == 900'000);
    BOOST_TEST(points[2].label == "90 % of PDR");
}

BOOST_AUTO_TEST_CASE(latency_is_the_average_over_the_trials_of_each_point) {
    Queueing device;
    Trials trials(device, {.time = std::chrono::hours(1)});
    const LatencyPlan plan{.points = shares_of(10'000, "PDR"),
                           .trial_duration = std::chrono::seconds(1),
                           .repeats = 3};
    const LatencyResult result = measure_latency(plan, trials).value();
    BOOST_REQUIRE(result.points.size() == 3);
    for (std::size_t n = 0; n < 3; ++n) {
        const LatencyPoint& point = result.points[n];
        BOOST_TEST(point.trials == 3);
        BOOST_TEST(point.frames == 3000);
        // Trials 3n, 3n + 1 and 3n + 2: on average 3n + 1 microseconds above that of the load.
        const double base = point.point.load_pps * 10 + 1000 * (3 * static_cast<double>(n) + 1);
        BOOST_TEST(point.average.min == base);
        BOOST_TEST(point.average.max == base + 999);
        BOOST_TEST(std::abs(point.average.p50 - (base + 500)) < 0.016 * base + 100);
    }
}

BOOST_AUTO_TEST_CASE(loss_and_objections_stay_with_the_latency) {
    Queueing device;
    device.lost = 10;
    Trials trials(device, {.time = std::chrono::hours(1)});
    const LatencyPlan plan{
        .points = {{"throughput", 1000}}, .trial_duration = std::chrono::seconds(1), .repeats = 2};
    const LatencyResult result = measure_latency(plan, trials).value();
    BOOST_TEST(result.points.at(0).loss_ratio == 0.01);
    BOOST_TEST(!result.points.at(0).doubtful);
}

BOOST_AUTO_TEST_CASE(points_that_time_did_not_allow_are_left_out) {
    SimulatedDevice device(step_loss);
    Budget budget = device.budget();
    budget.time = std::chrono::seconds(250);
    Trials trials(device, budget);
    const LatencyResult result =
        measure_latency({.points = shares_of(1e6, "PDR"), .repeats = 1}, trials).value();
    BOOST_TEST(result.points.size() == 2);
    BOOST_TEST((result.ending == Ending::kOutOfTime));
}
