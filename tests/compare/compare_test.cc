#include "harness/compare/compare.h"

#include <boost/test/unit_test.hpp>
#include <nlohmann/json.hpp>

#include "harness/compare/text.h"
#include "harness/report/json.h"
#include "harness/verdict/interval.h"
#include "tests/report/samples.h"

using namespace pathproof;
using namespace pathproof::compare;
using namespace pathproof::verdict;

namespace {

Cell cell(const std::string& id, CellVerdict verdict, const std::string& cause = "") {
    return {.id = id,
            .verdict = verdict,
            .reason = verdict == CellVerdict::kPass ? "" : "of 5 probes 5 failed",
            .cause = cause,
            .measures = {share("lost_share", "lost", verdict == CellVerdict::kFail ? 500 : 0, 1000),
                         {.name = "probes", .label = "probes", .value = 1000}}};
}

// Two scenarios on one kernel: a matrix of 24 cells of which 4 fail, and a truth table whose parts
// are listed where they fail.
RunResult run() {
    ScenarioResult matrix{.id = "matrix", .title = "M", .verdict = ScenarioVerdict::kReproduced};
    for (int n = 0; n < 24; ++n) {
        matrix.cells.push_back(cell("cell-" + std::to_string(n),
                                    n < 4 ? CellVerdict::kFail : CellVerdict::kPass,
                                    n < 4 ? "stale-port" : ""));
    }
    matrix.controls = {cell("control.off", CellVerdict::kPass)};
    ScenarioResult truth{.id = "truth", .title = "T", .verdict = ScenarioVerdict::kDefectFound};
    truth.cells = {cell("tx.as-found", CellVerdict::kFail, "PSEUDO"),
                   cell("tx.as-found.tso", CellVerdict::kFail, "SEG_HDR(tcp.flags)"),
                   cell("tx.all-off", CellVerdict::kPass)};
    return {.verdict = RunVerdict::kNotQualified,
            .evidence_class = "virtual",
            .repeat_command = "pathproof qualify --lab veth --seed 4",
            .seed = 4,
            .lab = "veth",
            .profile = "veth",
            .version = "1",
            .started_at = "2026-11-23T00:00:00Z",
            .environment = {{"Kernel", {{"release", "6.1.0", Fact::Status::kRead, "uname"}}},
                            {"DUT device pp-1a2b-vx",
                             {{"driver", "mlx5_core", Fact::Status::kRead, "ETHTOOL_GDRVINFO"},
                              {"firmware", "16.35", Fact::Status::kRead, "ETHTOOL_GDRVINFO"},
                              {"tx-checksumming", "on", Fact::Status::kRead, "ETHTOOL_GFEATURES"}}},
                            {"Memory", {{"available", "12 kB", Fact::Status::kRead, "meminfo"}}}},
            .scenarios = {matrix, truth}};
}

Cell& cell_of(RunResult& result, const std::string& id) {
    for (ScenarioResult& scenario : result.scenarios) {
        for (Cell& each : scenario.cells) {
            if (each.id == id) {
                return each;
            }
        }
    }
    throw std::logic_error("no cell " + id);
}

CellVerdict verdict_of_five(std::uint64_t failed) {
    if (failed == 0) {
        return CellVerdict::kPass;
    }
    return failed == 5 ? CellVerdict::kFail : CellVerdict::kUnstable;
}

// A cell of 5 repetitions.
void become_repeated(Cell& each, std::uint64_t failed, const std::string& cause = "mtu") {
    each = cell(each.id, verdict_of_five(failed), failed == 0 ? "" : cause);
    each.runs = Runs{5, failed, 1};
}

void become(Cell& each, CellVerdict verdict, const std::string& cause = "") {
    each = cell(each.id, verdict, cause);
}

// The first of all changes.
std::string first(const Comparison& comparison) {
    return comparison.changed.empty() ? ""
                                      : std::string(name(comparison.changed.front().change)) + " " +
                                            comparison.changed.front().id;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(comparing)

BOOST_AUTO_TEST_CASE(a_run_is_no_worse_than_itself) {
    const Comparison same = compare::compare(run(), run());
    BOOST_TEST(same.changed.empty());
    BOOST_TEST(same.differences.empty());
    BOOST_TEST(same.figures.empty());
    BOOST_TEST(same.same_cells == 28u);
    BOOST_TEST(same.failing_in_both == 6u);
    BOOST_TEST(compare::exit_code(same) == 0);
}

// Sixty differences, planted one at a time: each is named, and nothing stands before it.
BOOST_AUTO_TEST_CASE(each_planted_difference_is_named_first) {
    std::size_t planted = 0;
    const auto expect = [&](const RunResult& now, const std::string& what, int code) {
        ++planted;
        const Comparison found = compare::compare(run(), now);
        BOOST_TEST(first(found) == what);
        BOOST_TEST(compare::exit_code(found) == code, what);
        BOOST_TEST(found.changed.size() == (what.empty() ? 0u : 1u), what);
    };
    for (int n = 0; n < 20; ++n) {
        const std::string id = "cell-" + std::to_string(n + 4);
        RunResult now = run();
        become(cell_of(now, id), CellVerdict::kFail, "mtu");
        expect(now, "new failure matrix/" + id, 1);
        if (n % 2 == 0) {
            now = run();
            become(cell_of(now, id), n % 4 == 0 ? CellVerdict::kError : CellVerdict::kInconclusive);
            expect(now, "not comparable matrix/" + id, 3);
            now = run();
            std::erase_if(now.scenarios[0].cells, [&](const Cell& each) { return each.id == id; });
            expect(now, "disappeared matrix/" + id, 0);
        }
    }
    for (int n = 0; n < 4; ++n) {
        const std::string id = "cell-" + std::to_string(n);
        RunResult now = run();
        become(cell_of(now, id), CellVerdict::kFail, "PSEUDO");
        expect(now, "changed cause matrix/" + id, 1);
        now = run();
        become(cell_of(now, id), CellVerdict::kPass);
        expect(now, "failure gone matrix/" + id, 0);
    }
    RunResult now = run();
    now.scenarios[0].cells.push_back(cell("cell-new", CellVerdict::kPass));
    expect(now, "appeared matrix/cell-new", 0);
    now.scenarios[0].cells.back() = cell("cell-new", CellVerdict::kFail, "mtu");
    expect(now, "new failure matrix/cell-new", 1);
    now = run();
    now.scenarios[0].controls[0] = cell("control.off", CellVerdict::kFail);
    expect(now, "new failure matrix/control.off", 1);
    now = run();
    now.scenarios[0].cells[9].verdict = CellVerdict::kSkip;
    expect(now, "disappeared matrix/cell-9", 0);
    // A part of a table that begins or ceases to fail beside others.
    now = run();
    now.scenarios[1].cells.push_back(cell("tx.as-found.uso", CellVerdict::kFail, "SEG_SEQ"));
    expect(now, "new failure truth/tx.as-found.uso", 1);
    now = run();
    now.scenarios[1].cells.erase(now.scenarios[1].cells.begin() + 1);
    expect(now, "failure gone truth/tx.as-found.tso", 0);
    now = run();
    now.scenarios.pop_back();
    expect(now, "disappeared truth", 0);
    now = run();
    now.scenarios[1].verdict = ScenarioVerdict::kInconclusive;
    expect(now, "not comparable truth", 3);
    now.scenarios[1].verdict = ScenarioVerdict::kNoDefectFound;
    expect(now, "failure gone truth", 0);
    now = run();
    now.scenarios[1].verdict = ScenarioVerdict::kNotRun;
    expect(now, "disappeared truth", 0);
    now = run();
    now.scenarios.push_back({.id = "third", .verdict = ScenarioVerdict::kNotReproduced});
    expect(now, "appeared third", 0);
    // Cells that were run five times failed once or four times.
    for (const std::uint64_t failed : {1u, 4u}) {
        now = run();
        become_repeated(cell_of(now, "cell-11"), failed);
        expect(now, "became unstable matrix/cell-11", 1);
        now = run();
        become_repeated(cell_of(now, "cell-1"), failed, "stale-port");
        expect(now, "fails less often matrix/cell-1", 0);
        now = run();
        become_repeated(cell_of(now, "cell-1"), failed, "mtu");
        expect(now, "changed cause matrix/cell-1", 1);
    }
    // A difference in machines and figures only is no finding.
    for (const std::size_t fact : {0u, 1u, 2u}) {
        now = run();
        now.environment[1].facts[fact].value = "other";
        expect(now, "", 0);
    }
    now = run();
    cell_of(now, "cell-0").measures[0] = share("lost_share", "lost", 900, 1000);
    expect(now, "", 0);
    BOOST_TEST(planted >= 60u);
}

BOOST_AUTO_TEST_CASE(unstable_is_a_verdict_of_its_own) {
    const auto changed = [](std::uint64_t before, std::uint64_t now) {
        RunResult was = run();
        RunResult is = run();
        become_repeated(cell_of(was, "cell-9"), before);
        become_repeated(cell_of(is, "cell-9"), now);
        const Comparison found = compare::compare(was, is);
        return first(found) + " " + std::to_string(compare::exit_code(found));
    };
    BOOST_TEST(changed(0, 2) == "became unstable matrix/cell-9 1");
    BOOST_TEST(changed(2, 3) == " 0");
    BOOST_TEST(changed(2, 5) == "new failure matrix/cell-9 1");
    BOOST_TEST(changed(5, 2) == "fails less often matrix/cell-9 0");
    BOOST_TEST(changed(2, 0) == "failure gone matrix/cell-9 0");
    // One run says nothing of what fails at times.
    for (const CellVerdict verdict : {CellVerdict::kPass, CellVerdict::kFail}) {
        RunResult was = run();
        become_repeated(cell_of(was, "cell-9"), 2);
        RunResult is = run();
        become(cell_of(is, "cell-9"), verdict, verdict == CellVerdict::kFail ? "mtu" : "");
        const Comparison found = compare::compare(was, is);
        BOOST_TEST(first(found) == "not comparable matrix/cell-9");
        BOOST_TEST(compare::exit_code(found) == 3);
    }
}

BOOST_AUTO_TEST_CASE(what_a_part_of_a_run_leaves_out_is_not_missed) {
    RunResult now = run();
    now.scenarios[0].part = "cell-1,cell-2?";
    now.scenarios[0].verdict = ScenarioVerdict::kNotReproduced;  // of those cells
    std::erase_if(now.scenarios[0].cells, [](const Cell& each) {
        return each.id != "cell-1" && !each.id.starts_with("cell-2");
    });
    now.scenarios[0].controls.clear();
    const Comparison same = compare::compare(run(), now);
    BOOST_TEST(same.changed.empty());
    std::erase_if(now.scenarios[0].cells, [](const Cell& each) { return each.id == "cell-21"; });
    BOOST_TEST(first(compare::compare(run(), now)) == "disappeared matrix/cell-21");
}

BOOST_AUTO_TEST_CASE(how_often_a_cell_fails_is_a_figure_with_an_interval) {
    RunResult was = run();
    RunResult is = run();
    cell_of(was, "cell-9").runs = Runs{200, 10, 1};
    cell_of(is, "cell-9").runs = Runs{200, 90, 1};
    BOOST_REQUIRE(compare::compare(was, is).figures.size() == 1u);
    BOOST_TEST(compare::compare(was, is).figures[0].label == "repetitions that failed");
    cell_of(is, "cell-9").runs = Runs{200, 14, 1};
    BOOST_TEST(compare::compare(was, is).figures.empty());
}

BOOST_AUTO_TEST_CASE(what_matters_most_comes_first) {
    RunResult now = run();
    become(cell_of(now, "cell-20"), CellVerdict::kInconclusive);
    become(cell_of(now, "cell-1"), CellVerdict::kPass);
    become(cell_of(now, "cell-2"), CellVerdict::kFail, "PSEUDO");
    become_repeated(cell_of(now, "cell-3"), 2, "stale-port");
    become_repeated(cell_of(now, "cell-22"), 2);
    become(cell_of(now, "tx.all-off"), CellVerdict::kFail, "mtu");
    const Comparison found = compare::compare(run(), now);
    std::string order;
    for (const Changed& each : found.changed) {
        order += each.id + " ";
    }
    BOOST_TEST(order ==
               "truth/tx.all-off matrix/cell-2 matrix/cell-22 matrix/cell-1 matrix/cell-3 "
               "matrix/cell-20 ");
}

BOOST_AUTO_TEST_CASE(candidates_are_what_differs_and_the_kernel_comes_first) {
    RunResult now = run();
    now.seed = 9;
    now.environment[1].title = "DUT device pp-ffff-vx";  // made up by each run
    now.environment[1].facts[1].value = "16.36";
    now.environment[0].facts[0].value = "6.6.1";
    now.environment[2].facts[0].value = "999 kB";  // another at each moment
    const Comparison found = compare::compare(run(), now);
    BOOST_REQUIRE(found.differences.size() == 3u);
    BOOST_TEST(found.differences[0].what == "release");
    BOOST_TEST(found.differences[0].before == "6.1.0");
    BOOST_TEST(found.differences[0].now == "6.6.1");
    BOOST_TEST(found.differences[1].what == "firmware");
    BOOST_TEST(found.differences[2].what == "seed");
    BOOST_TEST(compare::exit_code(found) == 0);
}

// One run had a scenario more, with a device of its own: that is one line, not one a feature.
BOOST_AUTO_TEST_CASE(a_device_of_one_run_alone_is_one_difference) {
    RunResult other = run();
    other.environment.erase(other.environment.begin() + 1);
    const auto found = differences(run(), other);
    BOOST_REQUIRE(found.size() == 1u);
    BOOST_TEST(found[0].where == "DUT device pp-RUN-vx");
    BOOST_TEST(found[0].before == "3");
    BOOST_TEST(found[0].now == "none");
}

// The outcome of a profile stands in its title; the features that changed are named all the same.
BOOST_AUTO_TEST_CASE(a_profile_that_fits_no_more_is_compared_feature_by_feature) {
    RunResult fits = run();
    RunResult lacks = run();
    const auto profile = [](const char* title, const char* tso) {
        return FactGroup{title, {{"tso", tso, Fact::Status::kRead, "profile"}}};
    };
    fits.environment.push_back(profile("Profile p against eth0: nothing missing", "ok"));
    lacks.environment.push_back(profile("Profile p against eth0: 1 missing", "missing"));
    const auto found = differences(fits, lacks);
    BOOST_REQUIRE(found.size() == 2u);
    BOOST_TEST(found[0].where == "Profile p against eth0");
    BOOST_TEST(found[0].now == "1 missing");
    BOOST_TEST(found[1].what == "tso");
}

BOOST_AUTO_TEST_CASE(other_cells_that_were_asked_for_are_a_difference_of_the_run) {
    RunResult part = run();
    part.scenarios[0].part = "cell-1*";
    const auto found = differences(run(), part);
    BOOST_REQUIRE(found.size() == 1u);
    BOOST_TEST(found[0].what == "cells asked for of matrix");
    BOOST_TEST(found[0].before == "all");
    BOOST_TEST(found[0].now == "cell-1*");
}

BOOST_AUTO_TEST_CASE(a_figure_changed_only_where_the_intervals_do_not_touch) {
    RunResult now = run();
    cell_of(now, "cell-0").measures[0] = share("lost_share", "lost", 520, 1000);
    cell_of(now, "cell-1").measures[0] = share("lost_share", "lost", 700, 1000);
    cell_of(now, "cell-2").measures[1].value = 7;  // without an interval
    const Comparison found = compare::compare(run(), now);
    BOOST_REQUIRE(found.figures.size() == 1u);
    BOOST_TEST(found.figures[0].cell == "matrix/cell-1");
    BOOST_TEST(found.within_noise == 27u);
    BOOST_TEST(found.without_interval == 1u);
}

BOOST_AUTO_TEST_CASE(runs_without_common_ground_are_not_compared) {
    RunResult other = run();
    BOOST_TEST(not_comparable(run(), other) == "");
    other.lab = "bench.toml";
    BOOST_TEST(not_comparable(run(), other) == "one is of lab veth, the other of lab bench.toml");
    other = run();
    other.evidence_class = "physical";
    BOOST_TEST(not_comparable(run(), other) == "one is virtual evidence, the other physical");
    other = run();
    other.scenarios[0].id = "a";
    other.scenarios[1].id = "b";
    BOOST_TEST(not_comparable(run(), other) == "they have no scenario in common");
    RunResult device = run();
    device.lab = "device eth0";
    other = run();
    other.lab = "device eth1";  // renamed, or another one
    BOOST_TEST(not_comparable(device, other) == "");
    BOOST_TEST(compare::compare(device, other).differences.front().what == "lab");
}

BOOST_AUTO_TEST_CASE(text_json_and_page_say_the_same) {
    Report before{"a/report.json", run()};
    Report after{"b/report.json", report::test::hostile()};
    after.run.scenarios.push_back(run().scenarios[0]);
    become(after.run.scenarios.back().cells[7], CellVerdict::kFail, "mtu");
    const Compared now{&after, compare::compare(before.run, after.run)};
    const std::string said = compare::text(before, now);
    BOOST_TEST(said.find("matrix/cell-7: PASS -> FAIL mtu") != std::string::npos, said);
    BOOST_TEST(said.find('\x1b') == std::string::npos);
    const auto json = to_json(before, {now});
    BOOST_TEST(json["runs"][0]["exit_code"] == 1);
    BOOST_TEST(json["runs"][0]["changed"].size() == now.comparison.changed.size());
    const std::string html = compare::page(before, {now});
    BOOST_TEST(html.find("<h5>matrix/cell-7</h5>") != std::string::npos);
    BOOST_TEST(html.find("<script>") == std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(reading)

BOOST_AUTO_TEST_CASE(ids_name_scenario_cell_and_cause) {
    const Cell odd = cell("tx.as-found", CellVerdict::kFail, "VLAN_START(tcp.data_offset[0])");
    BOOST_TEST(cell_id("truth", odd) == "truth/tx.as-found");
    BOOST_TEST(finding_id("truth", odd) == "truth/tx.as-found/VLAN_START-tcp.data_offset-0--");
    BOOST_TEST(finding_id("truth", cell("a", CellVerdict::kPass)) == "truth/a");
}

BOOST_AUTO_TEST_SUITE_END()
