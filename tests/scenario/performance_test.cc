#define BOOST_TEST_MODULE performance
#include <boost/test/unit_test.hpp>
#include <map>

#include "harness/scenario/performance/figures.h"
#include "harness/scenario/performance/soak.h"
#include "harness/scenario/scenario.h"
#include "tests/contains.h"

using namespace pathproof;
using namespace pathproof::scenario;
using namespace pathproof::scenario::performance;
using test::contains;
using verdict::Cell;
using verdict::CellVerdict;
using verdict::Measure;

namespace {

constexpr Medium kLink{.line_mbps = 10'000, .is_software = false};
constexpr Medium kVeth{};

const Measure* find_measure(const Cell& cell, const std::string& name) {
    const auto found = std::ranges::find(cell.measures, name, &Measure::name);
    return found == cell.measures.end() ? nullptr : &*found;
}

const Measure& measure_of(const Cell& cell, const std::string& name) {
    const Measure* const found = find_measure(cell, name);
    BOOST_REQUIRE_MESSAGE(found != nullptr, "no measure " << name);
    return *found;
}

search::GoalResult goal(const std::string& name, double low, std::optional<double> high,
                        search::Limit limit) {
    search::GoalResult made{.goal = {.name = name}, .limit = limit};
    made.lower = search::Bound{.load_pps = low, .offered_pps = low};
    if (high) {
        made.upper = search::Bound{.load_pps = *high, .offered_pps = *high};
    }
    return made;
}

ThroughputSeen seen_at(double low, std::optional<double> high, search::Limit limit,
                       double max_load = 14'880'952) {
    return {.frames = {{64, 1}},
            .max_load_pps = max_load,
            .rates = {.goals = {goal("ndr", low, high, limit), goal("pdr", low, high, limit)}},
            .trials = 9};
}

SoakSample sample(double at, std::uint64_t sent, std::uint64_t lost) {
    return {.at_s = at,
            .seconds = 10,
            .offered_pps = static_cast<double>(sent) / 10,
            .sent = sent,
            .lost = lost,
            .memory_available_kib = 1'000'000,
            .slab_kib = 5000 + static_cast<std::int64_t>(at)};
}

}  // namespace

BOOST_AUTO_TEST_SUITE(performance_figures)

// RFC 2544: 14,880,952 frames of 64 bytes a second fill a link of 10 Gbit/s.
BOOST_AUTO_TEST_CASE(line_rate_counts_preamble_and_gap) {
    BOOST_TEST(kLink.line_pps({{64, 1}}) == 14'880'952.38, boost::test_tools::tolerance(1e-9));
    BOOST_TEST(kLink.line_pps({{1518, 1}}) == 812'743.823, boost::test_tools::tolerance(1e-8));
    BOOST_TEST(kVeth.line_pps({{64, 1}}) == 0);
    BOOST_TEST(wire_gbit_s(kLink.line_pps({{64, 7}, {570, 4}, {1518, 1}}),
                           {{64, 7}, {570, 4}, {1518, 1}}) == 10,
               boost::test_tools::tolerance(1e-9));
}

BOOST_AUTO_TEST_CASE(a_rate_lies_between_its_bounds) {
    const Cell cell = conclude("throughput.64", seen_at(7e6, 7.1e6, search::Limit::kDevice), kLink);
    BOOST_TEST((cell.verdict == CellVerdict::kPass));
    const Measure& rate = measure_of(cell, "ndr_pps");
    BOOST_TEST(rate.value.number() == 7e6);
    BOOST_TEST(rate.interval->low == 7e6);
    BOOST_TEST(rate.interval->high == 7.1e6);
    BOOST_TEST(measure_of(cell, "ndr_line_share").value.number() == 47.04,
               boost::test_tools::tolerance(1e-3));
    BOOST_TEST(measure_of(cell, verdict::kLimitedBy).value.text() == "device");
}

BOOST_AUTO_TEST_CASE(a_tester_that_was_the_limit_leaves_the_rate_open_above) {
    const Cell cell = conclude("throughput.64", seen_at(7e6, 7.1e6, search::Limit::kTester), kLink);
    BOOST_TEST(measure_of(cell, verdict::kLimitedBy).value.text() == "tester");
    BOOST_TEST(measure_of(cell, "ndr_pps").interval->high == kLink.line_pps({{64, 1}}));
    BOOST_TEST(contains(measure_of(cell, "ndr_pps").note, "at least"));
}

BOOST_AUTO_TEST_CASE(all_that_the_line_carries_is_line_rate) {
    const Cell cell =
        conclude("throughput.64",
                 seen_at(14'880'952, std::nullopt, search::Limit::kNotFound, 14'880'952), kLink);
    BOOST_TEST(measure_of(cell, verdict::kLimitedBy).value.text() == "line rate");
}

BOOST_AUTO_TEST_CASE(a_software_path_has_no_share_of_a_line) {
    const Cell cell = conclude("throughput.64", seen_at(1e5, 1.1e5, search::Limit::kDevice), kVeth);
    BOOST_TEST((find_measure(cell, "ndr_line_share") == nullptr));
    Seen seen{.medium = kVeth};
    seen.throughput = {{"throughput.64", seen_at(1e5, 1.1e5, search::Limit::kTester)}};
    BOOST_TEST(contains(headline(seen), "Software path"));
    BOOST_TEST(contains(explanation(seen).front(), "say nothing of a NIC"));
    BOOST_TEST(contains(explanation(seen).back(), "The tester, not the device, was the limit"));
    for (const verdict::Chart& chart : charts(seen)) {
        for (const verdict::Curve& curve : chart.curves) {
            BOOST_TEST(curve.label != "line rate");
        }
    }
}

BOOST_AUTO_TEST_CASE(the_line_is_drawn_where_there_is_one) {
    Seen seen{.medium = kLink};
    seen.throughput = {{"throughput.64", seen_at(7e6, 7.1e6, search::Limit::kDevice)}};
    const auto all = charts(seen);
    BOOST_REQUIRE(all.size() == 2);
    BOOST_TEST(all[0].curves.back().label == "line rate");
    BOOST_TEST(all[0].curves.back().points.front().y == 14'880.952,
               boost::test_tools::tolerance(1e-6));
    BOOST_TEST(all[1].maximum == 10);
}

BOOST_AUTO_TEST_CASE(a_wrong_checksum_fails_the_cell) {
    ThroughputSeen seen = seen_at(7e6, 7.1e6, search::Limit::kDevice);
    seen.bad_checksums = 3;
    const Cell cell = conclude("throughput.64", seen, kLink);
    BOOST_TEST((cell.verdict == CellVerdict::kFail));
    BOOST_TEST(cell.cause == "wrong-checksum");
}

BOOST_AUTO_TEST_CASE(no_lower_bound_is_no_rate) {
    ThroughputSeen seen = seen_at(7e6, 7.1e6, search::Limit::kTester);
    seen.rates.goals[0].lower.reset();
    const Cell cell = conclude("throughput.64", seen, kLink);
    BOOST_TEST((cell.verdict == CellVerdict::kInconclusive));
    BOOST_TEST(measure_of(cell, "ndr_pps").value.is_null());
}

BOOST_AUTO_TEST_CASE(latencies_have_the_interval_of_their_trials) {
    LatencySeen seen{.bias = {.floor_ns = 400, .burst_ns = 900, .poll_ns = 50}};
    seen.point.frames = 100;
    for (const double p99 : {9'000.0, 10'000.0, 11'000.0}) {
        seen.point.each.push_back({.min = 1000, .p50 = 5000, .p90 = 8000, .p99 = p99, .max = 2e4});
        seen.point.histogram.add(static_cast<std::int64_t>(p99), 10);
    }
    const Cell cell = conclude("latency.90", seen);
    const Measure& p99 = measure_of(cell, "p99_us");
    BOOST_TEST(p99.value.number() == 10, boost::test_tools::tolerance(1e-9));
    // Student's t of 2 degrees of freedom, 4.3027, times 1 us over the root of 3.
    BOOST_TEST(p99.interval->high == 10 + 2.4841, boost::test_tools::tolerance(1e-4));
    BOOST_TEST(measure_of(cell, "own_floor_us").value.number() == 0.4);
    const verdict::Chart chart = latency_chart({seen});
    double all = 0;
    for (const verdict::Curve::Point& point : chart.curves.front().points) {
        all += point.y;
    }
    BOOST_TEST(all == 100, boost::test_tools::tolerance(1e-9));
}

BOOST_AUTO_TEST_CASE(costs_of_shared_cpus_are_not_the_devices) {
    CostSeen seen{.frames = {{64, 1}}, .seconds = 1, .forwarded = 1000};
    seen.before = {.busy_seconds = 1, .cycles = 0, .receive_softirqs = 0, .interrupts = 10};
    seen.after = {.busy_seconds = 1.5, .cycles = 2e6, .receive_softirqs = 100, .interrupts = 60};
    Cell cell = conclude("cost.64", seen);
    BOOST_TEST(measure_of(cell, "cycles_per_frame").value.number() == 2000);
    BOOST_TEST(measure_of(cell, "cpu_ns_per_frame").value.number() == 5e5);
    BOOST_TEST(measure_of(cell, "frames_per_interrupt").value.number() == 20);
    seen.is_shared = true;
    cell = conclude("cost.64", seen);
    BOOST_TEST(measure_of(cell, "cycles_per_frame").value.is_null());
    BOOST_TEST(contains(measure_of(cell, "cycles_per_frame").note, "the DUT's CPUs"));
    BOOST_TEST(!measure_of(cell, "cpu_ns_per_frame").note.empty());
}

BOOST_AUTO_TEST_CASE(an_offload_is_judged_round_by_round) {
    SwitchSeen seen{.what = "rx-gro of d0"};
    seen.rounds = {{.off_pps = 100, .on_pps = 110}, {.off_pps = 200, .on_pps = 220}};
    Cell cell = conclude("offload.rx-gro", seen);
    BOOST_TEST(measure_of(cell, "gain").value.number() == 10, boost::test_tools::tolerance(1e-9));
    BOOST_TEST((cell.verdict == CellVerdict::kPass));
    seen.rounds[1].on_bad = 2;
    cell = conclude("offload.rx-gro", seen);
    BOOST_TEST((cell.verdict == CellVerdict::kFail));
    BOOST_TEST(contains(cell.reason, "2 with it on, 0 with it off"));
    seen.lacks = "fixed";
    BOOST_TEST((conclude("offload.rx-gro", seen).verdict == CellVerdict::kSkip));
}

BOOST_AUTO_TEST_CASE(every_figure_of_a_cell_is_one_that_limits_may_name) {
    std::map<std::string, std::string> known;
    for (const FigureRow& row : figures_of(*find_scenario("performance"))) {
        known[row.name] = row.unit;
    }
    LatencySeen late;
    late.point.frames = 1;
    late.point.each = {{}, {}};
    search::BurstResult burst;
    burst.tests = {{}, {}};
    LossSeen loss{.curve = {}, .frames = {{64, 1}}};
    loss.curve.points = {{.share = 1, .load_pps = 10, .sent = 10}};
    CostSeen cost{.frames = {{64, 1}}, .seconds = 1, .forwarded = 1};
    cost.before.interrupts = cost.after.interrupts = 1;
    SwitchSeen switched;
    switched.rounds = {{1, 1, 1.0, 1.0, 0, 0}, {1, 1, 1.0, 1.0, 0, 0}};
    ScaleSeen scale;
    scale.forwarded_pps = {1, 2};
    const Soak soak{.planned_s = 10, .load_pps = 1, .samples = {sample(10, 10, 0)}};
    for (const Cell& cell :
         {conclude("throughput.64", seen_at(7e6, 7.1e6, search::Limit::kDevice), kLink),
          conclude("latency.10", late), conclude("back-to-back", burst),
          conclude("loss-curve", loss, kLink), conclude("cost.64", cost),
          conclude("offload.rx-gro", switched), conclude("scaling.1", scale),
          conclude("soak", soak)}) {
        for (const Measure& one : cell.measures) {
            const bool has_unit = one.value.is_number() && !one.unit.empty();
            BOOST_TEST(known.contains(one.name), cell.id << " has " << one.name);
            BOOST_TEST((!has_unit || known[one.name] == one.unit), one.name << " in " << one.unit);
        }
    }
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(soaks)

BOOST_AUTO_TEST_CASE(a_record_reads_back_and_a_cut_line_is_left_out) {
    const Soak soak{.lab = "rack 3",
                    .planned_s = 60,
                    .load_pps = 1000,
                    .sittings = 2,
                    .samples = {sample(10, 10'000, 1), sample(20, 10'000, 0)}};
    std::string text = head_line(soak);
    for (const SoakSample& one : soak.samples) {
        text += sample_line(one);
    }
    const auto read = parse_soak(text + sample_line(soak.samples[0]).substr(0, 20));
    BOOST_REQUIRE(read);
    BOOST_TEST((read->samples == soak.samples));
    BOOST_TEST(read->lab == "rack 3");
    BOOST_TEST(read->sittings == 2);
    BOOST_TEST(read->done_s() == 20);
    BOOST_TEST(!read->is_complete());
    BOOST_TEST(!parse_soak("{}\n").has_value());
    BOOST_TEST(!parse_soak("").has_value());
    BOOST_TEST(!parse_soak(head_line(soak) + "{\"at_s\": 1}\n").has_value());
}

BOOST_AUTO_TEST_CASE(an_unfinished_soak_says_how_to_go_on) {
    Soak soak{.planned_s = 60, .load_pps = 1000, .samples = {sample(10, 10'000, 0)}};
    Cell cell = conclude("soak", soak);
    BOOST_TEST((cell.verdict == CellVerdict::kInconclusive));
    BOOST_TEST(contains(cell.reason, "10 of 60 s"));
    soak.planned_s = 10;
    BOOST_TEST((conclude("soak", soak).verdict == CellVerdict::kPass));
    soak.samples[0].bad_checksums = 1;
    BOOST_TEST((conclude("soak", soak).verdict == CellVerdict::kFail));
}

BOOST_AUTO_TEST_CASE(memory_that_grows_is_told_by_the_hour) {
    Soak soak{.planned_s = 30,
              .load_pps = 1000,
              .samples = {sample(10, 10, 0), sample(20, 10, 0), sample(30, 10, 0)}};
    const Cell cell = conclude("soak", soak);
    // One KiB a second.
    BOOST_TEST(measure_of(cell, "slab_growth").value.number() == 3600,
               boost::test_tools::tolerance(1e-9));
    BOOST_TEST(measure_of(cell, "available_growth").value.number() == 0);
    BOOST_TEST(soak_charts(soak).size() == 3);
}

BOOST_AUTO_TEST_SUITE_END()
