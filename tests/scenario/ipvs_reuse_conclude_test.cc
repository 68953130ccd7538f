// Conclusions of ipvs-reuse from plain values.
#include <boost/test/unit_test.hpp>
#include <functional>

#include "harness/scenario/service_path/ipvs_reuse.h"
#include "tests/scenario/conclusion_table.h"

BOOST_AUTO_TEST_SUITE(ipvs_reuse_conclude)

using namespace pathproof;
using namespace pathproof::scenario;
using namespace conclusions;

namespace {

ReuseValues no_slow_one(const ReuseCell& what) {
    return {
        .connects = 300, .reused = what.other_ports ? 0U : 200U, .time_wait = 100, .worst_ms = 12};
}

void swallow(ReuseValues& seen, std::uint64_t syns) {
    seen.slow = seen.swallowed = syns;
    seen.worst_ms = 1016;
}

// A kernel before Linux 5.9.
ReuseValues as_usual(const ReuseCell& what) {
    ReuseValues seen = no_slow_one(what);
    if (what.role == CellRole::kMatrix) {
        swallow(seen, 190);
    }
    return seen;
}

}  // namespace

const std::vector<Row<ReuseCell, ReuseValues>> kRows = {
    {.name = "a_kernel_that_swallows_syns_is_named_and_cured",
     .concluded = {.verdict = ScenarioVerdict::kReproduced,
                   .says = {{"headline",
                             "190 of 300 connects took 1 s or more, the "
                             "longest 1.02 s"},
                            {"cause",
                             "first SYN of 190 connects came to the DUT and did "
                             "not leave it"},
                            {"cure",
                             "then none of 300 connects was slow, without it "
                             "again 190 of 300"}},
                   .cured = true,
                   .unexplained = 0}},
    {.name = "a_kernel_that_does_not_is_not_accused",
     .changes = {{"*", [](const ReuseCell& what, ReuseValues& seen) { seen = no_slow_one(what); }}},
     .concluded = {.verdict = ScenarioVerdict::kNotReproduced,
                   .says = {{"headline",
                             "400 of 600 connects came from a port that IPVS "
                             "had seen"}}}},
    // Traps: slow for another reason. Lost behind the DUT, or of a slow server: each SYN left it.
    {.name = "connects_whose_syns_all_left_are_not_given_this_cause",
     .changes = {{"reuse", [](ReuseValues& seen) { seen.swallowed = 0; }}},
     .concluded = nothing("the first SYN of none of 190 came to the DUT")},
    {.name = "connects_of_which_some_syns_left_are_not_given_this_cause",
     .changes = {{"reuse", [](ReuseValues& seen) { seen.swallowed = 150; }}},
     .concluded = nothing("the first SYN of 150 of 190 came to the DUT", {}, 40)},
    {.name = "ports_that_were_never_used_before_and_are_slow_prove_nothing",
     .changes = {{"control.other-ports", [](ReuseValues& seen) { seen.slow = 30; }}},
     .concluded = nothing("control.other-ports")},
    {.name = "connects_that_fail_are_not_given_this_cause",
     .changes = {{"reuse", [](ReuseValues& seen) { seen.failed = 3; }}},
     .concluded = nothing("3 of 300 connects failed")},
    {.name = "ports_that_were_used_once_conclude_nothing",
     .changes = {{"reuse", [](ReuseValues& seen) { seen.reused = 0; }}},
     .concluded = nothing("no port was used twice")},
    {.name = "without_time_wait_nothing_is_concluded",
     .changes = {{"reuse", [](ReuseValues& seen) { seen.time_wait = 0; }}},
     .concluded = nothing("IPVS had no connection in TIME_WAIT")},
    {.name = "without_a_connect_nothing_is_concluded",
     .changes = {{"*", [](ReuseValues& seen) { seen = {}; }}},
     .concluded = nothing("no connect was made")},
    {.name = "an_agent_that_died_concludes_nothing",
     .changes = {{"reuse", [](ReuseValues& seen) { seen.objections = {"ended by signal 9"}; }}},
     .concluded = nothing("ended by signal 9")},
    {.name = "a_cure_that_fails_is_not_shown",
     .changes = {{"cure.reuse-mode-0", [](ReuseValues& seen) { swallow(seen, 5); }}},
     .concluded = not_cured("not shown: 5 of 300")},
    {.name = "a_failure_that_does_not_come_back_shows_no_cure",
     .changes = {{"reuse.after-cure", [](ReuseValues& seen) { swallow(seen, 0); }}},
     .concluded = not_cured("was not seen again")},
};

[[maybe_unused]] const bool kAdded = add_cases(ipvs_reuse_plan, as_usual, {kRows});

BOOST_AUTO_TEST_CASE(no_sentence_says_what_no_value_bears_out) {
    ten_thousand({{"took 1 s or more, the longest", {"slow"}},
                  {"swallowed", {"swallowed"}},
                  {"connects failed", {"failed"}},
                  {"connections in TIME_WAIT. With", {"time_wait"}}},
                 [](Dice& dice) {
                     std::vector<MeasuredReuseCell> cells;
                     for (const ReuseCell& what : ipvs_reuse_plan()) {
                         ReuseValues seen = no_slow_one(what);
                         if (what.role == CellRole::kMatrix && !dice.one_in(3)) {
                             swallow(seen, dice.up_to(200));
                         }
                         if (dice.one_in(9)) {
                             seen.slow = dice.up_to(20);
                             seen.swallowed = dice.up_to(seen.slow);
                         }
                         if (dice.one_in(15)) {
                             seen.failed = dice.up_to(5);
                             seen.reused = dice.up_to(3);
                             seen.time_wait = dice.up_to(2);
                         }
                         if (!dice.one_in(12)) {
                             cells.push_back({.what = what, .seen = seen});
                         }
                     }
                     return conclude(cells);
                 });
}

BOOST_AUTO_TEST_SUITE_END()
