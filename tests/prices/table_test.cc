// The tables of cures, probes and loads, and what is said of a cure: without a lab.
#define BOOST_TEST_MODULE prices
#include <boost/test/unit_test.hpp>
#include <set>

#include "harness/prices/loads.h"
#include "harness/prices/probes.h"
#include "harness/prices/run.h"

using namespace pathproof;
using namespace pathproof::prices;

BOOST_AUTO_TEST_CASE(ids_are_unique_and_probes_name_cells_that_there_are) {
    std::set<std::string> ids;
    for (const Cure& cure : all_cures()) {
        BOOST_TEST(ids.insert(cure.id).second, cure.id);
    }
    std::set<std::string> rows;
    for (const Load& load : all_loads()) {
        BOOST_TEST(rows.insert(load.id).second, load.id);
    }
    for (const Probe& probe : all_probes()) {
        BOOST_TEST(rows.insert(probe.id).second, probe.id);
        BOOST_TEST((probe.run == nullptr) == !probe.scenario.empty(), probe.id);
        if (probe.run != nullptr) {
            continue;
        }
        const scenario::Scenario* scenario = scenario::find_scenario(probe.scenario);
        BOOST_REQUIRE_MESSAGE(scenario != nullptr, probe.id);
        std::vector<std::string> cells{probe.cell};
        if (!probe.after.empty()) {
            cells.push_back(probe.after);
        }
        for (const OwnCell& own : probe.own) {
            cells.push_back(own.cell);
            const Cure* cure = find_cure(own.cure);
            BOOST_REQUIRE_MESSAGE(cure != nullptr, own.cure);
            BOOST_TEST(probe.has_part(cure->needs), probe.id << " " << own.cure);
        }
        const auto checked = scenario::check_cells(*scenario, cells);
        BOOST_TEST(checked.has_value(), probe.id);
    }
}

BOOST_AUTO_TEST_CASE(each_cure_is_tried_on_a_probe_and_each_that_a_scenario_shows_is_a_row) {
    for (const Cure& cure : all_cures()) {
        BOOST_TEST(
            std::ranges::any_of(all_probes(),
                                [&](const Probe& probe) { return probe.leaves_out(cure).empty(); }),
            cure.id);
    }
    for (const scenario::Scenario& scenario : scenario::all_scenarios()) {
        for (const std::string& cell :
             scenario.cells == nullptr ? std::vector<std::string>{} : scenario.cells()) {
            // Cures of other resolvers than this host's glibc are left to the scenarios.
            const bool cures = cell.starts_with("cure.") &&
                               cell.find("musl") == std::string::npos &&
                               !cell.starts_with("cure.go.") && !cell.starts_with("cure.resolved.");
            // These cures (of IPVS, of nftables, of one socket's family, of the back-on flag) are
            // the same cure again, or belong to no path that this lab has.
            const std::set<std::string> left_out{
                "cure.flag-back-on", "cure.single-request", "cure.timestamps-2",
                "cure.full-range.timestamps-2", "cure.ipvs.expire-nodest",
                "cure.nft.rules-of-the-living", "cure.unanswered.delete-entries",
                "cure.reuse-mode-0", "cure.af-inet",
                // The cost of DNS over TCP (large-answer) is not measured yet.
                "cure.edns-1232", "cure.use-vc", "cure.allow-dns-tcp", "cure.link-local"};
            const auto shown = [&](const Probe& probe) {
                return probe.scenario == scenario.id &&
                       std::ranges::count(probe.own, cell, &OwnCell::cell) != 0;
            };
            BOOST_TEST(
                (!cures || left_out.contains(cell) || std::ranges::any_of(all_probes(), shown)),
                scenario.id << "/" << cell);
        }
    }
}

BOOST_AUTO_TEST_CASE(a_path_without_what_a_cure_changes_is_told_from_a_lab_that_cannot_set_it) {
    const auto probe = [](const std::string& id) -> const Probe& {
        return *std::ranges::find(all_probes(), id, &Probe::id);
    };
    const Cure& bridge = *find_cure("bridge-nf");
    BOOST_TEST(probe("snat-race").does_not_apply(bridge));
    BOOST_TEST(probe("snat-race").leaves_out(bridge) ==
               "no bridge of the DUT has both ends of its flows");
    BOOST_TEST(probe("bridge-unnat").leaves_out(bridge) == "");
    const Cure& use_vc = *find_cure("use-vc");
    BOOST_TEST(!probe("dns-race").does_not_apply(use_vc));
    BOOST_TEST(probe("dns-race").leaves_out(use_vc) == "its lab cannot set this cure");
    BOOST_TEST(probe("asymmetric-route").leaves_out(*find_cure("drop-invalid")) == "");
    BOOST_TEST(probe("long-lived-connection").leaves_out(*find_cure("random-fully")) == "");
}

BOOST_AUTO_TEST_CASE(costs_are_of_rounds_that_have_both_and_lacks_are_told) {
    const Load& load = *std::ranges::find(all_loads(), "bridged-datagrams", &Load::id);
    const Cure* bridge = find_cure("bridge-nf");
    LoadRun run;
    run.lacks["cycles"] = "CPU 0 counts no cycles here";
    for (int i = 0; i < 8; ++i) {
        run.rounds.push_back({{"", {{"cpu", 1000 + i}}}, {"bridge-nf", {{"cpu", 2000 + i}}}});
    }
    run.rounds[7].erase("");  // this one came to nothing
    const auto costs = costs_of(load, {bridge, find_cure("use-vc")}, run, "");
    BOOST_REQUIRE(costs.size() == 3);  // its figures, and nothing of a cure that it does not take
    for (const verdict::Cost& cost : costs) {
        if (cost.figure == "cpu") {
            BOOST_TEST((cost.verdict == verdict::CostVerdict::kCosts));
            BOOST_TEST(cost.more.value.number() == 1000);
            BOOST_TEST(cost.without.value.number() == 1003);
        } else {
            BOOST_TEST((cost.verdict == verdict::CostVerdict::kNotMeasured));
            BOOST_TEST((cost.figure != "cycles" || cost.more.note == run.lacks["cycles"]));
        }
    }
    const auto none = costs_of(load, {bridge}, {}, "the module br_netfilter is not loaded");
    BOOST_TEST(none.front().more.note == "the module br_netfilter is not loaded");
}

BOOST_AUTO_TEST_CASE(patterns_choose_cells_of_the_table_and_unknown_ones_are_refused) {
    const auto patterns = price_patterns({"cure.*", "prices/bridge-nf/*", "dns-race/*"});
    BOOST_TEST(patterns == std::vector<std::string>{"bridge-nf/*"},
               boost::test_tools::per_element());
    BOOST_TEST(check_price_patterns(patterns).has_value());
    BOOST_TEST(check_price_patterns({"*/connects"}).has_value());
    const auto wrong = check_price_patterns({"bridge-nt/*"});
    BOOST_REQUIRE(!wrong.has_value());
    BOOST_TEST(wrong.error().message.find(
                   "'prices/bridge-nt/*'; there are the cures random-fully") != std::string::npos);
}

namespace {

verdict::PriceTable table_of_random_fully() {
    return {.measured_at = "2026-11-25T02:00:00Z",
            .cures = {{"random-fully", "`-j MASQUERADE --random-fully` on the DUT"}},
            .cells = {{.cure = "random-fully",
                       .probe = "snat-timestamps",
                       .effect = verdict::Effect::kBreaks,
                       .with = "fails: 7 of 8000 connects"}}};
}

std::vector<verdict::ScenarioResult> cured(const std::string& scenario) {
    verdict::ScenarioResult result{.id = scenario};
    result.cure = "the cure";
    return {result};
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_cure_is_never_printed_without_its_side_effects) {
    const verdict::PriceTable table = table_of_random_fully();
    auto scenarios = cured("snat-race");
    tell_prices(scenarios, &table, Source::kKept);
    BOOST_TEST(scenarios[0].cure ==
               "the cure\nSide effects of `-j MASQUERADE --random-fully` on the DUT, measured by "
               "`qualify --prices` on this kernel on 2026-11-25: breaks snat-timestamps (fails: 7 "
               "of 8000 connects).");
    scenarios = cured("snat-race");
    tell_prices(scenarios, &table, Source::kThisRun);
    BOOST_TEST(scenarios[0].cure.find("measured in this run: breaks") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(without_a_table_that_is_said_and_of_no_cure_nothing_is) {
    const std::string untold =
        "the cure\nSide effects not measured on this kernel: `pathproof qualify --prices` measures "
        "them.";
    auto scenarios = cured("snat-race");
    tell_prices(scenarios, nullptr, Source::kKept);
    BOOST_TEST(scenarios[0].cure == untold);
    // The table has nothing of the cures of this one.
    const verdict::PriceTable table = table_of_random_fully();
    scenarios = cured("bridge-unnat");
    tell_prices(scenarios, &table, Source::kKept);
    BOOST_TEST(scenarios[0].cure == untold);
    scenarios = {{.id = "snat-race"}};
    tell_prices(scenarios, nullptr, Source::kKept);
    BOOST_TEST(scenarios[0].cure == "");
}

BOOST_AUTO_TEST_CASE(what_came_to_no_result_is_counted_beside_what_was_not_seen) {
    verdict::PriceTable table = table_of_random_fully();
    table.cells[0].effect = verdict::Effect::kNotMeasured;
    auto scenarios = cured("snat-race");
    tell_prices(scenarios, &table, Source::kKept);
    BOOST_TEST(scenarios[0].cure.find("none was seen") == std::string::npos);
    BOOST_TEST(scenarios[0].cure.find("Side effects not measured") != std::string::npos);
    table.cells.push_back(
        {.cure = "random-fully", .probe = "x", .effect = verdict::Effect::kDoesNotTouch});
    scenarios = cured("snat-race");
    tell_prices(scenarios, &table, Source::kKept);
    BOOST_TEST(scenarios[0].cure.find("none was seen in 1 of its 2 probes; figures of cost: 0.") !=
               std::string::npos);
}
