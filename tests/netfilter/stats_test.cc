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

namespace {

CpuStats sent(const std::vector<std::string>& counters) {
    CpuStats stats;
    for (const std::string& counter : counters) {
        stats.counters.emplace_back(counter, 1);
    }
    return stats;
}

const std::vector<std::string> kOfLinux6{"found",         "invalid",     "insert", "insert_failed",
                                         "drop",          "early_drop",  "error",  "search_restart",
                                         "clash_resolve", "chaintoolong"};

std::string meaning_of(const std::string& counter, const std::vector<std::string>& counters,
                       const char* release) {
    for (const CounterMeaning& meaning : counter_meanings(sent(counters), release)) {
        if (meaning.counter == counter) {
            BOOST_TEST(meaning.text.empty() != meaning.unknown.empty());
            return meaning.text;
        }
    }
    BOOST_FAIL("the counter is left out: " << counter);
    return {};
}

}  // namespace

BOOST_AUTO_TEST_CASE(every_counter_of_a_kernel_that_was_read_has_a_meaning) {
    const auto meanings = counter_meanings(sent(kOfLinux6), "6.18.44-anything");
    BOOST_REQUIRE_EQUAL(meanings.size(), kOfLinux6.size());
    for (std::size_t i = 0; i < meanings.size(); ++i) {
        BOOST_TEST(meanings[i].counter == kOfLinux6[i]);
        BOOST_TEST(!meanings[i].text.empty(), meanings[i].counter);
        BOOST_TEST(meanings[i].unknown.empty());
    }
}

BOOST_AUTO_TEST_CASE(meanings_change_with_the_version) {
    const std::vector<std::string> old{"found", "invalid", "ignore", "insert_failed", "drop"};
    BOOST_TEST(meaning_of("insert_failed", old, "5.4.0").find("resolved are counted too") !=
               std::string::npos);
    BOOST_TEST(meaning_of("invalid", old, "5.4.0").find("'error' counts") != std::string::npos);
    BOOST_TEST(meaning_of("invalid", kOfLinux6, "6.1.0").find("'error' counts") ==
               std::string::npos);
    BOOST_TEST(!meaning_of("ignore", old, "5.9.1").empty());
    BOOST_TEST(meaning_of("ignore", old, "5.10.0").empty());
    BOOST_TEST(meaning_of("found", old, "4.4.0").empty());
}

BOOST_AUTO_TEST_CASE(a_vendors_kernel_is_known_by_the_counters_it_sends) {
    const std::vector<std::string> carried{"insert_failed", "drop", "clash_resolve"};
    BOOST_TEST(
        meaning_of("insert_failed", carried, "4.18.0-553.el8").find("resolved are counted too") ==
        std::string::npos);
    BOOST_TEST(!meaning_of("clash_resolve", carried, "4.18.0-553.el8").empty());
    BOOST_TEST(meaning_of("insert_failed", {"insert_failed", "drop"}, "4.18.0-553.el8")
                   .find("resolved are counted too") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(kernels_and_counters_that_are_not_known_give_the_reason) {
    for (const char* release : {"7.1.0", "6.20.0"}) {
        const auto meanings = counter_meanings(sent({"insert_failed"}), release);
        BOOST_TEST(meanings[0].text.empty());
        BOOST_TEST(meanings[0].unknown == "not known for kernels after 6.19, raw value only");
    }
    const auto strange = counter_meanings(sent({"counter_40", "drop"}), "6.18.1");
    BOOST_TEST(strange[0].unknown == "not known for this kernel: raw value only");
    BOOST_TEST(!strange[1].text.empty());
    BOOST_TEST(counter_meanings(sent({"drop"}), "unstable")[0].unknown.find("'unstable'") !=
               std::string::npos);
}
