// The cells of the scenario in progress: what a run keeps that ends before its time. A signal's
// thread may read it.
#pragma once

#include <mutex>
#include <optional>
#include <string>

#include "harness/verdict/result.h"

namespace pathproof::scenario {

class Measured {
  public:
    // `head`: what is known of the scenario: id, title, question.
    void begin(const verdict::ScenarioResult& head);
    // A cell as it stands by itself; `control`: among the controls.
    void add(const verdict::Cell& cell, bool control = false);
    // The step that is being made, as the progress names it.
    void step(const std::string& what);
    // What was measured since begin(), INCONCLUSIVE, with the unfinished step as an ERROR and `why`
    // in both; nothing if no scenario is in progress.
    std::optional<verdict::ScenarioResult> cut_short(const std::string& why) const;
    void end();

  private:
    mutable std::mutex mutex_;
    bool in_progress_ = false;
    std::string step_;
    verdict::ScenarioResult result_;
};

}  // namespace pathproof::scenario
