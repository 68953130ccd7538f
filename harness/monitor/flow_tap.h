// A packet socket that sees the packets of one flow.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "dataplane/base/result.h"
#include "harness/monitor/flow_story.h"

namespace pathproof::monitor {

class FlowTap {
  public:
    // Listens on every device of the namespace (empty: the caller's) from its return on, at the
    // cost of a socket filter for each packet. Needs CAP_NET_RAW there (kNotPermitted).
    static Result<std::unique_ptr<FlowTap>> start(const std::string& netns,
                                                  const netfilter::Tuple& tuple);
    FlowTap(const FlowTap&) = delete;
    FlowTap& operator=(const FlowTap&) = delete;
    ~FlowTap();

    // Gives all that waits in the socket, without waiting for more.
    void drain(const std::function<void(const FlowPacket&)>& visit);

  private:
    FlowTap();
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace pathproof::monitor
