#include "harness/lab/host_apply.h"

#include <sstream>

#include "harness/agent/ethtool.h"
#include "harness/agent/sysctl.h"
#include "harness/lab/topology.h"
#include "harness/lab/undo.h"
#include "harness/process/program.h"

namespace pathproof::lab {
namespace {

using agent::HostChange;
using Allowed = HostChange::Allowed;

Status run(const HostChange& change, const std::string& command, Journal* journal) {
    return journal == nullptr ? run_ip("", command + "\n")
                              : journal->change_ip("", change.device, command, change.undo);
}

bool says_exists(const Status& made) {
    return !made && (made.error().message.find("File exists") != std::string::npos ||
                     made.error().message.find("already assigned") != std::string::npos);
}

// What the kernel learned of a neighbour is nobody's configuration: that may be replaced.
bool is_learned(const HostChange& change) {
    std::istringstream words(change.value);
    std::string neigh, add, who;
    words >> neigh >> add >> who;
    if (neigh != "neigh") {
        return false;
    }
    const auto shown = process::run_checked({"ip", "neigh", "show", who, "dev", change.device});
    return shown && shown->find("PERMANENT") == std::string::npos;
}

Status change_ip(const HostChange& change, Journal* journal) {
    Status made = run(change, change.value, journal);
    if (says_exists(made) && is_learned(change)) {
        const std::string replace =
            std::string(change.value).replace(0, sizeof "neigh add" - 1, "neigh replace");
        made = run(change, replace, journal);
    }
    if (!says_exists(made)) {
        return made;
    }
    return change.allowed == Allowed::kIsThere
               ? Status()
               : fail(ErrorCode::kBadInput,
                      "'ip {}': there is one already, which is not ours to change; take it away "
                      "first",
                      change.value);
}

Status set_sysctl(const HostChange& change, Journal* journal) {
    const Status set = journal == nullptr ? write_sysctl(change.name, change.value, {})
                                          : journal->set_net_sysctl(change.name, change.value);
    const bool missing = !set && set.error().code == ErrorCode::kNotFound;
    return missing && change.allowed == Allowed::kIsMissing ? Status() : set;
}

Status set_feature(const HostChange& change, Journal* journal) {
    const std::vector<std::pair<std::string, bool>> wanted{{change.name, change.value == "on"}};
    if (journal != nullptr) {
        return journal->set_features("", change.device, wanted);
    }
    const auto changed = agent::change_features(change.device, wanted);
    return changed ? Status() : pass_on(changed.error());
}

Status steer(const HostChange& change, Journal* journal) {
    if (journal != nullptr) {
        return journal->steer(change.device, change.value);
    }
    const auto set = agent::set_rps(change.device, change.value);
    return set ? Status() : pass_on(set.error());
}

Status make(const HostChange& change, Journal* journal) {
    switch (change.kind) {
        case HostChange::Kind::kIp: return change_ip(change, journal);
        case HostChange::Kind::kSysctl: return set_sysctl(change, journal);
        case HostChange::Kind::kRules:
            return journal == nullptr ? load_rules("", change.value)
                                      : journal->load_rules(change.name, change.value);
        case HostChange::Kind::kFeature: return set_feature(change, journal);
        case HostChange::Kind::kSteering: return steer(change, journal);
    }
    return {};
}

}  // namespace

Status apply(const std::vector<agent::HostChange>& changes, Journal* journal) {
    for (const HostChange& change : changes) {
        if (const Status made = make(change, journal); !made) {
            return made;
        }
    }
    return {};
}

}  // namespace pathproof::lab
