#include "harness/scenario/offload_truth/truth_host.h"

#include <chrono>
#include <thread>

#include "harness/agent/device_info.h"
#include "harness/agent/host_change.h"

namespace pathproof::scenario {

using agent::HostChange;

Result<agent::FeatureTrial> TruthHost::try_feature(const std::string& device,
                                                   const std::string& name, bool on) const {
    auto trial = TRY(agent_->try_feature(device, name, on));
    TRY(wait_for_link(device, name));
    return trial;
}

Status TruthHost::request_features(const std::string& device,
                                   const std::vector<std::pair<std::string, bool>>& wanted) const {
    TRY(agent_->request_features(device, wanted));
    return wait_for_link(device, "its features");
}

Status TruthHost::wait_for_link(const std::string& device, const std::string& changed) const {
    constexpr std::chrono::seconds kPatience{20};
    const auto until = std::chrono::steady_clock::now() + kPatience;
    for (;; std::this_thread::sleep_for(std::chrono::milliseconds(50))) {
        const auto info = TRY(agent_->device(device));
        if (info.link_up) {
            return {};
        }
        if (std::chrono::steady_clock::now() > until) {
            return fail(ErrorCode::kUnavailable,
                        "{} lost its link when {} was set, and had none for {} s", device, changed,
                        kPatience.count());
        }
    }
}

Status TruthHost::change_ip(const std::string& device, const std::string& change,
                            const std::string& undo) const {
    return agent_->apply(
        {{.kind = HostChange::Kind::kIp, .device = device, .value = change, .undo = undo}});
}

Status TruthHost::undo_ip(const std::string& device, const std::string& undo) const {
    return agent_->apply({{.kind = HostChange::Kind::kIp, .device = device, .undo = undo}});
}

}  // namespace pathproof::scenario
