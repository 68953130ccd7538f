// Conclusions of bridge-unnat from plain values.
#include <boost/test/unit_test.hpp>
#include <functional>

#include "harness/scenario/service_path/bridge_unnat.h"
#include "tests/scenario/path_conclusions.h"

BOOST_AUTO_TEST_SUITE(bridge_unnat_conclude)

using namespace pathproof;
using namespace pathproof::scenario;
using namespace conclusions;
using Role = verdict::Cell::Role;

namespace {

using Change = std::function<void(BridgeValues&)>;

void untranslated(BridgeValues& seen, std::uint64_t flows = 5) {
    seen.answered = seen.lookups - flows;
    seen.from_backend = 2 * flows;
    seen.from_asked -= 2 * flows;
    seen.unreplied = flows;
    seen.entry_text = "udp src=198.18.0.2 dst=198.51.100.10 [UNREPLIED]";
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

verdict::ScenarioResult with(const std::string& id, const Change& change) {
    std::vector<MeasuredBridgeCell> cells;
    for (const BridgeCell& what : bridge_cells()) {
        cells.push_back({.what = what, .seen = as_usual(what)});
        if (what.id == id || id == "*") {
            change(cells.back().seen);
        }
    }
    return conclude(cells);
}

void no_answer(BridgeValues& seen) {
    seen = {.filtered = seen.filtered, .lookups = 5};
}

}  // namespace

BOOST_AUTO_TEST_CASE(what_this_kernel_shows_is_reproduced_named_and_cured) {
    const auto result = with("", [](BridgeValues&) {});
    BOOST_TEST((result.verdict == ScenarioVerdict::kReproduced), result.headline);
    BOOST_TEST(result.cure_shown);
    BOOST_TEST(contains(result.headline, "5 of 5 lookups of a service failed, 10 answers came"));
    BOOST_TEST(contains(result.cause, "bridge-nf-call-iptables=0"), result.cause);
    BOOST_TEST(contains(result.cause, "[UNREPLIED]"), result.cause);
    BOOST_TEST(contains(result.cure, "with it none of 5 lookups failed, without again 5 of 5"),
               result.cure);
    BOOST_TEST(contains(result.cure, "MASQUERADE"), result.cure);
    BOOST_TEST(cell(result, "bridge-nf-off").cause == "untranslated-answer");
    BOOST_TEST(result.before_cell == "bridge-nf-off");
    BOOST_TEST(result.after_cell == "cure.bridge-nf-on");
    BOOST_TEST(result.controls.size() == 2U);
}

BOOST_AUTO_TEST_CASE(a_control_that_shows_it_proves_nothing) {
    for (const char* id : {"control.direct", "control.other-host"}) {
        inconclusive(with(id, [](BridgeValues& seen) { untranslated(seen); }), id);
        inconclusive(with(id, no_answer), id);
    }
}

BOOST_AUTO_TEST_CASE(a_cure_that_fails_is_not_shown) {
    const auto one = with("cure.bridge-nf-on", [](BridgeValues& seen) { untranslated(seen, 1); });
    BOOST_TEST((one.verdict == ScenarioVerdict::kReproduced), one.headline);
    BOOST_TEST(one.cure_shown);  // by the other
    BOOST_TEST(one.after_cell == "cure.masquerade");
    BOOST_TEST(contains(one.cure, "not shown: 1 of 5 lookups failed"), one.cure);
    std::vector<MeasuredBridgeCell> cells;
    for (const BridgeCell& what : bridge_cells()) {
        cells.push_back({.what = what, .seen = as_usual(what)});
        if (what.role == Role::kCure) {
            no_answer(cells.back().seen);
        }
    }
    const auto none = conclude(cells);
    BOOST_TEST((none.verdict == ScenarioVerdict::kReproduced), none.headline);
    BOOST_TEST(!none.cure_shown);
    const auto gone = with("bridge-nf-off.after-cure", [](BridgeValues& seen) {
        seen = {.filtered = "0", .lookups = 5, .answered = 5, .from_asked = 10};
    });
    BOOST_TEST(!gone.cure_shown);
    BOOST_TEST(contains(gone.cure, "was not seen again"), gone.cure);
}

BOOST_AUTO_TEST_CASE(where_each_answer_is_translated_nothing_is_reproduced) {
    const auto result = with("*", [](BridgeValues& seen) {
        seen = {.filtered = seen.filtered, .lookups = 5, .answered = 5, .from_asked = 10};
    });
    BOOST_TEST((result.verdict == ScenarioVerdict::kNotReproduced), result.headline);
    BOOST_TEST(result.cause.empty());
    BOOST_TEST(result.cure.empty());
}

// Traps: the same symptom by another cause.
BOOST_AUTO_TEST_CASE(answers_that_never_come_are_not_given_this_cause) {
    const auto result = with("bridge-nf-off", no_answer);
    inconclusive(result, "no answer came to the client's wire");
    BOOST_TEST(cell(result, "bridge-nf-off").cause == "no-answer");
}

BOOST_AUTO_TEST_CASE(answers_of_a_backend_that_conntrack_saw_are_not_given_this_cause) {
    const auto result = with("bridge-nf-off", [](BridgeValues& seen) {
        seen.unnamed = seen.unreplied;
        seen.unreplied = 0;
    });
    inconclusive(result, "no [UNREPLIED] entry of conntrack tells why");
    BOOST_TEST(result.unexplained == 5U);
}

BOOST_AUTO_TEST_CASE(answers_of_a_third_address_are_not_given_this_cause) {
    const auto result = with("bridge-nf-off", [](BridgeValues& seen) {
        seen.from_others = seen.from_backend;
        seen.from_backend = seen.unreplied = 0;
    });
    inconclusive(result, "10 from another address");
    inconclusive(with("control.direct", [](BridgeValues& seen) { seen.from_others = 1; }),
                 "1 from another address");
}

// tc redirects the answers from port to port: the bridge never has them.
BOOST_AUTO_TEST_CASE(answers_that_may_have_gone_past_the_bridge_are_not_its_doing) {
    const auto result = with("bridge-nf-off", [](BridgeValues& seen) {
        seen.around_bridge = "tc filters at d2 (ingress): matchall, mirred redirect to d0";
    });
    inconclusive(result, "mirred redirect to d0");
    BOOST_TEST(cell(result, "bridge-nf-off").cause == "past-the-bridge");
    // Answers that stay untranslated though the bridge asks netfilter were not kept from it by the sysctl.
    const auto cured = with("cure.bridge-nf-on", [](BridgeValues& seen) { untranslated(seen); });
    BOOST_TEST(cell(cured, "cure.bridge-nf-on").cause == "past-netfilter");
}

BOOST_AUTO_TEST_CASE(an_agent_that_died_and_nothing_executed_conclude_nothing) {
    inconclusive(
        with("control.direct", [](BridgeValues& seen) { seen.objections = {"ended by signal 9"}; }),
        "ended by signal 9");
    inconclusive(with("bridge-nf-off", [](BridgeValues& seen) { seen.filtered = "1"; }),
                 "bridge-nf-call-iptables is '1'");
    inconclusive(conclude(std::vector<MeasuredBridgeCell>{}), "nothing was measured");
    inconclusive(conclude({{.what = bridge_cells()[0]}}), "no lookup was made");
}

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
