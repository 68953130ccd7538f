// One run, told eight ways: exit code, report.json, junit.xml, KTAP, Markdown, netdev CI's JSON, OCP's
// lines and the page agree.
#include <boost/test/unit_test.hpp>
#include <map>
#include <nlohmann/json.hpp>
#include <random>

#include "dataplane/base/pattern.h"
#include "harness/report/badge.h"
#include "harness/report/coverage.h"
#include "harness/report/html.h"
#include "harness/report/junit.h"
#include "harness/report/ktap.h"
#include "harness/report/netdev.h"
#include "harness/report/ocp.h"
#include "harness/report/outcome.h"
#include "samples.h"

using namespace pathproof;
using namespace pathproof::report;
using namespace pathproof::report::test;
using namespace pathproof::verdict;

namespace {

template <typename Kind>
Kind one_of(std::mt19937& random, std::initializer_list<Kind> kinds) {
    return *(kinds.begin() + random() % kinds.size());
}

RunResult drawn(std::mt19937& random) {
    RunResult run{.reasons = {"r"},
                  .evidence_class = "virtual",
                  .command = "c",
                  .repeat_command = "c",
                  .lab = "veth",
                  .version = "1",
                  .started_at = "2026-11-23T00:00:00Z"};
    for (unsigned n = 0; n < random() % 4; ++n) {
        ScenarioResult scenario{
            .id = "s" + std::to_string(n),
            .title = "t",
            .verdict =
                one_of(random, {ScenarioVerdict::kReproduced, ScenarioVerdict::kExposed,
                                ScenarioVerdict::kNotReproduced, ScenarioVerdict::kDefectFound,
                                ScenarioVerdict::kInconclusive})};
        for (unsigned cell = 0; cell < random() % 9; ++cell) {
            Cell made{
                .id = "cell " + std::to_string(cell) + " # 1 | 2",
                .role = one_of(random, {Cell::Role::kMatrix, Cell::Role::kMatrix, Cell::Role::kCure,
                                        Cell::Role::kDemonstration}),
                .verdict = one_of(random, {CellVerdict::kPass, CellVerdict::kFail,
                                           CellVerdict::kError, CellVerdict::kSkip,
                                           CellVerdict::kInconclusive, CellVerdict::kUnstable})};
            if (made.verdict == CellVerdict::kUnstable) {
                made.runs = Runs{3, 1 + random() % 2, 1 + random() % 3};
            }
            if (made.verdict != CellVerdict::kPass) {
                made.reason = "of 5\n3 # went\twrong";
            }
            if (fails(made.verdict)) {
                made.cause = random() % 2 == 0 ? "mtu" : "";
                made.known = random() % 3 == 0 ? "bug 7" : "";
            }
            (random() % 4 == 0 ? scenario.controls : scenario.cells).push_back(made);
        }
        run.scenarios.push_back(std::move(scenario));
    }
    std::tie(run.verdict, run.reasons) = judge_run(run.scenarios);
    return run;
}

std::string kind_of_artifact(const nlohmann::json& step) {
    if (step.contains("diagnosis")) {
        return step["diagnosis"]["type"].get<std::string>();
    }
    return step.contains("error") ? "error" : "other";
}

// The artifacts of a run, streamed as it would be.
std::map<std::string, std::size_t> ocp_counts(const RunResult& run, int exit_code) {
    std::map<std::string, std::size_t> counts;
    OcpStream stream([&](std::string_view line) -> Status {
        const auto artifact = nlohmann::json::parse(line);
        const auto step = artifact.value("testStepArtifact", nlohmann::json::object());
        const auto of_run = artifact.value("testRunArtifact", nlohmann::json::object());
        ++counts[kind_of_artifact(step)];
        if (of_run.contains("testRunEnd")) {
            ++counts["end " + of_run["testRunEnd"]["result"].get<std::string>()];
        }
        return {};
    });
    // A baseline's knowledge comes with the end alone.
    RunResult before = run;
    for (ScenarioResult& scenario : before.scenarios) {
        for (Cell& cell : all_cells(scenario)) {
            cell.known.clear();
        }
    }
    stream.begin(before);
    for (const ScenarioResult& scenario : before.scenarios) {
        stream.begin_scenario(scenario.id);
        stream.end_scenario(scenario);
    }
    stream.end(run, exit_code);
    return counts;
}

std::size_t matches(const std::string& text, const std::string& pattern) {
    return Pattern(pattern).search_all(text).size();
}

}  // namespace

BOOST_AUTO_TEST_SUITE(views)

BOOST_AUTO_TEST_CASE(all_views_of_a_run_agree) {
    std::mt19937 random(14);
    for (int n = 0; n < 2000; ++n) {
        const RunResult run = drawn(random);
        const int exit_code = verdict::exit_code(run.verdict);
        Tally counts;
        for (const ScenarioResult& scenario : run.scenarios) {
            counts.add(cases_of(scenario, exit_code));
        }
        const auto back = from_json(json_text(run));
        BOOST_REQUIRE_MESSAGE(back, (back ? "" : back.error().message));
        BOOST_TEST(verdict::exit_code(judge_run(back->scenarios).first) == exit_code);
        // An exit code of 0 allows nothing red.
        BOOST_TEST((exit_code == 0) == (counts.failures + counts.errors == 0 && exit_code == 0));

        // A cell that failed is passed to no machine.
        std::size_t passed = 0;
        for (const ScenarioResult& scenario : run.scenarios) {
            for (const Cell& cell : all_cells(scenario)) {
                passed += cell.verdict == CellVerdict::kPass ? 1 : 0;
            }
        }
        BOOST_TEST(counts.tests - counts.failures - counts.errors - counts.skipped == passed);

        const std::string xml = junit_xml(*back, exit_code);
        BOOST_TEST(matches(xml, "<failure ") == counts.failures + (exit_code == 1 ? 1 : 0));
        BOOST_TEST(matches(xml, "<error ") == counts.errors + (exit_code == 3 ? 1 : 0));
        BOOST_TEST(matches(xml, "<skipped ") == counts.skipped);

        const std::string lines = ktap(*back, exit_code);
        BOOST_TEST(matches(lines, "^    not ok [0-9]+ ") == counts.failures + counts.errors);
        BOOST_TEST(matches(lines, "^    ok [0-9]+ .* # (SKIP|XFAIL) ") == counts.skipped);
        BOOST_TEST(matches(lines, "^    (not )?ok [0-9]+ ") == counts.tests);
        BOOST_TEST(matches(lines, "^(not )?ok [0-9]+ ") == run.scenarios.size() + 1);
        BOOST_TEST(matches(lines, "^not ok [0-9]+ run$") == (exit_code == 0 ? 0u : 1u));

        const std::string page = summary_markdown(*back, exit_code);
        BOOST_TEST(page.find(std::string("## pathproof: ") + name(run.verdict) + " (exit code " +
                             std::to_string(exit_code)) == 0u);
        BOOST_TEST(matches(page, "^\\| s[0-9]+/cell .* \\|$") == counts.failures + counts.errors);

        const auto netdev = nlohmann::json::parse(netdev_json(*back, exit_code, {}));
        std::map<std::string, std::size_t> words;
        for (const auto& test : netdev["results"]) {
            bool failed = false;
            for (const auto& cell : test.value("results", nlohmann::json::array())) {
                ++words[cell["result"]];
                failed |= cell["result"] == "fail";
                BOOST_TEST((!cell.contains("retry") || cell["result"] == "fail"));
            }
            BOOST_TEST((test["test"] == "run" || failed == (test["result"] == "fail")));
        }
        BOOST_TEST(netdev["results"].size() == run.scenarios.size() + 1);
        BOOST_TEST((netdev["results"].back()["result"] == "pass") == (exit_code == 0));
        BOOST_TEST(words["fail"] == counts.failures + counts.errors);
        BOOST_TEST(words["skip"] == counts.skipped);
        BOOST_TEST(words["pass"] + words["fail"] + words["skip"] == counts.tests);

        auto ocp = ocp_counts(*back, exit_code);
        BOOST_TEST(ocp["PASS"] == passed + (exit_code == 0 ? 1 : 0));
        BOOST_TEST(ocp["FAIL"] == counts.failures + (exit_code == 1 ? 1 : 0));
        BOOST_TEST(ocp["error"] == counts.errors + (exit_code == 3 ? 1 : 0));
        BOOST_TEST(ocp["UNKNOWN"] == counts.skipped);
        BOOST_TEST(ocp["end PASS"] == (exit_code == 0 ? 1u : 0u));
        BOOST_TEST(ocp["end FAIL"] == (exit_code == 1 ? 1u : 0u));

        // The coverage counts the failed cells that the data has, and the executed and skipped ones
        // of the views.
        std::size_t failed = 0;
        std::size_t covered = 0;
        for (const ScenarioResult& scenario : back->scenarios) {
            const Coverage coverage = coverage_of(scenario);
            failed += coverage.count(Became::kFailed) + coverage.count(Became::kUnstable);
            covered += coverage.executed() + coverage.count(Became::kSkipped);
        }
        BOOST_TEST(failed == matches(json_text(run), "\"verdict\": \"(FAIL|UNSTABLE)\""));
        BOOST_TEST(covered == counts.tests);

        BOOST_TEST(html_page(*back).find(std::string("<h1>") + name(run.verdict)) !=
                   std::string::npos);
    }
}

BOOST_AUTO_TEST_CASE(a_failure_whose_cure_was_shown_is_told_with_its_condition) {
    RunResult run{
        .verdict = RunVerdict::kConditionallyQualified,
        .evidence_class = "virtual",
        .started_at = "2026-11-23T00:00:00Z",
        .scenarios = {
            {.id = "vxlan-checksum",
             .verdict = ScenarioVerdict::kReproduced,
             .cure = "`ethtool -K vx tx off`",
             .cells = {
                 {.id = "a", .verdict = CellVerdict::kFail, .reason = "12 wrong", .seconds = 1.5},
                 {.id = "b", .verdict = CellVerdict::kPass}}}}};
    const std::string xml = junit_xml(run, 0);
    BOOST_TEST(xml.find("<skipped message=\"condition: `ethtool -K vx tx off` (as found: 12 "
                        "wrong)\"/>") != std::string::npos);
    BOOST_TEST(xml.find("name=\"a\" time=\"1.500\"") != std::string::npos);
    BOOST_TEST(junit_xml(run, 1).find("<failure type=\"FAIL\" message=\"12 wrong\"/>") !=
               std::string::npos);
    const std::string lines = ktap(run, 0);
    BOOST_TEST(matches(lines, "^    ok 1 a # XFAIL condition: ") == 1u);
    BOOST_TEST(matches(lines, "^ok 1 vxlan-checksum # XFAIL condition: ") == 1u);
    BOOST_TEST(matches(ktap(run, 1), "^not ok 1 vxlan-checksum$") == 1u);
    BOOST_TEST(summary_markdown(run, 0).find("| vxlan-checksum | \\`ethtool") != std::string::npos);
    const auto netdev = nlohmann::json::parse(netdev_json(run, 0, {}));
    BOOST_TEST(netdev["results"][0]["result"] == "skip");
    BOOST_TEST(netdev["results"][0]["results"][0]["result"] == "skip");
}

BOOST_AUTO_TEST_CASE(no_text_of_a_run_makes_lines_or_directives_of_its_own) {
    const std::string lines = ktap(hostile(), 1);
    BOOST_TEST(matches(lines, "^ *(not )?ok ") == 4u);
    BOOST_TEST(lines.find('\x1b') == std::string::npos);
    const std::string page = summary_markdown(hostile(), 1);
    BOOST_TEST(page.find("<script>") == std::string::npos);
}

BOOST_AUTO_TEST_CASE(netdev_ci_reads_names_times_and_retries_as_its_own_executors_write_them) {
    const auto cell = [](const std::string& id, CellVerdict verdict, std::uint64_t failed) {
        return Cell{.id = id, .verdict = verdict, .reason = "why", .runs = Runs{3, failed, 1}};
    };
    RunResult run{
        .evidence_class = "virtual",
        .started_at = "2026-11-23T23:59:58Z",
        .seconds = 3.5,
        .environment = {{"Kernel", {{"release", "6.12.1", Fact::Status::kRead, ""}}},
                        {"DUT device eth0", {{"driver", "ice", Fact::Status::kRead, ""}}}},
        .scenarios = {{.id = "dns-race",
                       .cells = {cell("a.200ms", CellVerdict::kUnstable, 1),
                                 cell("b", CellVerdict::kPass, 0)},
                       .repetitions = {{1}, {2}, {3}},
                       .seconds = 3}}};
    auto all = nlohmann::json::parse(netdev_json(run, 1, {.link = "https://ci.example/7"}));
    BOOST_TEST(all["executor"] == "pathproof");
    BOOST_TEST(all["branch"] == "6.12.1");
    BOOST_TEST(all["start"] == "2026-11-23 23:59:58+00:00");
    BOOST_TEST(all["end"] == "2026-11-24 00:00:02+00:00");
    BOOST_TEST(all["link"] == "https://ci.example/7");
    BOOST_TEST(!all.contains("device"));
    const auto& test = all["results"][0];
    BOOST_TEST(test["test"] == "dns-race");
    BOOST_TEST(test["group"] == "pathproof");
    BOOST_TEST(test["result"] == "fail");
    BOOST_TEST(test["retry"] == "pass");  // what failed passed in another repetition
    BOOST_TEST(test["link"] == "https://ci.example/7/report.html#dns-race");
    BOOST_TEST(test["results"][0]["test"] == "a-200ms");
    BOOST_TEST(test["results"][0]["retry"] == "pass");
    BOOST_TEST(test["results"][1]["result"] == "pass");
    BOOST_TEST(!test["results"][1].contains("retry"));

    run.scenarios[0].cells.insert(run.scenarios[0].cells.begin(),
                                  cell("always", CellVerdict::kFail, 3));
    run.evidence_class = "physical";
    all = nlohmann::json::parse(netdev_json(run, 1, {.executor = "lab-7", .branch = "net-next"}));
    BOOST_TEST(all["executor"] == "lab-7");
    BOOST_TEST(all["branch"] == "net-next");
    BOOST_TEST(all["device"]["driver"] == "ice");
    BOOST_TEST(all["results"][0]["retry"] == "fail");
    BOOST_TEST(all["results"][0]["results"][0]["retry"] == "fail");
    BOOST_TEST(all["results"][0]["results"][1]["retry"] == "pass");
}

BOOST_AUTO_TEST_SUITE_END()
