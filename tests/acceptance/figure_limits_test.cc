#define BOOST_TEST_MODULE acceptance
#include "harness/acceptance/figure_limits.h"

#include <boost/test/unit_test.hpp>

#include "tests/contains.h"

using namespace pathproof;
using namespace pathproof::acceptance;
using test::contains;
using verdict::Cell;
using verdict::CellVerdict;
using verdict::Interval;
using verdict::ScenarioResult;

namespace {

const std::string kHead = "schema = \"pathproof-limits/1\"\n";

std::string one_limit(const std::string& rest) {
    return kHead +
           "[[limit]]\nclause = \"4.2.1\"\nfigure = \"performance/throughput.*/ndr_line_share\"\n"
           "unit = \"%\"\n" +
           rest;
}

Limits limits_of(const std::string& text) {
    const auto read = parse_limits(text, "limits.toml");
    BOOST_REQUIRE_MESSAGE(read.has_value(), (read ? std::string() : read.error().message));
    return *read;
}

std::string refusal_of(const std::string& text) {
    const auto read = parse_limits(text, "limits.toml");
    BOOST_REQUIRE(!read);
    BOOST_TEST((read.error().code == ErrorCode::kBadInput));
    return read.error().message;
}

// A cell with this figure.
ScenarioResult run_with(const std::string& figure, verdict::Value value,
                        std::optional<Interval> interval, const std::string& unit,
                        const std::string& limited_by = "device") {
    Cell cell{.id = "throughput.64", .verdict = CellVerdict::kPass};
    cell.measures.push_back({.name = figure,
                             .label = figure,
                             .value = std::move(value),
                             .unit = unit,
                             .interval = interval});
    cell.measures.push_back(
        {.name = verdict::kLimitedBy, .label = "limited by", .value = limited_by});
    ScenarioResult result{.id = "performance"};
    result.cells = {cell};
    return result;
}

CellVerdict verdict_of(const std::string& limit, const ScenarioResult& seen) {
    const ScenarioResult judged = judge(limits_of(limit), {seen});
    BOOST_REQUIRE(judged.cells.size() == 1);
    return judged.cells.front().verdict;
}

const std::vector<KnownScenario> kKnown = {
    {.id = "performance",
     .cells = {"throughput.64", "throughput.1518", "latency.90"},
     .figures = {{"ndr_line_share", "%"}, {"p99_us", "us"}, {"bad_checksums", ""}}},
    {.id = "dns-race", .cells = {"same-tuple.two-cpus"}, .figures = {}}};

Status checked(const std::string& figure, const std::string& unit) {
    return check(limits_of(kHead + "[[limit]]\nclause = \"1\"\nfigure = \"" + figure +
                           "\"\nat_most = 1\n" + (unit.empty() ? "" : "unit = \"" + unit + "\"\n")),
                 kKnown);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(limits)

BOOST_AUTO_TEST_CASE(the_whole_interval_decides_unless_the_value_is_to) {
    const auto seen = run_with("ndr_line_share", 95.4, Interval{94.9, 95.8}, "%");
    BOOST_TEST((verdict_of(one_limit("at_least = 94.5\n"), seen) == CellVerdict::kPass));
    BOOST_TEST((verdict_of(one_limit("at_least = 95\n"), seen) == CellVerdict::kFail));
    BOOST_TEST((verdict_of(one_limit("at_least = 95\ndecision = \"value\"\n"), seen) ==
                CellVerdict::kPass));
    BOOST_TEST((verdict_of(one_limit("at_least = 95.5\ndecision = \"value\"\n"), seen) ==
                CellVerdict::kFail));
    BOOST_TEST(
        (verdict_of(one_limit("at_least = 94\nat_most = 95.5\n"), seen) == CellVerdict::kFail));
    BOOST_TEST(
        (verdict_of(one_limit("at_least = 94\nat_most = 96\n"), seen) == CellVerdict::kPass));
}

BOOST_AUTO_TEST_CASE(a_failure_names_clause_rule_and_figure) {
    const auto judged = judge(limits_of(one_limit("at_least = 95\n")),
                              {run_with("ndr_line_share", 95.4, Interval{94.9, 95.8}, "%")});
    const Cell& cell = judged.cells.front();
    BOOST_TEST(cell.id == "4.2.1.performance.throughput.64.ndr_line_share");
    BOOST_TEST(cell.reason ==
               "95.4 (94.9 to 95.8) is not >= 95 %: the value is, its interval is not");
    BOOST_TEST(cell.toggles.back().second == "the whole 95 % interval inside");
    BOOST_TEST(contains(judged.headline, "0 of 1 limit met, 1 not met, 0 not tested"));
    BOOST_TEST((judge_run(std::vector{judged}).first == verdict::RunVerdict::kNotQualified));
}

BOOST_AUTO_TEST_CASE(a_figure_without_an_interval_is_held_against_nothing) {
    BOOST_TEST((verdict_of(one_limit("at_least = 1\n"),
                           run_with("ndr_line_share", 95.4, std::nullopt, "%")) ==
                CellVerdict::kInconclusive));
}

BOOST_AUTO_TEST_CASE(a_count_is_exact) {
    const std::string limit =
        kHead +
        "[[limit]]\nclause = \"1\"\nfigure = \"performance/*/bad_checksums\"\nexactly = 0\n";
    BOOST_TEST((verdict_of(limit, run_with("bad_checksums", std::uint64_t{0}, std::nullopt, "")) ==
                CellVerdict::kPass));
    BOOST_TEST((verdict_of(limit, run_with("bad_checksums", std::uint64_t{1}, std::nullopt, "")) ==
                CellVerdict::kFail));
}

// The device may carry more than its tester sent.
BOOST_AUTO_TEST_CASE(a_tester_that_was_the_limit_accuses_no_device) {
    const auto seen = run_with("ndr_line_share", 40.0, Interval{40, 100}, "%", "tester");
    BOOST_TEST((verdict_of(one_limit("at_least = 95\n"), seen) == CellVerdict::kInconclusive));
    BOOST_TEST((verdict_of(one_limit("at_least = 30\n"), seen) == CellVerdict::kPass));
}

BOOST_AUTO_TEST_CASE(units_are_converted) {
    const std::string limit = kHead +
                              "[[limit]]\nclause = \"1\"\nfigure = "
                              "\"performance/*/p99_us\"\nat_most = 0.05\nunit = \"ms\"\n";
    BOOST_TEST((verdict_of(limit, run_with("p99_us", 45.0, Interval{44, 46}, "us")) ==
                CellVerdict::kPass));
    BOOST_TEST((verdict_of(limit, run_with("p99_us", 55.0, Interval{54, 56}, "us")) ==
                CellVerdict::kFail));
}

BOOST_AUTO_TEST_CASE(what_was_not_measured_is_not_met_by_silence) {
    ScenarioResult none{.id = "performance"};
    BOOST_TEST((verdict_of(one_limit("at_least = 1\n"), none) == CellVerdict::kInconclusive));
    ScenarioResult skipped{.id = "performance"};
    skipped.cells = {{.id = "throughput.9000", .verdict = CellVerdict::kSkip, .reason = "MTU"}};
    const auto judged = judge(limits_of(one_limit("at_least = 1\n")), {skipped});
    BOOST_TEST((judged.cells.front().verdict == CellVerdict::kSkip));
    BOOST_TEST(judged.cells.front().reason == "not tested: MTU");
    BOOST_TEST(
        (judge_run(std::vector{judge(limits_of(one_limit("at_least = 1\n")), {none})}).first ==
         verdict::RunVerdict::kIncomplete));
}

BOOST_AUTO_TEST_CASE(a_bad_file_is_refused_with_line_and_remedy) {
    BOOST_TEST(contains(refusal_of("schema = \"x\"\n"), "limits.toml:1:"));
    BOOST_TEST(contains(refusal_of(one_limit("")), "at_least, at_most, both of them, or exactly"));
    BOOST_TEST(contains(refusal_of(one_limit("at_least = 5\nexactly = 5\n")), "or exactly"));
    BOOST_TEST(
        contains(refusal_of(one_limit("at_least = 5\nat_most = 4\n")), "nothing is at least"));
    BOOST_TEST(contains(refusal_of(one_limit("at_least = \"5\"\n")), "wants a number"));
    BOOST_TEST(contains(refusal_of(one_limit("at_least = nan\n")), "wants a number"));
    BOOST_TEST(contains(refusal_of(one_limit("at_least = 1\nlimit = 2\n")), "unknown key"));
    BOOST_TEST(contains(refusal_of(one_limit("at_least = 1\ndecision = \"luck\"\n")), "interval"));
    BOOST_TEST(contains(refusal_of(kHead), "there is no [[limit]]"));
    BOOST_TEST(
        contains(refusal_of(kHead + "[[limit]]\nclause = \"1\"\nfigure = \"p99\"\nat_most = 1\n"),
                 "SCENARIO/CELL/FIGURE"));
    BOOST_TEST(contains(
        refusal_of(one_limit("at_least = 1\n") + one_limit("at_least = 1\n").substr(kHead.size())),
        "already"));
}

BOOST_AUTO_TEST_CASE(names_that_there_are_not_and_units_that_do_not_fit_are_refused) {
    BOOST_TEST(checked("performance/latency.90/p99_us", "ms").has_value());
    BOOST_TEST(checked("dns-race/same-tuple.*/whatever", "").has_value());
    const auto refused = [](const std::string& figure, const std::string& unit) {
        const Status status = checked(figure, unit);
        BOOST_REQUIRE(!status);
        BOOST_TEST((status.error().code == ErrorCode::kBadInput));
        BOOST_TEST(contains(status.error().message, "limits.toml:2"));
        return status.error().message;
    };
    BOOST_TEST(contains(refused("perfomance/latency.90/p99_us", "us"), "no scenario 'perfomance'"));
    BOOST_TEST(contains(refused("performance/latency.95/p99_us", "us"), "no cell of performance"));
    BOOST_TEST(contains(refused("performance/latency.90/p98_us", "us"), "no figure 'p98_us'"));
    BOOST_TEST(contains(refused("performance/latency.90/p99_us", "Gbit/s"), "no amount of Gbit/s"));
    BOOST_TEST(contains(refused("performance/latency.90/p99_us", ""), "give its unit"));
    BOOST_TEST(contains(refused("performance/latency.90/bad_checksums", "%"), "without a unit"));
}

BOOST_AUTO_TEST_SUITE_END()
