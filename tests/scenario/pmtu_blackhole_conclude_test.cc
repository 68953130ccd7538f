// Conclusions of pmtu-blackhole from plain values.
#include <boost/test/unit_test.hpp>
#include <functional>

#include "harness/scenario/service_path/pmtu_blackhole.h"
#include "tests/scenario/path_conclusions.h"

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

using PmtuChange = std::function<void(PmtuValues&)>;

verdict::ScenarioResult dark(const std::string& id, const PmtuChange& change) {
    std::vector<MeasuredPmtuCell> cells;
    for (const PmtuCell& what : pmtu_blackhole_plan()) {
        cells.push_back({.what = what, .seen = hop_as_usual(what), .evidence = {}});
        if (what.id == id || (id == "*" && is_dark(what))) {
            change(cells.back().seen);
        }
    }
    const auto result = conclude(cells);
    for (const std::string& claim : false_sentences(result, kHopPhrases)) {
        BOOST_TEST(false, claim);
    }
    return result;
}

}  // namespace

BOOST_AUTO_TEST_CASE(what_this_kernel_shows_is_reproduced_named_and_cured) {
    const auto result = dark("", [](PmtuValues&) {});
    BOOST_TEST((result.verdict == ScenarioVerdict::kReproduced), result.headline);
    BOOST_TEST(result.cure_shown, result.cure);
    BOOST_TEST(contains(result.headline, "DF set, ICMP filtered, fragments pass"), result.headline);
    BOOST_TEST(contains(result.cause, "packets of 1350 bytes pass, those of 1351 do not"),
               result.cause);
    BOOST_TEST(
        contains(result.cause, "the router cut 19 datagrams, the VTEPs discarded 19 fragments"),
        result.cause);
    BOOST_TEST(contains(result.cause, "19 of its ICMP messages were filtered"), result.cause);
    for (const char* cure : {"an MTU of 1350", "outer DF set", "--set-mss 1310"}) {
        BOOST_TEST(contains(result.cure, cure), result.cure);
    }
    BOOST_TEST(cell(result, kDropped).cause == "fragments-dropped");
    BOOST_TEST(cell(result, kFiltered).cause == "icmp-filtered");
    BOOST_TEST(result.before_cell == kDropped);
    BOOST_TEST(result.after_cell == "cure.mtu");
    BOOST_TEST(result.controls.size() == 4U);
    BOOST_REQUIRE(result.proofs.size() == 1U);
    BOOST_TEST(result.proofs[0].rows.size() == 11U);
}

BOOST_AUTO_TEST_CASE(a_control_that_shows_it_proves_nothing) {
    for (const char* id : {"control.df-unset.icmp-filtered.fragments-pass", "control.wide-hop"}) {
        inconclusive(dark(id,
                          [](PmtuValues& seen) {
                              seen.large = false;
                              seen.passes = 1350;
                              seen.stops = 1351;
                              seen.cut = seen.fragments_dropped = 3;
                          }),
                     id);
    }
}

BOOST_AUTO_TEST_CASE(a_cure_that_fails_is_not_shown) {
    const PmtuChange hang = [](PmtuValues& seen) { seen.large = false; };
    const auto one = dark("cure.mtu", hang);
    BOOST_TEST((one.verdict == ScenarioVerdict::kReproduced));
    BOOST_TEST(contains(one.cure, "an MTU of 1350 on the tunnel (the path's less 50) (not shown"),
               one.cure);
    BOOST_TEST(one.cure_shown);  // the others
    BOOST_TEST(one.after_cell == "cure.df-set.icmp-passes.fragments-dropped");
    const auto gone =
        dark("df-unset.icmp-filtered.fragments-dropped.after-cure",
             [](PmtuValues& seen) { seen = {.ping = true, .small = true, .large = true}; });
    BOOST_TEST(!gone.cure_shown);
    BOOST_TEST(contains(gone.cure, "was not seen again"), gone.cure);
}

BOOST_AUTO_TEST_CASE(where_transfers_get_through_nothing_is_reproduced) {
    const auto result = dark("*", [](PmtuValues& seen) {
        seen = {.ping = true, .small = true, .large = true, .passes = 1450};
    });
    BOOST_TEST((result.verdict == ScenarioVerdict::kNotReproduced), result.headline);
    BOOST_TEST(result.cure.empty());
}

// Traps: the same symptom by another cause.
BOOST_AUTO_TEST_CASE(a_filter_of_large_packets_is_not_given_this_cause) {
    const auto result = dark("*", [](PmtuValues& seen) {
        seen.cut = seen.too_big = seen.fragments_dropped = seen.icmp_dropped = 0;
        seen.path.netfilter_drops = 20;
    });
    inconclusive(result, "rules of netfilter dropped 20 packets");
    BOOST_TEST(cell(result, kDropped).cause == "rule-drop");
}

BOOST_AUTO_TEST_CASE(another_size_is_not_the_hop_s) {
    const auto result = dark(kDropped, [](PmtuValues& seen) {
        seen.passes = 1000;
        seen.stops = 1001;
    });
    inconclusive(result, "packets of 1000 bytes pass, those of 1001 do not");
    BOOST_TEST(contains(result.headline, "the hop would stop those above 1350"), result.headline);
}

BOOST_AUTO_TEST_CASE(random_loss_and_a_slow_server_are_not_given_this_cause) {
    const auto slow = dark(kFiltered, [](PmtuValues& seen) {
        seen.passes = 1450;
        seen.stops = 0;
    });
    inconclusive(slow, "packets of up to 1450 bytes pass");
    BOOST_TEST(cell(slow, kFiltered).cause == "lost");
    BOOST_TEST(slow.unexplained == 1U);
    inconclusive(dark("control.wide-hop", [](PmtuValues& seen) { seen.small = false; }),
                 "a transfer of 100 bytes failed");
}

BOOST_AUTO_TEST_CASE(a_dead_link_is_not_given_this_cause) {
    const auto result = dark("*", [](PmtuValues& seen) {
        seen = {};
        seen.path.outages = {"d1"};
    });
    inconclusive(result, "d1 had no link");
    BOOST_TEST(cell(result, kDropped).cause == "link-down");
}

BOOST_AUTO_TEST_CASE(an_agent_that_died_and_nothing_executed_conclude_nothing) {
    inconclusive(
        dark("cure.mtu", [](PmtuValues& seen) { seen.objections = {"ended by signal 9"}; }),
        "ended by signal 9");
    inconclusive(conclude(std::vector<MeasuredPmtuCell>{}), "nothing was measured");
    inconclusive(conclude({{.what = pmtu_blackhole_plan()[1], .seen = {}, .evidence = {}}}),
                 "ping failed");
}

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
