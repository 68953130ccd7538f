#include "harness/kubernetes/pairs.h"

#include <boost/test/unit_test.hpp>
#include <cerrno>

using namespace pathproof;
using namespace pathproof::kubernetes;
using agent::DnsLoadReport;
using Lookup = DnsLoadReport::Lookup;

namespace {

Lookup answered(std::uint8_t answers, double milliseconds = 1) {
    return {.asked = 2, .answered = answers, .milliseconds = milliseconds};
}

DnsLoadReport report(std::vector<Lookup> lookups) {
    return {.lookups = std::move(lookups)};
}

}  // namespace

BOOST_AUTO_TEST_CASE(each_lookup_is_counted_once) {
    Lookup refused = answered(1), error = answered(2);
    refused.error = ECONNREFUSED;
    error.rcode = 2;
    const auto figures = judge_pairs(
        report({answered(2), answered(2), answered(1), answered(0), refused, error}), 6);
    BOOST_TEST(figures.both == 2U);
    BOOST_TEST(figures.one == 1U);
    BOOST_TEST(figures.none == 1U);
    BOOST_TEST(figures.refused == 1U);
    BOOST_TEST(figures.errors == 1U);
    BOOST_TEST(figures.failed.size() == 4U);
    BOOST_TEST(exit_code_of(figures) == 1);
    BOOST_TEST(text_of(figures).ends_with("lost: 4 of 6 lookups failed, 30 to 90.3 % (95 %)"),
               text_of(figures));
}

BOOST_AUTO_TEST_CASE(times_are_of_lookups_with_both_answers) {
    std::vector<Lookup> lookups;
    for (int i = 100; i > 0; --i) {
        lookups.push_back(answered(2, i));
    }
    lookups.push_back(answered(1, 1000));
    const auto figures = judge_pairs(report(lookups), 101);
    BOOST_TEST(figures.median_ms == 50);
    BOOST_TEST(figures.p99_ms == 99);
    BOOST_TEST(figures.slowest_ms == 100);
}

BOOST_AUTO_TEST_CASE(none_lost_is_said_with_its_bound_and_only_of_all_that_was_asked_for) {
    const std::vector<Lookup> whole(300, answered(2));
    const auto all = judge_pairs(report(whole), 300);
    BOOST_TEST(exit_code_of(all) == 0);
    BOOST_TEST(text_of(all).ends_with("none lost: at most 1 % fail (95 %)"), text_of(all));
    const auto some = judge_pairs(report(whole), 301);
    BOOST_TEST(exit_code_of(some) == 3);
    BOOST_TEST(text_of(some).ends_with(
                   "incomplete: 1 pairs were not sent: it was stopped, or had no CPU in time"),
               text_of(some));
    BOOST_TEST(exit_code_of(judge_pairs({}, 0)) == 3);
    // A failure is one, however many were sent.
    BOOST_TEST(exit_code_of(judge_pairs(report({answered(1)}), 300)) == 1);
}
