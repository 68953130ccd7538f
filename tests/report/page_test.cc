#include <boost/test/unit_test.hpp>

#include "harness/process/program.h"
#include "harness/report/coverage.h"
#include "harness/report/html.h"
#include "harness/report/html_parts.h"
#include "samples.h"

using namespace pathproof;
using namespace pathproof::report;
using namespace pathproof::report::test;
using namespace pathproof::verdict;

namespace {

bool well_formed(const std::string& page) {
    const auto checked =
        process::run_checked({"xmllint", "--nonet", "--noout", "-"}, {.input = page});
    BOOST_TEST(checked.has_value(), (checked ? "" : checked.error().message));
    return checked.has_value();
}

std::size_t occurrences(const std::string& text, const std::string& part) {
    std::size_t count = 0;
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
        ++count;
    }
    return count;
}

}  // namespace

BOOST_AUTO_TEST_CASE(hostile_strings_are_harmless_on_the_page) {
    const std::string page = html_page(hostile());
    BOOST_TEST(well_formed(page));
    // One script element: the data. It runs nothing.
    BOOST_TEST(occurrences(page, "<script") == 1);
    BOOST_TEST(occurrences(page, "</script>") == 1);
    BOOST_TEST(occurrences(page, "<b onclick") == 0);
    BOOST_TEST(occurrences(page, "href=\"javascript") == 0);
    BOOST_TEST(occurrences(page, "href=\"evidence/..") == 0);
    BOOST_TEST(occurrences(page, "\x1b") == 0);
}

BOOST_AUTO_TEST_CASE(every_run_verdict_has_a_page_that_says_it) {
    for (RunVerdict verdict : {RunVerdict::kQualified, RunVerdict::kConditionallyQualified,
                               RunVerdict::kNotQualified, RunVerdict::kIncomplete}) {
        for (const char* evidence_class : {"physical", "virtual", "simulated"}) {
            const std::string page =
                html_page({.verdict = verdict, .evidence_class = evidence_class});
            BOOST_TEST(well_formed(page));
            BOOST_TEST(page.find("<h1>" + std::string(name(verdict)) + "</h1>") !=
                       std::string::npos);
            BOOST_TEST(page.find(subject_of(evidence_class)) != std::string::npos);
        }
    }
}

BOOST_AUTO_TEST_CASE(what_was_tested_stands_before_the_scenarios) {
    RunResult run = sample();
    run.id = "0d1c2b3a-0000-4000-8000-000000000001";
    run.parties = {.laboratory = "Lab <7>", .place = "", .customer = "", .operator_name = "N. N."};
    run.environment.push_back({"DUT device eth7 of the offload truth table",
                               {{"driver", "ice", Fact::Status::kRead, ""},
                                {"firmware", "", Fact::Status::kAbsent, ""},
                                {"bus", "0000:3b:00.0", Fact::Status::kRead, ""}}});
    const std::string page = html_page(run);
    BOOST_TEST(well_formed(page));
    const std::size_t at = page.find("id=\"certificate\"");
    BOOST_REQUIRE(at != std::string::npos);
    BOOST_TEST(at < page.find("class=\"overview\""));
    for (const char* part : {"0d1c2b3a-0000-4000-8000-000000000001", "Lab &lt;7&gt;", "N. N.",
                             "driver ice, bus 0000:3b:00.0"}) {
        BOOST_TEST(page.find(part, at) != std::string::npos, part);
    }
    BOOST_TEST(page.find("<dt>Customer</dt>") == std::string::npos);
    BOOST_TEST(page.find("<title>CONDITIONALLY QUALIFIED of DUT device eth7") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(only_physical_evidence_speaks_of_hardware) {
    BOOST_TEST(std::string(subject_of("physical")).find("hardware") != std::string::npos);
    BOOST_TEST(std::string(subject_of("virtual")).find("hardware") == std::string::npos);
    BOOST_TEST(std::string(subject_of("simulated")).find("hardware") == std::string::npos);
}

BOOST_AUTO_TEST_CASE(values_that_could_not_be_read_are_marked) {
    const std::string html = environment_html(
        {{"Group",
          {{"a", "", Fact::Status::kAbsent, "x"}, {"b", "", Fact::Status::kDenied, "y"}}}});
    BOOST_TEST(occurrences(html, "not present") == 1);
    BOOST_TEST(occurrences(html, "permission denied") == 1);
}

BOOST_AUTO_TEST_CASE(a_measure_without_value_is_not_shown_as_zero) {
    const std::string html = measure_html({.value = nullptr, .unit = "ms"});
    BOOST_TEST(html.find("not measured") != std::string::npos);
    BOOST_TEST(html.find('0') == std::string::npos);
}

BOOST_AUTO_TEST_CASE(only_paths_below_the_report_are_linked) {
    BOOST_TEST(
        evidence_html({{"evidence/a-1_b.pcapng", "x"}}).find("href=\"evidence/a-1_b.pcapng\"") !=
        std::string::npos);
    for (const char* path :
         {"evidence/../../x", "/etc/x", "https://x", "javascript:x", "a b", ""}) {
        const std::string html = evidence_html({{path, "x"}});
        BOOST_TEST(html.find("href") == std::string::npos, path);
    }
}

BOOST_AUTO_TEST_CASE(before_and_after_falls_back_on_one_toggle_apart) {
    ScenarioResult scenario = sample().scenarios[0];
    scenario.before_cell.clear();
    scenario.after_cell.clear();
    const std::string html = before_after_html(scenario);
    BOOST_TEST(occurrences(html, "<strong>") == 2);
    BOOST_TEST(before_after_html({}).empty());
}

BOOST_AUTO_TEST_CASE(curves_stand_over_an_axis_that_grows_as_the_logarithm) {
    Chart chart{.title = "t",
                .unit = "%",
                .maximum = 100,
                .x_label = "skew <us>",
                .curves = {{"1 & 2", {{0, 50, Interval{40, 60}}, {100, 0, std::nullopt}}}},
                .marks = {{"glibc", 1, 3, 7}}};
    const std::string html = chart_html(chart);
    // From the left edge in the middle to the right edge at the bottom.
    BOOST_TEST(
        html.find(R"(class="curve look0" x1="0.000%" x2="100.000%" y1="110.0" y2="210.0")") !=
        std::string::npos);
    BOOST_TEST(
        html.find(R"(class="curve thin look0" x1="0.000%" x2="0.000%" y1="130.0" y2="90.0")") !=
        std::string::npos);
    // log(4) / log(101), log(2) / log(101), log(8) / log(101)
    BOOST_TEST(html.find(R"(class="mark" x1="30.038%")") != std::string::npos);
    BOOST_TEST(html.find(R"(class="range" x1="15.019%" x2="45.057%")") != std::string::npos);
    BOOST_TEST(html.find("skew &lt;us&gt;") != std::string::npos);
    BOOST_TEST(html.find("1 &amp; 2") != std::string::npos);
    BOOST_TEST(occurrences(html, "class=\"fill") == 0);
}

BOOST_AUTO_TEST_CASE(bars_have_whiskers_only_with_an_interval_and_stay_on_the_axis) {
    Chart chart{.title = "t", .unit = "%", .maximum = 50, .bars = {{.label = "a", .value = 80}}};
    std::string html = chart_html(chart);
    BOOST_TEST(occurrences(html, "whisker\"") == 0);
    BOOST_TEST(html.find(R"(width="100.000%")") != std::string::npos);
    chart.bars[0] = {.label = "a", .value = 20, .interval = Interval{10, 40}};
    html = chart_html(chart);
    BOOST_TEST(occurrences(html, "class=\"whisker\"") == 3);
    BOOST_TEST(html.find(R"(class="whisker" x1="20.000%" x2="80.000%")") != std::string::npos);
    chart.maximum = 0;  // from the data: 40
    BOOST_TEST(chart_html(chart).find(R"(class="whisker" x1="25.000%" x2="100.000%")") !=
               std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_truth_table_shows_a_field_for_each_condition_and_leads_to_its_cell) {
    ScenarioResult scenario;
    scenario.id = "truth";
    scenario.cells = {{.id = "a", .verdict = CellVerdict::kPass},
                      {.id = "b", .verdict = CellVerdict::kFail}};
    scenario.truth_tables = {
        {.title = "t",
         .conditions = {"plain", "VXLAN", "GENEVE"},
         .rows = {{.offload = "tx-checksum-ipv4",
                   .expected = "",
                   .advertised = "on",
                   .observed = {{.observed = Observed::kRight, .frames = 1000},
                                {.observed = Observed::kWrong,
                                 .frames = 1000,
                                 .wrong = 7,
                                 .names = {"PSEUDO", "UNKNOWN"},
                                 .cell = "b"}},
                   .finding = "inner checksums are left unfinished",
                   .errata = {{"E04", "title", "ethtool -K", "source", "driver matches"}}}}}};
    const std::string html = truth_tables_html(scenario);
    BOOST_TEST(occurrences(html, "<td class=\"seen") == 3);
    BOOST_TEST(occurrences(html, "seen good") == 1);
    BOOST_TEST(occurrences(html, "seen bad") == 1);
    BOOST_TEST(html.find("<a href=\"#truth/b\">PSEUDO +1</a><small>7 of 1,000</small>") !=
                   std::string::npos,
               html);
    BOOST_TEST(html.find("not said") != std::string::npos);
    BOOST_TEST(html.find("E04") != std::string::npos);
    BOOST_TEST(cells_html(scenario).find("id=\"truth/b\"") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_calibration_counts_only_what_a_score_applies_to) {
    using Score = CalibrationRow::Score;
    const Calibration calibration{.instrument = "software NIC",
                                  .faults = {{.id = "F01",
                                              .detected = Score::kYes,
                                              .named = Score::kYes,
                                              .located = Score::kNo},
                                             {.id = "F47",
                                              .detected = Score::kYes,
                                              .named = Score::kNotApplicable,
                                              .located = Score::kYes}},
                                  .healthy_frames = 3'000'000};
    const std::string html = calibration_html(calibration);
    BOOST_TEST(well_formed(html));
    BOOST_TEST(html.find("detected</dt><dd><span class=\"figure\">2 of 2") != std::string::npos);
    BOOST_TEST(html.find("their name</dt><dd><span class=\"figure\">1 of 1") != std::string::npos);
    BOOST_TEST(html.find("show in</dt><dd><span class=\"figure\">1 of 2") != std::string::npos);
    BOOST_TEST(html.find("0 in 3,000,000") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_failing_run_does_not_call_a_named_cause_unnamed) {
    const auto said = [](const std::string& cause, ScenarioVerdict verdict) {
        return meaning({.verdict = RunVerdict::kNotQualified,
                        .scenarios = {{.id = "a", .verdict = verdict, .cause = cause}}});
    };
    const std::string unnamed = "could not name the cause";
    BOOST_TEST(said("", ScenarioVerdict::kDefectFound).find(unnamed) != std::string::npos);
    BOOST_TEST(said("", ScenarioVerdict::kReproduced).find(unnamed) != std::string::npos);
    for (const ScenarioVerdict verdict :
         {ScenarioVerdict::kDefectFound, ScenarioVerdict::kReproduced}) {
        const std::string text = said("PSEUDO", verdict);
        BOOST_TEST(text.find(unnamed) == std::string::npos, text);
        BOOST_TEST(text.find("The cause is named below") != std::string::npos, text);
    }
    BOOST_TEST(said("", ScenarioVerdict::kNoDefectFound).find("did not look for") !=
               std::string::npos);
}

BOOST_AUTO_TEST_CASE(only_words_that_occur_on_the_tiles_are_explained) {
    const auto lead = [](const std::vector<ScenarioResult>& scenarios) {
        const std::string page = html_page({.evidence_class = "virtual", .scenarios = scenarios});
        const std::size_t begin = page.find(R"(aria-label="Scenarios")");
        return page.substr(begin, page.find("</p>", begin) - begin);
    };
    const ScenarioResult failure{.id = "a", .verdict = ScenarioVerdict::kNotReproduced};
    const ScenarioResult truth{.id = "b", .verdict = ScenarioVerdict::kNoDefectFound};
    BOOST_TEST(lead({failure}).find("DEFECT FOUND") == std::string::npos);
    BOOST_TEST(lead({truth}).find("REPRODUCED") == std::string::npos);
    BOOST_TEST(lead({truth}).find("DEFECT FOUND") != std::string::npos);
    BOOST_TEST(lead({failure, truth}).find("REPRODUCED means") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(what_was_planned_and_what_became_of_it_is_counted_and_linked) {
    const auto cell = [](const std::string& id, CellVerdict verdict, const std::string& reason) {
        return Cell{.id = id, .verdict = verdict, .reason = reason};
    };
    ScenarioResult scenario{.id = "s", .title = "t"};
    scenario.cells = {cell("a", CellVerdict::kPass, ""),
                      cell("b", CellVerdict::kFail, "r"),
                      cell("c", CellVerdict::kUnstable, "r"),
                      cell("d", CellVerdict::kError, "r"),
                      cell("e", CellVerdict::kSkip, "no vxlan here"),
                      cell("f", CellVerdict::kSkip, "no vxlan here")};
    scenario.cells[1].known = "bug 7";
    scenario.cells[2].fresh = true;
    scenario.controls = {cell("off", CellVerdict::kPass, "")};
    scenario.planned = {"a", "b", "g"};
    scenario.truth_tables = {{.conditions = {"plain"},
                              .rows = {{.offload = "tx-udp-segmentation",
                                        .direction = "Tx",
                                        .observed = {{.note = "the port cuts long frames"}}}}}};
    const Coverage coverage = coverage_of(scenario);
    BOOST_TEST(coverage.planned == 8u);
    BOOST_TEST(coverage.executed() == 5u);
    BOOST_TEST(coverage_text(coverage) ==
               "8 planned, 5 executed: 1 failed, 1 unstable, 1 without a verdict, 2 passed; 2 "
               "skipped, 1 not run, 1 not testable here");
    const std::string html = html_page({.evidence_class = "virtual", .scenarios = {scenario}});
    BOOST_TEST(well_formed(html));
    BOOST_TEST(html.find("href=\"#s/b\">b</a> (known)") != std::string::npos);
    BOOST_TEST(html.find("href=\"#s/c\">c</a> (new)") != std::string::npos);
    BOOST_TEST(html.find("s: 2 skipped: no vxlan here") != std::string::npos);
    BOOST_TEST(html.find("s: 1 not testable here: the port cuts long frames") != std::string::npos);
    BOOST_TEST(html.find("id=\"coverage\"") < html.find("id=\"s\""));
}

BOOST_AUTO_TEST_CASE(a_repeated_cell_says_how_often_it_failed_and_which_run_is_shown) {
    ScenarioResult scenario{.id = "s", .title = "t"};
    scenario.cells = {{.id = "a",
                       .verdict = CellVerdict::kUnstable,
                       .reason = "r",
                       .known = "bug 7",
                       .runs = Runs{5, 2, 3}}};
    scenario.repetitions = {{4, ScenarioVerdict::kReproduced, "it fails"},
                            {5, ScenarioVerdict::kNotReproduced, "it passes"}};
    const std::string html = scenario_html(scenario);
    BOOST_TEST(html.find("failed 2 of 5, shown: repetition 3") != std::string::npos);
    BOOST_TEST(html.find("UNSTABLE") != std::string::npos);
    BOOST_TEST(html.find(">known<") != std::string::npos);
    BOOST_TEST(html.find("seed <code>5</code>: it passes") != std::string::npos);
    BOOST_TEST(scenario_html({.id = "s"}).find("Repetitions") == std::string::npos);
}
