// Following packets through the kernel.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "dataplane/base/result.h"
#include "harness/fate/flow.h"
#include "harness/fate/summary.h"

namespace pathproof::fate {

struct FollowOptions {
    std::vector<Flow> flows;  // at most FATE_MOST_FILTERS; a Flow{} is all packets
    // Packets are looked at where they are dropped, and not before: their way and conntrack's part in it
    // are not told, and all others cost nothing.
    bool only_drops = false;
    // Packets that are given one by one, and all that were dropped; the others are counted by their ends.
    std::size_t most_packets = 50'000;
};

// Follows the packets of all namespaces of this machine from the return of start() on. A thread of its
// own takes the records.
class Follower {
  public:
    // kNotPermitted without CAP_BPF and CAP_PERFMON, kKernelLacks without BTF: one sentence each.
    static Result<std::unique_ptr<Follower>> start(const FollowOptions& options);
    virtual ~Follower() = default;

    // Ends the watch. Packets without an end by now are held.
    virtual Fates stop() = 0;
};

}  // namespace pathproof::fate
