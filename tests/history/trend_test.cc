#include "harness/history/trend.h"

#include <boost/test/unit_test.hpp>
#include <nlohmann/json.hpp>
#include <random>

#include "harness/history/text.h"
#include "samples.h"
#include "tests/lab/temp_folder.h"

using namespace pathproof;
using namespace pathproof::history;
using namespace pathproof::history::test;
using pathproof::lab::TempFolder;

namespace {

std::vector<double> level(std::mt19937_64& random, std::size_t count, double mean) {
    std::normal_distribution<double> noise(mean, 1);
    std::vector<double> values(count);
    for (double& value : values) {
        value = noise(random);
    }
    return values;
}

std::vector<double> joined(std::vector<double> one, const std::vector<double>& other) {
    one.insert(one.end(), other.begin(), other.end());
    return one;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(trends)

// Nile at Aswan, annual flow 1871-1970: the change of 1898/99 is the standard example of change-point tests (G. W. Cobb, Biometrika 65(2),
// 1978; R's data set Nile).
BOOST_AUTO_TEST_CASE(the_nile_changes_after_1898) {
    const std::vector<double> nile = {
        1120, 1160, 963, 1210, 1160, 1160, 813,  1230, 1370, 1140, 995,  935,  1110, 994,  1020,
        960,  1180, 799, 958,  1140, 1100, 1210, 1150, 1250, 1260, 1220, 1030, 1100, 774,  840,
        874,  694,  940, 833,  701,  916,  692,  1020, 1050, 969,  831,  726,  456,  824,  702,
        1120, 1100, 832, 764,  821,  768,  845,  864,  862,  698,  845,  744,  796,  1040, 759,
        781,  865,  845, 944,  984,  897,  822,  1010, 771,  676,  649,  846,  812,  742,  801,
        1040, 860,  874, 848,  890,  744,  749,  838,  1050, 918,  986,  797,  923,  975,  815,
        1020, 906,  901, 1170, 912,  746,  919,  718,  714,  740};
    const auto found = change_points(nile, 0.01);
    BOOST_REQUIRE(found.size() == 1u);
    BOOST_TEST(found[0].at == 28u);  // 1899 is the first year of the new level
    BOOST_TEST(found[0].p < 1e-6);
    BOOST_TEST(found[0].before == 1130.0);
}

BOOST_AUTO_TEST_CASE(two_changes_are_found_and_a_steady_series_has_seldom_one) {
    std::mt19937_64 random(1);
    int false_alarms = 0;
    int found = 0;
    for (int round = 0; round < 300; ++round) {
        false_alarms += change_points(level(random, 40, 100), 0.05).empty() ? 0 : 1;
        const auto two = change_points(
            joined(joined(level(random, 20, 100), level(random, 20, 103)), level(random, 20, 99)),
            0.05);
        found +=
            two.size() == 2 && two[0].at > 17 && two[0].at < 23 && two[1].at > 37 && two[1].at < 43
                ? 1
                : 0;
    }
    BOOST_TEST(false_alarms <= 15);
    BOOST_TEST(found >= 270);
}

BOOST_AUTO_TEST_CASE(a_clear_new_level_is_seen_after_five_runs_of_twenty) {
    std::mt19937_64 random(2);
    BOOST_TEST(change_points(joined(level(random, 15, 100), level(random, 5, 110)), 0.05).size() ==
               1u);
    BOOST_TEST(change_points(joined(level(random, 18, 100), level(random, 2, 110)), 0.05).empty());
    BOOST_TEST(change_points({1, 2, 3}, 0.05).empty());
    BOOST_TEST(change_points(std::vector<double>(50, 7.0), 0.05).empty());
}

BOOST_AUTO_TEST_CASE(first_bad_run_flakes_and_changes_are_read_from_a_history) {
    const TempFolder folder;
    Store store = opened(target_of(folder.path() + "/history.db"));
    for (int n = 0; n < 20; ++n) {
        verdict::RunResult run = run_number(2 * n, (n < 12 ? 10 : 14) + 0.01 * (2 * n % 3));
        verdict::Cell& other = run.scenarios[0].cells[1];
        other.verdict = n >= 15 ? verdict::CellVerdict::kFail : verdict::CellVerdict::kPass;
        if (n >= 15) {
            run.environment[0].facts[0].value = "6.9.0";
        }
        verdict::Cell flaky{
            .id = "flaky",
            .verdict = n == 5 ? verdict::CellVerdict::kFail : verdict::CellVerdict::kPass};
        verdict::Cell skipped{.id = "skipped", .verdict = verdict::CellVerdict::kSkip};
        run.scenarios[0].cells.push_back(flaky);
        run.scenarios[0].cells.push_back(skipped);
        taken(store.add(run, 0));
    }
    // Another device makes another line.
    verdict::RunResult other_device = run_number(99, 500);
    other_device.environment[1].facts[0].value = "mlx5_core";
    taken(store.add(other_device, 1));

    const auto runs = taken(store.list({}));
    const Trends all = taken(trends_of(store, runs, {}, {}));
    BOOST_TEST(all.figures.size() == 2u);
    BOOST_TEST(all.cells.size() ==
               5u);  // good, other and flaky; good and other of the other device
    const auto of_ice = taken(store.list({.device = "*ice*"}));
    const Trends found = taken(trends_of(store, of_ice, {.device = "*ice*"}, {}));
    BOOST_REQUIRE(found.figures.size() == 1u);
    BOOST_REQUIRE(found.figures[0].changes.size() == 1u);
    BOOST_TEST(found.figures[0].runs[found.figures[0].changes[0].at]->id == run_number(24).id);
    const auto cell = [&](const std::string& id) {
        const auto at = std::ranges::find(found.cells, id, &CellTrend::id);
        BOOST_REQUIRE((at != found.cells.end()));
        return *at;
    };
    const CellTrend other = cell("s/other");
    BOOST_REQUIRE(other.first_bad != nullptr);
    BOOST_TEST(other.first_bad->id == run_number(30).id);
    BOOST_TEST(other.last_good->id == run_number(28).id);
    BOOST_TEST(other.flips == 0u);   // the kernel changed with it
    BOOST_TEST(other.pairs == 18u);  // of 19, one lies between two environments
    const CellTrend flaky = cell("s/flaky");
    BOOST_TEST(flaky.flips == 2u);  // it failed once, between passes
    BOOST_TEST((flaky.first_bad == nullptr));
    const std::string said =
        trend_text(found, {{&other, {{"Kernel", "release", "6.1.0", "6.9.0"}}}}, false);
    for (const char* words :
         {"s/other: fails since run 0000001e", "Kernel: release: 6.1.0 -> 6.9.0",
          "s/flaky: 2 of 18 pairs", "10.01 ms -> 14.01 ms"}) {
        BOOST_TEST(said.find(words) != std::string::npos, words << " is not in\n" << said);
    }
}

BOOST_AUTO_TEST_CASE(csv_quotes_what_would_end_a_field) {
    RunRow run{.id = "r", .started_at = "t", .lab = "a,b"};
    run.device = "x \"y\"";
    const std::string lines =
        csv_lines(run, {{"s/c", "FAIL", "cause"}}, {{"s/c/f", 1.5, {}, "ms", {1, 2}}});
    BOOST_TEST(lines ==
               "r,t,\"a,b\",\"x \"\"y\"\"\",,,cell,s/c,FAIL,cause,,,,,\r\n"
               "r,t,\"a,b\",\"x \"\"y\"\"\",,,figure,s/c/f,,,1.5,,,ms,1 2\r\n");
    const std::string head = csv_head();
    BOOST_TEST(std::ranges::count(head, ',') == 14);
}

BOOST_AUTO_TEST_SUITE_END()
