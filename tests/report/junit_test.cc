#include "harness/report/junit.h"

#include <boost/test/unit_test.hpp>

#include "harness/process/program.h"
#include "samples.h"

using namespace pathproof;
using namespace pathproof::report;
using namespace pathproof::report::test;
using namespace pathproof::verdict;

namespace {

// The number of places where the XPath expression holds; -1 when the document is not well-formed.
int count(const std::string& xml, const std::string& path) {
    const auto answer = process::run_checked(
        {"xmllint", "--nonet", "--xpath", "count(" + path + ")", "-"}, {.input = xml});
    BOOST_TEST(answer.has_value(), (answer ? "" : answer.error().message));
    return answer ? std::stoi(*answer) : -1;
}

ScenarioResult scenario(std::vector<Cell> cells, std::vector<Cell> controls) {
    return {.id = "s", .cells = std::move(cells), .controls = std::move(controls)};
}

}  // namespace

BOOST_AUTO_TEST_CASE(every_cell_and_control_is_a_test_case) {
    const std::string xml = junit_xml(sample(), 1);
    BOOST_TEST(
        count(xml,
              "//testsuite[@name='vxlan-checksum']/testcase[@classname='vxlan-checksum.cell']") ==
        20);
    BOOST_TEST(count(xml, "//testcase[@classname='vxlan-checksum.control']") == 2);
    BOOST_TEST(count(xml, "//testcase[@classname='dns-race.cell']") == 8);
    BOOST_TEST(
        count(xml, "/testsuites[@tests='34' and @failures='8' and @errors='0' and @skipped='1']") ==
        1);
    BOOST_TEST(count(xml, "//testcase[failure]") == 8);
    BOOST_TEST(count(xml, "//testcase[skipped]") == 1);
}

BOOST_AUTO_TEST_CASE(nothing_is_red_where_the_exit_code_is_0) {
    verdict::RunResult run = sample();
    run.scenarios[0].cells[0].verdict = CellVerdict::kError;
    const std::string xml = junit_xml(run, 0);
    BOOST_TEST(count(xml, "//failure | //error") == 0);
    BOOST_TEST(
        count(xml, "/testsuites[@tests='34' and @failures='0' and @errors='0' and @skipped='9']") ==
        1);
    // A failure that a scenario looked for and found is still reported, and not as passed.
    BOOST_TEST(count(xml, "//testcase[skipped][.//property[@name='verdict' and @value='FAIL']]") ==
               7);
    BOOST_TEST(count(xml, "//testcase//property[@name='verdict' and @value='FAIL']") == 7);
    for (const int exit_code : {1, 3}) {
        BOOST_TEST(
            count(junit_xml(run, exit_code), "//testcase[@classname='run'][failure|error]") == 1);
        BOOST_TEST(count(junit_xml(run, exit_code), "//testcase[failure]") >= 7);
    }
}

BOOST_AUTO_TEST_CASE(an_unstable_cell_fails_or_is_skipped_and_never_passes) {
    Cell cell{
        .id = "a", .verdict = CellVerdict::kUnstable, .reason = "at times", .runs = Runs{3, 1, 2}};
    const auto marked = [&](int exit_code, const std::string& how) {
        return count(junit_xml({.scenarios = {scenario({cell}, {})}}, exit_code),
                     "//testcase[@name='a']/" + how + "[contains(@message, 'at times')]");
    };
    BOOST_TEST(marked(1, "failure") == 1);
    BOOST_TEST(marked(0, "skipped") == 1);
    BOOST_TEST(count(junit_xml({.scenarios = {scenario({cell}, {})}}, 1),
                     "//property[@name='repetitions.failed' and @value='1']") == 1);
    cell.known = "bug 7";
    BOOST_TEST(marked(1, "skipped") == 1);
    cell.known.clear();
    cell.role = Cell::Role::kControl;
    BOOST_TEST(marked(3, "error") == 1);
}

BOOST_AUTO_TEST_CASE(a_known_failure_is_skipped_with_its_reason) {
    const verdict::RunResult run{
        .scenarios = {scenario({{.id = "a", .verdict = CellVerdict::kFail, .known = "bug 7"},
                                {.id = "b", .verdict = CellVerdict::kFail}},
                               {})}};
    const std::string xml = junit_xml(run, 1);
    BOOST_TEST(count(xml, "//testcase[@name='a']/skipped[contains(@message, 'bug 7')]") == 1);
    BOOST_TEST(count(xml, "//testcase[@name='b']/failure") == 1);
}

BOOST_AUTO_TEST_CASE(suites_carry_evidence_class_seed_command_and_attachments) {
    const std::string xml = junit_xml(sample(), 0);
    BOOST_TEST(count(xml, "//property[@name='evidence_class' and @value='virtual']") == 2);
    BOOST_TEST(count(xml, "//property[@name='seed' and @value='7216433971']") == 2);
    BOOST_TEST(count(xml, "//property[@name='command' and contains(@value, 'qualify')]") == 2);
    BOOST_TEST(
        count(xml, "//testcase//property[@name='attachment' and contains(@value, '.pcapng')]") ==
        2);
    BOOST_TEST(count(xml, "//property[@name='measure.icmp' and @value='true']") > 0);
}

BOOST_AUTO_TEST_CASE(outcomes_map_to_what_ci_understands) {
    const auto cell = [](const char* id, CellVerdict verdict) {
        return Cell{.id = id, .verdict = verdict, .reason = "why"};
    };
    const std::string xml =
        junit_xml({.verdict = RunVerdict::kIncomplete,
                   .reasons = {"because"},
                   .scenarios = {scenario(
                       {cell("pass", CellVerdict::kPass), cell("fail", CellVerdict::kFail),
                        cell("error", CellVerdict::kError), cell("skip", CellVerdict::kSkip),
                        cell("unsure", CellVerdict::kInconclusive)},
                       {cell("control", CellVerdict::kFail)})}},
                  3);
    BOOST_TEST(count(xml, "//testcase[@name='pass'][not(failure|error|skipped)]") == 1);
    BOOST_TEST(count(xml, "//testcase[@name='fail']/failure[@message='why']") == 1);
    BOOST_TEST(count(xml, "//testcase[@name='error']/error") == 1);
    BOOST_TEST(count(xml, "//testcase[@name='skip']/skipped[@message='why']") == 1);
    BOOST_TEST(count(xml, "//testcase[@name='unsure']/error") == 1);
    BOOST_TEST(count(xml, "//testcase[@name='control']/error") == 1);
    BOOST_TEST(
        count(xml, "/testsuites[@tests='7' and @failures='1' and @errors='4' and @skipped='1']") ==
        1);
}

BOOST_AUTO_TEST_CASE(the_tools_own_demonstration_is_never_a_failure_of_the_system) {
    const Cell shown{.id = "demo",
                     .role = Cell::Role::kDemonstration,
                     .verdict = CellVerdict::kFail,
                     .reason = "why"};
    const std::string xml =
        junit_xml({.reasons = {"because"}, .scenarios = {scenario({shown}, {})}}, 1);
    BOOST_TEST(count(xml, "//testcase[@name='demo' and @classname='s.demonstration']/error") == 1);
    BOOST_TEST(count(xml, "//testcase[@classname!='run']/failure") == 0);
}

BOOST_AUTO_TEST_CASE(a_run_of_nothing_is_not_green) {
    const std::string xml =
        junit_xml({.verdict = RunVerdict::kIncomplete, .reasons = {"no scenario was run"}}, 3);
    BOOST_TEST(
        count(xml, "//testcase[@classname='run']/error[contains(@message, 'no scenario')]") == 1);
    BOOST_TEST(count(junit_xml({.verdict = RunVerdict::kNotQualified}, 1), "//failure") == 1);
    BOOST_TEST(count(junit_xml({.verdict = RunVerdict::kQualified}, 0), "//testcase/*") == 0);
}

BOOST_AUTO_TEST_CASE(hostile_strings_leave_the_document_well_formed) {
    BOOST_TEST(count(junit_xml(hostile(), 1), "//script") == 0);
    BOOST_TEST(count(junit_xml(hostile(), 1), "//testcase[contains(@name, '<script>')]") == 2);
}
