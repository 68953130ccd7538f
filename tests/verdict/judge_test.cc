#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <random>

#include "harness/verdict/result.h"

using namespace pathproof::verdict;

namespace {

Cell cell(const std::string& id, CellVerdict verdict, const std::string& reason = "it says why") {
    return {.id = id, .verdict = verdict, .reason = reason};
}

// A failure that was found, explained and cured.
ScenarioResult reproduced() {
    return {.id = "vxlan-checksum",
            .verdict = ScenarioVerdict::kReproduced,
            .cause = "the outer checksum is the right one for another port",
            .cure_shown = true,
            .cells = {cell("broken", CellVerdict::kFail), cell("cured", CellVerdict::kPass)},
            .controls = {cell("plain", CellVerdict::kPass)}};
}

ScenarioResult clean() {
    return {.id = "dns-race",
            .verdict = ScenarioVerdict::kNotReproduced,
            .cells = {cell("two-ports", CellVerdict::kPass)},
            .controls = {cell("one-port", CellVerdict::kPass)}};
}

// The verdict, after checking that some reason holds the given words.
RunVerdict judged(const std::vector<ScenarioResult>& scenarios, const std::string& words) {
    const auto [verdict, reasons] = judge_run(scenarios);
    const bool said = std::any_of(reasons.begin(), reasons.end(), [&](const std::string& reason) {
        return reason.find(words) != std::string::npos;
    });
    BOOST_TEST(said, "no reason says '" << words << "'; first: " << reasons.front());
    return verdict;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_run_of_nothing_is_incomplete) {
    BOOST_TEST((judged({}, "no scenario was run") == RunVerdict::kIncomplete));
    ScenarioResult empty = clean();
    empty.cells.clear();
    empty.controls.clear();
    BOOST_TEST((judged({empty}, "nothing was executed") == RunVerdict::kIncomplete));
    ScenarioResult skipped = clean();
    skipped.cells = {cell("a", CellVerdict::kSkip, "no vxlan in this kernel")};
    BOOST_TEST(
        (judged({skipped}, "nothing but its controls was executed") == RunVerdict::kIncomplete));
}

BOOST_AUTO_TEST_CASE(nothing_found_is_qualified) {
    BOOST_TEST((judged({clean()}, "no scenario reproduced") == RunVerdict::kQualified));
}

BOOST_AUTO_TEST_CASE(what_a_lab_cannot_run_is_said_and_decides_nothing) {
    const ScenarioResult not_run{.id = "vxlan-checksum",
                                 .verdict = ScenarioVerdict::kNotRun,
                                 .headline = "Not run on this lab: it has one node.",
                                 .cells = {cell("a", CellVerdict::kSkip)}};
    BOOST_TEST((judged({not_run, clean()}, "vxlan-checksum: Not run on this lab") ==
                RunVerdict::kQualified));
    BOOST_TEST((judged({reproduced(), not_run}, "Not run on this lab") ==
                RunVerdict::kConditionallyQualified));
    BOOST_TEST((judged({not_run}, "no scenario was run") == RunVerdict::kIncomplete));
    BOOST_TEST((judged({not_run}, "Not run on this lab") == RunVerdict::kIncomplete));
    ScenarioResult not_so = not_run;
    not_so.cells.push_back(cell("b", CellVerdict::kFail));
    BOOST_TEST((judged({not_so, clean()}, "and b is FAIL") == RunVerdict::kIncomplete));
}

BOOST_AUTO_TEST_CASE(each_area_has_its_own_verdict) {
    ScenarioResult device{.id = "offload-truth",
                          .area = Area::kDevice,
                          .verdict = ScenarioVerdict::kNoDefectFound,
                          .cells = {cell("a", CellVerdict::kPass)}};
    device.truth_tables = {{.rows = {{.observed = {{.frames = 300}, {.frames = 40}}}}}};
    ScenarioResult pods{.id = "pod-paths",
                        .area = Area::kCni,
                        .verdict = ScenarioVerdict::kNotRun,
                        .cells = {cell("a", CellVerdict::kSkip)}};
    ScenarioResult open = clean();
    open.area = Area::kResolvers;
    open.unexplained = 3;
    const auto areas = judge_areas({reproduced(), clean(), device, pods, open});
    BOOST_REQUIRE(areas.size() == 3u);  // of pods nothing was run
    BOOST_TEST((areas[0].area == Area::kDevice));
    BOOST_TEST((areas[0].verdict == RunVerdict::kQualified));
    BOOST_TEST(areas[0].sentence == "no defect in 340 judged frames");
    BOOST_TEST((areas[1].area == Area::kKernelPath));
    BOOST_TEST((areas[1].verdict == RunVerdict::kConditionallyQualified));
    BOOST_TEST(areas[1].sentence == "1 failure, its cure shown in this run: vxlan-checksum");
    BOOST_TEST((areas[2].verdict == RunVerdict::kIncomplete));
    BOOST_TEST(areas[2].sentence.find("3 lost or wrong answers") != std::string::npos);
    ScenarioResult exposed = clean();
    exposed.verdict = ScenarioVerdict::kExposed;
    BOOST_TEST(judge_areas({exposed})[0].sentence ==
               "no failure in 2 cells; exposed without harm: dns-race");
}

BOOST_AUTO_TEST_CASE(a_failure_with_cause_and_cure_is_an_exception) {
    BOOST_TEST((judged({reproduced(), clean()}, "cure shown in this run") ==
                RunVerdict::kConditionallyQualified));
}

BOOST_AUTO_TEST_CASE(a_failure_without_a_cause_or_cure_is_not_qualified) {
    ScenarioResult unnamed = reproduced();
    unnamed.cause.clear();
    BOOST_TEST((judged({unnamed}, "cause was not named") == RunVerdict::kNotQualified));
    ScenarioResult uncured = reproduced();
    uncured.cure_shown = false;
    BOOST_TEST((judged({uncured}, "no cure was shown") == RunVerdict::kNotQualified));
    BOOST_TEST((judged({reproduced(), uncured}, "no cure") == RunVerdict::kNotQualified));
}

BOOST_AUTO_TEST_CASE(a_failing_cell_outside_a_reproduction_is_not_qualified) {
    ScenarioResult odd = clean();
    odd.cells.push_back(cell("odd", CellVerdict::kFail));
    BOOST_TEST((judged({odd}, "1 of 2 cells fail") == RunVerdict::kNotQualified));
}

BOOST_AUTO_TEST_CASE(a_control_that_fails_makes_the_run_incomplete) {
    ScenarioResult scenario = reproduced();
    scenario.controls.push_back(cell("quiet", CellVerdict::kFail, "7 clashes"));
    BOOST_TEST((judged({scenario},
                       "control quiet shows the failure too, so the measurement proves "
                       "nothing: 7 clashes") == RunVerdict::kIncomplete));
}

BOOST_AUTO_TEST_CASE(what_could_not_be_measured_makes_the_run_incomplete) {
    for (CellVerdict verdict : {CellVerdict::kError, CellVerdict::kInconclusive}) {
        ScenarioResult in_cell = reproduced();
        in_cell.cells.push_back(cell("unsure", verdict));
        BOOST_TEST((judged({in_cell}, "cell unsure") == RunVerdict::kIncomplete));
        ScenarioResult in_control = clean();
        in_control.controls.push_back(cell("unsure", verdict));
        BOOST_TEST((judged({in_control}, "control unsure") == RunVerdict::kIncomplete));
    }
}

BOOST_AUTO_TEST_CASE(a_skip_needs_a_reason) {
    ScenarioResult explained = reproduced();
    explained.cells.push_back(cell("ipv6", CellVerdict::kSkip, "no IPv6 in this kernel"));
    BOOST_TEST((judged({explained}, "cure shown") == RunVerdict::kConditionallyQualified));
    explained.cells.back().reason.clear();
    BOOST_TEST(
        (judged({explained}, "cell ipv6 was skipped without a reason") == RunVerdict::kIncomplete));
}

BOOST_AUTO_TEST_CASE(a_reproduction_needs_a_failing_cell_and_a_control_that_passed) {
    ScenarioResult bare = reproduced();
    bare.controls.clear();
    BOOST_TEST((judged({bare}, "no negative control passed") == RunVerdict::kIncomplete));
    ScenarioResult empty = reproduced();
    empty.cells.erase(empty.cells.begin());
    BOOST_TEST((judged({empty}, "no cell shows the failure") == RunVerdict::kIncomplete));
}

BOOST_AUTO_TEST_CASE(an_inconclusive_scenario_or_unexplained_loss_is_incomplete) {
    ScenarioResult unsure = clean();
    unsure.verdict = ScenarioVerdict::kInconclusive;
    unsure.headline = "the generator could not keep the pace";
    BOOST_TEST((judged({unsure}, "inconclusive: the generator") == RunVerdict::kIncomplete));
    ScenarioResult lossy = reproduced();
    lossy.unexplained = 3;
    BOOST_TEST((judged({lossy}, "3 lost or wrong answers") == RunVerdict::kIncomplete));
}

BOOST_AUTO_TEST_CASE(an_incomplete_run_still_tells_what_speaks_against_the_path) {
    ScenarioResult both = reproduced();
    both.unexplained = 1;
    both.cause.clear();
    const auto [verdict, reasons] = judge_run({both});
    BOOST_TEST((verdict == RunVerdict::kIncomplete));
    BOOST_REQUIRE(reasons.size() == 2);
    BOOST_TEST(reasons[1].find("cause was not named") != std::string::npos);
}

namespace {

// Results of an offload truth table for a healthy device, and for a broken one.
ScenarioResult without_defect() {
    return {.id = "offload-truth",
            .verdict = ScenarioVerdict::kNoDefectFound,
            .cells = {cell("tx.as-found", CellVerdict::kPass)},
            .controls = {cell("nothing-offloaded", CellVerdict::kPass)}};
}

ScenarioResult with_defect() {
    ScenarioResult found = without_defect();
    found.verdict = ScenarioVerdict::kDefectFound;
    found.cause = "PSEUDO: the pseudo-header's sum";
    found.cure_shown = true;
    found.cells.front().verdict = CellVerdict::kFail;
    return found;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_truth_table_speaks_of_defects_not_of_reproductions) {
    BOOST_TEST((judged({without_defect()}, "no defect was found, and every control") ==
                RunVerdict::kQualified));
    BOOST_TEST((judged({clean(), without_defect()}, "reproduced its failure or found a defect") ==
                RunVerdict::kQualified));
    BOOST_TEST((judged({with_defect()}, "a defect was found, its cause named") ==
                RunVerdict::kConditionallyQualified));
    ScenarioResult uncured = with_defect();
    uncured.cure_shown = false;
    BOOST_TEST((judged({uncured}, "a defect was found, and no cure") == RunVerdict::kNotQualified));
    for (const ScenarioResult& scenario : {without_defect(), with_defect(), uncured}) {
        for (const std::string& reason : judge_run({scenario}).second) {
            BOOST_TEST(reason.find("reproduc") == std::string::npos, reason);
        }
    }
}

BOOST_AUTO_TEST_CASE(a_defect_needs_a_failing_cell_and_a_control_may_be_missing_but_not_fail) {
    ScenarioResult bare = with_defect();
    bare.controls.clear();
    BOOST_TEST((judged({bare}, "a defect was found") == RunVerdict::kConditionallyQualified));
    bare.cells.front().verdict = CellVerdict::kPass;
    BOOST_TEST((judged({bare}, "it says DEFECT FOUND, but no cell") == RunVerdict::kIncomplete));
    ScenarioResult doubtful = with_defect();
    doubtful.controls.front().verdict = CellVerdict::kFail;
    BOOST_TEST((judged({doubtful}, "shows the failure too") == RunVerdict::kIncomplete));
}

namespace {

Cell in_role(Cell::Role role, CellVerdict verdict) {
    Cell made = cell(name(role), verdict);
    made.role = role;
    return made;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_demonstration_is_no_fault_of_the_system_and_must_show_what_it_must) {
    ScenarioResult shown = clean();
    shown.cells.push_back(in_role(Cell::Role::kDemonstration, CellVerdict::kPass));
    BOOST_TEST((judged({shown}, "no scenario reproduced") == RunVerdict::kQualified));
    for (const CellVerdict verdict : {CellVerdict::kFail, CellVerdict::kError}) {
        shown.cells.back().verdict = verdict;
        BOOST_TEST((judged({shown}, "demonstration demonstration ") == RunVerdict::kIncomplete));
        BOOST_TEST((judged({shown}, "demonstration") != RunVerdict::kNotQualified));
    }
}

BOOST_AUTO_TEST_CASE(a_cure_that_fails_is_a_cure_not_shown_and_never_a_control) {
    ScenarioResult uncured = reproduced();
    uncured.cure_shown = false;
    uncured.controls.push_back(in_role(Cell::Role::kCure, CellVerdict::kFail));
    BOOST_TEST((judged({uncured}, "no cure was shown in this run; cure fails: it says why") ==
                RunVerdict::kNotQualified));
    uncured.cure_shown = true;
    BOOST_TEST((judged({uncured}, "its cure is said to be shown, but cure fails") ==
                RunVerdict::kIncomplete));
    ScenarioResult alone = reproduced();
    alone.controls = {in_role(Cell::Role::kCure, CellVerdict::kPass)};
    BOOST_TEST((judged({alone}, "no negative control passed") == RunVerdict::kIncomplete));
}

BOOST_AUTO_TEST_CASE(what_is_exposed_and_harms_nobody_is_qualified_and_said) {
    ScenarioResult exposed = clean();
    exposed.verdict = ScenarioVerdict::kExposed;
    exposed.headline = "50 of 100 pairs clashed, none was lost";
    BOOST_TEST(!is_failure(exposed.verdict));
    BOOST_TEST(
        (judged({exposed}, "dns-race: the failure is exposed here and harmed nobody: 50 of") ==
         RunVerdict::kQualified));
    exposed.cells.push_back(cell("odd", CellVerdict::kFail));
    BOOST_TEST((judged({exposed}, "1 of 2 cells fail") == RunVerdict::kNotQualified));
}

BOOST_AUTO_TEST_CASE(a_part_of_a_scenario_lacks_nothing_that_was_not_asked_for) {
    ScenarioResult part = reproduced();
    part.controls.clear();
    part.part = "broken,cured";
    BOOST_TEST((judged({part}, "only the cells that match broken,cured were run") ==
                RunVerdict::kConditionallyQualified));
    part.controls = {cell("plain", CellVerdict::kInconclusive)};
    BOOST_TEST((judged({part}, "control plain is inconclusive") == RunVerdict::kIncomplete));
}

BOOST_AUTO_TEST_CASE(a_cell_that_passes_may_leave_nothing_unexplained) {
    ScenarioResult lossy = clean();
    lossy.cells.front().measures = {
        {.name = kUnexplained, .label = "open", .value = 0, .unit = "", .note = ""}};
    BOOST_TEST((judged({lossy}, "no scenario reproduced") == RunVerdict::kQualified));
    lossy.cells.front().measures.front().value = 7;
    BOOST_TEST((judged({lossy}, "two-ports passes, but 7 of what it counted has no cause") ==
                RunVerdict::kIncomplete));
}

// Rules that must hold of every run, whatever its scenarios report.
BOOST_AUTO_TEST_CASE(no_set_of_values_gets_a_verdict_that_its_cells_contradict) {
    std::mt19937 draw(1);
    const auto below = [&](unsigned limit) { return static_cast<int>(draw() % limit); };
    std::size_t qualified = 0;
    std::size_t excepted = 0;
    for (int set = 0; set < 20'000; ++set) {
        std::vector<ScenarioResult> run;
        for (int left = 1 + below(2); left > 0; --left) {
            // Mostly sound values, so that good verdicts come up often.
            const bool rough = below(3) == 0;
            ScenarioResult scenario = below(2) == 0 ? reproduced() : clean();
            if (rough) {
                scenario.verdict = static_cast<ScenarioVerdict>(below(6));
                scenario.cure_shown = below(2) != 0;
                scenario.cause = below(2) != 0 ? "a cause" : "";
                scenario.part = below(4) == 0 ? "x*" : "";
            }
            scenario.unexplained = below(12) == 0 ? 1 : 0;
            for (int more = below(4); more > 0; --more) {
                Cell made =
                    in_role(static_cast<Cell::Role>(below(4)),
                            static_cast<CellVerdict>(rough ? below(5) : below(2) * below(2)));
                made.measures = {{.name = kUnexplained,
                                  .label = "",
                                  .value = below(8) == 0 ? 3 : 0,
                                  .unit = "",
                                  .note = ""}};
                (below(2) != 0 ? scenario.cells : scenario.controls).push_back(std::move(made));
            }
            run.push_back(std::move(scenario));
        }
        const auto [verdict, reasons] = judge_run(run);
        BOOST_REQUIRE(!reasons.empty());
        const bool good =
            verdict == RunVerdict::kQualified || verdict == RunVerdict::kConditionallyQualified;
        qualified += verdict == RunVerdict::kQualified ? 1 : 0;
        excepted += verdict == RunVerdict::kConditionallyQualified ? 1 : 0;
        bool any_failure = false;
        bool system_at_fault = false;  // by any cell or scenario that speaks of the system
        for (const ScenarioResult& scenario : run) {
            any_failure |= is_failure(scenario.verdict);
            system_at_fault |= is_failure(scenario.verdict);
            BOOST_REQUIRE((!good || scenario.unexplained == 0));
            BOOST_REQUIRE((!good || scenario.verdict != ScenarioVerdict::kInconclusive));
            BOOST_REQUIRE((!good || !is_failure(scenario.verdict) ||
                           (scenario.cure_shown && !scenario.cause.empty())));
            for (const auto* cells : {&scenario.cells, &scenario.controls}) {
                for (const Cell& each : *cells) {
                    const Cell::Role role =
                        cells == &scenario.controls ? role_among_controls(each) : each.role;
                    const bool fails = each.verdict == CellVerdict::kFail;
                    system_at_fault |=
                        fails && (role == Cell::Role::kMatrix || role == Cell::Role::kCure);
                    if (!good) {
                        continue;
                    }
                    BOOST_REQUIRE(each.verdict != CellVerdict::kError);
                    BOOST_REQUIRE(each.verdict != CellVerdict::kInconclusive);
                    BOOST_REQUIRE(
                        (!fails || (role == Cell::Role::kMatrix && is_failure(scenario.verdict))));
                    BOOST_REQUIRE((each.verdict != CellVerdict::kPass || each.measures.empty() ||
                                   each.measures.front().value == 0));
                }
            }
        }
        BOOST_REQUIRE((verdict != RunVerdict::kQualified || !any_failure));
        BOOST_REQUIRE((verdict != RunVerdict::kNotQualified || system_at_fault));
    }
    BOOST_TEST(qualified > 500u);
    BOOST_TEST(excepted > 500u);
}
