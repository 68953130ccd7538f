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
    load::TrialReport report = report_of(1'000, 990);
    report.tester_limit = "the rate was not reached";
    report.objections = {"the rate was not reached", "worker 0 waited for its CPU"};
    report.intake.received.bad_checksum = 3;
    report.overhead_ns = 4'000'000;
    const search::TrialOutput output = output_of({.load_pps = 1'000}, report);
    BOOST_TEST(output.lost == 10);
    BOOST_TEST(output.bad_checksums == 3);
    BOOST_TEST(output.tester_limit == "the rate was not reached");
    BOOST_TEST(output.objection == "worker 0 waited for its CPU");
    BOOST_TEST(output.overhead_seconds == 0.004);
}

BOOST_AUTO_TEST_CASE(a_limit_alone_is_no_objection_of_its_own) {
    load::TrialReport report = report_of(1'000, 1'000);
    report.tester_limit = "port s0 lost 5 frames itself";
    report.objections = {report.tester_limit};
    BOOST_TEST(output_of({}, report).objection.empty());
}
