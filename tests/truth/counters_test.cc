// Counters of the kernel and of a driver beside the judge's own count.
#include "harness/truth/counters.h"

#include <boost/test/unit_test.hpp>

using namespace pathproof;
using namespace pathproof::truth;
using verdict::Observed;

namespace {

using Words = std::vector<std::string>;

const CountedKind& kind(std::size_t number) {
    return counted_kinds()[number];
}

KindCount counted(std::uint64_t accepted, std::uint64_t refused) {
    return {.why_not = "", .good = 32, .bad = 32, .accepted = accepted, .refused = refused};
}

void says(const KindCount& count, Observed observed, const Words& names) {
    const verdict::Observation seen = observation_of(count, kind(1));
    BOOST_TEST(verdict::name(seen.observed) == std::string(verdict::name(observed)));
    BOOST_TEST(seen.names == names, boost::test_tools::per_element());
    BOOST_TEST(!seen.note.empty());
}

}  // namespace

BOOST_AUTO_TEST_SUITE(counters, *boost::unit_test::label("unit"))

BOOST_AUTO_TEST_CASE(counters_that_agree_with_the_judge_are_right) {
    says(counted(32, 32), Observed::kRight, {});
}

BOOST_AUTO_TEST_CASE(counters_that_differ_lie_and_what_became_of_the_frames_is_named) {
    says(counted(64, 0), Observed::kWrong, {"RX_GOOD_ON_BAD", "COUNTER_LIES"});
    says(counted(0, 64), Observed::kWrong, {"RX_BAD_ON_GOOD", "COUNTER_LIES"});
    says(counted(32, 20), Observed::kWrong, {"RX_DROP_BAD", "COUNTER_LIES"});
    says(counted(20, 32), Observed::kWrong, {"DROP"});
}

BOOST_AUTO_TEST_CASE(frames_that_the_kernel_never_saw_say_nothing) {
    says(counted(0, 0), Observed::kNotTested, {});
    KindCount off;
    off.why_not = "IPv6 is off";
    const verdict::Observation seen = observation_of(off, kind(2));
    BOOST_TEST((seen.observed == Observed::kNotTested));
    BOOST_TEST(seen.note == "IPv6 is off");
}

BOOST_AUTO_TEST_CASE(a_drivers_counter_counts_all_bad_frames_of_a_kind_or_none) {
    const auto of = [](std::uint64_t delta) {
        KindCount count = counted(32, 32);
        count.driver = {{"rx_csum_bad", delta}};
        return driver_observation(count);
    };
    BOOST_TEST((of(32).observed == Observed::kRight));
    BOOST_TEST((of(0).observed == Observed::kRight));
    BOOST_TEST((of(31).observed == Observed::kWrong));
    BOOST_TEST(of(64).names.front() == "COUNTER_LIES");
    BOOST_TEST((driver_observation(counted(32, 32)).observed == Observed::kNotTested));
}

BOOST_AUTO_TEST_CASE(only_counters_of_bad_checksums_are_held_against_the_judge) {
    for (const char* name : {"rx_csum_bad", "rx_csum_offload_errors", "hw_csum_rx_error",
                             "rx_hw_csum_fail", "RxL4ChecksumErrors"}) {
        BOOST_TEST(counts_bad_checksums(name), name);
    }
    for (const char* name : {"rx_csum_good", "tx_csum_error", "rx_errors", "rx_csum_complete"}) {
        BOOST_TEST(!counts_bad_checksums(name), name);
    }
}

BOOST_AUTO_TEST_SUITE_END()
