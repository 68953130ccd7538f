// The host of a device whose offloads are judged: what is changed there is undone whatever becomes
// of the run. On this machine it stands in our own journal, on another in that of its agent.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "harness/agent/client.h"
#include "harness/lab/journal.h"

namespace pathproof::scenario {

class TruthHost {
  public:
    // A namespace of this machine (empty: ours), and the agent in it.
    TruthHost(lab::Journal& journal, std::string netns, agent::Client& agent)
        : journal_(&journal), netns_(std::move(netns)), agent_(&agent) {}
    // Another machine.
    explicit TruthHost(agent::Client& agent) : agent_(&agent) {}

    agent::Client& agent() const { return *agent_; }
    // As agent::Client has them. Both wait for the link: drivers of NICs reset them for a feature.
    Result<agent::FeatureTrial> try_feature(const std::string& device, const std::string& name,
                                            bool on) const;
    Status request_features(const std::string& device,
                            const std::vector<std::pair<std::string, bool>>& wanted) const;
    // As lab::Journal has them.
    Status change_ip(const std::string& device, const std::string& change,
                     const std::string& undo) const;
    Status undo_ip(const std::string& device, const std::string& undo) const;

  private:
    Status wait_for_link(const std::string& device, const std::string& changed) const;

    lab::Journal* journal_ = nullptr;
    std::string netns_;
    agent::Client* agent_;
};

}  // namespace pathproof::scenario
