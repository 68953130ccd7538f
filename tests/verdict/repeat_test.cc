#include "harness/verdict/repeat.h"

#include <boost/test/unit_test.hpp>

using namespace pathproof::verdict;

namespace {

Cell one_cell(const std::string& id, CellVerdict verdict, const std::string& cause = "",
              const std::string& reason = "of 5 probes 5 failed") {
    return {.id = id,
            .verdict = verdict,
            .reason = verdict == CellVerdict::kPass ? "" : reason,
            .cause = cause};
}

// A repetition of a scenario whose cell "a" came out so.
ScenarioResult once(const Cell& a, CellVerdict control = CellVerdict::kPass) {
    const bool fails = a.verdict == CellVerdict::kFail;
    return {.id = "s",
            .verdict = fails ? ScenarioVerdict::kReproduced : ScenarioVerdict::kNotReproduced,
            .headline = fails ? "it fails" : "it passes",
            .cause = fails ? "a cause" : "",
            .cure_shown = fails,
            .cells = {a, one_cell("b", CellVerdict::kPass)},
            .controls = {one_cell("off", control)},
            .unexplained = 0,
            .seconds = 2};
}

ScenarioResult failing(const std::string& cause = "mtu") {
    return once(one_cell("a", CellVerdict::kFail, cause));
}

ScenarioResult passing() {
    return once(one_cell("a", CellVerdict::kPass));
}

}  // namespace

BOOST_AUTO_TEST_SUITE(repetitions)

BOOST_AUTO_TEST_CASE(one_repetition_is_given_as_it_is) {
    const ScenarioResult result = combine({failing()}, 7);
    BOOST_TEST(result.headline == "it fails");
    BOOST_TEST(result.repetitions.empty());
    BOOST_TEST(!result.cells[0].runs);
}

BOOST_AUTO_TEST_CASE(the_trials_of_a_figure_are_its_values_in_all_repetitions_with_a_verdict) {
    const auto with = [](CellVerdict verdict, Value value) {
        Cell cell = one_cell("a", verdict);
        cell.measures = {{.name = "ms", .label = "latency", .value = value, .unit = "ms"}};
        return once(cell);
    };
    Cell twice = one_cell("a", CellVerdict::kPass);
    twice.measures = {
        {.name = "ms", .label = "latency", .value = 8.0, .unit = "ms", .trials = {7.5, 8.5}}};
    Cell other_unit = one_cell("a", CellVerdict::kPass);
    other_unit.measures = {{.name = "ms", .label = "latency", .value = 8.0, .unit = "us"}};
    const ScenarioResult result =
        combine({with(CellVerdict::kPass, 3.0), with(CellVerdict::kFail, 5.0),
                 with(CellVerdict::kInconclusive, 900.0), with(CellVerdict::kPass, Value()),
                 once(other_unit), once(twice)},
                1);
    const std::vector<double> wanted = {3.0, 5.0, 7.5, 8.5};
    BOOST_TEST(result.cells[0].measures[0].trials == wanted, boost::test_tools::per_element());
    BOOST_TEST(combine({with(CellVerdict::kPass, 3.0)}, 1).cells[0].measures[0].trials.empty());
}

BOOST_AUTO_TEST_CASE(a_cell_is_unstable_unless_it_fails_never_or_always) {
    const auto verdict_of = [](std::vector<ScenarioResult> all) {
        return combine(std::move(all), 1).cells[0];
    };
    const Cell never = verdict_of({passing(), passing(), passing()});
    BOOST_TEST((never.verdict == CellVerdict::kPass));
    BOOST_TEST(never.runs->failed == 0u);
    const Cell always = verdict_of({failing(), failing(), failing()});
    BOOST_TEST((always.verdict == CellVerdict::kFail));
    BOOST_TEST(always.runs->failed == 3u);
    BOOST_TEST(always.reason == "of 5 probes 5 failed");
    const Cell at_times = verdict_of({passing(), failing(), passing()});
    BOOST_TEST((at_times.verdict == CellVerdict::kUnstable));
    BOOST_TEST(at_times.runs->n == 3u);
    BOOST_TEST(at_times.runs->failed == 1u);
    BOOST_TEST(at_times.runs->kept == 2u);
    BOOST_TEST(at_times.cause == "mtu");
    BOOST_TEST(at_times.reason.find("in 1 of 3 repetitions; in repetition 2: of 5") !=
               std::string::npos);
    const Measure share = share_of(*at_times.runs);
    BOOST_TEST(share.interval->low > 6);
    BOOST_TEST(share.interval->high < 80);
}

BOOST_AUTO_TEST_CASE(a_cell_that_came_to_no_verdict_once_has_none) {
    const ScenarioResult broken = once(one_cell("a", CellVerdict::kError, "", "no answer"));
    const ScenarioResult result = combine({failing(), broken, passing()}, 1);
    BOOST_TEST((result.cells[0].verdict == CellVerdict::kError));
    BOOST_TEST(result.cells[0].reason == "In repetition 2: no answer");
    BOOST_TEST(result.cells[0].runs->n == 2u);
    BOOST_TEST((judge_run({result}).first == RunVerdict::kIncomplete));
}

BOOST_AUTO_TEST_CASE(a_skipped_repetition_is_not_counted) {
    const ScenarioResult skipped = once(one_cell("a", CellVerdict::kSkip, "", "no such device"));
    const ScenarioResult result = combine({skipped, failing(), skipped}, 1);
    BOOST_TEST((result.cells[0].verdict == CellVerdict::kFail));
    BOOST_TEST(result.cells[0].runs->n == 1u);
    BOOST_TEST((combine({skipped, skipped}, 1).cells[0].verdict == CellVerdict::kSkip));
}

BOOST_AUTO_TEST_CASE(the_most_frequent_cause_speaks_and_the_others_are_said) {
    const Cell shown =
        combine({failing("mtu"), failing("stale-port"), failing("stale-port")}, 1).cells[0];
    BOOST_TEST((shown.verdict == CellVerdict::kFail));
    BOOST_TEST(shown.cause == "stale-port");
    BOOST_TEST(shown.runs->kept == 2u);
    BOOST_TEST(shown.reason.find("mtu in 1") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_part_that_is_not_listed_passed_where_its_whole_was_looked_at) {
    ScenarioResult bad = failing();
    bad.cells = {one_cell("tx", CellVerdict::kFail), one_cell("tx.tso", CellVerdict::kFail)};
    ScenarioResult good = failing();
    good.cells = {one_cell("tx", CellVerdict::kFail)};
    ScenarioResult blind = failing();
    blind.cells = {one_cell("tx", CellVerdict::kError)};
    const Cell part = combine({bad, good, blind}, 1).cells[1];
    BOOST_TEST(part.id == "tx.tso");
    BOOST_TEST((part.verdict == CellVerdict::kUnstable));
    BOOST_TEST(part.runs->n == 2u);
}

BOOST_AUTO_TEST_CASE(a_scenario_is_as_its_worst_repetition) {
    const ScenarioResult result = combine({passing(), failing(), passing()}, 40);
    BOOST_TEST((result.verdict == ScenarioVerdict::kReproduced));
    BOOST_TEST(result.headline == "REPRODUCED in 1 of 3 repetitions. Repetition 2: it fails");
    BOOST_TEST(result.kept == 2u);
    BOOST_TEST(result.seconds == 6);
    BOOST_REQUIRE(result.repetitions.size() == 3u);
    BOOST_TEST(result.repetitions[2].seed == 42u);
    BOOST_TEST((result.repetitions[2].verdict == ScenarioVerdict::kNotReproduced));
}

BOOST_AUTO_TEST_CASE(a_failure_that_comes_and_goes_has_no_cure_shown) {
    BOOST_TEST(combine({failing(), failing()}, 1).cure_shown);
    const ScenarioResult result = combine({failing(), passing()}, 1);
    BOOST_TEST(!result.cure_shown);
    BOOST_TEST((judge_run({result}).first == RunVerdict::kNotQualified));
    BOOST_TEST((judge_run({combine({failing(), failing()}, 1)}).first ==
                RunVerdict::kConditionallyQualified));
}

BOOST_AUTO_TEST_CASE(a_control_that_fails_once_leaves_no_basis) {
    for (const CellVerdict a : {CellVerdict::kPass, CellVerdict::kFail}) {
        const ScenarioResult result =
            combine({once(one_cell("a", a)), once(one_cell("a", a), CellVerdict::kFail)}, 1);
        BOOST_TEST((result.verdict == ScenarioVerdict::kInconclusive));
        BOOST_TEST((result.controls[0].verdict == CellVerdict::kUnstable));
        BOOST_TEST(result.headline.find("Control off shows the failure in 1 of 2") == 0u);
        BOOST_TEST((judge_run({result}).first == RunVerdict::kIncomplete));
    }
}

BOOST_AUTO_TEST_CASE(an_unstable_cell_is_never_read_as_passed) {
    ScenarioResult result = combine({passing(), passing()}, 1);
    BOOST_TEST((judge_run({result}).first == RunVerdict::kQualified));
    result.cells[1].verdict = CellVerdict::kUnstable;
    result.cells[1].runs = Runs{2, 1, 1};
    const auto [verdict, reasons] = judge_run({result});
    BOOST_TEST((verdict == RunVerdict::kNotQualified));
    BOOST_TEST(reasons.back() == "s: unstable, failing in some repetitions only: b (1 of 2)");
    result.cells[1].role = Cell::Role::kDemonstration;
    BOOST_TEST((judge_run({result}).first == RunVerdict::kIncomplete));
}

BOOST_AUTO_TEST_CASE(each_repetition_has_a_seed_that_repeats_it_alone) {
    BOOST_TEST(seed_of_repetition(5, 1) == 5u);
    BOOST_TEST(seed_of_repetition(5, 3) == 7u);
    BOOST_TEST(seed_of_repetition(UINT64_MAX, 2) == 1u);  // 0 would mean to draw one
}

BOOST_AUTO_TEST_SUITE_END()
