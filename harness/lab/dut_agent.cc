#include "harness/lab/dut_agent.h"

#include <algorithm>
#include <condition_variable>
#include <iterator>
#include <mutex>

namespace pathproof::lab {
namespace {

constexpr std::chrono::seconds kBetweenBeats{5};

}  // namespace

DutAgent::DutAgent(std::shared_ptr<agent::Client> agent)
    : agent_(std::move(agent)), beats_([this](const std::stop_token& ended) { beat(ended); }) {}

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

void DutAgent::beat(const std::stop_token& ended) {
    std::mutex mutex;
    std::unique_lock lock(mutex);
    std::condition_variable_any pause;
    const auto is_over = [&] { return ended.stop_requested(); };
    // A stop request just as the wait begins makes the wait return false (libstdc++ 12).
    while (!pause.wait_for(lock, ended, kBetweenBeats, is_over) && !is_over()) {
        static_cast<void>(agent_->beat());  // one that is gone is told of by the next question
    }
}

}  // namespace pathproof::lab
