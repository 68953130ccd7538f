#include "harness/compare/baseline.h"

#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <fstream>

#include "tests/lab/temp_folder.h"

BOOST_AUTO_TEST_SUITE(baselines)

using namespace pathproof;
using namespace pathproof::compare;
using namespace pathproof::verdict;
using lab::TempFolder;

namespace {

constexpr const char* kToday = "2026-11-23";

RunResult run() {
    const auto cell = [](const std::string& id, CellVerdict verdict, const std::string& cause) {
        return Cell{.id = id, .verdict = verdict, .reason = "3 of 5 are wrong", .cause = cause};
    };
    ScenarioResult vxlan{.id = "vxlan-checksum", .verdict = ScenarioVerdict::kReproduced};
    vxlan.cells = {cell("on.udp", CellVerdict::kFail, "stale-port"),
                   cell("on.tcp", CellVerdict::kFail, "stale-port"),
                   cell("off.udp", CellVerdict::kPass, ""),
                   cell("off.tcp", CellVerdict::kInconclusive, "")};
    return {.verdict = RunVerdict::kNotQualified,
            .version = "1",
            .started_at = "2026-11-23T00:00:00Z",
            .environment = {{"Kernel", {{"release", "6.1.0-9", Fact::Status::kRead, "uname"}}},
                            {"DUT device vx", {{"driver", "vxlan", Fact::Status::kRead, ""}}}},
            .scenarios = {vxlan}};
}

Baseline baseline(const TempFolder& folder, const std::string& text) {
    folder.write("b.toml", text);
    const auto read = read_baseline(folder.path() + "/b.toml");
    BOOST_REQUIRE_MESSAGE(read, (read ? "" : read.error().message));
    return *read;
}

std::string known(const std::string& id, const std::string& more = "") {
    return "[[known]]\nid = \"" + id + "\"\nreason = \"kernel bug\"\n" + more + "\n";
}

void refused(const std::string& text, const std::string& sentence) {
    const TempFolder folder;
    folder.write("b.toml", text);
    const auto read = read_baseline(folder.path() + "/b.toml");
    BOOST_REQUIRE(!read);
    BOOST_TEST((read.error().code == ErrorCode::kBadInput));
    BOOST_TEST(read.error().message.find(sentence) != std::string::npos, read.error().message);
}

}  // namespace

BOOST_AUTO_TEST_CASE(known_failures_do_not_fail_a_run_and_are_marked) {
    const TempFolder folder;
    RunResult result = run();
    const Expectation found =
        apply(baseline(folder, known("vxlan-checksum/on.*/stale-port", "link = \"https://x/1\"")),
              kToday, result);
    BOOST_TEST(found.known.size() == 2u);
    BOOST_TEST(found.fresh.empty());
    BOOST_TEST(found.exit_code(RunVerdict::kNotQualified) == 0);
    BOOST_TEST(found.exit_code(RunVerdict::kIncomplete) == 3);
    BOOST_TEST(result.scenarios[0].cells[0].known == "kernel bug (https://x/1)");
    BOOST_TEST(result.scenarios[0].cells[2].known == "");
}

BOOST_AUTO_TEST_CASE(a_waiver_names_who_accepts_the_failure_and_until_when) {
    const TempFolder folder;
    RunResult result = run();
    apply(baseline(folder, known("vxlan-checksum/on.*/stale-port",
                                 "link = \"https://x/1\"\napprover = \"B. Approver\"\n"
                                 "until = 2099-01-31")),
          kToday, result);
    const Cell& cell = result.scenarios[0].cells[0];
    BOOST_TEST(cell.known == "kernel bug (https://x/1); accepted by B. Approver until 2099-01-31");
    BOOST_TEST((cell.waiver == Waiver{.reason = "kernel bug",
                                      .link = "https://x/1",
                                      .approver = "B. Approver",
                                      .until = "2099-01-31"}));
    BOOST_TEST(!result.scenarios[0].cells[2].waiver.has_value());
}

BOOST_AUTO_TEST_CASE(a_new_failure_or_another_cause_fails_it) {
    const TempFolder folder;
    RunResult result = run();
    BOOST_TEST(apply(baseline(folder, known("vxlan-checksum/on.udp")), kToday, result)
                   .exit_code(result.verdict) == 1);
    const Expectation other =
        apply(baseline(folder, known("vxlan-checksum/on.*/mtu")), kToday, result);
    BOOST_TEST(other.fresh.size() == 2u);
    BOOST_TEST(other.exit_code(result.verdict) == 1);
    BOOST_TEST(apply(baseline(folder, ""), kToday, result).fresh.size() == 2u);
}

BOOST_AUTO_TEST_CASE(what_stopped_failing_is_past_its_date_or_fits_nothing_is_said) {
    const TempFolder folder;
    RunResult result = run();
    const Expectation found =
        apply(baseline(folder, known("vxlan-checksum/on.*") + known("vxlan-checksum/off.udp") +
                                   known("vxlan-checksum/off.tcp") +  // came to no verdict
                                   known("vxlan-checksum/never") + known("other/*")),
              kToday, result);
    BOOST_REQUIRE(found.gone.size() == 1u);
    BOOST_TEST(found.gone[0].find("vxlan-checksum/off.udp (") == 0u, found.gone[0]);
    BOOST_TEST(found.unmatched.size() == 2u);
    BOOST_TEST(found.exit_code(result.verdict) == 0);

    for (const auto& [until, code] : {std::pair{"2026-11-22", 1}, {"2026-11-23", 0}}) {
        const Expectation dated =
            apply(baseline(folder, known("vxlan-checksum/on.*", std::string("until = ") + until)),
                  kToday, result);
        BOOST_TEST(dated.exit_code(result.verdict) == code, until);
        BOOST_TEST(dated.expired.size() == static_cast<std::size_t>(code));
        BOOST_TEST(dated.fresh.size() == (code == 1 ? 2u : 0u));
    }
}

BOOST_AUTO_TEST_CASE(an_entry_holds_where_kernel_and_driver_fit) {
    const TempFolder folder;
    RunResult result = run();
    for (const auto& [where, fits] : {std::pair{"kernel = \"6.1.*\"", true},
                                      {"kernel = \"5.*\"", false},
                                      {"driver = \"vxlan\"", true},
                                      {"driver = \"mlx5*\"", false},
                                      {"nic = \"0000:3b:*\"", false}}) {
        const Expectation found =
            apply(baseline(folder, known("vxlan-checksum/on.*", where)), kToday, result);
        BOOST_TEST(found.fresh.empty() == fits, where);
        BOOST_TEST(found.unmatched.empty(), where);
    }
}

BOOST_AUTO_TEST_CASE(a_comparison_is_no_worse_by_what_is_known) {
    const TempFolder folder;
    RunResult before = run();
    before.scenarios[0].verdict = ScenarioVerdict::kNotReproduced;
    for (const std::size_t failing : {0u, 1u}) {
        before.scenarios[0].cells[failing].verdict = CellVerdict::kPass;
        before.scenarios[0].cells[failing].cause = "";
    }
    const RunResult now = run();
    Comparison changed = compare::compare(before, now);
    BOOST_TEST(compare::exit_code(changed) == 1);
    apply(baseline(folder, known("vxlan-checksum/on.udp")), kToday, now, changed);
    BOOST_TEST(compare::exit_code(changed) == 1);
    apply(baseline(folder, known("vxlan-checksum/on.*")), kToday, now, changed);
    BOOST_TEST(compare::exit_code(changed) == 0);
    BOOST_TEST(changed.changed.size() == 3u);
}

BOOST_AUTO_TEST_CASE(one_that_is_written_from_a_run_expects_all_of_it) {
    const TempFolder folder;
    RunResult result = run();
    result.scenarios[0].cells[0].reason = "odd \"quotes\" \\ and\nlines \x01";
    const Expectation found = apply(baseline(folder, baseline_of(result)), kToday, result);
    BOOST_TEST(found.known.size() == 2u);
    BOOST_TEST(found.fresh.empty());
    BOOST_TEST(found.unmatched.empty());
}

BOOST_AUTO_TEST_CASE(what_is_wrong_with_a_file_is_told_by_line) {
    refused("[[known]]\nid = 5\nreason = \"x\"\n", "/b.toml:2:");
    refused("[[known]]\nid = \"a/b\"\n", "'reason' is missing");
    refused("[[known]]\nid = \"a\"\nreason = \"x\"\n", "names no cell");
    refused(known("a/b", "until = \"2026-11-23\""), "wants a date without quotes");
    refused(known("a/b", "kernl = \"6\""), "unknown key 'kernl'");
    refused("known = 3\n", "list of tables");
    refused("[[known\n", "/b.toml:1:");
    BOOST_TEST((read_baseline("/nowhere.toml").error().code == ErrorCode::kNotFound));
    BOOST_TEST(!read_baseline("/tmp"));
}

BOOST_AUTO_TEST_CASE(a_check_finds_twins_dates_and_unknown_scenarios) {
    const TempFolder folder;
    const auto wrong =
        lint(baseline(folder, known("dns-race/x") + known("dns-race/x") +
                                  known("dns-race/y", "until = 2026-01-01") + known("dnsrace/z") +
                                  known("dns-*/x", "kernel = \"6.*\"")),
             kToday, {"dns-race", "vxlan-checksum"});
    BOOST_REQUIRE(wrong.size() == 3u);
    BOOST_TEST(wrong[0].find("the same as in line 1") != std::string::npos, wrong[0]);
    BOOST_TEST(wrong[1].find("until 2026-01-01") != std::string::npos, wrong[1]);
    BOOST_TEST(wrong[2].find("no scenario fits 'dnsrace'") != std::string::npos, wrong[2]);
}

BOOST_AUTO_TEST_CASE(an_unstable_cell_is_expected_as_such_or_as_any_failure) {
    const TempFolder folder;
    const auto exit_of = [&](const std::string& verdict, CellVerdict now,
                             const std::optional<Runs>& runs) {
        RunResult result = run();
        auto& cells = result.scenarios[0].cells;
        cells.resize(1);
        cells[0].verdict = now;
        cells[0].runs = runs;
        const Expectation found =
            apply(baseline(folder, known("vxlan-checksum/on.udp",
                                         verdict.empty() ? "" : "verdict = \"" + verdict + "\"")),
                  kToday, result);
        BOOST_TEST(cells[0].fresh == !found.fresh.empty());
        return std::to_string(found.exit_code(result.verdict)) +
               (found.gone.empty() ? "" : " gone");
    };
    const Runs some{3, 1, 1}, all{3, 3, 1}, none{3, 0, 1};
    BOOST_TEST(exit_of("unstable", CellVerdict::kUnstable, some) == "0");
    BOOST_TEST(exit_of("", CellVerdict::kUnstable, some) == "0");
    BOOST_TEST(exit_of("fail", CellVerdict::kUnstable, some) == "1 gone");
    BOOST_TEST(exit_of("unstable", CellVerdict::kFail, all) == "1 gone");
    BOOST_TEST(exit_of("unstable", CellVerdict::kPass, none) == "0 gone");
    // A cell that was run once, and may pass or fail by turns.
    BOOST_TEST(exit_of("unstable", CellVerdict::kFail, std::nullopt) == "0");
    BOOST_TEST(exit_of("unstable", CellVerdict::kPass, std::nullopt) == "0");
}

BOOST_AUTO_TEST_CASE(entries_of_one_id_that_expect_different_verdicts_are_no_twins) {
    const TempFolder folder;
    const std::string fails = known("vxlan-checksum/on.udp", "verdict = \"fail\"");
    const std::string unstable = known("vxlan-checksum/on.udp", "verdict = \"unstable\"");
    const Baseline both = baseline(folder, fails + unstable);
    BOOST_TEST(lint(both, kToday, {"vxlan-checksum"}).empty());
    for (const CellVerdict now : {CellVerdict::kFail, CellVerdict::kUnstable}) {
        RunResult result = run();
        auto& cells = result.scenarios[0].cells;
        cells.resize(1);
        cells[0].verdict = now;
        cells[0].runs = now == CellVerdict::kFail ? Runs{3, 3, 1} : Runs{3, 1, 1};
        BOOST_TEST(apply(both, kToday, result).fresh.empty(), name(now));
    }
    const auto wrong =
        lint(baseline(folder, fails + unstable + unstable), kToday, {"vxlan-checksum"});
    BOOST_REQUIRE(wrong.size() == 1u);
    BOOST_TEST(wrong[0].find(":9): the same as in line 5") != std::string::npos, wrong[0]);
}

BOOST_AUTO_TEST_CASE(a_verdict_that_cannot_be_expected_is_refused) {
    refused(known("vxlan-checksum/*", "verdict = \"pass\""),
            "verdict 'pass' is none that can be expected; there are: fail, unstable");
}

BOOST_AUTO_TEST_CASE(a_baseline_of_a_run_says_what_is_unstable) {
    RunResult result = run();
    result.scenarios[0].cells[0].verdict = CellVerdict::kUnstable;
    result.scenarios[0].cells[0].runs = Runs{3, 1, 1};
    const TempFolder folder;
    const Baseline made = baseline(folder, baseline_of(result));
    BOOST_REQUIRE(made.known.size() == 2u);
    BOOST_TEST(made.known[0].verdict == "unstable");
    BOOST_TEST(made.known[1].verdict == "");
    BOOST_TEST(apply(made, kToday, result).exit_code(result.verdict) == 0);
}

BOOST_AUTO_TEST_SUITE_END()
