// The races at a load, as they are concluded of plain values.
#include "harness/scenario/race/race_load.h"

#include <fmt/ranges.h>

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(race_load_conclude)

using namespace pathproof;
using namespace pathproof::scenario;
using join::Fate;
using judge::QueryState;
using verdict::CellVerdict;
using verdict::ScenarioVerdict;

namespace {

void add(RaceValues& seen, QueryState state, Fate fate, std::uint64_t queries) {
    seen.found.queries[static_cast<std::size_t>(state)][static_cast<std::size_t>(fate)] += queries;
}

// A cell of 1000 pairs at 100,000 pairs a second of a link that has room for ten times as many.
MeasuredCell cell_of(const std::string& id, Race race, std::uint64_t clashes) {
    MeasuredCell cell{.what = {.id = id, .label = id, .race = race}};
    give_role(cell.what);
    cell.seen.clash_resolve = clashes;
    cell.seen.found.pairs[0] = 1000 - clashes;
    cell.seen.found.pairs[join::kTwoBackends | join::kHiddenEntry] = clashes;
    cell.seen.found.entries = 1000;
    add(cell.seen, QueryState::kAnswered, Fate::kNone, 2000);
    cell.seen.offered = 100'000;
    cell.seen.load = LoadValues{.asked = 100'000,
                                .sent = 99'900,
                                .line_rate = 1e6,
                                .cpus = 2,
                                .busy = 1.9,
                                .softirq = 1.2,
                                .disturbances = {}};
    return cell;
}

LoadSearch search_of(search::Limit limit) {
    LoadSearch search{.tester_limit = limit == search::Limit::kTester
                                          ? "90000 of 110000 pairs/s were offered"
                                          : "",
                      .objection = {},
                      .trials = 12,
                      .seconds = 9};
    search.result.passed = search::Bound{.load_pps = 100'000, .offered_pps = 99'900};
    search.result.failed = search::Bound{.load_pps = 105'000, .offered_pps = 90'000};
    search.result.limit = limit;
    return search;
}

// Pairs that race without harm, beside a control that does not.
RaceLoad a_load(search::Limit limit = search::Limit::kDevice) {
    RaceLoad load;
    LoadWay way{.what = {.id = "load.two-cpus"}, .search = search_of(limit), .hindrance = {}};
    way.cells.push_back(cell_of("load.two-cpus.highest", Race::kSameTuple, 300));
    load.ways.push_back(std::move(way));
    LoadWay control{.what = {.id = "control.load.one-cpu"}, .search = {}, .hindrance = {}};
    control.cells.push_back(cell_of("control.load.one-cpu.highest", Race::kSameTuple, 0));
    load.ways.push_back(std::move(control));
    return load;
}

const verdict::Measure& measure(const verdict::Cell& cell, const std::string& name) {
    const auto found = std::ranges::find(cell.measures, name, &verdict::Measure::name);
    BOOST_REQUIRE_MESSAGE(found != cell.measures.end(), name);
    return *found;
}

double number(const verdict::Cell& cell, const std::string& name) {
    const verdict::Value& value = measure(cell, name).value;
    return std::visit(
        []<typename Held>(const Held& held) -> double {
            if constexpr (std::is_arithmetic_v<Held>) {
                return static_cast<double>(held);
            } else {
                return -1;
            }
        },
        value.kinds());
}

bool has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

// The cells in words.
std::string explained(const verdict::ScenarioResult& result) {
    return fmt::format("{}", fmt::join(result.explanation, "\n"));
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_load_is_max_or_pairs_a_second_or_a_share_of_the_line) {
    BOOST_TEST((parse_load("max")->kind == AskedLoad::Kind::kMost));
    BOOST_TEST(parse_load("50000")->value == 50'000);
    BOOST_TEST(parse_load("50k")->value == 50'000);
    BOOST_TEST(parse_load("0.5M")->value == 500'000);
    BOOST_TEST((parse_load("80%")->kind == AskedLoad::Kind::kShare));
    BOOST_TEST(parse_load("80%")->value == 0.8, boost::test_tools::tolerance(1e-9));
    for (const char* wrong : {"", "0", "0.5", "fast", "-3", "100.1%", "0%", "1e9", "inf", "5kk"}) {
        BOOST_TEST(!parse_load(wrong), wrong);
    }
}

BOOST_AUTO_TEST_CASE(pairs_that_race_unharmed_at_the_highest_load_are_exposed) {
    const auto result = conclude(a_load());
    BOOST_TEST((result.verdict == ScenarioVerdict::kExposed), result.headline);
    BOOST_TEST(has(result.headline,
                   "at 99900 pairs/s (the DUT was the limit): 30.0 % of 1000 pairs raced"),
               result.headline);
    BOOST_TEST(result.cause ==
               "Same 5-tuple: A and AAAA leave one socket together, and both packets pass "
               "conntrack's lookup before either entry is confirmed: conntrack resolved 300 "
               "clashes of 1000 pairs (clash_resolve), 300 pairs needed a hidden entry "
               "(NAT_CLASH).");
    BOOST_REQUIRE(result.cells.size() == 1U);
    BOOST_REQUIRE(result.controls.size() == 1U);
    BOOST_TEST(number(result.cells[0], "sent_per_second") == 99'900);
    BOOST_TEST(number(result.cells[0], "share_of_line") == 9.99,
               boost::test_tools::tolerance(1e-6));
    BOOST_TEST(number(result.cells[0], "met_race_share") == 30, boost::test_tools::tolerance(1e-6));
    BOOST_TEST(number(result.cells[0], "entries") == 1000);
    BOOST_TEST(has(explained(result), "10.0 % of the links' rate"), explained(result));
    BOOST_TEST(result.proofs.size() == 1U);
}

BOOST_AUTO_TEST_CASE(a_tester_that_was_the_limit_is_named) {
    RaceLoad load = a_load(search::Limit::kTester);
    load.ways[0].cells[0].seen.load->shares_cpus = true;
    load.ways[0].cells[0].seen.load->line_rate = 0;
    load.ways[0].beyond_skipped = "the tester was the limit";
    const auto result = conclude(load);
    BOOST_TEST(has(result.headline,
                   "the tester was the limit (90000 of 110000 pairs/s were offered), "
                   "on CPUs that it shares with the DUT"),
               result.headline);
    BOOST_TEST(has(explained(result), "the links have no rate"), explained(result));
    BOOST_TEST(has(explained(result), "no more was sent than was carried whole"),
               explained(result));
}

// Losses by overload are told from losses by the race, query by query.
BOOST_AUTO_TEST_CASE(losses_by_an_overload_are_not_the_race_s) {
    RaceLoad load = a_load();
    MeasuredCell beyond = cell_of("load.two-cpus.beyond", Race::kSameTuple, 300);
    beyond.seen.found.queries = {};
    add(beyond.seen, QueryState::kAnswered, Fate::kNone, 1893);
    add(beyond.seen, QueryState::kNever, Fate::kOverload, 90);
    add(beyond.seen, QueryState::kNever, Fate::kTableFull, 10);
    add(beyond.seen, QueryState::kNever, Fate::kDropped, 7);
    beyond.seen.found.overloaded["by a queueing discipline: its queue was full, device ds"] = 90;
    load.ways[0].cells.push_back(beyond);
    const auto result = conclude(load);
    BOOST_TEST((result.verdict == ScenarioVerdict::kExposed), result.headline);
    BOOST_TEST(has(result.headline, "raced, 100 lost to overload, 7 lost to other causes"),
               result.headline);
    BOOST_TEST(!has(result.cause, "overload"), result.cause);
    BOOST_TEST(has(explained(result),
                   "of 2000 queries 0.0 % harmed by it (90 lost to overload, by a "
                   "queueing discipline"),
               explained(result));
    BOOST_REQUIRE(result.cells.size() == 2U);
    BOOST_TEST(number(result.cells[1], "overload_lost") == 100);
    BOOST_TEST(number(result.cells[1], "harmed_share") == 0);
    BOOST_TEST(has(result.cells[1].cause, "overload"), result.cells[1].cause);
    BOOST_TEST(!has(result.cells[1].cause, "race"), result.cells[1].cause);
    BOOST_TEST(!carried_whole(beyond.what, beyond.seen));
    BOOST_TEST(carried_whole(load.ways[0].cells[0].what, load.ways[0].cells[0].seen));
}

BOOST_AUTO_TEST_CASE(unexplained_losses_and_events_leave_it_inconclusive_with_their_count) {
    RaceLoad lost = a_load();
    add(lost.ways[0].cells[0].seen, QueryState::kNever, Fate::kUnexplained, 3);
    BOOST_TEST((conclude(lost).verdict == ScenarioVerdict::kInconclusive));
    BOOST_TEST(conclude(lost).unexplained == 3U);
    RaceLoad unheard = a_load();
    unheard.ways[0].cells[0].seen.found.unheard = 4;
    BOOST_TEST(has(conclude(unheard).headline, "4 queries came through, and no event"),
               conclude(unheard).headline);
    RaceLoad strange = a_load();
    strange.ways[0].cells[0].seen.found.strange_entries = 2;
    BOOST_TEST(has(conclude(strange).headline, "2 entries of conntrack are of no query"));
}

BOOST_AUTO_TEST_CASE(a_load_that_the_tester_did_not_send_says_so) {
    RaceLoad load = a_load();
    load.ways[0].cells[0].seen.load->sent = 60'000;
    load.ways[0].cells[0].seen.load->disturbances = {"worker 0 waited 12 ms for its CPU"};
    const auto result = conclude(load);
    BOOST_TEST((result.verdict == ScenarioVerdict::kInconclusive));
    BOOST_TEST(has(result.headline, "it sent 60000 of 100000 pairs/s (worker 0 waited 12 ms"),
               result.headline);
    BOOST_TEST((result.cells[0].verdict == CellVerdict::kInconclusive));
}

BOOST_AUTO_TEST_CASE(a_control_that_races_concludes_nothing) {
    RaceLoad load = a_load();
    load.ways[1].cells[0] = cell_of("control.load.one-cpu.highest", Race::kSameTuple, 5);
    const auto result = conclude(load);
    BOOST_TEST((result.verdict == ScenarioVerdict::kInconclusive));
    BOOST_TEST(has(result.headline, "the control control.load.one-cpu.highest is not clean"),
               result.headline);
}

BOOST_AUTO_TEST_CASE(events_that_were_lost_and_found_again_are_counted) {
    RaceLoad load = a_load();
    load.ways[0].cells[0].seen.load->overruns = 2;
    load.ways[0].cells[0].seen.found.entries_found = 40;
    const auto result = conclude(load);
    BOOST_TEST((result.verdict == ScenarioVerdict::kExposed));
    BOOST_TEST(number(result.cells[0], "events_found") == 40);
    BOOST_TEST(number(result.cells[0], "event_overruns") == 2);
    BOOST_TEST(has(explained(result), "40 of whose events were lost and found again in the table"),
               explained(result));
}

// snat-race: harm, its cure, and the harm back without it.
BOOST_AUTO_TEST_CASE(a_collision_is_reproduced_and_cured_at_the_load) {
    RaceLoad load;
    const auto way = [&](const std::string& id, lab::Snat snat, std::uint64_t refused) {
        LoadWay made{.what = {.id = id}, .search = {}, .hindrance = {}};
        MeasuredCell cell = cell_of(id + ".highest", Race::kSnatCollision, 0);
        cell.what.snat = snat;
        cell.seen.found.queries = {};
        cell.seen.found.source_nat = snat == lab::Snat::kNone ? 0 : 2000;
        cell.seen.found.changed_ports = snat == lab::Snat::kMasqueradeRandomFully ? 2000 : 0;
        cell.seen.insert_failed = refused;
        cell.seen.found.pairs = {};
        cell.seen.found.pairs[0] = 1000 - refused;
        cell.seen.found.pairs[join::kLost] = refused;
        add(cell.seen, QueryState::kAnswered, Fate::kNone, 2000 - refused);
        add(cell.seen, QueryState::kNever, Fate::kDroppedAtInsertion, refused);
        made.cells.push_back(std::move(cell));
        load.ways.push_back(std::move(made));
    };
    way("load.snat-collision", lab::Snat::kMasquerade, 250);
    way("control.load.no-nat", lab::Snat::kNone, 0);
    way("cure.load.random-fully", lab::Snat::kMasqueradeRandomFully, 0);
    way("load.snat-collision.after-cure", lab::Snat::kMasquerade, 240);
    const auto result = conclude(load);
    BOOST_TEST((result.verdict == ScenarioVerdict::kReproduced), result.headline);
    BOOST_TEST(has(result.headline, "25.0 % of 1000 pairs raced, 250 of 2000 queries harmed"),
               result.headline);
    BOOST_TEST(has(result.cause, "dropped: 250 queries, insert_failed rose by 250"), result.cause);
    BOOST_TEST(!has(result.cause, "\n"), result.cause);
    BOOST_TEST(result.cure_shown);
    BOOST_TEST(has(result.cure, "--random-fully"), result.cure);
    BOOST_TEST(result.before_cell == "load.snat-collision.highest");
    BOOST_TEST(number(result.cells[0], "harmed_share") == 12.5, boost::test_tools::tolerance(1e-6));
}

// Another flow's refused entries are no harm of the pairs: the pairs' own packets tell.
BOOST_AUTO_TEST_CASE(a_counter_that_others_raised_makes_no_pair_race) {
    RaceLoad load = a_load();
    load.ways[0].cells[0] = cell_of("load.two-cpus.highest", Race::kSameTuple, 0);
    load.ways[0].cells[0].seen.insert_failed = 700;
    const auto result = conclude(load);
    BOOST_TEST((result.verdict == ScenarioVerdict::kNotReproduced), result.headline);
    BOOST_TEST(number(result.cells[0], "met_race_share") == 0);
}

BOOST_AUTO_TEST_SUITE_END()
