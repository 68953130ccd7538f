#include "harness/bench/rounds.h"

#include <boost/test/unit_test.hpp>

using namespace pathproof;
using namespace pathproof::bench;

namespace {

// A clock on which everybody else takes `foreign` of all CPU time.
struct FakeClock {
    double now = 0;
    double foreign = 0;
    double busy = 0;

    Result<CpuClock> read() {
        now += 1;
        busy += foreign;
        return CpuClock{.wall = now, .busy = busy, .cpus = 1};
    }
};

struct Bench {
    FakeClock clock;
    std::string order;  // of the lanes that ran

    Lane lane(const std::string& id, double value) {
        return {.id = id, .title = id, .run = [this, id, value] {
                    order += id;
                    return Result<Measurement>(
                        Measurement{.figures = {{"value", value}}, .waiting_share = {}});
                }};
    }

    RoundPlan plan(unsigned rounds, unsigned most) {
        return {.rounds = rounds, .most_rounds = most, .clock = [this] { return clock.read(); }};
    }
};

}  // namespace

BOOST_AUTO_TEST_SUITE(rounds)

BOOST_AUTO_TEST_CASE(lanes_take_turns_and_every_other_round_goes_backwards) {
    Bench bench;
    const auto results =
        run_rounds({bench.lane("a", 1), bench.lane("b", 2), bench.lane("c", 3)}, bench.plan(3, 3));
    BOOST_REQUIRE(results);
    BOOST_TEST(bench.order == "abccbaabccba");  // the first three warm up
    BOOST_TEST(results->at(0).id == "a");
    BOOST_TEST(results->at(2).values("value") == (std::vector<double>{3, 3, 3}),
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(the_warm_up_is_not_kept) {
    Bench bench;
    int runs = 0;
    const Lane lane{.id = "x", .title = "x", .run = [&] {
                        return Result<Measurement>(
                            Measurement{.figures = {{"value", runs++}}, .waiting_share = {}});
                    }};
    const auto results = run_rounds({lane}, bench.plan(2, 2));
    BOOST_TEST(results->front().values("value") == (std::vector<double>{1, 2}),
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(disturbed_rounds_are_rejected_counted_and_made_up_for) {
    Bench bench;
    int runs = 0;
    const Lane lane{.id = "x", .title = "x", .run = [&] {
                        // Others work during the first two rounds that count.
                        bench.clock.foreign = ++runs == 2 || runs == 3 ? 0.5 : 0;
                        return Result<Measurement>(
                            Measurement{.figures = {{"value", runs}}, .waiting_share = {}});
                    }};
    const auto results = run_rounds({lane}, bench.plan(3, 10));
    const LaneResult& result = results->front();
    BOOST_TEST(result.rejected() == 2U);
    BOOST_TEST(result.values("value") == (std::vector<double>{4, 5, 6}),
               boost::test_tools::per_element());
    BOOST_TEST(result.readings[0].objection == "50.0 % of CPU time used by other processes");
}

BOOST_AUTO_TEST_CASE(rounds_end_at_the_limit_with_nothing_when_none_was_clean) {
    Bench bench;
    bench.clock.foreign = 0.5;
    const auto results = run_rounds({bench.lane("a", 1)}, bench.plan(2, 4));
    BOOST_TEST(bench.order == "aaaaa");
    BOOST_TEST(results->front().rejected() == 4U);
    BOOST_TEST(results->front().values("value").empty());
}

BOOST_AUTO_TEST_CASE(contended_readings_are_used_and_marked_only_when_asked_for) {
    Bench bench;
    bench.clock.foreign = 0.5;
    RoundPlan plan = bench.plan(2, 2);
    plan.contended = RoundPlan::Contended::kUseWhenNothingElse;
    const auto results = run_rounds({bench.lane("a", 7)}, plan);
    BOOST_TEST(results->front().from_contended);
    BOOST_TEST(results->front().rejected() == 0U);
    BOOST_TEST(results->front().values("value").size() == 2U);
    bench.clock.foreign = 0;
    BOOST_TEST(!run_rounds({bench.lane("a", 7)}, plan)->front().from_contended);
}

BOOST_AUTO_TEST_CASE(a_process_that_waited_for_a_cpu_is_a_reason_too) {
    Bench bench;
    const Lane lane{.id = "x", .title = "x", .run = [] {
                        return Result<Measurement>(
                            Measurement{.figures = {{"value", 1}}, .waiting_share = 0.2});
                    }};
    BOOST_TEST(run_rounds({lane}, bench.plan(1, 1))->front().rejected() == 1U);
}

BOOST_AUTO_TEST_CASE(a_lane_that_is_absent_is_not_run_and_holds_nothing_up) {
    Bench bench;
    Lane absent = bench.lane("b", 2);
    absent.absent = "not measured: b is not installed";
    const auto results = run_rounds({bench.lane("a", 1), absent}, bench.plan(2, 9));
    BOOST_TEST(bench.order == "aaa");
    BOOST_TEST(results->at(1).absent == "not measured: b is not installed");
    BOOST_TEST(results->at(1).readings.empty());
}

BOOST_AUTO_TEST_CASE(a_lane_that_fails_once_says_so_and_takes_nothing_from_the_others) {
    Bench bench;
    int runs = 0;
    const Lane shaky{.id = "x", .title = "x", .run = [&]() -> Result<Measurement> {
                         if (++runs == 3) {
                             return fail(ErrorCode::kFailed, "status 1");
                         }
                         return Measurement{.figures = {{"value", runs}}, .waiting_share = {}};
                     }};
    const auto results = run_rounds({bench.lane("a", 1), shaky}, bench.plan(3, 9));
    BOOST_REQUIRE(results);
    BOOST_TEST(results->at(1).values("value") == (std::vector<double>{2, 4, 5}),
               boost::test_tools::per_element());
    BOOST_REQUIRE(results->at(1).failures.size() == 1U);
    BOOST_TEST(results->at(1).failures[0].round == 2U);
    BOOST_TEST(results->at(1).failures[0].why == "status 1");
    BOOST_TEST(results->at(0).failures.empty());
    BOOST_TEST(results->at(0).values("value").size() == 4U);
}

BOOST_AUTO_TEST_CASE(a_lane_that_has_only_failed_is_not_tried_for_ever) {
    Bench bench;
    int runs = 0;
    std::string told;
    const Lane broken{.id = "x", .title = "x", .run = [&]() -> Result<Measurement> {
                          ++runs;
                          return fail(ErrorCode::kFailed, "status 1");
                      }};
    RoundPlan plan = bench.plan(5, 10);
    plan.failed = [&](const Lane& lane, const FailedRun& run) {
        told += fmt::format("{}{}", lane.id, run.round);
    };
    const auto results = run_rounds({bench.lane("a", 1), broken}, plan);
    BOOST_REQUIRE(results);
    BOOST_TEST(runs == 3);
    BOOST_TEST(told == "x0x1x2");
    BOOST_TEST(results->at(1).readings.empty());
    BOOST_TEST(results->at(0).values("value").size() == 5U);
    BOOST_TEST(bench.order == "aaaaaa");
}

BOOST_AUTO_TEST_CASE(a_clock_that_cannot_be_read_ends_the_benchmark) {
    Bench bench;
    RoundPlan plan = bench.plan(1, 1);
    plan.clock = [] { return Result<CpuClock>(fail(ErrorCode::kFailed, "no /proc/stat")); };
    const auto results = run_rounds({bench.lane("a", 1)}, plan);
    BOOST_REQUIRE(!results);
    BOOST_TEST(results.error().message == "no /proc/stat");
}

BOOST_AUTO_TEST_SUITE_END()
