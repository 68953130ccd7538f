// A run of scenarios on a lab, from the first check to the put-back machine.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "dataplane/base/result.h"
#include "dataplane/port/port.h"
#include "harness/lab/lab.h"
#include "harness/profile/profile.h"
#include "harness/run/held.h"
#include "harness/run/history.h"
#include "harness/scenario/scenario.h"
#include "harness/truth/matrix_size.h"
#include "harness/verdict/result.h"

namespace pathproof::run {

// Hears of a run as it goes on. Calls come one at a time, the last one perhaps from the signal guard's thread.
class RunObserver {
  public:
    virtual ~RunObserver() = default;
    // The run is certain; of the result its head and the items that the lab names are there.
    virtual void begin(const verdict::RunResult& head) = 0;
    virtual void begin_scenario(const std::string& id) = 0;
    // The scenario comes with all its repetitions. Parts that wait for the whole run, such as what
    // its baseline knows, are not in it yet.
    virtual void end_scenario(const verdict::ScenarioResult& scenario) = 0;
    virtual void interrupt(const std::string& sentence) = 0;
};

struct SessionOptions {
    verdict::RunOptions asked;                  // by the command
    std::string command;                        // as typed
    std::string lab = "veth";                   // as the report names it
    std::shared_ptr<lab::Lab> place = nullptr;  // never null in run_session()
    std::optional<profile::Profile> profile;
    Held held = {};  // what the results are held against
    // A calibration of the tester that is older is refused; nothing: any is taken, and none is needed.
    std::optional<double> calibrated_within_s = std::nullopt;
    std::vector<const scenario::Scenario*> scenarios;
    std::string out_dir;
    std::uint64_t seed = 0;  // 0: drawn
    bool use_hugepages = true;
    verdict::Parties parties = {};  // as the report names them
    HistoryChoice history = {};
    std::shared_ptr<RunObserver> observer = nullptr;  // null: nobody listens
    std::chrono::seconds wait{0};                     // for the end of another run that has the lab
    scenario::Calibrate calibrate = scenario::Calibrate::kNo;    // for offload-truth
    truth::MatrixSize least_matrix = truth::MatrixSize::kQuick;  // for offload-truth
    std::optional<scenario::TruthDevice> device = std::nullopt;  // in place of the lab's own
    port::Evidence evidence = port::Evidence::kVirtual;          // the built-in lab's
    std::string evidence_note;                                   // empty: the built-in lab's
};

// Runs the scenarios and judges the run. A scenario that could not be run is a value
// (INCONCLUSIVE, with the error's sentence); an error is returned only when nothing was run. The
// machine is as it was found when this returns.
Result<verdict::RunResult> run_session(const SessionOptions& options);

}  // namespace pathproof::run
