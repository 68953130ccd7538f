#define BOOST_TEST_MODULE run
#include <boost/test/unit_test.hpp>
#include <string>

#include "harness/run/exit_code.h"
#include "harness/run/expected.h"
#include "harness/run/request.h"
#include "harness/run/views.h"
#include "harness/run/watch.h"

namespace pathproof::run {
namespace {

verdict::RunResult result_of(const char* command, verdict::ScenarioVerdict scenario,
                             verdict::RunVerdict run = verdict::RunVerdict::kQualified) {
    verdict::RunResult result;
    result.options.command = command;
    result.verdict = run;
    result.scenarios = {{.id = "offload-truth", .verdict = scenario}};
    return result;
}

std::string refusal(const verdict::RunOptions& asked) {
    const auto session = session_of(asked, 1, "");
    return session ? "" : session.error().message;
}

}  // namespace

BOOST_AUTO_TEST_CASE(repro_gives_the_exit_code_of_its_scenario) {
    using enum verdict::ScenarioVerdict;
    for (const auto& [scenario, code] : {std::pair{kReproduced, 0},
                                         {kDefectFound, 0},
                                         {kExposed, 1},
                                         {kNotReproduced, 1},
                                         {kNoDefectFound, 1},
                                         {kInconclusive, 3},
                                         {kNotRun, 3}}) {
        BOOST_TEST(exit_code_of(result_of("repro", scenario)) == code);
        // A headline of INCOMPLETE is no answer, whatever its scenario says.
        BOOST_TEST(exit_code_of(result_of("repro", scenario, verdict::RunVerdict::kIncomplete)) ==
                   3);
    }
}

BOOST_AUTO_TEST_CASE(qualify_gives_the_exit_code_of_the_run) {
    using verdict::RunVerdict;
    const auto code = [](RunVerdict run) {
        return exit_code_of(result_of("qualify", verdict::ScenarioVerdict::kReproduced, run));
    };
    BOOST_TEST(code(RunVerdict::kQualified) == 0);
    BOOST_TEST(code(RunVerdict::kNotQualified) == 1);
    BOOST_TEST(code(RunVerdict::kIncomplete) == 3);
}

BOOST_AUTO_TEST_CASE(offload_check_fails_where_a_row_has_a_finding) {
    verdict::RunResult result =
        result_of("offload check", verdict::ScenarioVerdict::kNoDefectFound);
    BOOST_TEST(exit_code_of(result) == 0);
    result.scenarios.front().truth_tables = {{.rows = {{.finding = "it is wrong"}}}};
    BOOST_TEST(exit_code_of(result) == 1);
    result.verdict = verdict::RunVerdict::kIncomplete;
    BOOST_TEST(exit_code_of(result) == 3);
}

BOOST_AUTO_TEST_CASE(a_kernel_that_complains_of_a_device_under_test_fails_the_run) {
    using verdict::KernelMessage;
    const auto message = [](const char* subject, bool against) {
        return KernelMessage{.seconds = 12.5,
                             .kind = KernelMessage::Kind::kWarning,
                             .text = "WARNING: of it",
                             .subject = subject,
                             .against = against};
    };
    std::vector<verdict::HostWatch> hosts = {
        {.host = "this machine", .messages = {message("ext4", false)}}};
    BOOST_TEST(!kernel_log_scenario(hosts).has_value());
    hosts.push_back({.host = "the DUT", .messages = {message("ice", true), message("ice", true)}});
    const auto faults = kernel_log_scenario(hosts);
    BOOST_REQUIRE(faults.has_value());
    BOOST_REQUIRE(faults->cells.size() == 1u);
    BOOST_TEST(verdict::finding_id(faults->id, faults->cells.front()) ==
               "kernel-log/the-DUT.warning.ice/kernel-warning");
    BOOST_TEST(faults->cells.front().reason ==
               "the kernel of the DUT logged after 12.5 s: WARNING: of it");
    BOOST_TEST((faults->area == verdict::Area::kDevice));
    BOOST_TEST((verdict::judge_run({*faults}).first == verdict::RunVerdict::kNotQualified));
    for (const char* command : {"repro", "offload check"}) {
        verdict::RunResult result = result_of(
            command, std::string(command) == "repro" ? verdict::ScenarioVerdict::kReproduced
                                                     : verdict::ScenarioVerdict::kNoDefectFound);
        BOOST_TEST(exit_code_of(result) == 0);
        result.scenarios.push_back(*faults);
        BOOST_TEST(exit_code_of(result) == 1);
    }
    hosts.back().messages = {message("net/core/dev.c", true)};
    BOOST_TEST((kernel_log_scenario(hosts)->area == verdict::Area::kKernelPath));
}

BOOST_AUTO_TEST_CASE(a_strict_run_fails_by_a_failure_whose_cure_was_shown) {
    verdict::RunResult result = result_of("qualify", verdict::ScenarioVerdict::kReproduced,
                                          verdict::RunVerdict::kConditionallyQualified);
    result.scenarios.front().cells = {{.id = "a", .verdict = verdict::CellVerdict::kPass}};
    result.scenarios.front().controls = {{.id = "c", .verdict = verdict::CellVerdict::kFail}};
    const Expected strict{.baseline = std::nullopt, .strict = true};
    BOOST_TEST(strict.judge(result, 0) == 0);  // a control is no failure of the system
    result.scenarios.front().cells.push_back({.id = "b", .verdict = verdict::CellVerdict::kFail});
    BOOST_TEST(Expected{}.judge(result, 0) == 0);
    BOOST_TEST(strict.judge(result, 3) == 3);
    BOOST_TEST((result.verdict == verdict::RunVerdict::kConditionallyQualified));
    BOOST_TEST(strict.judge(result, 0) == 1);
    BOOST_TEST((result.verdict == verdict::RunVerdict::kNotQualified));
    BOOST_TEST(result.reasons.front() ==
               "By --strict 1 failing cell counts against it, whatever cure was shown.");
}

BOOST_AUTO_TEST_CASE(the_verdict_agrees_with_what_a_baseline_makes_of_the_run) {
    verdict::RunResult result = result_of("qualify", verdict::ScenarioVerdict::kReproduced,
                                          verdict::RunVerdict::kConditionallyQualified);
    result.scenarios.front().cells = {
        {.id = "a", .verdict = verdict::CellVerdict::kFail, .reason = "r", .cause = "mtu"}};
    const Expected empty{.baseline = compare::Baseline{.file = "f", .known = {}}};
    BOOST_TEST(empty.judge(result, 0) == 1);
    BOOST_TEST((result.verdict == verdict::RunVerdict::kNotQualified));
    const Expected knows{.baseline = compare::Baseline{
                             .file = "f", .known = {{.id = "offload-truth/a", .reason = "bug 7"}}}};
    BOOST_TEST(knows.judge(result, 1) == 0);
    BOOST_TEST((result.verdict == verdict::RunVerdict::kConditionallyQualified));
}

BOOST_AUTO_TEST_CASE(a_defect_is_1_whether_or_not_its_cause_was_named_and_all_was_measured) {
    using verdict::RunVerdict;
    for (const RunVerdict run : {RunVerdict::kIncomplete, RunVerdict::kNotQualified,
                                 RunVerdict::kConditionallyQualified}) {
        BOOST_TEST(exit_code_of(result_of("offload check", verdict::ScenarioVerdict::kDefectFound,
                                          run)) == 1);
    }
    BOOST_TEST(exit_code_of(result_of("offload check", verdict::ScenarioVerdict::kInconclusive,
                                      RunVerdict::kIncomplete)) == 3);
}

BOOST_AUTO_TEST_CASE(a_request_is_refused_before_anything_is_run) {
    const verdict::LabRequest veth{.name = "veth"};
    BOOST_TEST(refusal({.command = "qualify", .lab = veth, .scenarios = {"no-such"}})
                   .starts_with("unknown scenario 'no-such'; there are: "));
    BOOST_TEST(refusal({.command = "qualify", .lab = {.name = "no-such"}})
                   .starts_with("unknown lab 'no-such'; there are: "));
    BOOST_TEST(
        refusal({.command = "qualify", .lab = {.name = "veth", .guest = {.nic = "e1000e"}}}) ==
        "--nic, --kernel, --modules and --module are of the lab qemu");
    BOOST_TEST(refusal({.command = "repro", .lab = {.name = "veth", .cni = {.plugins = "/p"}}}) ==
               "--conflist and --plugins are of the lab cni");
    BOOST_TEST(refusal({.command = "qualify", .lab = {.name = "cni"}, .prices = true})
                   .starts_with("--prices takes the built-in lab"));
}

BOOST_AUTO_TEST_CASE(a_session_has_the_values_of_its_request) {
    const auto session = session_of({.command = "repro",
                                     .lab = {.name = "veth"},
                                     .scenarios = {"dns-race"},
                                     .of_scenarios = {{"pairs", 7}},
                                     .no_hugepages = true},
                                    5, "out");
    BOOST_REQUIRE(session);
    BOOST_TEST(session->scenarios.size() == 1u);
    BOOST_TEST(session->seed == 5u);
    BOOST_TEST(session->out_dir == "out");
    BOOST_TEST(!session->use_hugepages);
    BOOST_TEST(session->asked.of_scenarios.at("pairs").number.value() == 7u);
}

BOOST_AUTO_TEST_CASE(standard_output_takes_one_view) {
    BOOST_TEST(Views{.json = true}.check().has_value());
    BOOST_TEST((Views{.ktap = true, .summary_md = "file"}.check().has_value()));
    BOOST_TEST((!Views{.json = true, .ktap = true}.check().has_value()));
    BOOST_TEST((!Views{.summary_md = "-", .netdev_json = "-"}.check().has_value()));
}

}  // namespace pathproof::run
