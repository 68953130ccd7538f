// Conclusions of a run over several DUTs.
#include <algorithm>
#include <boost/test/unit_test.hpp>

#include "harness/scenario/offload_truth/duts.h"

BOOST_AUTO_TEST_SUITE(offload_truth_duts)

using namespace pathproof;
using namespace pathproof::scenario;
using verdict::Cell;
using verdict::CellVerdict;
using verdict::Observation;
using verdict::Observed;
using verdict::ScenarioVerdict;
using verdict::TruthRow;

namespace {

Observation seen(Observed observed, std::uint64_t frames = 10, std::uint64_t wrong = 0) {
    return {.observed = observed, .frames = frames, .wrong = wrong, .cell = "tx.as-found"};
}

TruthRow row(const std::string& offload, const std::string& advertised,
             std::vector<Observation> observed) {
    return {.offload = offload,
            .direction = "Tx",
            .advertised = advertised,
            .observed = std::move(observed)};
}

// A DUT with one cell and one table.
DutResult dut(const std::string& name, ScenarioVerdict verdict, CellVerdict cell,
              std::vector<TruthRow> rows) {
    DutResult one{.name = name, .result = {}};
    one.result.verdict = verdict;
    one.result.headline = "What was found.";
    one.result.cells = {Cell{
        .id = "tx.as-found", .verdict = cell, .reason = cell == CellVerdict::kPass ? "" : "x"}};
    one.result.controls = {Cell{.id = "control.nothing-offloaded", .verdict = CellVerdict::kPass}};
    one.result.truth_tables = {{.title = "Tx", .conditions = {"plain"}, .rows = std::move(rows)}};
    return one;
}

DutResult sound(const std::string& name) {
    return dut(name, ScenarioVerdict::kNoDefectFound, CellVerdict::kPass,
               {row("tx-checksum-ip-generic", "on", {seen(Observed::kRight)})});
}

DutResult broken(const std::string& name) {
    DutResult one = dut(name, ScenarioVerdict::kDefectFound, CellVerdict::kFail,
                        {row("tx-checksum-ip-generic", "on", {seen(Observed::kWrong, 10, 4)})});
    one.result.cause = "The sum is one too many.";
    one.result.cure = "`ethtool -K DEV tx off`.";
    one.result.cure_shown = true;
    one.result.before_cell = "tx.as-found";
    one.result.after_cell = "tx.all-off";
    return one;
}

DutResult failed(const std::string& name, ErrorCode code) {
    return {.name = name,
            .result = {},
            .failure = unjudged_cell({code, "it did not come up"}, "line one\nline two")};
}

verdict::ScenarioResult concluded(std::vector<DutResult> duts) {
    verdict::ScenarioResult result{.id = "offload-truth"};
    conclude_duts(std::move(duts), result);
    return result;
}

verdict::RunVerdict run_verdict(const verdict::ScenarioResult& result) {
    return verdict::judge_run({result}).first;
}

}  // namespace

BOOST_AUTO_TEST_CASE(cells_and_their_mentions_have_the_name_of_their_dut) {
    const auto result = concluded({sound("a"), broken("b")});
    for (const char* id : {"a.tx.as-found", "b.tx.as-found", "a.control.nothing-offloaded"}) {
        BOOST_TEST(verdict::find_cell(result, id) != nullptr, id);
    }
    BOOST_TEST(result.before_cell == "b.tx.as-found");
    BOOST_TEST(result.after_cell == "b.tx.all-off");
    BOOST_REQUIRE(result.truth_tables.size() == 3u);
    BOOST_TEST(result.truth_tables[0].rows[0].observed[1].cell == "b.tx.as-found");
    BOOST_TEST(result.truth_tables[2].title == "b: Tx");
    BOOST_TEST(result.truth_tables[2].rows[0].observed[0].cell == "b.tx.as-found");
}

BOOST_AUTO_TEST_CASE(the_worst_of_all_is_said_and_each_is_named) {
    const auto sound_ones = concluded({sound("a"), sound("b")});
    BOOST_TEST((sound_ones.verdict == ScenarioVerdict::kNoDefectFound));
    BOOST_TEST((run_verdict(sound_ones) == verdict::RunVerdict::kQualified));
    const auto one_broken = concluded({sound("a"), broken("b")});
    BOOST_TEST((one_broken.verdict == ScenarioVerdict::kDefectFound));
    BOOST_TEST(one_broken.cure_shown);
    BOOST_TEST(one_broken.cause == "b: The sum is one too many.");
    BOOST_TEST(one_broken.headline == "a: What was found. b: What was found.");
    BOOST_TEST((run_verdict(one_broken) == verdict::RunVerdict::kConditionallyQualified));
    DutResult incurable = broken("c");
    incurable.result.cure_shown = false;
    const auto two = concluded({broken("b"), std::move(incurable)});
    BOOST_TEST(!two.cure_shown);
    BOOST_TEST((run_verdict(two) == verdict::RunVerdict::kNotQualified));
}

BOOST_AUTO_TEST_CASE(one_that_cannot_be_had_is_skipped_and_one_that_fails_makes_it_incomplete) {
    const auto skipped = concluded({sound("a"), failed("b", ErrorCode::kNotSupported)});
    BOOST_TEST((skipped.verdict == ScenarioVerdict::kNoDefectFound));
    const Cell* cell = verdict::find_cell(skipped, "b");
    BOOST_REQUIRE(cell != nullptr);
    BOOST_TEST((cell->verdict == CellVerdict::kSkip));
    BOOST_TEST(cell->reason == "it did not come up");
    const auto lost = concluded({sound("a"), failed("b", ErrorCode::kUnavailable)});
    BOOST_TEST((lost.verdict == ScenarioVerdict::kInconclusive));
    BOOST_TEST(verdict::find_cell(lost, "b")->reason ==
               "it did not come up; the last lines of its console: line one line two");
    BOOST_TEST((run_verdict(lost) == verdict::RunVerdict::kIncomplete));
    // A run in which nothing was judged is inconclusive.
    const auto none = concluded({failed("b", ErrorCode::kNotSupported)});
    BOOST_TEST((none.verdict == ScenarioVerdict::kInconclusive));
    const auto beside = concluded({broken("a"), failed("b", ErrorCode::kUnavailable)});
    BOOST_TEST((beside.verdict == ScenarioVerdict::kDefectFound));
    BOOST_TEST((run_verdict(beside) == verdict::RunVerdict::kIncomplete));
}

BOOST_AUTO_TEST_CASE(side_by_side_stands_the_worst_of_each_and_what_is_not_offered) {
    const DutResult two_ways =
        dut("a", ScenarioVerdict::kDefectFound, CellVerdict::kFail,
            {row("x", "on", {seen(Observed::kRight), seen(Observed::kWrong, 10, 3)}),
             row("z", "on", {seen(Observed::kRight), seen(Observed::kRefused, 0)}),
             row("y", "off [fixed]", {seen(Observed::kRight)})});
    const auto table = side_by_side({two_ways, sound("b"), failed("c", ErrorCode::kFailed)});
    BOOST_TEST(table.conditions.size() == 3u);
    const auto of = [&](const std::string& offload, std::size_t which) {
        const auto found = std::ranges::find(table.rows, offload, &TruthRow::offload);
        BOOST_REQUIRE((found != table.rows.end()));
        return found->observed.at(which);
    };
    BOOST_TEST((of("x", 0).observed == Observed::kWrong));
    BOOST_TEST(of("x", 0).frames == 20u);
    BOOST_TEST(of("x", 0).wrong == 3u);
    BOOST_TEST((of("z", 0).observed == Observed::kRight));
    // Whatever the frames were: it is not the device's doing.
    BOOST_TEST((of("y", 0).observed == Observed::kNotTested));
    BOOST_TEST(of("y", 0).note == "not offered");
    BOOST_TEST((of("x", 1).observed == Observed::kNotTested));
    BOOST_TEST((of("tx-checksum-ip-generic", 1).observed == Observed::kRight));
    BOOST_TEST(of("x", 2).note.starts_with("it did not come up"));
}

BOOST_AUTO_TEST_SUITE_END()
