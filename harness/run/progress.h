// Progress on stderr: one line that is rewritten on a terminal, plain lines otherwise. Each step is
// passed on to the keeper of the cells, too.
#pragma once

#include <atomic>
#include <chrono>
#include <string>

#include "harness/run/timings.h"
#include "harness/scenario/scenario.h"

namespace pathproof::run {

class StderrProgress : public scenario::Progress {
  public:
    explicit StderrProgress(scenario::Measured& measured);
    ~StderrProgress() override;
    // The scenarios of the run in their order, for what is said of the time left.
    void expect(std::vector<ExpectedTime> scenarios) { expected_ = std::move(scenarios); }
    void begin(const std::string& scenario, std::size_t steps) override;
    void step(const std::string& what) override;
    void leave_out(std::size_t steps) override;
    // Prints nothing more from then on. From any thread; a line that is being printed is waited
    // for, but not for long: nobody may read it.
    void silence();

  private:
    void say(const std::string& text);
    // "scenario 2 of 5, about 3 min left"; of one that is not among the expected nothing.
    std::string place(std::size_t steps_done) const;

    scenario::Measured& measured_;
    std::timed_mutex saying_;
    std::atomic<bool> silent_ = false;

    const bool terminal_;
    const std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
    std::vector<ExpectedTime> expected_;
    std::string scenario_;
    std::size_t steps_ = 0;
    std::size_t done_ = 0;
};

}  // namespace pathproof::run
