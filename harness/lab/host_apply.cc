#include "harness/lab/host_apply.h"

#include <fmt/format.h>

#include <sstream>
#include <utility>

#include "harness/lab/host_tools.h"
#include "harness/lab/netns_identity.h"
#include "harness/lab/undo.h"
#include "harness/process/netns.h"
#include "harness/process/program.h"
#include "harness/setting/setting.h"

namespace pathproof::lab {
namespace {

using agent::HostChange;
using Allowed = HostChange::Allowed;

Status run(const HostChange& change, const std::string& command, Journal& journal) {
    return journal.change_ip("", change.device, command, change.undo);
}

bool says_exists(const Status& made) {
    return !made && (made.error().message.find("File exists") != std::string::npos ||
                     made.error().message.find("already assigned") != std::string::npos);
}

// Returns whether the change replaces a neighbour entry that the kernel learned: it is nobody's
// configuration, and may be replaced.
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

Status change_ip(const HostChange& change, Journal& journal) {
    if (change.value.empty()) {
        return journal.undo_ip(change.undo);
    }
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

Status set_sysctl(const HostChange& change, Journal& journal) {
    if (change.value.empty()) {
        return journal.restore_sysctl(change.name);
    }
    const auto here = [&] { return journal.set_net_sysctl(change.name, change.value); };
    const Status set = change.name.starts_with("net.core.") ? run_where_found(here) : here();
    const bool missing = !set && set.error().code == ErrorCode::kNotFound;
    return missing && change.allowed == Allowed::kIsMissing ? Status() : set;
}

// Replaces the whole table, or only our rules in a table that has others' rules.
Status load_table(const HostChange& change, Journal& journal, HostFronts& fronts) {
    if (change.allowed == Allowed::kIsThere) {
        // A text that did not load changed nothing.
        FrontChains known = fronts[change.name];
        const std::string none = setting::whole_table(setting::bare_table(change.name), "");
        TRY(journal.load_rules(change.name,
                               in_front(change.value.empty() ? none : change.value, known),
                               Journal::Rules::kFront));
        fronts[change.name] = std::move(known);
        return {};
    }
    return change.value.empty() ? journal.restore_rules(change.name)
                                : journal.load_rules(change.name, change.value);
}

// Without frames of the kernel's own: its devices send nothing of IPv6 before they are given addresses, and learn
// none from routers.
Status make_netns(const std::string& name, Journal& journal) {
    TRY(journal.add_netns({name}));
    return process::in_netns(name, []() -> Status {
        for (const auto& [what, value] :
             {std::pair{"accept_ra", "0"}, {"accept_dad", "0"}, {"addr_gen_mode", "1"}}) {
            const Status quiet =
                write_sysctl(fmt::format("net.ipv6.conf.default.{}", what), value, {});
            TRY(!quiet && quiet.error().code != ErrorCode::kNotFound ? quiet : Status());
        }
        return run_ip("link set lo up\n");
    });
}

Status make(const HostChange& change, Journal& journal, HostFronts& fronts) {
    const bool back = change.value.empty();
    switch (change.kind) {
        case HostChange::Kind::kIp: return change_ip(change, journal);
        case HostChange::Kind::kSysctl: return set_sysctl(change, journal);
        case HostChange::Kind::kRules: return load_table(change, journal, fronts);
        case HostChange::Kind::kFeature:
            return back ? journal.restore_feature(change.device, change.name)
                        : journal.set_features("", change.device,
                                               {{change.name, change.value == "on"}});
        case HostChange::Kind::kSteering:
            return back ? journal.restore_steering(change.device)
                        : journal.steer(change.device, change.value);
        case HostChange::Kind::kNft:
            return back ? journal.restore_nft(change.name)
                        : journal.load_nft(change.name, change.value);
        case HostChange::Kind::kNetns:
            return back ? journal.remove_netns({change.name}) : make_netns(change.name, journal);
        case HostChange::Kind::kMove:
            return back ? journal.restore_device(change.device)
                        : journal.move_device(change.device, change.value);
        case HostChange::Kind::kIpvs:
            return back ? journal.restore_ipvs() : journal.set_ipvs(change.value);
    }
    return {};
}

}  // namespace

Status apply(const std::vector<agent::HostChange>& changes, Journal& journal, HostFronts& fronts) {
    for (const HostChange& change : changes) {
        TRY(make(change, journal, fronts));
    }
    return {};
}

}  // namespace pathproof::lab
