#include "harness/kubernetes/pairs.h"

#include <boost/test/unit_test.hpp>
#include <cerrno>

#include "harness/kubernetes/answer_sizes.h"

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

// An answer with TC set is none: resolvers ask again over TCP.
BOOST_AUTO_TEST_CASE(a_truncated_answer_is_none_and_counts_by_what_tcp_gives) {
    Lookup cut = answered(1), half = answered(0);
    cut.truncated = half.truncated = 1;
    auto figures = judge_pairs(report({answered(2), cut, cut, half}), 4);
    BOOST_TEST(figures.both == 1U);
    BOOST_TEST(figures.truncated == 2U);
    BOOST_TEST(figures.none == 1U);  // a truncated one and silence
    BOOST_TEST(figures.failed.size() == 1U);
    add_tcp(figures, cut, "");
    BOOST_TEST(figures.over_tcp == 1U);
    BOOST_TEST(figures.failed.size() == 1U);
    add_tcp(figures, cut, "connect timed out after 2000 ms");
    BOOST_TEST(figures.failed.size() == 2U);
    BOOST_TEST(exit_code_of(figures) == 1);
    BOOST_TEST(
        text_of(figures).find("truncated (TC)         2   which is no answer; over TCP then 1, "
                              "else connect timed out after 2000 ms\n") != std::string::npos,
        text_of(figures));
}

namespace {

agent::SizeTrial trial(std::uint16_t size, unsigned whole, unsigned truncated,
                       std::uint32_t bytes = 0) {
    return {.udp_size = size,
            .asked = 1,
            .whole = whole,
            .truncated = truncated,
            .bytes = bytes,
            .records = static_cast<std::uint16_t>(bytes / 16),
            .trouble = whole + truncated == 0 ? "no answer within 2000 ms" : ""};
}

AnswerSizes sizes_with(const std::vector<agent::SizeTrial>& udp, unsigned over_tcp,
                       std::uint32_t bytes = 1640) {
    AnswerSizes sizes{udp};
    sizes.trials.push_back(trial(0, over_tcp, 0, over_tcp * bytes));
    sizes.trials.back().tcp = true;
    return sizes;
}

}  // namespace

BOOST_AUTO_TEST_CASE(sizes_say_what_does_not_come_through) {
    struct Case {
        AnswerSizes sizes;
        bool fails;
        const char* says;
    };
    const Case cases[] = {
        {sizes_with({trial(0, 1, 0, 60), trial(4096, 1, 0, 60)}, 1, 60), false,
         "each size is answered"},
        {sizes_with({trial(0, 1, 0, 60)}, 0), false, "which a longer answer would need"},
        {sizes_with({trial(0, 0, 1), trial(4096, 1, 0, 1640)}, 1), false, "each size is answered"},
        {sizes_with({trial(0, 0, 1), trial(4096, 0, 0)}, 1), true,
         "The whole answer has 1640 bytes and travels in fragments"},
        // A longer one than the client takes is no matter of fragments.
        {sizes_with({trial(0, 0, 1), trial(1232, 0, 0)}, 1, 900), true,
         "with UDP, EDNS 1232 no answer comes, with smaller sizes one does"},
        {sizes_with({trial(0, 0, 1)}, 0), true, "TCP gives none (no answer within 2000 ms)"},
        {sizes_with({trial(0, 0, 0)}, 0), true, "no size is answered, nor is TCP"},
    };
    for (const Case& each : cases) {
        const std::string text = text_of(each.sizes);
        BOOST_TEST(fails(each.sizes) == each.fails, text);
        BOOST_TEST(text.substr(text.rfind('\n')).find(each.says) != std::string::npos, text);
    }
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
