#define BOOST_TEST_MODULE measure
#include <boost/test/unit_test.hpp>

#include "dataplane/measure/load_measurer.h"

using namespace pathproof;
using namespace pathproof::measure;

namespace {

const Steps kSteps{.first_pps = 1'000,
                   .first_duration = std::chrono::seconds(2),
                   .second_pps = 500,
                   .second_duration = std::chrono::seconds(4)};

const search::TrialInput kSecond{.load_pps = 1'000, .duration = std::chrono::seconds(1)};
constexpr double kTolerance = 0.005;

load::TrialReport report_of(std::uint64_t sent, std::uint64_t unique) {
    load::TrialReport report;
    report.sent = sent;
    report.intake.classes[0].unique = unique;
    return report;
}

}  // namespace

BOOST_AUTO_TEST_CASE(frames_leave_at_the_first_rate_and_from_the_change_on_at_the_second) {
    BOOST_TEST(kSteps.in_first() == 2'000);
    BOOST_TEST(kSteps.in_second() == 2'000);
    BOOST_TEST(kSteps.departure(0).count() == 0);
    BOOST_TEST(kSteps.departure(1'999).count() == 1'999'000'000);
    BOOST_TEST(kSteps.departure(2'000).count() == 2'000'000'000);
    BOOST_TEST(kSteps.departure(2'001).count() == 2'002'000'000);
    BOOST_TEST(kSteps.departure(3'999).count() == 5'998'000'000);
}

BOOST_AUTO_TEST_CASE(senders_take_turns_and_together_send_what_one_would) {
    Steps second = kSteps;
    second.sender = 1;
    second.senders = 3;
    BOOST_TEST(second.departure(0).count() == 1'000'000);
    BOOST_TEST(second.departure(1).count() == 4'000'000);
    std::uint64_t all = 0;
    for (unsigned sender = 0; sender < 3; ++sender) {
        Steps one = kSteps;
        one.sender = sender;
        one.senders = 3;
        all += one.frames();
    }
    BOOST_TEST(all == kSteps.frames());
}

BOOST_AUTO_TEST_CASE(the_last_loss_is_that_of_the_last_frame_overtaken_after_the_change) {
    // Number 2999 left 1998 ms after the change.
    const judge::SequenceTotals seen{.highest = 4'000, .overtaken = 3'000};
    BOOST_TEST(last_loss({kSteps}, {seen}, 0).value().count() == 1'998'000'000);
    const judge::SequenceTotals before{.highest = 4'000, .overtaken = 2'000};
    BOOST_TEST(!last_loss({kSteps}, {before}, 0));
    const judge::SequenceTotals none{.highest = 4'000};
    BOOST_TEST(!last_loss({kSteps}, {none}, 0));
}

BOOST_AUTO_TEST_CASE(a_stream_whose_end_is_missing_lost_its_last_frame) {
    const judge::SequenceTotals cut{.highest = 2'500};
    BOOST_TEST(last_loss({kSteps}, {cut}, 0).value().count() == 3'998'000'000);
    BOOST_TEST(last_loss({kSteps}, {}, 0).value().count() == 3'998'000'000);
    // Frames that never left are not lost.
    BOOST_TEST(!last_loss({kSteps}, {cut}, 1'500));
}

BOOST_AUTO_TEST_CASE(the_latest_loss_of_all_senders_counts) {
    Steps one = kSteps;
    one.senders = 2;
    Steps other = one;
    other.sender = 1;
    const judge::SequenceTotals early{.highest = 2'000, .overtaken = 1'100};
    const judge::SequenceTotals late{.highest = 2'000, .overtaken = 1'500};
    const auto last = last_loss({one, other}, {early, late}, 0);
    BOOST_TEST(last.value().count() == (other.departure(1'499) - other.change()).count());
}

BOOST_AUTO_TEST_CASE(what_a_report_misses_is_lost_and_what_it_objects_to_is_kept_apart) {
    load::TrialReport report = report_of(900, 890);
    report.missed_rate = report.tester_limit = "the rate was not reached";
    report.disturbances = {"worker 0 waited for its CPU"};
    report.objections = {"the rate was not reached", "worker 0 waited for its CPU",
                         "the clock is off"};
    report.intake.received.bad_checksum = 3;
    report.overhead_ns = 4'000'000;
    const search::TrialOutput output = output_of(kSecond, report, kTolerance);
    BOOST_TEST(output.lost == 10);
    BOOST_TEST(output.bad_checksums == 3);
    BOOST_TEST(output.offered_pps == 900);
    BOOST_TEST(output.tester_limit == "900 of 1000 frames per second were offered");
    BOOST_TEST(!output.limited_by_stalls);
    BOOST_TEST(output.loss_ratio() == 0.11);
    BOOST_TEST(output.objection == "the clock is off");
    BOOST_TEST(output.disturbance == "worker 0 waited for its CPU");
    BOOST_TEST(output.overhead_seconds == 0.004);
}

BOOST_AUTO_TEST_CASE(a_trial_short_of_its_load_by_what_is_tolerated_is_used_at_what_was_sent) {
    load::TrialReport report = report_of(995, 995);
    report.missed_rate = report.tester_limit = "the rate was not reached";
    report.objections = {"the rate was not reached"};
    const search::TrialOutput output = output_of(kSecond, report, kTolerance);
    BOOST_TEST(output.tester_limit.empty());
    BOOST_TEST(output.objection.empty());
    BOOST_TEST(output.loss_ratio() == 0);
    BOOST_TEST(output.offered_pps == 995);
}

BOOST_AUTO_TEST_CASE(a_limit_that_comes_of_standing_still_is_a_disturbance) {
    load::TrialReport report = report_of(980, 980);
    report.workers = {{.worker = 0, .sends = true, .stalled_ns = 18'000'000}};
    const search::TrialOutput still = output_of(kSecond, report, kTolerance);
    BOOST_TEST(still.limited_by_stalls);
    BOOST_TEST(still.tester_limit ==
               "980 of 1000 frames per second were offered, as the sender stood still");
    report.sent = 900;
    BOOST_TEST(!output_of(kSecond, report, kTolerance).limited_by_stalls);
}

BOOST_AUTO_TEST_CASE(frames_that_a_receiver_dropped_are_a_disturbance_if_it_stood_still) {
    load::TrialReport report = report_of(1'000, 995);
    report.own_drops = report.tester_limit = "port s0 lost 5 frames itself";
    report.objections = {report.own_drops};
    const search::TrialOutput slow = output_of(kSecond, report, kTolerance);
    BOOST_TEST(slow.tester_limit == report.own_drops);
    BOOST_TEST(slow.loss_ratio() == 0.005);
    BOOST_TEST(!slow.limited_by_stalls);
    report.workers = {{.worker = 1, .waited_ns = 3'000'000}};
    BOOST_TEST(output_of(kSecond, report, kTolerance).limited_by_stalls);
}

BOOST_AUTO_TEST_CASE(a_limit_alone_is_no_objection_of_its_own) {
    load::TrialReport report = report_of(1'000, 1'000);
    report.own_drops = report.tester_limit = "port s0 lost 5 frames itself";
    report.objections = {report.tester_limit};
    BOOST_TEST(output_of({}, report, kTolerance).objection.empty());
}
