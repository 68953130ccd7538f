#include "harness/lab/dut_agent.h"

#include <algorithm>
#include <iterator>

namespace pathproof::lab {
namespace {

constexpr std::chrono::seconds kBetweenBeats{5};

}  // namespace

DutAgent::DutAgent(std::shared_ptr<agent::Client> agent)
    : agent_(std::move(agent)), beats_([this] { beat(); }) {}

DutAgent::~DutAgent() {
    {
        const std::lock_guard lock(mutex_);
        ending_ = true;
    }
    ended_.notify_all();
    beats_.join();
}

void DutAgent::put_back() {
    auto put = agent_->put_back();
    if (put) {
        std::ranges::move(*put, std::back_inserter(left_));
    } else if (outcome_) {
        outcome_ = pass_on(put.error());
    }
}

Result<std::vector<std::string>> DutAgent::outcome() const {
    return outcome_ ? Result<std::vector<std::string>>(left_) : pass_on(outcome_.error());
}

void DutAgent::beat() {
    std::unique_lock lock(mutex_);
    while (!ended_.wait_for(lock, kBetweenBeats, [this] { return ending_; })) {
        static_cast<void>(agent_->beat());  // one that is gone is told of by the next question
    }
}

}  // namespace pathproof::lab
