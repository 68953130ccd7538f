#include "harness/drops/agreement.h"

#include <boost/test/unit_test.hpp>

#include "tests/contains.h"

using namespace pathproof;
using namespace pathproof::drops;

namespace {

DropCount netfilter_drop(const char* location, FlowState flow, std::uint64_t packets) {
    return {.reason = "NETFILTER_DROP",
            .location = location,
            .protocol = "ip/udp",
            .flow = flow,
            .packets = packets};
}

std::vector<netfilter::CpuStats> counters(std::uint64_t insert_failed, std::uint64_t drop,
                                          std::uint64_t chain_too_long = 0) {
    // On two CPUs: what counts is the sum.
    return {{.cpu = 0, .counters = {{"insert_failed", insert_failed}, {"drop", 0}}},
            {.cpu = 1,
             .counters = {{"insert_failed", 0}, {"drop", drop}, {"chaintoolong", chain_too_long}}}};
}

DropSummary seen(std::vector<DropCount> counts) {
    return {.scope = Scope::kNamespace, .counts = std::move(counts)};
}

using pathproof::test::contains;

}  // namespace

BOOST_AUTO_TEST_CASE(clashes_that_were_all_seen_agree) {
    const DropSummary drops =
        seen({netfilter_drop("nf_hook_slow+0xa7", FlowState::kNewPastNat, 2448)});
    const Agreement agreement = compare(drops, counters(2448, 2448));
    BOOST_TEST(agreement.agree());
    BOOST_TEST(agreement.refused == 2448U);
    BOOST_TEST(agreement.seen_past_nat == 2448U);
    BOOST_TEST(contains(explain(agreement, drops), "they agree: conntrack refused 2448 packets"));
}

BOOST_AUTO_TEST_CASE(a_full_table_counts_as_refused_too) {
    const DropSummary drops =
        seen({netfilter_drop("nf_hook_slow+0xa7", FlowState::kNone, 9),
              netfilter_drop("nf_hook_slow+0xa7", FlowState::kNewPastNat, 2)});
    BOOST_TEST(compare(drops, counters(2, 11)).agree());
    BOOST_TEST(!compare(drops, counters(2, 10)).agree());
    BOOST_TEST(compare(drops, counters(2, 10, 1)).agree());
}

BOOST_AUTO_TEST_CASE(what_rules_dropped_is_told_apart) {
    const DropSummary drops =
        seen({netfilter_drop("nft_do_chain+0x3e8", FlowState::kNew, 50),
              netfilter_drop("nf_hook_slow_list+0x10", FlowState::kKnown, 5),
              netfilter_drop("nf_hook_slow+0xa7", FlowState::kNew, 3),
              {.reason = "NO_SOCKET", .location = "nf_hook_slow+0xa7", .packets = 100}});
    const Agreement agreement = compare(drops, counters(3, 3));
    BOOST_TEST(agreement.agree());
    BOOST_TEST(agreement.by_rules == 55U);
    BOOST_TEST(contains(explain(agreement, drops), "rules dropped 55 more"));
}

BOOST_AUTO_TEST_CASE(a_difference_is_printed_with_what_it_can_come_from) {
    DropSummary drops = seen({netfilter_drop("nf_hook_slow+0xa7", FlowState::kUntold, 30)});
    const Agreement more = compare(drops, counters(10, 10));
    BOOST_TEST(more.difference() == 20);
    BOOST_TEST(contains(explain(more, drops), "20 more"));
    BOOST_TEST(!contains(explain(more, drops), "other namespaces"));
    drops.scope = Scope::kMachine;
    BOOST_TEST(contains(explain(more, drops), "other namespaces"));

    const Agreement fewer = compare(drops, counters(40, 40));
    BOOST_TEST(fewer.difference() == -10);
    BOOST_TEST(contains(explain(fewer, drops), "10 fewer: unexplained"));
    drops.unspecified = 11;
    BOOST_TEST(contains(explain(fewer, drops), "freed without a reason, as 11 were"));
    drops.lost = 12;
    BOOST_TEST(contains(explain(fewer, drops), "10 fewer: 12 events were lost"));
}

BOOST_AUTO_TEST_CASE(a_place_without_a_name_may_be_conntrack) {
    const DropSummary drops =
        seen({netfilter_drop("0xffffffff81a2b3c4", FlowState::kNewPastNat, 4)});
    BOOST_TEST(compare(drops, counters(4, 4)).agree());
}
