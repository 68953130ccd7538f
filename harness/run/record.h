// The run so far: what is measured and concluded, from the first scenario to the judged result.
#pragma once

#include <chrono>
#include <mutex>
#include <string>
#include <vector>

#include "harness/run/session.h"
#include "harness/run/watch.h"
#include "harness/scenario/measured.h"
#include "harness/verdict/preflight.h"
#include "harness/verdict/prices.h"

namespace pathproof::run {

// The signal guard's thread reads it while the main thread may still write.
class Record {
  public:
    // `options`, whose seed is drawn, must outlive it.
    explicit Record(const SessionOptions& options);

    scenario::Measured& measured() { return measured_; }
    const std::string& started_at() const { return result_.started_at; }

    // Watches hosts and devices from now on; ends that while the lab's agents are there.
    void begin_watch();
    void end_watch();

    // Adds one repetition of a scenario; the last one makes a result of them.
    void add(verdict::ScenarioResult scenario);
    // Adds a scenario for which the lab has no role.
    void add_not_run(verdict::ScenarioResult scenario);
    void add_prices(verdict::PriceTable table);
    void add_preflight(verdict::Preflight looked);

    // Notes in the result which cells were asked for and planned.
    void describe(verdict::ScenarioResult& scenario) const;

    // The folder in which a repetition keeps its evidence; empty: it keeps none.
    std::string folder(std::size_t repetition) const;

    // The run, judged; with an interruption's sentence it is INCOMPLETE whatever was measured.
    verdict::RunResult finish(const std::string& interruption);

  private:
    void add_environment(verdict::RunResult& result);
    void add_watch(verdict::RunResult& result);
    void attach_prices(verdict::RunResult& result) const;
    void list_left_out(std::vector<std::string>& reasons) const;
    verdict::ScenarioResult combined(std::vector<verdict::ScenarioResult> all) const;

    const SessionOptions& options_;
    const std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
    std::mutex mutex_;
    verdict::RunResult result_;
    std::vector<verdict::ScenarioResult> repetitions_;  // of the scenario in progress
    scenario::Measured measured_;
    std::optional<RunWatch> watch_;
    std::optional<std::vector<verdict::HostWatch>> hosts_;  // once the watch has ended
};

}  // namespace pathproof::run
