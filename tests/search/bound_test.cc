#include "dataplane/search/bound.h"

#include <boost/test/unit_test.hpp>

using namespace pathproof::search;

namespace {

const Criteria kTwoTrials{0, 0.5, std::chrono::seconds(1), std::chrono::seconds(2)};

TrialRecord offering(double offered_pps, double loss = 0) {
    return {.duration = std::chrono::seconds(1), .loss_ratio = loss, .offered_pps = offered_pps};
}

TrialRecord limited(double offered_pps) {
    TrialRecord record = offering(offered_pps, 1 - offered_pps / 1000);
    record.tester_limited = true;
    return record;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_bound_rests_on_the_least_that_its_trials_offered) {
    const std::vector<TrialRecord> trials = {offering(998), offering(996), offering(1000, 0.1)};
    const Bound bound = describe(1000, kTwoTrials, trials);
    BOOST_TEST(bound.load_pps == 1000);
    BOOST_TEST(bound.offered_pps == 996);
    BOOST_TEST(describe(1000, kTwoTrials, {}).offered_pps == 0);
}

BOOST_AUTO_TEST_CASE(trials_that_the_tester_limited_count_as_loss_and_not_at_what_they_offered) {
    const std::vector<TrialRecord> mixed = {offering(998), limited(700)};
    BOOST_TEST(describe(1000, kTwoTrials, mixed).offered_pps == 998);
    const std::vector<TrialRecord> all = {limited(700), limited(800)};
    BOOST_TEST(describe(1000, kTwoTrials, all).offered_pps == 700);
}

BOOST_AUTO_TEST_CASE(a_disturbed_loss_leaves_an_upper_bound_in_doubt_that_needs_it) {
    TrialRecord disturbed = offering(1000, 0.1);
    disturbed.disturbed = true;
    const TrialRecord lossy = offering(1000, 0.1);
    BOOST_TEST(describe(1000, kTwoTrials, std::vector{disturbed, lossy}).doubtful == 1);
    BOOST_TEST(describe(1000, kTwoTrials, std::vector{disturbed, lossy, lossy}).doubtful == 0);
    // A trial that passes in spite of a disturbance passes, and one loss of two is allowed.
    TrialRecord passed = offering(1000);
    passed.disturbed = true;
    BOOST_TEST(describe(1000, kTwoTrials, std::vector{passed, disturbed}).doubtful == 0);
    TrialRecord objected = offering(1000);
    objected.doubtful = true;
    BOOST_TEST(describe(1000, kTwoTrials, std::vector{objected, passed}).doubtful == 1);
}

BOOST_AUTO_TEST_CASE(a_record_of_a_trial_keeps_the_tester_limit_and_the_doubt_apart) {
    TrialOutput output{.input = {.load_pps = 1000, .duration = std::chrono::seconds(1)},
                       .offered_pps = 990,
                       .sent = 990,
                       .lost = 99};
    BOOST_TEST(record_of(output).loss_ratio == 0.1);
    BOOST_TEST(record_of(output).offered_pps == 990);
    output.disturbance = "worker 0 waited for its CPU";
    BOOST_TEST(record_of(output).disturbed);
    BOOST_TEST(!record_of(output).doubtful);
    output.objection = "the clock is off";
    BOOST_TEST(record_of(output).doubtful);
    output.tester_limit = "990 of 1000 were offered";
    BOOST_TEST(!record_of(output).doubtful);
    BOOST_TEST(record_of(output).tester_limited);
    BOOST_TEST(record_of(output).loss_ratio == 0.109);
}
