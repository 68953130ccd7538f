// The exposure map and the first race, as they are concluded of plain values.
#include "harness/scenario/race/race_map.h"

#include <boost/test/unit_test.hpp>

#include "harness/scenario/race/first_race.h"

BOOST_AUTO_TEST_SUITE(race_map_conclude)

using namespace pathproof;
using namespace pathproof::scenario;
using verdict::CellVerdict;
using verdict::ScenarioVerdict;

namespace {

MapPoint point_of(double load, std::int64_t skew_ns, std::uint64_t raced) {
    return {.offered = load,
            .asked_ns = skew_ns,
            .pairs = 1000,
            .sent_per_second = load,
            .clash_resolve = raced,
            .two_backends = raced / 2,
            .sent = {1000, skew_ns, skew_ns, skew_ns},
            .far = {1000, skew_ns + 500, skew_ns + 1000, skew_ns + 2000}};
}

// One way in which pairs race up to 10 us apart, beside one in which none does.
RaceMap a_map() {
    RaceMap map;
    map.ways.push_back(
        {.what = {.id = "map.two-cpus", .label = "two CPUs"},
         .points = {point_of(1000, 0, 800), point_of(1000, 9000, 40), point_of(1000, 50'000, 0),
                    point_of(8000, 0, 700), point_of(8000, 50'000, 0)},
         .highest = 8000});
    map.ways.push_back({.what = {.id = "control.map.one-cpu",
                                 .label = "control",
                                 .role = verdict::Cell::Role::kControl},
                        .points = {point_of(1000, 0, 0), point_of(8000, 0, 0)}});
    map.resolvers = {
        {.who = "glibc", .lookups = 60, .one_socket = 60, .skew = {60, 2000, 9000, 30'000}},
        {.who = "Go", .lookups = 60, .skew = {60, 10'000, 20'000, 90'000}},
        {.who = "systemd-resolved", .lacking = "on demand: --resolvers"}};
    return map;
}

judge::QueryRecord record(std::uint32_t pair, std::uint8_t member, std::int64_t sent_ns,
                          const char* server) {
    return {.pair = pair,
            .member = member,
            .state = judge::QueryState::kAnswered,
            .server_saw = 1,
            .server = *frame::parse_endpoint(server),
            .sent_ns = sent_ns,
            .answered_ns = sent_ns + 1000};
}

}  // namespace

BOOST_AUTO_TEST_CASE(skews_are_told_without_their_sign) {
    const Skew skew = skew_of({-900, 100, -200, 300, 400, 500, -600, 700, 800, 1000});
    BOOST_TEST(skew.pairs == 10U);
    BOOST_TEST(skew.low_ns == 200);
    BOOST_TEST(skew.middle_ns == 600);
    BOOST_TEST(skew.high_ns == 1000);
    BOOST_TEST(skew_of({}).pairs == 0U);
    BOOST_TEST(skew_of({-7}).middle_ns == 7);
}

BOOST_AUTO_TEST_CASE(a_report_gives_the_load_that_was_sent_and_pairs_of_two_backends) {
    judge::PairReport report;
    report.records = {
        record(0, 0, 0, "203.0.113.2:53"),         record(0, 1, 300, "203.0.113.3:53"),
        record(1, 0, 1'000'000, "203.0.113.2:53"), record(1, 1, 1'000'500, "203.0.113.2:53"),
        record(2, 0, 2'000'000, "203.0.113.2:53"), record(2, 1, 2'000'100, "203.0.113.3:53")};
    report.records[5].state = judge::QueryState::kNever;
    report.records[3].state = judge::QueryState::kWrongSource;
    MapPoint point{.offered = 1000};
    take(report, point);
    BOOST_TEST(point.pairs == 3U);
    BOOST_TEST(point.two_backends == 2U);
    BOOST_TEST(point.lost == 1U);
    BOOST_TEST(point.wrong == 1U);
    BOOST_TEST(point.sent.middle_ns == 300);
    BOOST_TEST(point.sent_per_second == 1000, boost::test_tools::tolerance(1e-9));
    BOOST_TEST(point.not_carried() == "2 queries got no right answer");
    point.lost = point.wrong = 0;
    BOOST_TEST(point.not_carried() == "");
    point.offered = 2000;
    BOOST_TEST(point.not_carried() == "the tester sent 1000 pairs/s");
    point.objections = {"starved"};
    BOOST_TEST(point.not_carried() == "starved");
}

BOOST_AUTO_TEST_CASE(the_map_says_where_pairs_race_and_from_where_on_none_does) {
    const auto result = conclude(a_map());
    BOOST_TEST((result.verdict == ScenarioVerdict::kExposed));
    BOOST_TEST(
        result.headline ==
        "Exposure map of 7000 pairs: by two CPUs 80.0 % of 1000 pairs race 1.0 us apart at 1000 "
        "pairs/s, and none of 2000 pairs from 51 us on.");
    BOOST_TEST(result.cells.size() == 1U);
    BOOST_TEST(result.controls.size() == 1U);
    BOOST_TEST(result.planned.size() == 2U);
    BOOST_TEST(result.unexplained == 0U);
    BOOST_TEST(!result.cure_shown);
}

BOOST_AUTO_TEST_CASE(its_chart_has_a_curve_a_load_and_marks_what_was_measured_of_resolvers) {
    const auto result = conclude(a_map());
    BOOST_REQUIRE(result.charts.size() == 1U);  // none of the control
    const verdict::Chart& chart = result.charts[0];
    BOOST_REQUIRE(chart.curves.size() == 2U);
    BOOST_TEST(chart.curves[0].label == "1000 pairs/s");
    BOOST_REQUIRE(chart.curves[0].points.size() == 3U);
    BOOST_TEST(chart.curves[0].points[1].x == 10.0);
    BOOST_TEST(chart.curves[0].points[1].y == 4.0);
    BOOST_REQUIRE(chart.marks.size() == 2U);
    BOOST_TEST(chart.marks[0].middle == 9.0);
    // Go's queries leave two sockets: they cannot race, however near to each other.
    BOOST_TEST(chart.marks[1].label == "Go (two sockets)");
    BOOST_TEST(chart.marks[1].middle == 20.0);
    BOOST_REQUIRE(result.explanation.size() == 3U);
    BOOST_TEST(result.explanation[0].find("60 of 60 lookups") != std::string::npos);
    BOOST_TEST(result.explanation[0].find("4.0 % by two CPUs (10 us apart)") != std::string::npos);
    BOOST_TEST(result.explanation[1] ==
               "Go: none of 60 lookups sent both queries from one socket, so that they cannot "
               "race (20 us apart, median).");
    BOOST_TEST(result.explanation[2] == "systemd-resolved: not measured (on demand: --resolvers).");
}

BOOST_AUTO_TEST_CASE(without_the_far_ports_clock_the_axis_says_so_and_has_no_marks) {
    RaceMap map = a_map();
    map.ways[0].points[2].untimed = "no such device";
    const auto result = conclude(map);
    BOOST_TEST(result.charts[0].x_label.find("sent") != std::string::npos);
    BOOST_TEST(result.charts[0].marks.empty());
}

BOOST_AUTO_TEST_CASE(a_control_that_races_concludes_nothing) {
    RaceMap map = a_map();
    map.ways[1].points[0].clash_resolve = 1;
    const auto result = conclude(map);
    BOOST_TEST((result.verdict == ScenarioVerdict::kInconclusive));
    BOOST_TEST(result.cause == "");
    BOOST_TEST((result.controls[0].verdict == CellVerdict::kFail));
}

BOOST_AUTO_TEST_CASE(lost_queries_take_a_named_drop) {
    RaceMap map = a_map();
    map.ways[0].points[3].lost = 5;
    auto result = conclude(map);
    BOOST_TEST((result.verdict == ScenarioVerdict::kInconclusive));
    BOOST_TEST(result.unexplained == 5U);
    map.ways[0].dropped["CPU_BACKLOG"] = 5;
    result = conclude(map);
    BOOST_TEST((result.verdict == ScenarioVerdict::kExposed));
    BOOST_TEST(result.unexplained == 0U);
    BOOST_TEST(result.cells[0].reason.find("5 CPU_BACKLOG") != std::string::npos);
    // Warm-up frames are the tester's own, and what is not UDP is no query.
    MapWay way;
    way.take_drops(
        {.drops = {.counts = {{.reason = join::kWarmUpReason, .protocol = "ip/udp", .packets = 9},
                              {.reason = "NO_SOCKET", .protocol = "ip/tcp", .packets = 8},
                              {.reason = "NO_SOCKET", .protocol = "ip/udp", .packets = 7}}},
         .backlog = 6},
        5);
    BOOST_TEST(way.dropped.size() == 3U);
    BOOST_TEST(way.dropped["NO_SOCKET"] == 7U);
    BOOST_TEST(way.dropped["full queue of the vxlan device (rx_dropped)"] == 5U);
    // Refused at insertion they are the race's own.
    map.ways[0].dropped.clear();
    map.ways[0].points[3].insert_failed = 5;
    result = conclude(map);
    BOOST_TEST((result.verdict == ScenarioVerdict::kReproduced));
    BOOST_TEST(result.cells[0].cause == "same-tuple-race");
}

BOOST_AUTO_TEST_CASE(a_load_that_is_not_carried_whole_is_left_out_and_said) {
    RaceMap map = a_map();
    map.ways[0].points.push_back(point_of(64'000, 0, 900));
    map.ways[0].points.back().lost = 500;
    const auto result = conclude(map);
    BOOST_TEST((result.verdict == ScenarioVerdict::kExposed));
    BOOST_TEST(result.headline.find("80.0 % of 1000 pairs") != std::string::npos);  // not 90
    BOOST_TEST(result.cells[0].reason.find("1 points of high loads were not carried whole (500 "
                                           "queries") != std::string::npos);
    BOOST_TEST(result.charts[0].curves.size() == 2U);
    BOOST_TEST(result.proofs[0].rows[0][3] == "not carried: 500 queries got no right answer");
}

BOOST_AUTO_TEST_CASE(points_of_a_starved_tester_are_no_result) {
    RaceMap map = a_map();
    for (std::size_t i = 0; i < 3; ++i) {
        map.ways[0].points[i].objections = {"the tester's own ports lost 3 frames"};
    }
    const auto result = conclude(map);
    BOOST_TEST((result.verdict == ScenarioVerdict::kInconclusive));
    BOOST_TEST((result.cells[0].verdict == CellVerdict::kError));
    BOOST_TEST(result.cells[0].reason.find("lost 3 frames") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(where_no_pair_races_nothing_is_exposed) {
    RaceMap map = a_map();
    for (MapPoint& point : map.ways[0].points) {
        point.clash_resolve = 0;
    }
    BOOST_TEST((conclude(map).verdict == ScenarioVerdict::kNotReproduced));
    map.ways[0].hindrances = {"two CPUs were not found"};
    BOOST_TEST((conclude(map).verdict == ScenarioVerdict::kInconclusive));
    BOOST_TEST((conclude(RaceMap{}).verdict == ScenarioVerdict::kInconclusive));
}

BOOST_AUTO_TEST_CASE(the_first_race_comes_with_its_evidence_and_where_the_time_went) {
    MeasuredCell race{.what = {.id = "first.two-cpus", .at_once = true}};
    race.seen.clash_resolve = 9;
    race.seen.found.pairs[join::kHiddenEntry | join::kTwoBackends] = 4;
    race.seen.found.pairs[0] = 12;
    race.seen.found.queries[0][0] = 32;
    race.timeline =
        verdict::Proof{.title = "Pair 2, packet by packet", .columns = {"a"}, .rows = {{"left"}}};
    MeasuredCell control{
        .what = {.id = "control.first.one-cpu", .role = verdict::Cell::Role::kControl}};
    control.seen.found.pairs[0] = 16;
    control.seen.found.queries[0][0] = 32;
    using std::chrono::milliseconds;
    FirstRace first{.cells = {race, control},
                    .phases = {{"lab", milliseconds(200)}, {"pairs", milliseconds(150)}}};
    auto result = conclude(first);
    BOOST_TEST((result.verdict == ScenarioVerdict::kExposed));
    BOOST_TEST(
        result.headline.starts_with("First race proven 0.35 s after the program's start (lab "
                                    "0.20 s, pairs 0.15 s). "));
    BOOST_TEST(result.cause.ends_with("Pair 2, packet by packet:\nleft"));
    BOOST_TEST(result.proofs.size() == 1U);
    // A race in the control: nothing is proven, and no time is told.
    first.cells[1].seen.clash_resolve = 1;
    result = conclude(first);
    BOOST_TEST((result.verdict == ScenarioVerdict::kInconclusive));
    BOOST_TEST(result.headline.find("First race") == std::string::npos);
    BOOST_TEST(result.cause == "");
}

BOOST_AUTO_TEST_SUITE_END()
