// Joins what the ledger saw of every query pair to what conntrack said of it: which entries the pair made, which
// clash was resolved by a hidden entry, at which insertion a query died, which answer came back un-translated.
// What cannot be joined is counted as unexplained, never left out.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "dataplane/judge/pair_report.h"
#include "dataplane/traffic/pair_plan.h"
#include "harness/netfilter/entry.h"

namespace pathproof::join {

// Why one query did not get its answer, or how its pair was saved; the signatures are conntrack events.
enum class Fate : std::uint8_t {
    kDroppedAtInsertion,  // another packet's entry took the tuple first: insert_failed and drop
    kUntranslatedAnswer,  // the hidden entry had expired: the answer came from the backend's own address
    kUnexplained,
};
const char* name(Fate fate);

// One query that did not end well, with the events that tell why.
struct QueryStory {
    std::uint32_t pair = 0;
    std::uint8_t member = 0;
    judge::QueryState state = judge::QueryState::kNever;
    Fate fate = Fate::kUnexplained;
    std::string query;   // the tuple it left with
    std::string winner;  // the entry that stood in its way: original > reply tuple; empty when there is none
    std::string event;   // the event that proves the fate
};

struct PairFindings {
    std::uint64_t pairs = 0;
    std::uint64_t both_answered = 0;
    std::uint64_t with_loss = 0;          // pairs with at least one query that got no answer
    std::uint64_t with_misdelivery = 0;   // pairs with an answer that a client socket would throw away
    std::uint64_t met_two_backends = 0;   // the responder saw the two halves at different addresses
    std::uint64_t hidden_entries = 0;     // clashes resolved by a NAT_CLASH entry: status bit 12 in their events
    std::uint64_t hidden_unanswered = 0;  // of these: destroyed without an UPDATE, so no reply came in time
    std::uint64_t two_backends_without_hidden = 0;  // a race that conntrack's events do not show
    std::uint64_t lost = 0;               // queries
    std::uint64_t misdelivered = 0;       // queries
    std::uint64_t dropped_at_insertion = 0;
    std::uint64_t untranslated = 0;
    std::uint64_t unexplained = 0;
    std::vector<QueryStory> stories;      // the first kStories of those that did not end well
    static constexpr std::size_t kStories = 12;
};

// `insert_failed` is the counter's growth over the run: no more queries are called dropped at insertion than it
// counted; the rest is unexplained. With `log.overruns` events are missing and the caller must not judge by them.
PairFindings join_pairs(const traffic::PairPlan& plan, const judge::PairReport& report,
                        const netfilter::EventLog& log, std::uint64_t insert_failed);

}  // namespace pathproof::join
