// Results kept for a run that ends early: the cells of the scenario in progress, and the facts of
// the machines. A signal's thread may read them.
#pragma once

#include <chrono>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "harness/verdict/result.h"

namespace pathproof::scenario {

class Measured {
  public:
    // `head`: what is known of the scenario: id, title, question.
    void begin(const verdict::ScenarioResult& head);
    // A cell as it stands by itself.
    void add(const verdict::Cell& cell);
    // The step that is being made, as the progress names it.
    void step(const std::string& what);
    // Seconds from the end of the cell before, or from begin(), to add() of the cell with that id; nothing: no
    // cell of that id was added.
    std::optional<double> seconds_of(const std::string& id) const;
    // Returns the cells measured since begin() as INCONCLUSIVE, with the unfinished step as an
    // ERROR and `why` in both; nothing if no scenario is in progress.
    std::optional<verdict::ScenarioResult> cut_short(const std::string& why) const;
    void end();

    // Facts of a device of the DUT or a port (once: a repetition knows it again), and the DPDK that the testers run on.
    void know(verdict::FactGroup device);
    // A device under test, once: by its title, or by its name where the run has read it before (without a title),
    // which then gets the title.
    void know_item(verdict::Item item);
    // Adds the item's readings when it is given up, or when the run ends.
    void end_item(const verdict::Item& item, const std::vector<verdict::Reading>& now);
    // A host that comes and goes with a scenario.
    void know_host(verdict::HostWatch host);
    std::vector<verdict::Item> items() const;
    std::vector<verdict::HostWatch> hosts() const;
    void know_dpdk(const std::string& version);
    std::vector<verdict::FactGroup> devices() const;
    std::string dpdk_version() const;

  private:
    mutable std::mutex mutex_;
    bool in_progress_ = false;
    std::string step_;
    verdict::ScenarioResult result_;
    std::chrono::steady_clock::time_point last_end_;
    std::map<std::string, double> seconds_;  // by the cell's id
    std::vector<verdict::FactGroup> devices_;
    std::vector<verdict::Item> items_;
    std::vector<verdict::HostWatch> hosts_;
    std::string dpdk_version_;
};

}  // namespace pathproof::scenario
