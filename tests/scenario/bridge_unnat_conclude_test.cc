// Conclusions of bridge-unnat from plain values.
#include <boost/test/unit_test.hpp>
#include <functional>

#include "harness/scenario/service_path/bridge_unnat.h"
#include "tests/scenario/conclusion_table.h"

BOOST_AUTO_TEST_SUITE(bridge_unnat_conclude)

using namespace pathproof;
using namespace pathproof::scenario;
using namespace conclusions;
using Role = verdict::Cell::Role;

namespace {

void untranslated_of(BridgeValues& seen, std::uint64_t flows) {
    seen.answered = seen.lookups - flows;
    seen.from_backend = 2 * flows;
    seen.from_asked -= 2 * flows;
    seen.unreplied = flows;
    seen.entry_text = "udp src=198.18.0.2 dst=198.51.100.10 [UNREPLIED]";
}

void untranslated(BridgeValues& seen) {
    untranslated_of(seen, 5);
}

// The machine this was written on.
BridgeValues as_usual(const BridgeCell& what) {
    BridgeValues seen{
        .filtered = what.filtered ? "1" : "0", .lookups = 5, .answered = 5, .from_asked = 10};
    if (what.role == Role::kMatrix) {
        untranslated(seen);
    }
    return seen;
}

void all_translated(BridgeValues& seen) {
    seen = {.filtered = seen.filtered, .lookups = 5, .answered = 5, .from_asked = 10};
}

void no_answer(BridgeValues& seen) {
    seen = {.filtered = seen.filtered, .lookups = 5};
}

}  // namespace

const std::vector<Row<BridgeCell, BridgeValues>> kRows = {
    {.name = "what_this_kernel_shows_is_reproduced_named_and_cured",
     .concluded = {.verdict = ScenarioVerdict::kReproduced,
                   .says = {{"headline",
                             "5 of 5 lookups of a service failed, 10 answers "
                             "came"},
                            {"cause", "bridge-nf-call-iptables=0"},
                            {"cause", "[UNREPLIED]"},
                            {"cure",
                             "with it none of 5 lookups failed, without again "
                             "5 of 5"},
                            {"cure", "MASQUERADE"}},
                   .causes = {{"bridge-nf-off", "untranslated-answer"}},
                   .cured = true,
                   .before = "bridge-nf-off",
                   .after = "cure.bridge-nf-on",
                   .controls = 2}},
    {.name = "a_direct_control_that_shows_it_proves_nothing",
     .changes = {{"control.direct", untranslated}},
     .concluded = nothing("control.direct")},
    {.name = "a_direct_control_without_answers_proves_nothing",
     .changes = {{"control.direct", no_answer}},
     .concluded = nothing("control.direct")},
    {.name = "a_control_of_another_host_that_shows_it_proves_nothing",
     .changes = {{"control.other-host", untranslated}},
     .concluded = nothing("control.other-host")},
    {.name = "a_control_of_another_host_without_answers_proves_nothing",
     .changes = {{"control.other-host", no_answer}},
     .concluded = nothing("control.other-host")},
    {.name = "a_cure_that_fails_is_not_shown",
     .changes = {{"cure.bridge-nf-on", [](BridgeValues& seen) { untranslated_of(seen, 1); }}},
     .concluded = {.verdict = ScenarioVerdict::kReproduced,
                   .says = {{"cure", "not shown: 1 of 5 lookups failed"}},
                   .cured = true,  // by the other
                   .after = "cure.masquerade"}},
    {.name = "cures_that_fail_are_not_shown",
     .changes = {{kCureCells, no_answer}},
     .concluded = {.verdict = ScenarioVerdict::kReproduced, .cured = false}},
    {.name = "a_failure_that_does_not_come_back_shows_no_cure",
     .changes = {{"bridge-nf-off.after-cure", all_translated}},
     .concluded = not_cured("was not seen again")},
    {.name = "where_each_answer_is_translated_nothing_is_reproduced",
     .changes = {{"*", all_translated}},
     .concluded = {.verdict = ScenarioVerdict::kNotReproduced}},
    // Traps: the same symptom by another cause.
    {.name = "answers_that_never_come_are_not_given_this_cause",
     .changes = {{"bridge-nf-off", no_answer}},
     .concluded = nothing("no answer came to the client's wire", {{"bridge-nf-off", "no-answer"}})},
    {.name = "answers_of_a_backend_that_conntrack_saw_are_not_given_this_cause",
     .changes = {{"bridge-nf-off",
                  [](BridgeValues& seen) {
                      seen.unnamed = seen.unreplied;
                      seen.unreplied = 0;
                  }}},
     .concluded = nothing("no [UNREPLIED] entry of conntrack tells why", {}, 5)},
    {.name = "answers_of_a_third_address_are_not_given_this_cause",
     .changes = {{"bridge-nf-off",
                  [](BridgeValues& seen) {
                      seen.from_others = seen.from_backend;
                      seen.from_backend = seen.unreplied = 0;
                  }}},
     .concluded = nothing("10 from another address")},
    {.name = "a_control_with_answers_of_a_third_address_proves_nothing",
     .changes = {{"control.direct", [](BridgeValues& seen) { seen.from_others = 1; }}},
     .concluded = nothing("1 from another address")},
    // tc redirects the answers from port to port: the bridge never has them.
    {.name = "answers_that_may_have_gone_past_the_bridge_are_not_its_doing",
     .changes = {{"bridge-nf-off",
                  [](BridgeValues& seen) {
                      seen.around_bridge =
                          "tc filters at d2 (ingress): matchall, mirred redirect to d0";
                  }}},
     .concluded = nothing("mirred redirect to d0", {{"bridge-nf-off", "past-the-bridge"}})},
    // The bridge asks netfilter: the sysctl did not keep the answers from it.
    {.name = "answers_that_stay_untranslated_with_the_sysctl_are_not_its_doing",
     .changes = {{"cure.bridge-nf-on", untranslated}},
     .concluded = {.causes = {{"cure.bridge-nf-on", "past-netfilter"}}}},
    {.name = "an_agent_that_died_concludes_nothing",
     .changes = {{"control.direct",
                  [](BridgeValues& seen) { seen.objections = {"ended by signal 9"}; }}},
     .concluded = nothing("ended by signal 9")},
    {.name = "a_sysctl_that_is_not_as_set_concludes_nothing",
     .changes = {{"bridge-nf-off", [](BridgeValues& seen) { seen.filtered = "1"; }}},
     .concluded = nothing("bridge-nf-call-iptables is '1'")},
    {.name = "nothing_executed_concludes_nothing",
     .concluded = nothing("nothing was measured"),
     .without = "*"},
    {.name = "no_lookup_concludes_nothing",
     .changes = {{"bridge-nf-off", [](BridgeValues& seen) { seen = {}; }}},
     .concluded = nothing("no lookup was made"),
     .only = "bridge-nf-off"},
};

[[maybe_unused]] const bool kAdded = add_cases(bridge_cells, as_usual, {kRows});

BOOST_AUTO_TEST_CASE(no_sentence_says_what_no_value_bears_out) {
    ten_thousand({{"from the address that was asked", {"from_asked"}},
                  {"from the backend's own address", {"from_backend"}},
                  {"from another address", {"from_others"}},
                  {"conntrack saw no answer", {"unreplied"}},
                  {"conntrack saw none", {"unreplied"}},
                  {"tells why", {"unexplained"}}},
                 [](Dice& dice) {
                     std::vector<MeasuredBridgeCell> cells;
                     for (const BridgeCell& what : bridge_cells()) {
                         BridgeValues seen = as_usual(what);
                         if (dice.one_in(6)) {
                             seen.lookups = dice.up_to(5);
                             seen.answered = dice.up_to(seen.lookups);
                             seen.from_asked = dice.up_to(10);
                             seen.from_backend = dice.up_to(10);
                             seen.from_others = dice.one_in(2) ? 0 : dice.up_to(10);
                             seen.unreplied = std::min(seen.from_backend, dice.up_to(5));
                             seen.unnamed = std::min(seen.from_backend - seen.unreplied,
                                                     dice.one_in(2) ? 0 : dice.up_to(5));
                             seen.entry_text = "udp [UNREPLIED]";
                         }
                         if (dice.one_in(30)) {
                             seen.objections = {"ended by signal 9"};
                         }
                         if (!dice.one_in(9)) {
                             cells.push_back({.what = what, .seen = seen});
                         }
                     }
                     return conclude(cells);
                 });
}

BOOST_AUTO_TEST_SUITE_END()
