// The races at a load on the running kernel: losses by an overload, planted beside them, are told from the race's.
#include <boost/test/unit_test.hpp>
#include <iostream>

#include "tests/scenario/table_size.h"
#include "tests/scenario/traps.h"

BOOST_AUTO_TEST_SUITE(race_load)

using nlohmann::json;
using namespace std::chrono_literals;

namespace {

const json& cell_named(const json& scenario, const std::string& id) {
    for (const char* list : {"cells", "controls"}) {
        for (const json& cell : scenario[list]) {
            if (cell["id"] == id) {
                return cell;
            }
        }
    }
    BOOST_FAIL("no cell " + id);
    return scenario;
}

double figure(const json& cell, const char* name) {
    const json& value = cell["measures"][name]["value"];
    return value.is_number() ? value.get<double>() : -1;
}

// For people.
void print(const std::string& what, const Sprung& run, const json& scenario) {
    std::cout << what << " | exit " << run.exit_status << " | "
              << scenario["verdict"].get<std::string>() << " | " << static_cast<int>(run.seconds)
              << " s\n"
              << scenario["headline"].get<std::string>() << "\n"
              << scenario["cause"].get<std::string>() << "\n"
              << std::flush;
}

Sprung run_beside(const std::string& what, const std::vector<std::string>& arguments,
                  const std::function<void(Planter&)>& plant) {
    Sprung run = spring({.arguments = arguments, .plant = plant});
    BOOST_REQUIRE_MESSAGE(run.report.is_object(), what << ": " << run.log);
    const json& scenario = run.scenario(arguments[1]);
    print(what, run, scenario);
    for (const std::string& claim : contradictions(scenario, {})) {
        BOOST_TEST(false, what << ": " << claim);
    }
    for (const std::string& trouble : run.troubles) {
        BOOST_TEST(false, what << ": " << trouble);
    }
    return run;
}

auto at_once(const std::string& command) {
    return [command](Planter& lab) {
        lab.wait_for_namespace("dut", "vx");
        lab.in("dut", command);
    };
}

struct Told {
    const char* figure;  // that is not zero
    const char* cause;   // word of the cells' causes
    const char* words;   // in the scenario's sentences
};

// Two clients with one port collide behind MASQUERADE and not without it, whatever else is lost.
void check_apart(const std::string& what, const std::function<void(Planter&)>& plant,
                 const Told& told) {
    const Sprung run =
        run_beside(what, {"repro", "snat-race", "--load", "4000", "--pairs", "4000"}, plant);
    const json& scenario = run.scenario("snat-race");
    const json& race = cell_named(scenario, "load.snat-collision.asked");
    const json& control = cell_named(scenario, "control.load.no-nat.asked");
    for (const json* cell : {&race, &control}) {
        BOOST_TEST(figure(*cell, told.figure) > 0, what << ": " << (*cell)["id"]);
        BOOST_TEST(figure(*cell, "unexplained") == 0, what << ": " << (*cell)["id"]);
        const std::string cause = (*cell)["cause"];
        BOOST_TEST(cause.find(told.cause) != std::string::npos, what << ": " << cause);
    }
    BOOST_TEST(figure(race, "by_insertion") > 0, what);
    BOOST_TEST(figure(control, "by_insertion") == 0, what);
    BOOST_TEST(figure(control, "harmed_share") == 0, what);
    BOOST_TEST(control["cause"].get<std::string>().find("race") == std::string::npos, what);
    BOOST_TEST(control["cause"].get<std::string>().find("collision") == std::string::npos, what);
    const std::string explained = scenario["explanation"].dump();
    BOOST_TEST(explained.find(told.words) != std::string::npos, what << ": " << explained);
    BOOST_TEST(scenario["cause"].get<std::string>().starts_with("SNAT collision: MASQUERADE"),
               what << ": " << scenario["cause"]);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(few)

BOOST_AUTO_TEST_CASE(a_queue_that_runs_full_is_an_overload) {
    check_apart("tbf on ds",
                at_once("tc qdisc add dev ds root tbf rate 2mbit burst 3000 limit 6000"),
                {"by_overload", "overload", "lost to overload, by a queueing discipline"});
}

BOOST_AUTO_TEST_CASE(a_load_that_makes_no_sense_is_refused_before_anything_is_done) {
    for (const auto& [load, words] : std::initializer_list<std::pair<const char*, const char*>>{
             {"0", "none of: max"}, {"fast", "none of: max"}, {"50%", "have no speed"}}) {
        const Sprung run =
            spring({.arguments = {"repro", "dns-race", "--load", load}, .plant = {}});
        BOOST_TEST(run.exit_status == 2, load);
        BOOST_TEST(run.log.find(words) != std::string::npos, run.log);
    }
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(all)

BOOST_AUTO_TEST_CASE(a_policer_is_no_race) {
    // In nftables' words: a kernel may lack tc's police.
    check_apart("a policer of both clients",
                at_once("nft 'table ip police { chain in { type filter hook prerouting priority "
                        "-300; iifname { d0, d1 } limit rate over 500/second burst 50 packets "
                        "drop; }; }'"),
                {"by_drop", "dropped", "dropped by"});
}

BOOST_AUTO_TEST_CASE(a_table_that_runs_full_is_no_race) {
    TableSize table;
    // Each cell reads what there is room for when it begins.
    const auto plant = [&](Planter& lab) {
        for (const char* step : {"load.snat-collision", "control.load.no-nat"}) {
            lab.wait_for_step(step);
            std::this_thread::sleep_for(150ms);
            table.set(1500);
            std::this_thread::sleep_for(1500ms);
            table.put_back();
        }
    };
    check_apart("full table", plant,
                {"by_full_table", "table-full", "the conntrack table was full"});
}

// The whole of it, as a user types it.
BOOST_AUTO_TEST_CASE(the_highest_load_is_found_and_each_event_belongs_to_a_pair) {
    for (const char* id : {"snat-race", "dns-race"}) {
        const Sprung run = run_beside(id, {"repro", id, "--load", "max"}, [](Planter&) {});
        const json& scenario = run.scenario(id);
        const std::string first =
            id == std::string("snat-race") ? "load.snat-collision" : "load.two-cpus";
        const json& cell = cell_named(scenario, first + ".highest");
        BOOST_TEST(figure(cell, "sent_per_second") > 2000);
        BOOST_TEST(figure(cell, "entries") > 0);
        BOOST_TEST(figure(cell, "strange_entries") == 0);
        BOOST_TEST(figure(cell, "unheard") == 0);
        BOOST_TEST(figure(cell, "unexplained") == 0);
        BOOST_TEST(figure(cell, "met_race_share") > 0);
        const std::string limit = cell["measures"]["limited_by"]["value"];
        BOOST_TEST((limit == "tester" || limit == "device"), limit);
    }
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE_END()
