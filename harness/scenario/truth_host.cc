#include "harness/scenario/truth_host.h"

namespace pathproof::scenario {

using agent::HostChange;
using agent::KeptBy;

Result<agent::FeatureTrial> TruthHost::try_feature(const std::string& device,
                                                   const std::string& name, bool on) const {
    if (journal_ == nullptr) {
        return agent_->try_feature(device, name, on, KeptBy::kItsHost);
    }
    agent::FeatureTrial trial;
    TRY(journal_->change_features(netns_, device, {{name, on}}, [&]() -> Status {
        trial = TRY(agent_->try_feature(device, name, on));
        return {};
    }));
    return trial;
}

Status TruthHost::request_features(const std::string& device,
                                   const std::vector<std::pair<std::string, bool>>& wanted) const {
    if (journal_ == nullptr) {
        return agent_->request_features(device, wanted, KeptBy::kItsHost);
    }
    return journal_->change_features(netns_, device, wanted,
                                     [&] { return agent_->request_features(device, wanted); });
}

Status TruthHost::change_ip(const std::string& device, const std::string& change,
                            const std::string& undo) const {
    return journal_ != nullptr ? journal_->change_ip(netns_, device, change, undo)
                               : agent_->apply({{.kind = HostChange::Kind::kIp,
                                                 .device = device,
                                                 .value = change,
                                                 .undo = undo}});
}

Status TruthHost::undo_ip(const std::string& device, const std::string& undo) const {
    return journal_ != nullptr
               ? journal_->undo_ip(undo)
               : agent_->apply({{.kind = HostChange::Kind::kIp, .device = device, .undo = undo}});
}

}  // namespace pathproof::scenario
