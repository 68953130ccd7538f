// Runs and histories for the tests of this folder.
#pragma once

#include <boost/test/unit_test.hpp>
#include <string>

#include "harness/history/pending.h"
#include "harness/history/store.h"

namespace pathproof::history::test {

// The n-th run of a series: one cell that passes and one that fails with an odd n, and figures.
inline verdict::RunResult run_number(int n, double latency = 0) {
    using namespace verdict;
    Cell good{.id = "good", .verdict = CellVerdict::kPass};
    good.measures = {{.name = "ms",
                      .label = "latency",
                      .value = latency != 0 ? latency : 1.0 / 3 + n,
                      .unit = "ms",
                      .interval = Interval{0.1, 1000.0},
                      .trials = {1.0 / 3, 2.0 / 3}},
                     {.name = "outcome", .label = "outcome", .value = "in words"}};
    Cell other{.id = "other",
               .verdict = n % 2 == 1 ? CellVerdict::kFail : CellVerdict::kPass,
               .reason = n % 2 == 1 ? "of 5 probes 5 failed" : "",
               .cause = n % 2 == 1 ? "stale-port" : ""};
    ScenarioResult scenario{.id = "s", .title = "S", .verdict = ScenarioVerdict::kReproduced};
    scenario.cells = {good, other};
    const Fact release{.name = "release", .value = "6.1.0", .status = Fact::Status::kRead};
    const Fact driver{.name = "driver", .value = "ice", .status = Fact::Status::kRead};
    return {.id = fmt::format("{:08x}-0000-4000-8000-000000000000", n),
            .verdict = RunVerdict::kNotQualified,
            .reasons = {"s: it fails"},
            .evidence_class = "physical",
            .evidence_note = "note",
            .command = "pathproof qualify",
            .repeat_command = "pathproof qualify --seed 7",
            .seed = 7,
            .lab = "lab.toml",
            .version = "0.1.0",
            .started_at =
                fmt::format("2026-11-{:02}T{:02}:{:02}:00Z", 1 + n / 1440, n / 60 % 24, n % 60),
            .seconds = 4,
            .environment = {{"Kernel", {release}}, {"DUT device eth0", {driver}}},
            .scenarios = {scenario}};
}

inline Target target_of(const std::string& text) {
    auto target = parse_target(text);
    BOOST_REQUIRE_MESSAGE(target, (target ? "" : target.error().message));
    return *target;
}

inline Store opened(const Target& target, Access access = Access::kCreate) {
    auto store = Store::open(target, access, std::chrono::milliseconds(300));
    BOOST_REQUIRE_MESSAGE(store, (store ? "" : store.error().message));
    return std::move(*store);
}

template <typename Value>
Value taken(Result<Value> result) {
    BOOST_REQUIRE_MESSAGE(result, (result ? "" : result.error().message));
    return *std::move(result);
}

inline void ends_well(const Status& status) {
    BOOST_REQUIRE_MESSAGE(status, (status ? "" : status.error().message));
}

// The operation must fail with this code and these words.
template <typename Value>
void refused(const Result<Value>& result, ErrorCode code, const std::string& words) {
    BOOST_REQUIRE_MESSAGE(!result, "it was not refused: " << words);
    BOOST_TEST((result.error().code == code), result.error().message);
    BOOST_TEST(result.error().message.find(words) != std::string::npos, result.error().message);
}

// Checks that hold for every kind of history: `target` is empty at first.
void check_history(const Target& target);
// `writers` processes add `runs` each at the same time, and some of them are killed: nothing that was begun is lost, nothing is there
// in part, nothing twice.
void check_writers(const Target& target, int writers, int runs);

}  // namespace pathproof::history::test
