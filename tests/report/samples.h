// The stored sample and a run of hostile strings, for the tests of this folder.
#pragma once

#include <fstream>
#include <sstream>
#include <string>

#include "harness/report/json.h"

namespace pathproof::report::test {

inline std::string sample_text() {
    std::ostringstream text;
    text << std::ifstream(SAMPLE_JSON).rdbuf();
    return text.str();
}

inline verdict::RunResult sample() {
    auto run = from_json(sample_text());
    return run ? std::move(*run) : verdict::RunResult{.lab = run.error().message};
}

// Text that markup, JSON or a terminal could trip over.
inline const std::string kHostile =
    "</script><script>alert(1)</script> <b onclick='x'>\" & ]]> <!-- \x01\x1b[31m\x7f `code` "
    "\xff\xfe "
    "\xed\xa0\x80 \xc0\xaf \xef\xbf\xbf \u00e9\u4e2d\U0001F600";

// A run in which every text is hostile.
inline verdict::RunResult hostile() {
    using namespace verdict;
    const std::string& bad = kHostile;
    const Cell cell{
        .id = bad,
        .toggles = {{bad, bad}, {bad + "2", "x"}},
        .verdict = CellVerdict::kFail,
        .reason = bad,
        .cause = bad,
        .known = bad,
        .measures = {{.name = bad, .label = bad, .value = bad, .unit = bad, .note = bad},
                     {.name = "probe", .label = bad, .value = false, .note = bad},
                     {.name = "none", .label = bad, .value = nullptr, .note = bad}},
        .evidence = {{"evidence/../../" + bad, bad}, {"javascript:alert(1)", bad}}};
    Cell control = cell;
    control.id = bad + " control";
    const Bar bar{
        .label = bad, .value = 1, .interval = Interval{0.5, 1.5}, .kind = Bar::Kind::kBad};
    const CalibrationRow row{.id = bad, .fault = bad, .given_name = bad, .note = bad};
    const TruthTable table{.title = bad,
                           .device = bad,
                           .conditions = {bad, bad},
                           .rows = {{.offload = bad,
                                     .direction = bad,
                                     .expected = bad,
                                     .advertised = bad,
                                     .observed = {{Observed::kWrong, 2, 1, {bad, bad}, bad, bad}},
                                     .finding = bad,
                                     .errata = {{bad, bad, bad, bad, bad}}}},
                           .excluded = bad};
    const ScenarioResult scenario{.id = bad,
                                  .title = bad,
                                  .question = bad,
                                  .verdict = ScenarioVerdict::kReproduced,
                                  .headline = bad,
                                  .cause = bad,
                                  .cure = bad,
                                  .explanation = {bad},
                                  .cells = {cell},
                                  .controls = {control},
                                  .proofs = {{bad, {bad}, {{bad}}, bad}},
                                  .charts = {{bad, bad, 0, {bar}},
                                             {.title = bad,
                                              .unit = bad,
                                              .x_label = bad,
                                              .curves = {{bad, {{1, 2, Interval{1, 3}}}}},
                                              .marks = {{bad, 1, 2, 3}}}},
                                  .truth_tables = {table},
                                  .calibration = Calibration{.instrument = bad,
                                                             .faults = {row},
                                                             .open_world = {row},
                                                             .judge_mutants = {row},
                                                             .confusion = {{bad, bad, 1}}},
                                  .evidence = {{bad, bad}}};
    return {.verdict = RunVerdict::kIncomplete,
            .reasons = {bad},
            .evidence_class = "virtual",
            .evidence_note = bad,
            .command = bad,
            .repeat_command = bad,
            .seed = 0xFFFFFFFFFFFFFFFF,
            .lab = bad,
            .profile = bad,
            .version = bad,
            .started_at = "2026-11-21T04:00:00Z",
            .environment = {{bad, {{bad, bad, Fact::Status::kRead, bad}}}},
            .scenarios = {scenario}};
}

}  // namespace pathproof::report::test
