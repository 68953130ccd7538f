// The host of a device whose offloads are judged: its agent makes each change, notes it in the host's journal and so
// undoes it whatever becomes of the run.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "harness/agent/client.h"

namespace pathproof::scenario {

class TruthHost {
  public:
    explicit TruthHost(agent::Client& agent) : agent_(&agent) {}

    agent::Client& agent() const { return *agent_; }
    // As agent::Client has them. Both wait for the link: drivers of NICs reset them for a feature.
    Result<agent::FeatureTrial> try_feature(const std::string& device, const std::string& name,
                                            bool on) const;
    Status request_features(const std::string& device,
                            const std::vector<std::pair<std::string, bool>>& wanted) const;
    // A command of ip(8), and the one that undoes it: at the end of the run, or by undo_ip() before.
    Status change_ip(const std::string& device, const std::string& change,
                     const std::string& undo) const;
    Status undo_ip(const std::string& device, const std::string& undo) const;

  private:
    Status wait_for_link(const std::string& device, const std::string& changed) const;

    agent::Client* agent_;
};

}  // namespace pathproof::scenario
