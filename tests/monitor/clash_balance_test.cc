#include "harness/monitor/clash_balance.h"

#include <boost/test/unit_test.hpp>

using namespace pathproof;
using namespace pathproof::monitor;
using netfilter::Clash;

namespace {

constexpr std::int64_t kFrom = 1'000, kUntil = 2'000;

Clash clash(std::optional<std::int64_t> winner_ns, std::int64_t destroyed_ns) {
    Clash value;
    value.winner_ns = winner_ns;
    value.destroyed_ns = destroyed_ns;
    return value;
}

ClashBalance balance_of(const std::vector<Clash>& clashes) {
    BalanceCounter counter(kFrom);
    counter.balance = {.resolved = 5, .resolved_known = true};
    counter.end(kUntil);
    for (const Clash& one : clashes) {
        counter.found(one);
        counter.destroyed(one);
    }
    return counter.balance;
}

bool says(const ClashBalance& balance, const std::string& words) {
    for (const std::string& line : explain(balance)) {
        if (line.find(words) != std::string::npos) {
            return true;
        }
    }
    return false;
}

}  // namespace

BOOST_AUTO_TEST_CASE(clashes_count_by_when_their_winner_was_inserted) {
    const ClashBalance balance = balance_of({
        clash(kFrom - 1, kFrom + 1),     // before
        clash(std::nullopt, kFrom + 1),  // before: its winner is not among the flows seen
        clash(kFrom, kUntil - 1),        // inside, and gone by the end
        clash(kUntil, kUntil + 1),       // inside, and gone after the end
        clash(kUntil + 1, kUntil + 2),   // after
    });
    BOOST_TEST(balance.hidden == 2U);
    BOOST_TEST(balance.hidden_before == 2U);
    BOOST_TEST(balance.hidden_gone_later == 1U);
    BOOST_TEST(balance.merged() == 3U);
    BOOST_TEST(balance.agree());
    BOOST_TEST(says(balance, "5 clashes resolved (clash_resolve): 2 by a hidden entry, 3 merged"));
    BOOST_TEST(says(balance, "2 more hidden entries have no winner"));
}

BOOST_AUTO_TEST_CASE(more_hidden_entries_than_resolved_clashes_do_not_agree) {
    ClashBalance balance{.resolved = 1, .resolved_known = true, .hidden = 2};
    BOOST_TEST(!balance.agree());
    BOOST_TEST(says(balance, "they do not agree"));
    balance.resolved_known = false;
    BOOST_TEST(balance.agree());
    BOOST_TEST(says(balance, "this kernel does not count resolved clashes"));
}

BOOST_AUTO_TEST_CASE(no_more_hidden_entries_are_said_to_be_unlisted_than_are) {
    ClashBalance balance{.entries = 45, .listed = 28, .hidden_gone_later = 17};
    BOOST_TEST(says(balance, "of the 17 others 17 were hidden entries"));
    balance.hidden_gone_later = 19;
    BOOST_TEST(!says(balance, "of the 17 others"));
    BOOST_TEST(says(balance, "19 hidden entries were seen to go while it was counted"));
}

BOOST_AUTO_TEST_CASE(after_lost_events_counts_are_lower_bounds) {
    const ClashBalance balance{.resolved = 9, .resolved_known = true, .hidden = 4, .overruns = 2};
    BOOST_TEST(says(balance, "at least 4 by a hidden entry"));
    BOOST_TEST(says(balance, "events were lost 2 times"));
    BOOST_TEST(!says(balance, "merged into"));
}
