// Resolved conntrack clashes and late answers, found in conntrack's events.
//
// When two packets of one 5-tuple are tracked at the same time and DNATed to different backends,
// the kernel keeps the loser's entry in the reply direction only, for one second
// (nf_ct_resolve_clash_harder). Such an entry is in no dump and has no NEW event, but its UPDATE
// and DESTROY events carry status bit 12 (IPS_NAT_CLASH).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "harness/netfilter/entry.h"
#include "harness/netfilter/filter.h"

namespace pathproof::netfilter {

struct Clash {
    enum class Fate {
        kAnswered,    // a reply came within the entry's second: the client got it translated
        kUnanswered,  // destroyed without a reply
        kOpen,        // neither was seen before the log ended
    };
    std::size_t number = 0;       // from 0 on, in the order they were found
    Entry hidden;                 // as the last event about it said; both tuples
    std::optional<Entry> winner;  // the entry that was inserted for the same original tuple
    std::optional<std::int64_t> winner_ns;  // when the NEW event of the winner was read
    Fate fate = Fate::kOpen;
    std::int64_t found_ns = 0;                // when the first event about it was read
    std::optional<std::int64_t> answered_ns;  // when the reply was reported
    // Up to 60 s after the entry's end: the collector's interval.
    std::optional<std::int64_t> destroyed_ns;
};
const char* name(Clash::Fate fate);  // "answered", "unanswered", "open"

// An answer that came when the entry that would have translated it was gone: it goes out from the
// backend's own address and is tracked as a flow of its own.
struct LateAnswer {
    Event event;                       // the NEW event of that flow
    std::optional<std::size_t> clash;  // number of the clash whose hidden entry it belongs to
    std::optional<Entry> known;  // else: the translated entry of the same client that it belongs to
    std::size_t number = 0;      // from 0 on, in the order they were found
};

struct ClashCounts {
    std::uint64_t hidden = 0;  // hidden entries found: the sum of the three fates
    std::uint64_t answered = 0;
    std::uint64_t unanswered = 0;
    std::uint64_t open = 0;
    // Hidden entries whose winner's NEW event we did not see: it is older than the listening, or
    // forgotten.
    std::uint64_t without_winner = 0;
    std::uint64_t late_answers = 0;        // all of them
    std::uint64_t late_after_a_clash = 0;  // of these, those of a hidden entry that was found
    bool operator==(const ClashCounts&) const = default;
};

// Callbacks for what a tracker finds, called as it finds it. The references hold during the call
// only.
struct ClashSink {
    std::function<void(const Clash&)> found;      // the first event about a hidden entry
    std::function<void(const Clash&)> settled;    // its fate is known; once for each clash
    std::function<void(const Clash&)> destroyed;  // the entry has gone, after it was settled
    // Once for each late answer, and once more if its clash is found only afterwards: a hidden
    // entry that nobody answers is first heard of when it is destroyed.
    std::function<void(const LateAnswer&)> late_answer;
};

// Limits of a tracker's memory. It forgets what exceeds them, oldest first.
struct ClashLimits {
    // Flows that may turn out to be winners or late answers; about 160 bytes each. A hidden entry
    // is heard of up to a minute after its winner. When a flow is forgotten, its clash has no known
    // winner and a late answer that was heard of before its clash is not joined to it.
    std::size_t flows = std::size_t{1} << 18;
    std::size_t clashes = std::size_t{1} << 14;      // that late answers may still come for
    std::size_t undestroyed = std::size_t{1} << 20;  // hidden entries heard of and not gone yet
};

// Finds clashes event by event, in bounded memory. Protocols whose clashes the kernel never
// resolves (TCP, SCTP, DCCP, ICMP) cost nothing.
class ClashTracker {
  public:
    // Finds only clashes whose hidden entry matches `filter`, and late answers to such a clash or
    // flow. The events must not be filtered by what a late answer does not share: its service
    // address.
    explicit ClashTracker(ClashSink sink = {}, ClashLimits limits = {}, Filter filter = {});
    ~ClashTracker();

    // Events in the order in which the listener gave them.
    void take(const Event& event);

    const ClashCounts& counts() const;

  private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

struct ClashReport {
    std::vector<Clash> clashes;  // by number
    std::vector<LateAnswer> late_answers;
    std::uint64_t overruns = 0;  // of the log: when not zero, the counts are lower bounds

    std::uint64_t count(Clash::Fate fate) const;
};

// Finds the clashes of a whole log at once; nothing is forgotten.
ClashReport find_clashes(const EventLog& log);

}  // namespace pathproof::netfilter
