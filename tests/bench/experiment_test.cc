#include "harness/bench/experiment.h"

#include <boost/test/unit_test.hpp>
#include <nlohmann/json.hpp>

#include "tests/contains.h"

using namespace pathproof::bench;
using nlohmann::json;

namespace {

LaneResult lane(const std::string& id, const std::vector<double>& walls) {
    LaneResult result{.id = id, .title = "program " + id, .readings = {}};
    for (const double wall : walls) {
        result.readings.push_back(
            {.figures = {{"wall_s", wall}}, .contention = {}, .objection = {}});
    }
    return result;
}

LaneResult rejected(LaneResult result) {
    for (Reading& reading : result.readings) {
        reading.objection = "20.0 % of CPU time used by other processes";
    }
    return result;
}

LaneResult absent(const std::string& id) {
    LaneResult result = lane(id, {});
    result.absent = "not measured: conntrack is not installed (apt-get install conntrack)";
    return result;
}

using pathproof::test::contains;

const Comparison kWall{"wall_ratio", "b / a, wall time", "b", "a", "wall_s", "at least 1.5"};

BenchResult result_of(std::vector<LaneResult> lanes) {
    Experiment experiment{.id = "dump",
                          .title = "1000 entries",
                          .conditions = {{"entries", "1000"}},
                          .columns = {{"wall_s", "wall", "s", 3}},
                          .lanes = std::move(lanes),
                          .findings = {}};
    experiment.findings = {compare(experiment.lanes, kWall)};
    return {.command = "pathproof bench inspect --entries 1000",
            .version = "0.1.0",
            .started_at = "2000-01-01T00:00:00Z",
            .tools = {{"conntrack", "v1.4.7"}},
            .environment = {},
            .experiments = {experiment}};
}

}  // namespace

BOOST_AUTO_TEST_SUITE(experiment)

BOOST_AUTO_TEST_CASE(a_comparison_is_the_ratio_of_the_medians_with_its_interval) {
    const Finding finding = compare({lane("a", {1, 2, 3}), lane("b", {4, 4, 4})}, kWall);
    BOOST_TEST(*finding.value == 2);
    BOOST_TEST(finding.low.has_value());
    BOOST_TEST(finding.asked == "at least 1.5");
    BOOST_TEST(finding.note == "");
}

BOOST_AUTO_TEST_CASE(what_is_not_installed_is_not_measured_and_says_what_to_do) {
    const Finding finding = compare({lane("a", {1, 2, 3}), absent("b")}, kWall);
    BOOST_TEST(!finding.value.has_value());
    BOOST_TEST(contains(finding.note, "apt-get install conntrack"));
    const std::string text = to_text(result_of({lane("a", {1, 2, 3}), absent("b")}));
    BOOST_TEST(contains(text, "program b: not measured: conntrack is not installed"));
    BOOST_TEST(contains(text, "b / a, wall time: not measured"));
}

BOOST_AUTO_TEST_CASE(what_was_always_disturbed_is_not_measured_and_says_why) {
    const Finding finding = compare({lane("a", {1}), rejected(lane("b", {4, 4}))}, kWall);
    BOOST_TEST(!finding.value.has_value());
    BOOST_TEST(finding.note ==
               "not measured: all 2 rounds were rejected (last: 20.0 % of CPU time used by other "
               "processes)");
}

BOOST_AUTO_TEST_CASE(a_ratio_from_contended_rounds_says_so) {
    LaneResult contended = rejected(lane("b", {4, 4, 4}));
    contended.from_contended = true;
    const Finding finding = compare({lane("a", {1, 1, 1}), contended}, kWall);
    BOOST_TEST(*finding.value == 4);
    BOOST_TEST(finding.note == "from contended rounds");
}

BOOST_AUTO_TEST_CASE(the_table_shows_medians_with_their_spread_and_what_was_asked_for) {
    const std::string text = to_text(result_of({lane("a", {1, 2, 3}), lane("b", {4, 4, 4})}));
    BOOST_TEST(contains(text, "2.000 s (1.000..3.000)"));
    BOOST_TEST(contains(text, "b / a, wall time: 2.00 x ["));
    BOOST_TEST(contains(text, "(asked for: at least 1.5)"));
    BOOST_TEST(contains(text, "repeat   pathproof bench inspect --entries 1000"));
}

BOOST_AUTO_TEST_CASE(the_table_counts_rejected_rounds) {
    LaneResult mixed = lane("a", {1, 2, 3});
    mixed.readings[1].objection = "disturbed";
    const std::string text = to_text(result_of({mixed, lane("b", {4})}));
    BOOST_TEST(contains(text, "2 (+1 rejected)"));
    BOOST_TEST(contains(text, "2.000 s (1.000..3.000)"));
}

BOOST_AUTO_TEST_CASE(the_json_holds_every_reading_and_nulls_for_what_was_not_measured) {
    LaneResult mixed = lane("a", {1, 2, 3});
    mixed.readings[1].objection = "disturbed";
    const json out = result_of({mixed, absent("b")});
    const json& experiment = out["experiments"][0];
    const json& first = experiment["lanes"][0];
    BOOST_TEST(first["readings"].size() == 3U);
    BOOST_TEST(first["readings"][1]["rejected"] == "disturbed");
    BOOST_TEST(first["readings"][0]["rejected"].is_null());
    BOOST_TEST(first["rejected_rounds"] == 1);
    BOOST_TEST(first["figures"]["wall_s"]["median"] == 2);
    BOOST_TEST(first["figures"]["wall_s"]["rounds"] == 2);
    BOOST_TEST(experiment["lanes"][1]["figures"]["wall_s"].is_null());
    BOOST_TEST(experiment["findings"][0]["value"].is_null());
    BOOST_TEST(out["tools"]["conntrack"] == "v1.4.7");
}

BOOST_AUTO_TEST_CASE(a_lane_that_failed_says_when_and_why_beside_its_figures) {
    LaneResult shaky = lane("a", {1, 2});
    shaky.failures = {{.round = 2, .why = "'dump' failed with status 1"}};
    const BenchResult result = result_of({shaky, lane("b", {4})});
    BOOST_TEST(has_failures(result.experiments[0]));
    const std::string text = to_text(result);
    BOOST_TEST(contains(text, "2 (1 failed)"));
    BOOST_TEST(contains(text, "program a: failed in round 2: 'dump' failed with status 1"));
    const json out = result;
    const json& failures = out["experiments"][0]["lanes"][0]["failures"];
    BOOST_TEST(failures[0]["round"] == 2);
    BOOST_TEST(failures[0]["why"] == "'dump' failed with status 1");
    BOOST_TEST(!has_failures(result_of({lane("a", {1})}).experiments[0]));
}

BOOST_AUTO_TEST_CASE(a_lane_that_never_succeeded_shows_why) {
    LaneResult broken = lane("b", {});
    broken.failures = {{.round = 0, .why = "no server"}, {.round = 1, .why = "no answer"}};
    const Finding finding = compare({lane("a", {1}), broken}, kWall);
    BOOST_TEST(finding.note == "not measured: failed 2 times, last in round 1: no answer");
    BOOST_TEST(contains(to_text(result_of({lane("a", {1}), broken})),
                        "program b: not measured: failed 2 times, last in round 1: no answer"));
}

BOOST_AUTO_TEST_CASE(computed_tables_and_notes_are_printed_and_written) {
    BenchResult result = result_of({lane("a", {1}), lane("b", {4})});
    result.name = "dataplane";
    result.experiments[0].tables = {{.id = "line_rate",
                                     .title = "computed",
                                     .heads = {"frame", "10 GbE"},
                                     .rows = {{"64", "1 (14.88)"}}}};
    result.experiments[0].notes = {"not measurable here: PCIe"};
    const std::string text = to_text(result);
    BOOST_TEST(contains(text, "  computed:\n"));
    BOOST_TEST(contains(text, "64     1 (14.88)"));
    BOOST_TEST(contains(text, "not measurable here: PCIe"));
    const nlohmann::json written = result;
    BOOST_TEST(written["bench"] == "dataplane");
    const nlohmann::json& table = written["experiments"][0]["tables"][0];
    BOOST_TEST(table["id"] == "line_rate");
    BOOST_TEST(table["rows"][0][1] == "1 (14.88)");
    BOOST_TEST(written["experiments"][0]["notes"][0] == "not measurable here: PCIe");
}

BOOST_AUTO_TEST_SUITE_END()
