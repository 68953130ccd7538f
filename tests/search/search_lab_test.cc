// The search command against the kernel.
#define BOOST_TEST_MODULE search_lab
#include <boost/test/unit_test.hpp>

#include "tests/search/kernel_device.h"

using namespace pathproof;
using nlohmann::json;

namespace {

const std::string kGoals =
    " --goal loss=0,trial=0.3,sum=0.9,initial=0.3,width=0.1"
    " --goal loss=0.05,trial=0.3,sum=0.9,initial=0.3,width=0.1";

void check_trials(const std::vector<json>& lines, const json& result) {
    BOOST_REQUIRE(!lines.empty());
    std::size_t trials = 0;
    for (const json& line : lines) {
        if (line["type"] != "trial") {
            continue;
        }
        ++trials;
        BOOST_TEST(line["n"] == trials);
        BOOST_TEST(line["lost"].get<std::uint64_t>() <= line["sent"].get<std::uint64_t>());
        BOOST_TEST((line["lost"] == 0 || line["loss_ratio"].get<double>() > 0));
        BOOST_TEST(line["frame_bytes"] == 64);
    }
    BOOST_TEST(result["sizes"][0]["trials"] == trials);
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_search_over_the_kernel_gives_both_bounds_of_every_goal) {
    const KernelDevice device;
    const auto [code, lines, said] = device.search(
        "mlr c0 --min-load 0.1k --max-load 20k --no-latency --retries 0 --max-time 40" + kGoals);
    BOOST_REQUIRE(!lines.empty());
    const json& result = lines.back();
    BOOST_REQUIRE(result["type"] == "result");
    BOOST_TEST(result["evidence"] == "virtual");
    check_trials(lines, result);
    const json& size = result["sizes"][0];
    BOOST_REQUIRE(size["goals"].size() == 2);
    for (const json& goal : size["goals"]) {
        BOOST_REQUIRE_MESSAGE(goal["lower_bound"].is_object(), size.dump());
        BOOST_REQUIRE_MESSAGE(goal["upper_bound"].is_object(), size.dump());
        BOOST_TEST(goal["lower_bound"]["load_pps"].get<double>() <
                   goal["upper_bound"]["load_pps"].get<double>());
    }
    // The queue lets 2750 a second pass for 0.3 s; nothing can make more of it.
    BOOST_TEST(size["goals"][0]["lower_bound"]["load_pps"].get<double>() < 3'000);
    // A machine that is busy makes the tester the limit: then it says so, and why.
    BOOST_TEST(code == (result["verdict"] == "FOUND" ? 0 : 3));
    BOOST_TEST(size["reasons"].empty() == (code == 0));
}

BOOST_AUTO_TEST_CASE(a_burst_longer_than_the_queue_of_the_kernel_is_told_from_one_that_fits) {
    const KernelDevice device;
    const auto [code, lines, said] = device.search(
        "back-to-back c0 --throughput 2000 --tests 1 --longest 2000 --resolution 50 --drain 0.4 "
        "--retries 0 --max-load 100000");
    BOOST_REQUIRE(!lines.empty());
    const json& size = lines.back()["sizes"][0];
    BOOST_REQUIRE(size["tests"].size() == 1);
    const std::uint64_t frames = size["tests"][0]["frames"];
    BOOST_TEST(frames >= 100);
    BOOST_TEST(frames < 1'000);
    BOOST_TEST(code == (size["reasons"].empty() ? 0 : 3));
}
