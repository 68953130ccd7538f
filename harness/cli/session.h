// What `qualify` and `repro` share: the run of some scenarios on a lab, from the first check to the
// put-back machine.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "dataplane/base/result.h"
#include "dataplane/port/port.h"
#include "harness/lab/lab.h"
#include "harness/profile/profile.h"
#include "harness/scenario/scenario.h"
#include "harness/verdict/result.h"

namespace CLI {
class App;
}

namespace pathproof::cli {

struct SessionOptions {
    verdict::RunOptions asked;  // by the command
    std::string command;        // as typed
    std::string lab = "veth";
    std::shared_ptr<lab::Lab> place = nullptr;  // never null in run_session()
    std::optional<profile::Profile> profile;
    std::vector<const scenario::Scenario*> scenarios;
    std::string out_dir;
    std::uint64_t seed = 0;  // 0: drawn
    verdict::ScenarioOptions given = {};
    bool use_hugepages = true;
    scenario::Calibrate calibrate = scenario::Calibrate::kNo;    // of offload-truth
    std::optional<scenario::TruthDevice> device = std::nullopt;  // in place of the lab's own
    port::Evidence evidence = port::Evidence::kVirtual;          // as the built-in lab's
    std::string evidence_note;                                   // empty: that of the built-in lab
};

// Runs the scenarios and judges the run. A scenario that could not be made is a value
// (INCONCLUSIVE, with the error's sentence); an error is returned only when nothing was run. The
// machine is as it was found when this returns.
Result<verdict::RunResult> run_session(const SessionOptions& options);

// The end of a run that gives `exit_code`: writes its report into `out_dir` (empty: none), has
// `print` say the verdict and where the report is (empty: nowhere), and says what was lost. Gives
// the exit code: 3 where something was.
int conclude(const verdict::RunResult& result, const std::string& out_dir, int exit_code,
             const std::function<void(const std::string& report)>& print);

// --lab
void add_lab_option(CLI::App& command, std::string& lab);
// The same lab with an option more: "qemu:nic=e1000e,rtl8139,kernel=bzImage".
std::string lab_with(const std::string& lab, const std::string& key, const std::string& value);
// Has the session run on the lab that `--lab` names: a file's devices are looked at, and what the
// report may say follows from them. Errors: those of open_lab(), and of the devices.
Status take_lab(const std::string& name, SessionOptions& session);
// kBadInput where the lab lacks what one of the session's scenarios takes.
Status check_roles(const SessionOptions& session);

}  // namespace pathproof::cli
