#include "harness/netfilter/stats.h"

#include <boost/test/unit_test.hpp>

using namespace pathproof::netfilter;

BOOST_AUTO_TEST_CASE(releases_give_their_first_two_numbers) {
    BOOST_TEST((parse_kernel_release("6.18.44-fc-v595") == std::optional(KernelVersion{6, 18})));
    BOOST_TEST((parse_kernel_release("5.9") == std::optional(KernelVersion{5, 9})));
    for (const char* wrong : {"", "6", "6.", "six.one", ".6", "6-1"}) {
        BOOST_TEST(!parse_kernel_release(wrong), wrong);
    }
    BOOST_TEST(parse_kernel_release(running_kernel_release()).has_value());
}

BOOST_AUTO_TEST_CASE(insert_failed_counts_resolved_clashes_too_before_5_10) {
    BOOST_TEST(counter_meaning("insert_failed", {5, 9}).find("resolved are counted too") !=
               std::string::npos);
    BOOST_TEST(counter_meaning("insert_failed", {5, 10}).find("resolved are counted too") ==
               std::string::npos);
    BOOST_TEST(!counter_meaning("insert_failed", {5, 10}).empty());
}

BOOST_AUTO_TEST_CASE(what_is_not_known_has_no_meaning) {
    BOOST_TEST(counter_meaning("clash_resolve", {5, 9}).empty());
    BOOST_TEST(!counter_meaning("clash_resolve", {6, 18}).empty());
    BOOST_TEST(counter_meaning("counter_40", {6, 18}).empty());
    BOOST_TEST(counter_meaning("insert_failed", {7, 0}).empty());
    BOOST_TEST(counter_meaning("insert_failed", {6, 20}).empty());
}
