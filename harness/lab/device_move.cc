#include "harness/lab/device_move.h"

#include <net/if.h>
#include <unistd.h>

#include <algorithm>
#include <boost/algorithm/string/trim.hpp>
#include <chrono>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <thread>
#include <vector>

#include "harness/agent/device_hooks.h"
#include "harness/agent/ethtool.h"
#include "harness/agent/interfaces.h"
#include "harness/lab/host_undo.h"
#include "harness/lab/interface_settings.h"
#include "harness/lab/netns_identity.h"
#include "harness/process/json_text.h"
#include "harness/process/netns.h"
#include "harness/process/program.h"

namespace pathproof::lab {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr auto kWhateverHappens = process::Starts::kWhileStopping;
constexpr const char* kInPlace = "'in_place = true' in the lab file leaves the device where it is";

struct Found {
    std::string into;                            // the namespace that it goes to, by its identity
    std::vector<std::string> settings;           // commands of ip(8)
    std::map<std::string, std::string> sysctls;  // by their files
    std::map<std::string, bool> features;        // requested
    std::string steering;
};

// Sysctls have a folder for each device in each of these.
std::vector<fs::path> sysctl_folders(const std::string& device) {
    std::vector<fs::path> folders;
    for (const char* folder : {"ipv4/conf", "ipv6/conf", "ipv4/neigh", "ipv6/neigh", "mpls/conf"}) {
        folders.push_back(fs::path("/proc/sys/net") / folder / device);
    }
    return folders;
}

std::map<std::string, std::string> sysctls_of(const std::string& device) {
    std::map<std::string, std::string> values;
    for (const fs::path& folder : sysctl_folders(device)) {
        std::error_code none;
        for (const auto& file : fs::directory_iterator(folder, none)) {
            // A file that may not be read, as stable_secret without a secret, has no value.
            const auto value = read_file(file.path().string());
            const bool is_writable =
                (file.status(none).permissions() & fs::perms::owner_write) != fs::perms::none;
            if (value && is_writable) {
                values[file.path().string()] = boost::trim_copy(*value);
            }
        }
    }
    return values;
}

std::map<std::string, bool> requested_of(const std::string& device) {
    std::map<std::string, bool> features;
    for (const agent::Feature& feature :
         agent::read_features(device).value_or(std::vector<agent::Feature>())) {
        if (feature.available && !feature.never_changed) {
            features[feature.name] = feature.requested;
        }
    }
    return features;
}

Found found_of(const std::string& device) {
    return {.settings = settings_of(device),
            .sysctls = sysctls_of(device),
            .features = requested_of(device),
            .steering = lab::steering(device).value_or(std::string())};
}

Result<Found> parse_found(const Note& note) {
    const json was = process::parse_foreign(note.value);
    try {
        return Found{.into = was.at("into").get<std::string>(),
                     .settings = was.at("settings").get<std::vector<std::string>>(),
                     .sysctls = was.at("sysctls").get<std::map<std::string, std::string>>(),
                     .features = was.at("features").get<std::map<std::string, bool>>(),
                     .steering = was.at("steering").get<std::string>()};
    } catch (const json::exception&) {
        return fail(ErrorCode::kBadInput, "'{}' does not say how {} was", note.value, note.name);
    }
}

Result<json> link_of(const std::string& device) {
    const auto ran = TRY(process::run_program(
        {"ip", "-json", "-details", "link", "show", "dev", device}, {.starts = kWhateverHappens}));
    const json links = process::parse_foreign(ran.out);
    if (ran.exit_status != 0 || !links.is_array() || links.empty()) {
        return fail(ErrorCode::kBadInput, "there is no network device {}: {}", device, ran.err);
    }
    return links[0];
}

// A VLAN, macvlan or tunnel device that has this one below it; empty: there is none. The peer of a veth pair is none.
Result<std::string> sits_on(const std::string& device) {
    const json links = process::parse_foreign(
        TRY(process::run_checked({"ip", "-json", "-details", "link", "show"})));
    for (const json& link : links.is_array() ? links : json::array()) {
        const json& info = process::part(link, "linkinfo");
        const bool is_above = process::text_in(link, "link") == device &&
                              process::text_in(info, "info_kind") != "veth";
        // A tunnel tells its device among its own data, and is deleted when that leaves.
        if (is_above || process::text_in(process::part(info, "info_data"), "link") == device) {
            return process::text_in(link, "ifname");
        }
    }
    return std::string();
}

// Returns whether the kernel gives a device such a queueing discipline by itself.
bool is_default_queue(const std::string& kind) {
    const std::string usual =
        read_sysctl("net.core.default_qdisc", KernelFiles{}).value_or(std::string("pfifo_fast"));
    const std::vector<std::string> given{"", "noop", "noqueue", "mq", "pfifo_fast", usual};
    return std::ranges::find(given, kind) != given.end();
}

Status ip_at(const std::string& netns, const std::string& words) {
    const auto ran = TRY(process::run_program({"ip", "-n", netns, "-batch", "-"},
                                              {.input = words + "\n", .starts = kWhateverHappens}));
    return ran.exit_status == 0
               ? Status()
               : fail(ErrorCode::kFailed, "ip -n {} {}: {}", netns, words, ran.err);
}

// From that namespace to the one of the calling thread, if it is there.
Status fetch(const std::string& device, const std::string& from, const std::string& name) {
    if (if_nametoindex(device.c_str()) != 0) {
        return {};
    }
    const pid_t here = gettid();
    const NetnsIdentity netns = TRY(parse_netns(from));
    const bool found = TRY(run_in(netns, [&]() -> Status {
        return if_nametoindex(device.c_str()) == 0
                   ? Status()  // it is gone
                   : run_ip_here(fmt::format("link set dev {} netns {}", device, here));
    }));
    return found || !process::netns_exists(name)
               ? Status()
               : fail(ErrorCode::kFailed, "the network namespace {} that it is in was not found",
                      name);
}

Result<std::size_t> give_sysctls(const std::map<std::string, std::string>& values,
                                 const std::string& device) {
    std::size_t made = 0;
    const std::map<std::string, std::string> now = sysctls_of(device);
    for (const auto& [path, value] : values) {
        const auto there = now.find(path);
        if (there != now.end() && there->second != value) {
            TRY(write_file(path, value + "\n", 0));
            ++made;
        }
    }
    return made;
}

// Features that are not requested as they were.
std::vector<std::pair<std::string, bool>> differing(const std::map<std::string, bool>& features,
                                                    const std::vector<agent::Feature>& now) {
    std::vector<std::pair<std::string, bool>> wanted;
    for (const agent::Feature& feature : now) {
        const auto before = features.find(feature.name);
        if (before != features.end() && before->second != feature.requested) {
            wanted.emplace_back(feature.name, before->second);
        }
    }
    return wanted;
}

// A veth device cannot be asked for some while its peer has an XDP program, as that of a tester's port that is being
// closed.
Result<std::size_t> give_features(const std::map<std::string, bool>& features,
                                  const std::string& device) {
    constexpr std::chrono::seconds kPatience{3};
    const auto until = std::chrono::steady_clock::now() + kPatience;
    std::size_t made = 0;
    for (;;) {
        const auto wanted = differing(features, TRY(agent::read_features(device)));
        if (wanted.empty()) {
            return made;
        }
        made = wanted.size();
        TRY(agent::request_features(device, wanted));
        const auto left = differing(features, TRY(agent::read_features(device)));
        if (left.empty()) {
            return made;
        }
        if (std::chrono::steady_clock::now() > until) {
            return fail(ErrorCode::kFailed, "{} does not take {} {} at present", device,
                        left.front().first, agent::on_or_off(left.front().second));
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
}

Result<std::size_t> give_steering(const std::string& mask, const std::string& device) {
    const auto now = lab::steering(device);
    if (mask.empty() || !now || *now == mask) {
        return 0;
    }
    TRY(lab::steering(device, mask));
    return 1;
}

}  // namespace

Status check_movable(const std::string& device) {
    const json link = TRY(link_of(device));
    for (const agent::Feature& feature :
         agent::read_features(device).value_or(std::vector<agent::Feature>())) {
        if (feature.name == "netns-local" && feature.active) {
            return fail(
                ErrorCode::kBadInput,
                "{} cannot change its network namespace (its feature netns-local is on): {}",
                device, kInPlace);
        }
    }
    if (const std::string master = process::text_in(link, "master"); !master.empty()) {
        return fail(ErrorCode::kBadInput, "{} is a port of {}, which it would leave: {}", device,
                    master, kInPlace);
    }
    if (const std::string upper = TRY(sits_on(device)); !upper.empty()) {
        return fail(ErrorCode::kBadInput, "{} sits on {}, which would leave it: {}", upper, device,
                    kInPlace);
    }
    if (const std::string queue = process::text_in(link, "qdisc"); !is_default_queue(queue)) {
        return fail(
            ErrorCode::kBadInput,
            "{} has the queueing discipline {}, which would be lost with its settings: take "
            "it off, or {}",
            device, queue, kInPlace);
    }
    for (const agent::DeviceHook& hook : agent::device_hooks(device)) {
        return fail(ErrorCode::kBadInput, "{}: they would be lost; take them off, or {}", hook.what,
                    kInPlace);
    }
    if (const auto program = agent::read_xdp_program(device); program && !program->empty()) {
        return fail(ErrorCode::kBadInput, "{} has the XDP program {}: take it off, or {}", device,
                    *program, kInPlace);
    }
    return {};
}

Result<UndoAction> note_before_move(const std::string& device, const std::string& netns) {
    const NetnsIdentity here = TRY(current_netns());
    NetnsIdentity into;
    TRY(process::in_netns(netns, [&]() -> Status {
        into = TRY(current_netns());
        return {};
    }));
    const Found found = found_of(device);
    return UndoAction{.kind = UndoAction::Kind::kMove,
                      .name = device,
                      .value = process::to_text(json{{"into", to_string(into)},
                                                     {"settings", found.settings},
                                                     {"sysctls", found.sysctls},
                                                     {"features", found.features},
                                                     {"steering", found.steering}}),
                      .set = netns,
                      .place = to_string(here),
                      .device = device};
}

Status move_device(const std::string& device, const std::string& netns) {
    TRY(run_ip_here(fmt::format("link set dev {} netns {}", device, netns)));
    return ip_at(netns, fmt::format("link set dev {} up", device));
}

Status undo_move(const Note& note, UndoReport& report) {
    const std::string& device = note.name;
    const Found found = TRY(parse_found(note));
    const bool was_away = if_nametoindex(device.c_str()) == 0;
    TRY(fetch(device, found.into, note.set));
    if (if_nametoindex(device.c_str()) == 0) {
        return {};  // it was taken out
    }
    // An address or a route takes a link that is up.
    const std::size_t made =
        TRY(give_sysctls(found.sysctls, device)) + TRY(give_settings(device, found.settings)) +
        TRY(give_features(found.features, device)) + TRY(give_steering(found.steering, device)) +
        // Some come by themselves as an interface goes up.
        TRY(give_sysctls(found.sysctls, device));
    return was_away || made != 0
               ? report.did(note, "back from network namespace " + note.set, device)
               : Status();
}

}  // namespace pathproof::lab
