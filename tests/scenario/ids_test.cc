// The list of ids in the documentation of report.json is that of the scenarios.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "harness/scenario/scenario.h"

BOOST_AUTO_TEST_SUITE(ids)

using namespace pathproof::scenario;

namespace {

// The indented lines that name a cell of this scenario.
std::vector<std::string> documented(const std::string& scenario) {
    std::ifstream readme(REPORT_README);
    BOOST_REQUIRE(readme.good());
    const std::string begin = "    " + scenario + "/";
    std::vector<std::string> cells;
    for (std::string line; std::getline(readme, line);) {
        if (line.starts_with(begin)) {
            cells.push_back(line.substr(begin.size()));
        }
    }
    return cells;
}

}  // namespace

BOOST_AUTO_TEST_CASE(the_documentation_lists_the_cells_of_each_scenario_and_no_others) {
    for (const Scenario& scenario : all_scenarios()) {
        const auto cells =
            scenario.cells == nullptr ? std::vector<std::string>() : scenario.cells();
        const auto listed = documented(scenario.id);
        BOOST_TEST(listed == cells, boost::test_tools::per_element());
    }
}

BOOST_AUTO_TEST_CASE(ids_of_cells_are_plain_words_so_that_patterns_and_anchors_hold) {
    for (const Scenario& scenario : all_scenarios()) {
        for (const std::string& id :
             scenario.cells == nullptr ? std::vector<std::string>() : scenario.cells()) {
            BOOST_TEST(
                id.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789.-") == std::string::npos,
                id);
        }
    }
}

BOOST_AUTO_TEST_CASE(each_scenario_has_a_title_of_its_own_and_asks_a_question_run_or_not) {
    std::set<std::string> titles;
    for (const Scenario& scenario : all_scenarios()) {
        BOOST_TEST(std::string(scenario.question).find('?') != std::string::npos, scenario.id);
        BOOST_TEST(titles.insert(scenario.title).second, scenario.title);
        const pathproof::verdict::ScenarioResult result = not_run(scenario, "no such role");
        BOOST_TEST(result.title == scenario.title);
        BOOST_TEST(result.question == scenario.question);
    }
}

BOOST_AUTO_TEST_CASE(a_pattern_with_a_scenario_before_it_is_for_that_one_alone) {
    const std::vector<std::string> patterns = {"cure.*", "dns-race/late-*", "vxlan-checksum/vx-*"};
    BOOST_TEST(
        (patterns_for("dns-race", patterns) == std::vector<std::string>{"cure.*", "late-*"}));
    BOOST_TEST((patterns_for("offload-truth", patterns) == std::vector<std::string>{"cure.*"}));
    BOOST_TEST(patterns_for("dns-race", {"vxlan-checksum/vx-*"}).empty());
}

BOOST_AUTO_TEST_CASE(an_option_is_taken_by_the_scenarios_that_declare_it_within_its_range) {
    const std::vector<const Scenario*> race{find_scenario("dns-race")};
    BOOST_TEST(check_options(race, {}, {}).has_value());
    BOOST_TEST(check_options(race, {{"pairs", 50'000}}, {"cure.*"}).has_value());
    const auto refused = [&](const pathproof::verdict::ScenarioOptions& given,
                             const std::vector<std::string>& patterns = {}) {
        const auto checked = check_options(race, given, patterns);
        return checked ? std::string() : checked.error().message;
    };
    BOOST_TEST(refused({{"pairs", 50'001}}) == "--pairs is a number from 0 to 50000");
    BOOST_TEST(refused({{"pairs", std::nullopt}}) == "--pairs is a number from 0 to 50000");
    BOOST_TEST(refused({{"full", std::nullopt}}) == "--full is of no scenario of this run");
    BOOST_TEST(refused({{"no-such", 1}}) == "--no-such is of no scenario of this run");
    // An option that runs cells of its own goes with no other such option, and with no pattern of
    // cells.
    BOOST_TEST(refused({{"first", std::nullopt}}) == "");
    BOOST_TEST(refused({{"first", std::nullopt}}, {"cure.*"}) ==
               "--first runs cells of its own: leave --cells out");
    BOOST_TEST(refused({{"first", std::nullopt}, {"map", std::nullopt}}) ==
               "--map runs cells of its own: leave --first out");
    BOOST_TEST(
        check_options({find_scenario("offload-truth")}, {{"full", std::nullopt}}, {}).has_value());
    // A resolver that is there on demand.
    BOOST_TEST(refused({{"resolvers", std::nullopt}}) == "--resolvers goes with --map here");
    BOOST_TEST(refused({{"resolvers", std::nullopt}, {"map", std::nullopt}}) == "");
    const std::vector<const Scenario*> path{find_scenario("search-path"), race[0]};
    BOOST_TEST(check_options(path, {{"resolvers", std::nullopt}}, {"*go.*"}).has_value());
    BOOST_TEST(check_options(path, {}, {"*"}).has_value());
    const auto alone = check_options(path, {}, {"search-path/*.go.*"});
    BOOST_REQUIRE(!alone);
    BOOST_TEST(alone.error().message == "what '*.go.*' names is run with --resolvers alone");
    BOOST_TEST(!asked_for({.cells = {"*"}}, "cure.go.trailing-dot"));
    BOOST_TEST(!asked_for({}, "pairs.go"));
    const pathproof::verdict::ScenarioOptions resolvers{{"resolvers", std::nullopt}};
    BOOST_TEST(asked_for({.given = &resolvers}, "resolved.list-6"));
    BOOST_TEST(asked_for({}, "gone.going"));
    const pathproof::verdict::ScenarioOptions given{{"pairs", 7}, {"full", std::nullopt}};
    const Options options{.given = &given};
    BOOST_TEST(options.number("pairs", 3) == 7u);
    BOOST_TEST(options.number("other", 3) == 3u);
    BOOST_TEST(options.has("full"));
    BOOST_TEST(!options.has("other"));
    // A text.
    BOOST_TEST(refused({{"load", std::string("max")}}) == "");
    BOOST_TEST(refused({{"load", std::string("50k")}}) == "");
    BOOST_TEST(refused({{"load", std::string("max")}}, {"cure.*"}) ==
               "--load runs cells of its own: leave --cells out");
    BOOST_TEST(refused({{"load", std::string("max")}, {"map", std::nullopt}}) ==
               "--map runs cells of its own: leave --load out");
    for (const char* wrong : {"0", "fast", "-1", "101%", "2M", "", "50 k", "nan", "0%"}) {
        BOOST_TEST(
            refused({{"load", std::string(wrong)}})
                .starts_with("--load: a load of '" + std::string(wrong) + "' is none of: max"),
            wrong);
    }
    BOOST_TEST(refused({{"pairs", std::string("many")}}) == "--pairs is a number from 0 to 50000");
    BOOST_TEST((options.matrix() == pathproof::truth::MatrixSize::kFull));
    BOOST_TEST((Options().matrix() == pathproof::truth::MatrixSize::kQuick));
}

BOOST_AUTO_TEST_SUITE_END()
