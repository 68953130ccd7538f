// Progress on stderr: one line that is rewritten on a terminal, plain lines otherwise. Each step is
// passed on to the keeper of the cells, too.
#pragma once

#include <atomic>
#include <chrono>
#include <string>

#include "harness/scenario/scenario.h"

namespace pathproof::run {

class StderrProgress : public scenario::Progress {
  public:
    explicit StderrProgress(scenario::Measured& measured);
    ~StderrProgress() override;
    void begin(const std::string& scenario, std::size_t steps) override;
    void step(const std::string& what) override;
    void leave_out(std::size_t steps) override;
    // Prints nothing more from then on. From any thread; a line that is being printed is waited
    // for, but not for long: nobody may read it.
    void silence();

  private:
    void say(const std::string& text);

    scenario::Measured& measured_;
    std::timed_mutex saying_;
    std::atomic<bool> silent_ = false;

    const bool terminal_;
    const std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
    std::string scenario_;
    std::size_t steps_ = 0;
    std::size_t done_ = 0;
};

}  // namespace pathproof::run
