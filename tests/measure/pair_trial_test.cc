// A run of pairs as a search sees it.
#include "dataplane/measure/pair_trial.h"

#include <boost/test/unit_test.hpp>

#include "dataplane/search/throughput.h"

BOOST_AUTO_TEST_SUITE(pair_trial)

using namespace pathproof;
using judge::QueryState;

namespace {

// Pairs that left `apart_ns` after one another, all answered.
judge::PairReport report_of(std::uint32_t pairs, std::int64_t apart_ns) {
    judge::PairReport report;
    for (std::uint32_t pair = 0; pair < pairs; ++pair) {
        for (std::uint8_t member = 0; member < 2; ++member) {
            report.records.push_back({.pair = pair,
                                      .member = member,
                                      .state = QueryState::kAnswered,
                                      .sent_ns = apart_ns * pair,
                                      .answered_ns = apart_ns * pair + 1000});
        }
    }
    return report;
}

pairs::PairPlan plan_of(std::uint64_t pairs, double load) {
    pairs::PairPlan plan;
    plan.pairs = pairs;
    plan.pairs_per_second = load;
    return plan;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_pair_is_lost_unless_both_queries_were_answered_in_time) {
    judge::PairReport report = report_of(100, 10'000);
    report.records[0].state = QueryState::kNever;  // both of one pair: one is lost
    report.records[1].state = QueryState::kLate;
    report.records[21].state = QueryState::kWrongSource;
    const auto trial = measure::output_of(plan_of(100, 100'000), report, 0.01);
    BOOST_TEST(trial.sent == 100U);
    BOOST_TEST(trial.lost == 2U);
    BOOST_TEST(trial.tester_limit == "");
    BOOST_TEST(trial.loss_ratio() == 0.02, boost::test_tools::tolerance(1e-9));
}

// A run of pairs leaves no pair out: a run that takes twice its time was not at its load.
BOOST_AUTO_TEST_CASE(what_left_behind_its_time_counts_as_not_offered) {
    const auto trial = measure::output_of(plan_of(100, 200'000), report_of(100, 10'000), 0.01);
    BOOST_TEST(trial.offered_pps == 100'000, boost::test_tools::tolerance(1e-6));
    BOOST_TEST(trial.tester_limit == "100000 of 200000 pairs/s were offered");
    BOOST_TEST(trial.loss_ratio() == 0.5, boost::test_tools::tolerance(0.02));
    BOOST_TEST(!trial.limited_by_stalls);
    judge::PairReport stalled = report_of(100, 10'000);
    stalled.disturbances = {"worker 0 waited 3 ms for its CPU"};
    BOOST_TEST(measure::output_of(plan_of(100, 200'000), stalled, 0.01).limited_by_stalls);
    // A rate within the tolerance is used as it was sent.
    const auto near = measure::output_of(plan_of(100, 100'500), report_of(100, 10'000), 0.01);
    BOOST_TEST(near.tester_limit == "");
    BOOST_TEST(near.loss_ratio() == 0);
}

BOOST_AUTO_TEST_CASE(the_tester_s_own_losses_are_its_limit_and_other_objections_stay) {
    judge::PairReport report = report_of(100, 10'000);
    report.tester_lost = 7;
    report.objections = {"port s0 lost 7 frames itself", "stopped after 99 of 100 pairs"};
    const auto trial = measure::output_of(plan_of(100, 100'000), report, 0.01);
    BOOST_TEST(trial.tester_limit == "the tester's own ports lost 7 frames");
    BOOST_TEST(trial.objection == "stopped after 99 of 100 pairs");
}

namespace {

// A device that carries so many pairs a second, behind a tester that sends so many.
class Device final : public search::Measurer {
  public:
    Device(double carries, double sends) : carries_(carries), sends_(sends) {}
    Result<search::TrialOutput> measure(const search::TrialInput& input) override {
        const double sent = std::min(input.load_pps, sends_);
        auto report = report_of(2000, static_cast<std::int64_t>(1e9 / sent));
        for (std::size_t lost = 0; sent > carries_ && lost < 40; ++lost) {
            report.records[20 * lost].state = QueryState::kNever;
        }
        auto output = measure::output_of(plan_of(2000, input.load_pps), report, 0.01);
        output.input = input;
        output.input.frames = 2000;
        return output;
    }

  private:
    const double carries_, sends_;
};

search::ThroughputResult search_of(double carries, double sends) {
    Device device(carries, sends);
    search::Trials trials(device);
    return *search::find_throughput({.min_load_pps = 200,
                                     .max_load_pps = 1e6,
                                     .trial_duration = std::chrono::milliseconds(500),
                                     .relative_width = 0.05,
                                     .attempts = 2},
                                    trials);
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_search_finds_who_was_the_limit) {
    const auto of_device = search_of(60'000, 300'000);
    BOOST_REQUIRE(of_device.passed);
    BOOST_TEST(of_device.passed->load_pps <= 60'000);
    BOOST_TEST(of_device.passed->load_pps >= 0.94 * 60'000);
    BOOST_TEST((of_device.limit == search::Limit::kDevice));
    const auto of_tester = search_of(1e6, 90'000);
    BOOST_REQUIRE(of_tester.passed);
    BOOST_TEST(of_tester.passed->load_pps >= 0.94 * 90'000);
    BOOST_TEST((of_tester.limit == search::Limit::kTester));
}

BOOST_AUTO_TEST_SUITE_END()
