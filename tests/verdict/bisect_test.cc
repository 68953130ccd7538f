#include "harness/verdict/bisect.h"

#include <boost/test/unit_test.hpp>

using namespace pathproof::verdict;

namespace {

RunResult run_of(ScenarioVerdict verdict, CellVerdict cell = CellVerdict::kPass) {
    RunResult run;
    run.scenarios = {{.id = "offload-truth",
                      .verdict = verdict,
                      .cells = {{.id = "tx.as-found", .verdict = cell}},
                      .controls = {{.id = "control", .verdict = CellVerdict::kPass}}}};
    return run;
}

int code(ScenarioVerdict verdict) {
    return bisect_code(run_of(verdict), "offload-truth", "");
}

int code(CellVerdict verdict) {
    return bisect_code(run_of(ScenarioVerdict::kDefectFound, verdict), "offload-truth",
                       "tx.as-found");
}

}  // namespace

BOOST_AUTO_TEST_CASE(git_bisect_hears_of_what_was_measured_and_skips_all_else) {
    BOOST_TEST(code(ScenarioVerdict::kReproduced) == 1);
    BOOST_TEST(code(ScenarioVerdict::kDefectFound) == 1);
    BOOST_TEST(code(ScenarioVerdict::kNotReproduced) == 0);
    BOOST_TEST(code(ScenarioVerdict::kNoDefectFound) == 0);
    for (const ScenarioVerdict neither :
         {ScenarioVerdict::kExposed, ScenarioVerdict::kInconclusive, ScenarioVerdict::kNotRun}) {
        BOOST_TEST(code(neither) == 125);
    }
    // A cell's code is its own, whatever became of the others.
    BOOST_TEST(code(CellVerdict::kFail) == 1);
    BOOST_TEST(code(CellVerdict::kPass) == 0);
    for (const CellVerdict neither : {CellVerdict::kError, CellVerdict::kSkip,
                                      CellVerdict::kInconclusive, CellVerdict::kUnstable}) {
        BOOST_TEST(code(neither) == 125);
    }
    const RunResult run = run_of(ScenarioVerdict::kDefectFound);
    BOOST_TEST(bisect_code(run, "offload-truth", "control") == 0);
    BOOST_TEST(bisect_code(run, "offload-truth", "no-such") == 125);
    // A part that is not listed did not fail, if the whole was judged.
    BOOST_TEST(bisect_code(run, "offload-truth", "tx.as-found.tso") == 0);
    BOOST_TEST(bisect_code(run_of(ScenarioVerdict::kDefectFound, CellVerdict::kFail),
                           "offload-truth", "tx.as-found.tso") == 0);
    BOOST_TEST(bisect_code(run_of(ScenarioVerdict::kInconclusive, CellVerdict::kError),
                           "offload-truth", "tx.as-found.tso") == 125);
    BOOST_TEST(bisect_code(run, "dns-race", "") == 125);
    BOOST_TEST(bisect_code({}, "dns-race", "") == 125);
}
