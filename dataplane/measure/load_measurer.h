// Carries out the trials of a search with a load run: the one place where searches and ports meet.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "dataplane/load/load_run.h"
#include "dataplane/measure/stepped_source.h"
#include "dataplane/search/trial.h"

namespace pathproof::measure {

struct MeasurerPlan {
    load::Roles roles;
    load::LoadPlan load;
    Nanoseconds drain = std::chrono::milliseconds(100);  // for the last frames of a trial, at most
    // A trial whose offered load is below the intended by this share at most is used at what was
    // sent; beyond it, what was not sent is the tester's loss.
    double offered_tolerance = 0.005;
};

class LoadMeasurer final : public search::Measurer {
  public:
    // Starts the workers. `stop` ends a trial before its time. Errors: those of LoadRun::start.
    static Result<std::unique_ptr<LoadMeasurer>> start(port::Eal& eal, const MeasurerPlan& plan,
                                                       const std::atomic<bool>& stop);

    // Frames that come back whole and more than once count once; those with wrong checksums count
    // as lost, as do those that come after the drain. Errors: those of LoadRun::run; a change of
    // load with more than one receiver, which cannot tell the last loss.
    Result<search::TrialOutput> measure(const search::TrialInput& input) override;

    // Latency that the tester itself adds, measured as its workers started: see load_run.h. Known
    // after the first trial.
    const load::OwnBias& own_bias() const { return bias_; }
    // The counter's lead over CLOCK_MONOTONIC at the last trial, in millionths; nothing within
    // the first second.
    std::optional<double> clock_ppm() const { return clock_ppm_; }

  private:
    LoadMeasurer(port::Eal& eal, MeasurerPlan plan, const std::atomic<bool>& stop)
        : eal_(eal), plan_(std::move(plan)), stop_(stop) {}

    Status start_steady();
    Result<load::TrialReport> run_steady(const search::TrialInput& input);
    Result<load::TrialReport> run_change(const search::TrialInput& input);

    port::Eal& eal_;
    MeasurerPlan plan_;
    const std::atomic<bool>& stop_;
    std::unique_ptr<load::LoadRun> run_;  // null: to be started with the next trial
    load::OwnBias bias_;
    std::optional<double> clock_ppm_;
};

// The trial as a search sees it, all but what it cost; for its tests.
search::TrialOutput output_of(const search::TrialInput& input, const load::TrialReport& report,
                              double offered_tolerance);

// Returns when the last lost frame left, counted from the change, by what is known of each sender's
// stream. `unsent` of the planned frames, at the end, never left and are not lost. Nothing: no
// frame sent after the change was lost.
std::optional<Nanoseconds> last_loss(const std::vector<Steps>& senders,
                                     const std::vector<judge::SequenceTotals>& streams,
                                     std::uint64_t unsent);

}  // namespace pathproof::measure
