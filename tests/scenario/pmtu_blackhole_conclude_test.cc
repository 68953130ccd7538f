// Conclusions of pmtu-blackhole from plain values.
#include <boost/test/unit_test.hpp>
#include <functional>

#include "harness/scenario/service_path/pmtu_blackhole.h"
#include "tests/scenario/conclusion_table.h"

BOOST_AUTO_TEST_SUITE(pmtu_blackhole_conclude)

using namespace pathproof;
using namespace pathproof::scenario;
using namespace conclusions;

namespace {

const std::string kDropped = "df-unset.icmp-passes.fragments-dropped";
const std::string kFiltered = "df-set.icmp-filtered.fragments-pass";
const std::vector<Phrase> kHopPhrases = {
    {"the router cut", {"cut"}},
    {"the VTEPs discarded", {"fragments_dropped"}},
    {"as too large to pass", {"too_big"}},
    {"ICMP messages were filtered", {"icmp_dropped"}},
    {"rules of netfilter dropped", {"rule_drops"}},
    {"do not", {"stops"}},
};

bool is_dark(const PmtuCell& what) {
    return what.role == CellRole::kMatrix;
}

// The machine this was written on.
PmtuValues hop_as_usual(const PmtuCell& what) {
    PmtuValues seen{.ping = true, .small = true, .large = true, .passes = what.tunnel.mtu};
    if (is_dark(what)) {
        seen.large = false;
        seen.acknowledged = 1000;
        seen.passes = 1350;
        seen.stops = 1351;
        (what.tunnel.df ? seen.too_big : seen.cut) = 19;
        (what.tunnel.df ? seen.icmp_dropped : seen.fragments_dropped) = 19;
        seen.icmp_sent = seen.path.netfilter_drops = seen.icmp_dropped;
    } else if (what.id.starts_with("cure.df")) {
        seen.too_big = seen.icmp_sent = seen.icmp_seen = 1;
    }
    return seen;
}

void hangs(PmtuValues& seen) {
    seen.large = false;
}

void hangs_above_1350(PmtuValues& seen) {
    seen.large = false;
    seen.passes = 1350;
    seen.stops = 1351;
    seen.cut = seen.fragments_dropped = 3;
}

using Rows = std::vector<Row<PmtuCell, PmtuValues>>;

}  // namespace

const Rows kShown = {
    {.name = "what_this_kernel_shows_is_reproduced_named_and_cured",
     .concluded = {.verdict = ScenarioVerdict::kReproduced,
                   .says = {{"headline", "DF set, ICMP filtered, fragments pass"},
                            {"cause", "packets of 1350 bytes pass, those of 1351 do not"},
                            {"cause",
                             "the router cut 19 datagrams, the VTEPs discarded 19 fragments"},
                            {"cause", "19 of its ICMP messages were filtered"},
                            {"cure", "an MTU of 1350"},
                            {"cure", "outer DF set"},
                            {"cure", "--set-mss 1310"}},
                   .causes = {{kDropped, "fragments-dropped"}, {kFiltered, "icmp-filtered"}},
                   .cured = true,
                   .before = kDropped,
                   .after = "cure.mtu",
                   .controls = 4,
                   .proofs = 1,
                   .more =
                       [](const ScenarioResult& result) {
                           BOOST_TEST(result.proofs.front().rows.size() == 11U);
                       }}},
    {.name = "a_control_of_filters_that_shows_it_proves_nothing",
     .changes = {{"control.df-unset.icmp-filtered.fragments-pass", hangs_above_1350}},
     .concluded = nothing("control.df-unset.icmp-filtered.fragments-pass")},
    {.name = "a_control_of_a_wide_hop_that_shows_it_proves_nothing",
     .changes = {{"control.wide-hop", hangs_above_1350}},
     .concluded = nothing("control.wide-hop")},
    {.name = "a_cure_that_fails_is_not_shown",
     .changes = {{"cure.mtu", hangs}},
     .concluded = {.verdict = ScenarioVerdict::kReproduced,
                   .says = {{"cure",
                             "an MTU of 1350 on the tunnel (the path's less 50) (not "
                             "shown"}},
                   .cured = true,  // by the others
                   .after = "cure.df-set.icmp-passes.fragments-dropped"}},
    {.name = "a_failure_that_does_not_come_back_shows_no_cure",
     .changes = {{"df-unset.icmp-filtered.fragments-dropped.after-cure",
                  [](PmtuValues& seen) { seen = {.ping = true, .small = true, .large = true}; }}},
     .concluded = {.says = {{"cure", "was not seen again"}}, .cured = false}},
    {.name = "where_transfers_get_through_nothing_is_reproduced",
     .changes = {{kMatrixCells,
                  [](PmtuValues& seen) {
                      seen = {.ping = true, .small = true, .large = true, .passes = 1450};
                  }}},
     .concluded = {.verdict = ScenarioVerdict::kNotReproduced}},
    {.name = "an_agent_that_died_concludes_nothing",
     .changes = {{"cure.mtu", [](PmtuValues& seen) { seen.objections = {"ended by signal 9"}; }}},
     .concluded = nothing("ended by signal 9")},
    {.name = "nothing_executed_concludes_nothing",
     .concluded = nothing("nothing was measured"),
     .without = "*"},
    {.name = "a_path_without_ping_concludes_nothing",
     .changes = {{kDropped, [](PmtuValues& seen) { seen = {}; }}},
     .concluded = nothing("ping failed"),
     .only = kDropped},
};

// Traps: the same symptom by another cause.
const Rows kTraps = {
    {.name = "a_filter_of_large_packets_is_not_given_this_cause",
     .changes = {{kMatrixCells,
                  [](PmtuValues& seen) {
                      seen.cut = seen.too_big = seen.fragments_dropped = seen.icmp_dropped = 0;
                      seen.path.netfilter_drops = 20;
                  }}},
     .concluded = nothing("rules of netfilter dropped 20 packets", {{kDropped, "rule-drop"}})},
    {.name = "another_size_is_not_the_hop_s",
     .changes = {{kDropped,
                  [](PmtuValues& seen) {
                      seen.passes = 1000;
                      seen.stops = 1001;
                  }}},
     .concluded = {.verdict = ScenarioVerdict::kInconclusive,
                   .says = {{"headline", "packets of 1000 bytes pass, those of 1001 do not"},
                            {"headline", "the hop would stop those above 1350"}},
                   .cured = false}},
    {.name = "a_slow_server_is_not_given_this_cause",
     .changes = {{kFiltered,
                  [](PmtuValues& seen) {
                      seen.passes = 1450;
                      seen.stops = 0;
                  }}},
     .concluded = nothing("packets of up to 1450 bytes pass", {{kFiltered, "lost"}}, 1)},
    {.name = "random_loss_is_not_given_this_cause",
     .changes = {{"control.wide-hop", [](PmtuValues& seen) { seen.small = false; }}},
     .concluded = nothing("a transfer of 100 bytes failed")},
    {.name = "a_dead_link_is_not_given_this_cause",
     .changes = {{kMatrixCells,
                  [](PmtuValues& seen) {
                      seen = {};
                      seen.path.outages = {"d1"};
                  }}},
     .concluded = nothing("d1 had no link", {{kDropped, "link-down"}})},
};

[[maybe_unused]] const bool kAdded =
    add_cases(pmtu_blackhole_plan, hop_as_usual, {kShown, kTraps}, kHopPhrases);

BOOST_AUTO_TEST_CASE(no_sentence_says_what_no_value_bears_out) {
    ten_thousand(kHopPhrases, [](Dice& dice) {
        std::vector<MeasuredPmtuCell> cells;
        for (const PmtuCell& what : pmtu_blackhole_plan()) {
            PmtuValues seen = hop_as_usual(what);
            if (dice.one_in(20)) {
                seen.large = dice.one_in(2);
                seen.cut = dice.up_to(30);
                seen.too_big = dice.up_to(30);
                seen.fragments_dropped = dice.up_to(30);
                seen.icmp_dropped = dice.up_to(30);
                seen.path.netfilter_drops = dice.up_to(60);
            }
            if (dice.one_in(40)) {
                seen.ping = dice.one_in(2);
                seen.small = dice.one_in(2);
                seen.acknowledged = dice.up_to(60'000);
                seen.passes = static_cast<std::uint32_t>(dice.up_to(1450));
                seen.stops = static_cast<std::uint32_t>(dice.up_to(1450));
                seen.path.outages.resize(dice.up_to(1), "d1");
            }
            if (!dice.one_in(9)) {
                cells.push_back({.what = what, .seen = seen, .evidence = {}});
            }
        }
        return conclude(cells);
    });
}

BOOST_AUTO_TEST_SUITE_END()
