#include "dataplane/measure/shortfall.h"

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(shortfalls)

using namespace pathproof;
using namespace pathproof::measure;

namespace {

const search::TrialInput kTwoSeconds{.load_pps = 10'000, .duration = std::chrono::seconds(2)};
constexpr double kTolerance = 0.005;

load::TrialReport sent(std::uint64_t frames) {
    load::TrialReport report;
    report.sent = frames;
    report.sending_seconds = 2;
    report.achieved_pps = static_cast<double>(frames) / 2;
    return report;
}

Shortfall judged(const load::TrialReport& report, const search::TrialInput& input = kTwoSeconds) {
    return shortfall(input, report, kTolerance);
}

}  // namespace

BOOST_AUTO_TEST_CASE(what_left_is_counted_over_the_intended_duration) {
    load::TrialReport report = sent(19'000);
    // A stall at the end: what left before it left at the full rate.
    report.sending_seconds = 1.9;
    report.achieved_pps = 10'000;
    BOOST_TEST(offered_pps(kTwoSeconds, report) == 9'500);
    BOOST_TEST(offered_pps({.duration = std::chrono::seconds(2)}, report) == 10'000);
    report.partial = true;
    BOOST_TEST(offered_pps(kTwoSeconds, report) == 10'000);
}

BOOST_AUTO_TEST_CASE(the_last_frame_of_a_broken_number_offers_no_more_than_was_intended) {
    const search::TrialInput odd{.load_pps = 10.3, .duration = std::chrono::seconds(1)};
    BOOST_TEST(offered_pps(odd, sent(11)) == 10.3);
}

BOOST_AUTO_TEST_CASE(up_to_the_tolerance_nothing_is_held_against_a_trial) {
    BOOST_TEST((judged(sent(20'000)) == Shortfall::kTolerated));
    BOOST_TEST((judged(sent(19'899)) == Shortfall::kTolerated));
    BOOST_TEST((judged(sent(19'898)) == Shortfall::kReach));
}

BOOST_AUTO_TEST_CASE(one_frame_is_no_shortfall_however_few_there_are) {
    const search::TrialInput slow{.load_pps = 10, .duration = std::chrono::seconds(1)};
    BOOST_TEST((judged(sent(9), slow) == Shortfall::kTolerated));
    BOOST_TEST((judged(sent(8), slow) == Shortfall::kReach));
}

BOOST_AUTO_TEST_CASE(time_that_senders_stood_still_explains_as_many_frames_and_no_more) {
    load::TrialReport report = sent(19'000);  // 100 ms are missing, 10 of which are tolerated
    report.workers = {
        {.worker = 0, .sends = true, .waited_ns = 60'000'000, .stalled_ns = 92'000'000}};
    BOOST_TEST((judged(report) == Shortfall::kStalls));
    report.workers[0].stalled_ns = 80'000'000;
    BOOST_TEST((judged(report) == Shortfall::kReach));
    report.workers[0].waited_ns = 95'000'000;
    BOOST_TEST((judged(report) == Shortfall::kStalls));
}

BOOST_AUTO_TEST_CASE(a_receiver_that_stood_still_explains_nothing_and_of_two_senders_each_half) {
    load::TrialReport report = sent(19'000);
    report.workers = {{.worker = 0, .sends = true},
                      {.worker = 1, .sends = false, .stalled_ns = 500'000'000}};
    BOOST_TEST((judged(report) == Shortfall::kReach));
    report.workers[1].sends = true;
    report.workers[1].stalled_ns = 100'000'000;
    BOOST_TEST((judged(report) == Shortfall::kReach));
    report.workers[0].stalled_ns = 85'000'000;
    BOOST_TEST((judged(report) == Shortfall::kStalls));
}

BOOST_AUTO_TEST_CASE(a_burst_is_short_when_it_took_longer_than_its_rate_allows) {
    const search::TrialInput burst{.load_pps = 10'000, .frames = 20'000};
    load::TrialReport report = sent(20'000);
    report.sending_seconds = 2.0101;
    BOOST_TEST((judged(report, burst) == Shortfall::kTolerated));
    report.sending_seconds = 2.0103;
    BOOST_TEST((judged(report, burst) == Shortfall::kReach));
}

BOOST_AUTO_TEST_CASE(without_a_load_or_before_its_end_a_trial_has_no_shortfall) {
    BOOST_TEST((judged(sent(10), {.duration = std::chrono::seconds(2)}) == Shortfall::kTolerated));
    load::TrialReport cut = sent(10);
    cut.partial = true;
    BOOST_TEST((judged(cut) == Shortfall::kTolerated));
    search::TrialInput change = kTwoSeconds;
    change.change = search::TrialInput::Change{.load_pps = 1, .duration = std::chrono::seconds(1)};
    BOOST_TEST((judged(sent(10), change) == Shortfall::kTolerated));
}

BOOST_AUTO_TEST_SUITE_END()
