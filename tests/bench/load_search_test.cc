#include "harness/bench/load/load_search.h"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>
#include <vector>

using namespace pathproof;
using namespace pathproof::bench;
using namespace std::chrono_literals;

namespace {

constexpr double kFastest = 2e6;

// A device that loses what is above `rate`, and in trials of full length `share` of all frames at
// rates above `whole_below`.
struct Device {
    double rate = 1e6;
    double share = 0;
    double whole_below = 0;
    std::vector<double> long_trials{};  // their rates

    Result<load::TrialReport> run(double asked, std::chrono::nanoseconds length) {
        const double offered = asked == 0 ? kFastest : asked;
        const double seconds = std::chrono::duration<double>(length).count();
        double arrived = std::min(offered, rate) * seconds;
        if (length >= 1s) {
            long_trials.push_back(asked);
            arrived *= offered > whole_below ? 1 - share : 1;
        }
        load::TrialReport report;
        report.sent = static_cast<std::uint64_t>(offered * seconds);
        report.sending_seconds = seconds;
        report.achieved_pps = offered;
        report.intake.classes[0].unique =
            std::min(report.sent, static_cast<std::uint64_t>(std::llround(arrived)));
        return report;
    }

    Result<FoundRate> search() {
        return search_without_loss([this](double asked, auto length) { return run(asked, length); },
                                   1s);
    }
};

double found_rate(const Result<FoundRate>& found) {
    BOOST_REQUIRE_MESSAGE(found, (found ? "" : found.error().message));
    return found->report.achieved_pps;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(load_search)

BOOST_AUTO_TEST_CASE(the_highest_rate_without_loss_is_found_to_a_hundredth) {
    Device device;
    const auto found = device.search();
    BOOST_TEST(found_rate(found) > 0.98e6);
    BOOST_TEST(found_rate(found) <= 1e6);
    BOOST_TEST(found->report.missing() == 0U);
    BOOST_TEST(found->loss_bound == 0);
    BOOST_TEST(device.long_trials.size() == 1U);
}

BOOST_AUTO_TEST_CASE(a_device_that_loses_nothing_is_measured_at_its_ends_of_speed) {
    Device device{.rate = 4e6};
    BOOST_TEST(found_rate(device.search()) > 1.97e6);
}

BOOST_AUTO_TEST_CASE(a_longer_trial_that_loses_something_lowers_the_rate_by_small_steps) {
    Device device{.share = 0.01, .whole_below = 0.8e6};
    const auto found = device.search();
    BOOST_TEST(found_rate(found) < 0.8e6);
    BOOST_TEST(found_rate(found) > 0.75e6);
    BOOST_TEST(found->loss_bound == 0);
}

BOOST_AUTO_TEST_CASE(far_below_the_rate_of_short_trials_it_is_still_looked_for) {
    Device device{.share = 0.01, .whole_below = 2'000};
    const auto found = device.search();
    BOOST_TEST(found_rate(found) <= 2'000);
    BOOST_TEST(found->report.missing() == 0U);
    BOOST_TEST(device.long_trials.size() < 30U);
}

BOOST_AUTO_TEST_CASE(where_no_rate_is_whole_the_highest_within_the_bound_counts_and_says_so) {
    Device device{.share = 0.5 * kLossBound};
    // Even a thousand frames lose one: the device keeps one back in each trial.
    const auto found = search_without_loss(
        [&](double asked, auto length) {
            auto report = device.run(asked, length);
            report->intake.classes[0].unique -= length >= 1s ? 1 : 0;
            return report;
        },
        1s);
    BOOST_TEST(found_rate(found) > 0.98e6);
    BOOST_TEST(found->loss_bound == kLossBound);
    BOOST_TEST(found->report.missing() > 0U);
    BOOST_TEST(device.long_trials.back() == 1'000);
}

BOOST_AUTO_TEST_CASE(a_device_that_always_loses_much_gives_no_rate_but_the_least_loss) {
    Device device{.share = 0.25};
    const auto found = device.search();
    BOOST_REQUIRE(!found);
    BOOST_TEST(found.error().message.find("no rate down to 1000/s came back whole") == 0U);
    const std::string& said = found.error().message;
    BOOST_TEST(said.find("the least loss was 2") != std::string::npos, said);
}

BOOST_AUTO_TEST_CASE(a_trial_that_cannot_be_run_ends_the_search) {
    const auto found = search_without_loss(
        [](double, auto) {
            return Result<load::TrialReport>(fail(ErrorCode::kFailed, "the port is gone"));
        },
        1s);
    BOOST_REQUIRE(!found);
    BOOST_TEST(found.error().message == "the port is gone");
}

BOOST_AUTO_TEST_SUITE_END()
