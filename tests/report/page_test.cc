#include <fmt/format.h>

#include <boost/test/unit_test.hpp>

#include "harness/process/program.h"
#include "harness/report/coverage.h"
#include "harness/report/html.h"
#include "harness/report/text.h"
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
    // The data, which runs nothing, and the front end.
    BOOST_TEST(occurrences(page, "<script") == 2);
    BOOST_TEST(occurrences(page, "</script>") == 2);
    BOOST_TEST(occurrences(page, "<b onclick") == 0);
    BOOST_TEST(occurrences(page, "href=\"javascript") == 0);
    BOOST_TEST(occurrences(page, "href=\"evidence/..") == 0);
    BOOST_TEST(occurrences(page, "\x1b") == 0);
}

BOOST_AUTO_TEST_CASE(the_page_holds_the_report_and_names_its_script_by_hash) {
    const RunResult run = sample();
    const std::string page = html_page(run);
    const std::string begin = R"(id="data">)";
    const std::size_t at = page.find(begin) + begin.size();
    const std::string data = page.substr(at, page.find("</script>", at) - at);
    const auto held = from_json(data);
    BOOST_REQUIRE_MESSAGE(held.has_value(), (held ? "" : held.error().message));
    BOOST_TEST((json_text(*held) == json_text(run)));
    BOOST_TEST(occurrences(page, "script-src 'sha256-") == 1);
    BOOST_TEST(occurrences(page, "default-src 'none'") == 1);
}

BOOST_AUTO_TEST_CASE(a_page_without_data_runs_nothing) {
    const std::string page = framed_page("a < b", "<p>plain</p>");
    BOOST_TEST(well_formed(page));
    BOOST_TEST(occurrences(page, "<script") == 0);
    BOOST_TEST(occurrences(page, "<!--") == 0);
    BOOST_TEST(page.find("<title>a &lt; b") != std::string::npos);
    BOOST_TEST(page.find("<p>plain</p></main>") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(every_run_verdict_has_a_page_that_says_it) {
    for (RunVerdict verdict : {RunVerdict::kQualified, RunVerdict::kConditionallyQualified,
                               RunVerdict::kNotQualified, RunVerdict::kIncomplete}) {
        for (const char* evidence_class : {"physical", "virtual", "simulated"}) {
            const std::string page =
                html_page({.verdict = verdict, .evidence_class = evidence_class});
            BOOST_TEST(well_formed(page));
            BOOST_TEST(page.find(fmt::format("<h1>{} {}</h1>", name(verdict),
                                             subject_of(evidence_class))) != std::string::npos);
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
    const std::size_t at = page.find("<h2>What was tested</h2>");
    BOOST_REQUIRE(at != std::string::npos);
    BOOST_TEST(at < page.find("<h2>Scenarios</h2>"));
    for (const char* part : {"0d1c2b3a-0000-4000-8000-000000000001", "Lab &lt;7&gt;", "N. N."}) {
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

BOOST_AUTO_TEST_CASE(what_could_not_be_read_or_measured_says_so) {
    const std::string html = plain_html(
        {.evidence_class = "virtual",
         .environment = {{"Group",
                          {{"a", "", Fact::Status::kAbsent, "x"},
                           {"b", "", Fact::Status::kDenied, "y"}}}},
         .scenarios = {{.id = "s",
                        .cells = {{.id = "c",
                                   .verdict = CellVerdict::kFail,
                                   .measures = {{.label = "delay", .value = nullptr, .unit = "ms"},
                                                {.label = "lost", .value = 0}}}}}}});
    BOOST_TEST(occurrences(html, "not present") == 1);
    BOOST_TEST(occurrences(html, "permission denied") == 1);
    BOOST_TEST(html.find("delay: not measured; lost: 0") != std::string::npos, html);
}

BOOST_AUTO_TEST_CASE(a_truth_table_names_what_is_wrong_and_how_often) {
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
    const std::string html = plain_html({.evidence_class = "virtual", .scenarios = {scenario}});
    BOOST_TEST(
        html.find("<td>right</td><td>wrong: PSEUDO, UNKNOWN, 7 of 1000</td>") != std::string::npos,
        html);
    BOOST_TEST(html.find("not said") != std::string::npos);
    BOOST_TEST(html.find("E04: title (driver matches). Workaround: ethtool -K") !=
               std::string::npos);
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
    const std::string html = plain_html(
        {.evidence_class = "virtual", .scenarios = {{.id = "s", .calibration = calibration}}});
    BOOST_TEST(html.find("detected: 2 of 2; named: 1 of 1; located: 1 of 2") != std::string::npos);
    BOOST_TEST(html.find("0 in 3000000") != std::string::npos);
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

BOOST_AUTO_TEST_CASE(what_was_planned_and_what_became_of_it_is_counted) {
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
    const std::string html = plain_html({.evidence_class = "virtual", .scenarios = {scenario}});
    BOOST_TEST(html.find("FAIL</span>, known: bug 7</td>") != std::string::npos, html);
    BOOST_TEST(html.find("UNSTABLE</span>, new</td>") != std::string::npos);
    BOOST_TEST(html.find("<li>2 skipped: no vxlan here</li>") != std::string::npos);
    BOOST_TEST(html.find("<li>1 not testable here: the port cuts long frames</li>") !=
               std::string::npos);
    const auto said = to_json({.scenarios = {scenario}})["scenarios"][0]["coverage"];
    BOOST_TEST(said.size() == 7u);
    BOOST_TEST(said[3]["became"] == "skipped");
    BOOST_TEST(said[3]["cells"].size() == 2u);
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
    const std::string html = plain_html({.evidence_class = "virtual", .scenarios = {scenario}});
    BOOST_TEST(html.find("failed 2 of 5, shown: repetition 3, known: bug 7") != std::string::npos);
    BOOST_TEST(html.find("UNSTABLE") != std::string::npos);
    BOOST_TEST(html.find("seed <code>5</code>: it passes") != std::string::npos);
}
