// Following packets through the kernel.
#pragma once

#include <memory>

#include "dataplane/base/result.h"
#include "harness/fate/flow.h"
#include "harness/fate/summary.h"

namespace pathproof::fate {

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
