#include "dataplane/search/system_recovery.h"

#include <boost/test/unit_test.hpp>

#include "tests/search/simulated_device.h"

using namespace pathproof;
using namespace pathproof::search;
namespace tt = boost::test_tools;

namespace {

// A queue that fills while more comes than it forwards; a frame is lost while it is full, and the
// device sulks for a while after an overload.
struct Sulking : Measurer {
    double capacity = 1e6;
    double sulk_seconds = 0.25;
    std::vector<TrialInput> inputs;

    Result<TrialOutput> measure(const TrialInput& input) override {
        inputs.push_back(input);
        TrialOutput output{.input = input};
        output.sent = static_cast<std::uint64_t>(input.load_pps * seconds(input.duration));
        if (input.load_pps > capacity) {
            output.lost = 1000;
            output.last_loss = Nanoseconds(static_cast<std::int64_t>(sulk_seconds * 1e9));
        }
        return output;
    }
};

RecoveryResult measure(Sulking& device, const RecoveryPlan& plan) {
    Trials trials(device, {.time = std::chrono::hours(1)});
    auto result = measure_recovery(plan, trials);
    BOOST_REQUIRE_MESSAGE(result, result.error().message);
    return *result;
}

}  // namespace

BOOST_AUTO_TEST_CASE(the_overload_is_a_tenth_above_the_throughput_and_then_halved) {
    Sulking device;
    const RecoveryResult result = measure(device, {.throughput_pps = 1e6, .max_load_pps = 10e6});
    BOOST_REQUIRE(device.inputs.size() == 3);
    for (const TrialInput& input : device.inputs) {
        BOOST_TEST(input.load_pps == 1.1e6, tt::tolerance(1e-9));
        BOOST_TEST(seconds(input.duration) == 60);
        BOOST_TEST(input.change->load_pps == 0.55e6, tt::tolerance(1e-9));
    }
    BOOST_TEST(result.average_seconds == 0.25, tt::tolerance(1e-9));
    BOOST_TEST(result.conclusive());
}

BOOST_AUTO_TEST_CASE(the_overload_does_not_pass_what_the_medium_carries) {
    Sulking device;
    const RecoveryResult result = measure(device, {.throughput_pps = 1e6, .max_load_pps = 1.05e6});
    BOOST_TEST(result.overload_pps == 1.05e6);
}

BOOST_AUTO_TEST_CASE(a_device_that_did_not_lose_has_nothing_to_recover_from) {
    Sulking device;
    device.capacity = 2e6;
    const RecoveryResult result = measure(device, {.throughput_pps = 1e6, .max_load_pps = 10e6});
    BOOST_TEST(!result.runs.at(0).overloaded);
    BOOST_TEST(result.average_seconds == 0);
    BOOST_TEST(!result.conclusive());
}

BOOST_AUTO_TEST_CASE(a_device_that_loses_to_the_end_did_not_recover) {
    Sulking device;
    device.sulk_seconds = 9.9;
    const RecoveryResult result = measure(device, {.throughput_pps = 1e6, .max_load_pps = 10e6});
    BOOST_TEST(!result.runs.at(0).recovered);
    BOOST_TEST(result.average_seconds == 0);
    BOOST_TEST(!result.conclusive());
}

BOOST_AUTO_TEST_CASE(recovery_plans_that_make_no_sense_are_refused) {
    for (const RecoveryPlan& plan :
         {RecoveryPlan{.max_load_pps = 1}, RecoveryPlan{.throughput_pps = 1},
          RecoveryPlan{.throughput_pps = 1, .max_load_pps = 1, .relief_duration = {}}}) {
        Sulking device;
        Trials trials(device);
        BOOST_TEST(!measure_recovery(plan, trials));
        BOOST_TEST(device.inputs.empty());
    }
}
