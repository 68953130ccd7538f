// Resolved conntrack clashes and late answers, found in a log of events.
//
// When two packets of one 5-tuple are tracked at the same time and DNATed to different backends,
// the kernel keeps the loser's entry in the reply direction only, for one second
// (nf_ct_resolve_clash_harder). Such an entry is in no dump and has no NEW event, but its UPDATE
// and DESTROY events carry status bit 12 (IPS_NAT_CLASH).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "harness/netfilter/entry.h"

namespace pathproof::netfilter {

struct Clash {
    enum class Fate {
        kAnswered,    // a reply came within the entry's second: the client got it translated
        kUnanswered,  // destroyed without a reply
        kOpen,        // neither was seen before the log ended
    };
    Entry hidden;                 // as the last event about it said; both tuples
    std::optional<Entry> winner;  // the entry that was inserted for the same original tuple
    Fate fate = Fate::kOpen;
    std::optional<std::int64_t> answered_ns;  // when the reply was reported
    std::optional<std::int64_t>
        destroyed_ns;  // up to 60 s after the entry's end: the collector's interval
};

// An answer that came when the entry that would have translated it was gone: it goes out from the
// backend's own address and is tracked as a flow of its own.
struct LateAnswer {
    Event event;                       // the NEW event of that flow
    std::optional<std::size_t> clash;  // index of the clash whose hidden entry it belongs to
    std::optional<Entry> known;  // else: the translated entry of the same client that it belongs to
};

struct ClashReport {
    std::vector<Clash> clashes;
    std::vector<LateAnswer> late_answers;
    std::uint64_t overruns = 0;  // of the log: when not zero, the counts are lower bounds

    std::uint64_t count(Clash::Fate fate) const;
};

ClashReport find_clashes(const EventLog& log);

}  // namespace pathproof::netfilter
