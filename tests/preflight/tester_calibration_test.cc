#define BOOST_TEST_MODULE preflight
#include "harness/preflight/tester_calibration.h"

#include <boost/test/unit_test.hpp>

#include "tests/contains.h"

using namespace pathproof;
using namespace pathproof::preflight;
using test::contains;

namespace {

constexpr std::int64_t kMadeAt = 1'790'000'000;  // 2026-09-21T14:13:20Z

TesterCalibration made() {
    return {.lab = "rack 3",
            .date = "2026-09-21T14:13:20Z",
            .version = "0.1.0",
            .kernel = "6.1.0",
            .ports = {{"client0", "0000:3b:00.0", "net_ice", "02:00:00:00:00:01"},
                      {"server0", "0000:3b:00.1", "net_ice", "02:00:00:00:00:02"}},
            .ways = {{.from = "client0",
                      .to = "server0",
                      .highest_pps = 1.4e7,
                      .carried_pps = 1.3e7,
                      .sent = 3'000'000,
                      .lost = 0,
                      .p50_us = 3,
                      .p99_us = 5,
                      .max_us = 9,
                      .bias = {.floor_ns = 300},
                      .clock_ppm = -1.5}}};
}

lab::LabFile file_with(const std::string& device) {
    lab::LabFile file;
    file.name = "rack 3";
    file.ports = {{.name = "client0", .device = device},
                  {.name = "server0", .device = "0000:3b:00.1"}};
    return file;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_calibration_reads_back_with_all_its_figures) {
    const auto read = parse_calibrations(calibrations_text({made()}));
    BOOST_REQUIRE(read);
    BOOST_REQUIRE(read->size() == 1);
    BOOST_TEST(calibrations_text(*read) == calibrations_text({made()}));
    BOOST_TEST(read->front().ways.front().clock_ppm.value_or(0) == -1.5);
    BOOST_TEST(!parse_calibrations("{}").has_value());
    BOOST_TEST(!parse_calibrations(
                    R"({"schema": "pathproof-calibrations/1", "calibrations": [{"lab": 1}]})")
                    .has_value());
}

BOOST_AUTO_TEST_CASE(other_ports_are_not_calibrated_by_it) {
    BOOST_TEST(why_not_of(made(), file_with("0000:3b:00.0")).empty());
    BOOST_TEST(contains(why_not_of(made(), file_with("0000:5e:00.0")), "client0 on 0000:3b:00.0"));
    BOOST_TEST(contains(why_not_of(std::nullopt, file_with("")), "lab calibrate"));
}

BOOST_AUTO_TEST_CASE(its_age_stands_in_the_report) {
    BOOST_TEST(age_of(made(), kMadeAt + 60).value_or(0) == 60);
    TesterCalibration undated = made();
    undated.date = "yesterday";
    BOOST_TEST(!age_of(undated, kMadeAt).has_value());
    const auto facts = facts_of(made(), kMadeAt + 10 * 86'400);
    BOOST_TEST(contains(facts.facts.front().value, "10 days ago"));
    // No loss in 3,000,000 frames: at most 3 in as many (rule of three).
    const std::string text = text_of(made());
    BOOST_TEST(contains(text, "0 of 3000000"));
    BOOST_TEST(contains(text, "at most 0.0001 %"));
    BOOST_TEST(contains(text, "-1.50 ppm"));
}
