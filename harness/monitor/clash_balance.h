// The hidden entries that events tell of, beside what the kernel counted over the same time.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/netfilter/clashes.h"
#include "harness/netfilter/entry.h"
#include "harness/netfilter/stats.h"

namespace pathproof::monitor {

struct ClashBalance {
    // Growth of clash_resolve: hidden entries inserted, and packets that were given the winner's
    // entry because both had the same backend.
    std::uint64_t resolved = 0;
    bool resolved_known = false;  // kernels before 5.10 do not count them
    // Hidden entries by when their clash was: inside the time, or before it. After it: not counted.
    std::uint64_t hidden = 0;
    std::uint64_t hidden_before = 0;
    std::uint64_t overruns = 0;  // events were lost: hidden and hidden_before are lower bounds

    // Entries that the table counts and a dump does not list: hidden ones, and expired ones that
    // nobody has collected yet. Both read at the end of the time.
    std::uint64_t entries = 0;
    std::uint64_t listed = 0;
    // Hidden entries that were seen to go after the end: they were among those not listed.
    std::uint64_t hidden_gone_later = 0;

    std::uint64_t merged() const { return hidden < resolved ? resolved - hidden : 0; }
    std::uint64_t unlisted() const { return listed < entries ? entries - listed : 0; }
    // Returns whether the counter explains all hidden entries; there cannot be more of them than
    // clashes.
    bool agree() const { return !resolved_known || hidden <= resolved; }
};

// Puts a clash to the side of the time [from_ns, until_ns] on which its winner was inserted. One
// without a winner was before: the winner's NEW event comes within moments of the clash.
class BalanceCounter {
  public:
    explicit BalanceCounter(std::int64_t from_ns) : from_ns_(from_ns) {}
    void end(std::int64_t until_ns) { until_ns_ = until_ns; }

    void found(const netfilter::Clash& clash);
    void destroyed(const netfilter::Clash& clash);

    // Counts `hidden`, `hidden_before` and `hidden_gone_later`; the rest is the caller's.
    ClashBalance balance;

  private:
    std::int64_t from_ns_;
    std::int64_t until_ns_ = INT64_MAX;
};

// A sentence each: what the clashes came to, and how the table's count fits.
std::vector<std::string> explain(const ClashBalance& balance);

}  // namespace pathproof::monitor
