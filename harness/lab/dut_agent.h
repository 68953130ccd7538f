// The agent on a DUT that hears of us all the time: it puts its host back when it hears nothing for
// 20 s.
#pragma once

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "harness/agent/client.h"

namespace pathproof::lab {

class DutAgent {
  public:
    explicit DutAgent(std::shared_ptr<agent::Client> agent);
    DutAgent(const DutAgent&) = delete;
    DutAgent& operator=(const DutAgent&) = delete;

    const std::shared_ptr<agent::Client>& agent() const { return agent_; }
    // Has the agent put its changes back. outcome() gives its error, or what others changed since.
    void put_back();
    Result<std::vector<std::string>> outcome() const;

  private:
    void beat(const std::stop_token& ended);

    std::shared_ptr<agent::Client> agent_;
    Status outcome_;
    std::vector<std::string> left_;
    std::jthread beats_;
};

}  // namespace pathproof::lab
