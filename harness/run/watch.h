// Watches the hosts of a run from its begin to its end: their kernels' logs and taint, temperatures, and the
// readings of the devices that the lab names.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/fingerprint/kernel_log.h"
#include "harness/fingerprint/nic.h"
#include "harness/lab/lab.h"
#include "harness/scenario/measured.h"
#include "harness/verdict/result.h"

namespace pathproof::run {

class RunWatch {
  public:
    // Reads the devices of the lab into `measured`, and the hosts' state. The lab must outlive it. What cannot
    // be read is not there: no run fails of it.
    RunWatch(lab::Lab& place, fingerprint::Serials serials, scenario::Measured& measured);

    // While the lab's agents are still there: what all hosts did, and the devices' readings of now.
    std::vector<verdict::HostWatch> end();
    // This machine alone, from any thread: of a run that is interrupted.
    std::vector<verdict::HostWatch> end_here() const;

  private:
    struct Begun {
        fingerprint::HostMoment moment;
        std::vector<verdict::Reading> temperatures;
    };
    verdict::HostWatch finished(verdict::HostWatch watch, const std::string& host,
                                const Begun& begun, bool kernel_is_tested) const;

    lab::Lab& place_;
    scenario::Measured& measured_;
    Begun here_;
    std::optional<Begun> dut_;  // where it is another machine
};

// The failures that kernels reported of what is tested, as a scenario with a failed cell for each host, kind and
// subject; nothing: there were none.
std::optional<verdict::ScenarioResult> kernel_log_scenario(
    const std::vector<verdict::HostWatch>& hosts);

// All messages with their traces, as text: the evidence of that scenario.
std::string kernel_log_text(const std::vector<verdict::HostWatch>& hosts);

}  // namespace pathproof::run
