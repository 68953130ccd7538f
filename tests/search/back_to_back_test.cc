#include "dataplane/search/back_to_back.h"

#include <boost/test/unit_test.hpp>

#include "tests/search/simulated_device.h"

using namespace pathproof;
using namespace pathproof::search;
namespace tt = boost::test_tools;

namespace {

// Forwards `rate` frames per second of a burst that comes at `burst_rate`, and holds `buffer`.
struct Buffered : Measurer {
    double rate = 1e6;
    double burst_rate = 4e6;
    std::uint64_t buffer = 1000;
    std::uint64_t bursts = 0;

    Result<TrialOutput> measure(const TrialInput& input) override {
        ++bursts;
        const double taken = static_cast<double>(input.frames);
        const double held = taken - taken * rate / burst_rate;
        const double over = held - static_cast<double>(buffer + extra());
        TrialOutput output{.input = input, .offered_pps = burst_rate, .sent = input.frames};
        output.lost = over > 0 ? static_cast<std::uint64_t>(std::ceil(over)) : 0;
        return output;
    }
    virtual std::uint64_t extra() { return 0; }
};

BurstResult find(Measurer& device, const BurstPlan& plan) {
    Trials trials(device, {.time = std::chrono::hours(1)});
    auto result = find_longest_burst(plan, trials, [](Nanoseconds) {});
    BOOST_REQUIRE_MESSAGE(result, result.error().message);
    return *result;
}

}  // namespace

BOOST_AUTO_TEST_CASE(the_longest_burst_fills_the_buffer_and_no_more) {
    Buffered device;
    const BurstResult result = find(device, {.longest = 1'000'000, .tests = 5});
    BOOST_REQUIRE(result.tests.size() == 5);
    // A quarter of a burst is forwarded while it comes: 1000 frames of buffer hold 1333.
    for (const BurstTest& test : result.tests) {
        BOOST_TEST(test.frames == 1333);
    }
    BOOST_TEST(result.standard_deviation == 0);
    BOOST_TEST(result.conclusive());
}

// RFC 9004, 6.4.
BOOST_AUTO_TEST_CASE(the_corrected_buffer_time_takes_off_what_was_forwarded_meanwhile) {
    Buffered device;
    const BurstResult result =
        find(device, {.measured_throughput = 1e6, .longest = 1'000'000, .tests = 2});
    BOOST_TEST(result.burst_pps == 4e6, tt::tolerance(1e-9));
    BOOST_TEST(result.implied_buffer_seconds == 1333 / 4e6, tt::tolerance(1e-9));
    BOOST_TEST(result.corrected_buffer_seconds == 1333 / 4e6 * 0.75, tt::tolerance(1e-9));
    // The corrected time is the time in which the medium fills the buffer.
    BOOST_TEST(result.corrected_buffer_seconds == 1000 / 4e6, tt::tolerance(1e-3));
}

BOOST_AUTO_TEST_CASE(average_spread_and_extremes_are_over_the_tests) {
    struct Wavering : Buffered {
        std::uint64_t extra() override { return wide ? 300 : 0; }
        bool wide = false;
    } device;
    BurstResult result;
    // Without loss verification each burst has one answer.
    Trials trials(device, {.time = std::chrono::hours(1)}, [&](const TrialOutput& trial) {
        device.wide ^= trial.input.frames == 1'000'000;
    });
    result = find_longest_burst({.longest = 1'000'000, .attempts = 1, .tests = 4}, trials,
                                [](Nanoseconds) {})
                 .value();
    BOOST_TEST(result.min == 1333);
    BOOST_TEST(result.max == 1733);
    BOOST_TEST(result.average == 1533);
    // Two of 200 below and two of 200 above: the square root of 4 * 200^2 / 3.
    BOOST_TEST(result.standard_deviation == 230.94, tt::tolerance(1e-4));
}

BOOST_AUTO_TEST_CASE(loss_that_does_not_come_again_does_not_shorten_the_burst) {
    struct Hiccup : Buffered {
        Result<TrialOutput> measure(const TrialInput& input) override {
            auto output = Buffered::measure(input);
            output->lost += bursts % 2 == 1 ? 1 : 0;
            return output;
        }
    } device;
    BOOST_TEST(find(device, {.longest = 1 << 20, .attempts = 2, .tests = 3}).max == 1333);
    Hiccup strict;
    BOOST_TEST(find(strict, {.longest = 1 << 20, .attempts = 1, .tests = 3}).min < 1333);
}

BOOST_AUTO_TEST_CASE(a_device_that_holds_the_longest_burst_is_not_conclusive) {
    Buffered device;
    device.rate = device.burst_rate;
    const BurstResult result = find(device, {.longest = 5000, .tests = 2});
    BOOST_TEST(result.saturated);
    BOOST_TEST(result.average == 5000);
    BOOST_TEST(!result.conclusive());
}

BOOST_AUTO_TEST_CASE(the_buffers_get_their_idle_time_before_every_burst) {
    Buffered device;
    Trials trials(device, {.time = std::chrono::hours(1)});
    std::uint64_t pauses = 0;
    const BurstPlan plan{.longest = 10'000, .tests = 2, .idle = std::chrono::milliseconds(7)};
    BOOST_TEST(find_longest_burst(plan, trials, [&](Nanoseconds idle) {
                   BOOST_TEST((idle == plan.idle));
                   ++pauses;
               }).has_value());
    BOOST_TEST(pauses == device.bursts);
}

BOOST_AUTO_TEST_CASE(bursts_stopped_on_the_way_keep_the_tests_that_ended) {
    Buffered device;
    std::atomic<bool> stop = false;
    Trials trials(device, {.time = std::chrono::hours(1), .stop = &stop},
                  [&](const TrialOutput&) { stop = device.bursts == 70; });
    const BurstResult result =
        find_longest_burst({.longest = 1 << 20, .attempts = 1}, trials, [](Nanoseconds) {}).value();
    BOOST_TEST((result.ending == Ending::kStopped));
    BOOST_TEST(result.tests.size() == 3);
    BOOST_TEST(!result.conclusive());
}

BOOST_AUTO_TEST_CASE(burst_plans_that_make_no_sense_are_refused) {
    for (const BurstPlan& plan : {BurstPlan{.longest = 1}, BurstPlan{.resolution = 0},
                                  BurstPlan{.attempts = 0}, BurstPlan{.tests = 0}}) {
        Buffered device;
        Trials trials(device);
        BOOST_TEST(!find_longest_burst(plan, trials, [](Nanoseconds) {}));
        BOOST_TEST(device.bursts == 0);
    }
}
