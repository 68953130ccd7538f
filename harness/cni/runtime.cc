#include "harness/cni/runtime.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <ranges>
#include <sstream>

#include "harness/process/foreign.h"
#include "harness/process/json_text.h"
#include "harness/process/program.h"

namespace pathproof::cni {
namespace {

using nlohmann::json;
using namespace std::chrono_literals;

constexpr int kKilled = 137;  // of timeout(1) with -s KILL

std::string key_of(const Attachment& what) {
    return what.container_id + " " + what.interface;
}

// Returns the name that libcni gives an attachment's file.
std::string cache_file(const std::string& folder, const std::string& network,
                       const Attachment& what) {
    return fmt::format("{}/{}-{}-{}", folder, network, what.container_id, what.interface);
}

// "IgnoreUnknown=1;K8S_POD_NAME=web" as libcni keeps it.
json arguments_of(const std::string& args) {
    json pairs = json::array();
    std::istringstream text(args);
    for (std::string pair; std::getline(text, pair, ';');) {
        if (const std::size_t equals = pair.find('='); equals != pair.npos) {
            pairs.push_back({pair.substr(0, equals), pair.substr(equals + 1)});
        }
    }
    return pairs;
}

// Returns the last output in one line.
std::string words(const std::string& text) {
    std::string line = process::last_words(text);
    std::ranges::replace(line, '\n', ' ');
    line.erase(line.find_last_not_of(' ') + 1);
    return line;
}

}  // namespace

Status Runtime::check_plugins() const {
    if (access((options_.plugins + "/.").c_str(), X_OK) != 0) {
        return fail(ErrorCode::kBadInput,
                    "there are no CNI plug-ins in {}: install containernetworking-plugins, or name "
                    "their folder with --plugins",
                    options_.plugins);
    }
    std::vector<std::string> types;
    for (std::size_t i = 0; i < conflist_.plugins.size(); ++i) {
        const Plugin& plugin = conflist_.plugins[i];
        const std::string at = fmt::format("{}: plugins[{}]", conflist_.source, i);
        const json config = process::json_or_null(plugin.config);
        for (const std::string& type :
             {plugin.type, config.value("ipam", json::object()).value("type", std::string())}) {
            const std::string path = options_.plugins + "/" + type;
            if (type.empty()) {
                continue;
            }
            if (access(path.c_str(), X_OK) != 0) {
                return fail(ErrorCode::kBadInput,
                            "{}: there is no plug-in '{}' in {}; those of Debian are in the "
                            "package containernetworking-plugins",
                            at, type, options_.plugins);
            }
            const auto ran = process::run_program(
                {"timeout", "-s", "KILL",
                 fmt::format("{}", 1e-3 * static_cast<double>(options_.patience.count())), "env",
                 "CNI_COMMAND=VERSION", path},
                {.input = process::to_text(json{{"cniVersion", conflist_.version}}),
                 .timeout = options_.patience + 5s});
            if (!ran || ran->exit_status == kKilled) {
                return fail(ErrorCode::kBadInput, "{}: VERSION of {} did not end within {} ms", at,
                            path, options_.patience.count());
            }
            const auto versions = parse_versions(ran->out);
            if (!versions) {
                return fail(ErrorCode::kBadInput, "{}: VERSION of {}: {}", at, path,
                            versions.error().message);
            }
            if (std::ranges::find(*versions, conflist_.version) == versions->end()) {
                return fail(ErrorCode::kBadInput,
                            "{}: cniVersion: {} does not speak {}; it speaks up to {}",
                            conflist_.source, path, conflist_.version,
                            versions->empty() ? "nothing" : versions->back());
            }
        }
    }
    return {};
}

std::string Runtime::input_of(const Plugin& plugin, const Attachment& what,
                              const std::string& previous, const std::string& more) const {
    json input = process::json_or_null(plugin.config);
    input.update(process::json_or_null(more));
    input["name"] = conflist_.name;
    input["cniVersion"] = conflist_.version;
    json runtime = json::object();
    if (plugin.can("portMappings") && !what.ports.empty()) {
        for (const PortMapping& port : what.ports) {
            runtime["portMappings"].push_back({{"hostPort", port.host_port},
                                               {"containerPort", port.container_port},
                                               {"protocol", port.protocol}});
        }
    }
    if (plugin.can("bandwidth") && what.bandwidth != 0) {
        runtime["bandwidth"] = {{"ingressRate", what.bandwidth},
                                {"ingressBurst", what.bandwidth},
                                {"egressRate", what.bandwidth},
                                {"egressBurst", what.bandwidth}};
    }
    if (plugin.can("ips") && !what.ips.empty()) {
        runtime["ips"] = what.ips;
    }
    if (!runtime.empty()) {
        input["runtimeConfig"] = runtime;
    }
    if (!previous.empty()) {
        input["prevResult"] = process::json_or_null(previous);
    }
    return process::to_text(input);
}

Result<Runtime::Said> Runtime::call(const Plugin& plugin, const std::string& command,
                                    const Attachment& what, const std::string& previous,
                                    std::chrono::microseconds life, const std::string& more) {
    const auto began = std::chrono::steady_clock::now();
    // timeout(1) kills the plug-in with what it started, such as its IPAM plug-in.
    const auto ran = process::run_program(
        {"timeout", "-s", "KILL", fmt::format("{:.6f}", 1e-6 * static_cast<double>(life.count())),
         "env", "CNI_COMMAND=" + command, "CNI_CONTAINERID=" + what.container_id,
         "CNI_NETNS=" + (what.netns.empty() ? "" : "/run/netns/" + what.netns),
         "CNI_IFNAME=" + what.interface, "CNI_PATH=" + options_.plugins, "CNI_ARGS=" + what.args,
         options_.plugins + "/" + plugin.type},
        {.netns = options_.netns,
         .input = input_of(plugin, what, previous, more),
         .timeout = std::chrono::duration_cast<std::chrono::milliseconds>(life) + 5s});
    calls_.push_back(
        {plugin.type, command,
         std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - began)
             .count()});
    if (!ran) {
        return pass_on(ran.error());
    }
    Said said{.ok = ran->exit_status == 0, .killed = ran->exit_status == kKilled, .out = ran->out};
    if (said.ok) {
        return said;
    }
    const auto error = parse_error(ran->out);
    std::string reason;
    if (said.killed) {
        reason = fmt::format("it did not end within {} ms and was killed", life.count() / 1000);
    } else if (error) {
        reason = words(to_string(*error));
    } else {
        reason = fmt::format("exit status {} without an error object; it printed: {}",
                             ran->exit_status, words(ran->out));
    }
    said.complaint = fmt::format("{} of {} in {}: {}{}", command, plugin.type, options_.netns,
                                 reason, ran->err.empty() ? "" : "; stderr: " + words(ran->err));
    return said;
}

Result<Added> Runtime::take(const Plugin& plugin, const Said& said) const {
    auto added = parse_added(said.out);
    if (!added) {
        return fail(ErrorCode::kFailed, "ADD of {} in {}: {}", plugin.type, options_.netns,
                    added.error().message);
    }
    for (const PodAddress& ip : added->addresses) {
        if (const std::string why = outside_plan(ip.address); !why.empty()) {
            return fail(ErrorCode::kFailed, "ADD of {} in {}: {}", plugin.type, options_.netns,
                        why);
        }
    }
    return added;
}

Result<Added> Runtime::add(const Attachment& what) {
    Added added;
    const auto run = [&]() -> Status {
        for (const Plugin& plugin : conflist_.plugins) {
            const Said said = TRY(call(plugin, "ADD", what, added.json, options_.patience));
            if (!said.ok) {
                return fail(ErrorCode::kFailed, "{}", said.complaint);
            }
            added = TRY(take(plugin, said));
        }
        if (added.addresses.empty()) {
            return fail(ErrorCode::kFailed,
                        "{}: the pod got no address from the chain: its last plug-in, {}, gave "
                        "none; does a plug-in have an 'ipam'?",
                        conflist_.source, conflist_.plugins.back().type);
        }
        return {};
    };
    if (const Status ran = run(); !ran) {
        const Status deleted = del(what);
        return fail(ran.error().code, "{}{}", ran.error().message,
                    deleted ? "" : "; then " + deleted.error().message);
    }
    results_[key_of(what)] = added.json;
    TRY(keep(what, added.json));
    return added;
}

Status Runtime::keep(const Attachment& what, const std::string& result) const {
    if (options_.cache.empty()) {
        return {};
    }
    const std::string path = cache_file(options_.cache, conflist_.name, what);
    std::ofstream file(path);
    file << process::to_text(json{{"kind", "cniCacheV1"},
                                  {"containerId", what.container_id},
                                  {"ifName", what.interface},
                                  {"networkName", conflist_.name},
                                  {"cniArgs", arguments_of(what.args)},
                                  {"result", process::json_or_null(result)}});
    return file.flush() ? Status() : fail(ErrorCode::kFailed, "cannot write {}", path);
}

Status Runtime::speaks_1_1(const char* command) const {
    unsigned major = 0, minor = 0;
    std::sscanf(conflist_.version.c_str(), "%u.%u", &major, &minor);
    return std::pair(major, minor) >= std::pair(1u, 1u)
               ? Status()
               : fail(ErrorCode::kNotSupported, "{} is of CNI 1.1.0, and {} is of {}", command,
                      conflist_.source, conflist_.version);
}

Status Runtime::status() {
    TRY(speaks_1_1("STATUS"));
    for (const Plugin& plugin : conflist_.plugins) {
        const Said said =
            TRY(call(plugin, "STATUS", {.container_id = "", .netns = "", .interface = ""}, "",
                     options_.patience));
        if (!said.ok) {
            return fail(ErrorCode::kUnavailable, "{}", said.complaint);
        }
    }
    return {};
}

Status Runtime::gc(const std::vector<Attachment>& valid) {
    TRY(speaks_1_1("GC"));
    if (conflist_.disable_gc) {
        return fail(ErrorCode::kNotSupported, "{} wants no GC (disableGC)", conflist_.source);
    }
    json attachments = json::array();
    for (const Attachment& each : valid) {
        attachments.push_back({{"containerID", each.container_id}, {"ifname", each.interface}});
    }
    const std::string more = process::to_text(json{{"cni.dev/valid-attachments", attachments}});
    std::string complaints;
    for (const Plugin& plugin : conflist_.plugins) {
        const Said said = TRY(call(plugin, "GC", {.container_id = "", .netns = "", .interface = ""},
                                   "", options_.patience, more));
        if (!said.ok) {
            complaints += (complaints.empty() ? "" : "; ") + said.complaint;
        }
    }
    return complaints.empty() ? Status() : fail(ErrorCode::kFailed, "{}", complaints);
}

Status Runtime::check(const Attachment& what) {
    const auto known = results_.find(key_of(what));
    for (const Plugin& plugin : conflist_.plugins) {
        const Said said =
            TRY(call(plugin, "CHECK", what, known == results_.end() ? "" : known->second,
                     options_.patience));
        if (!said.ok) {
            return fail(ErrorCode::kFailed, "{}", said.complaint);
        }
    }
    return {};
}

Status Runtime::del(const Attachment& what) {
    const auto known = results_.find(key_of(what));
    const std::string previous = known == results_.end() ? "" : known->second;
    std::string complaints;
    // In reverse, and each whatever became of the one before: what is left is to be as little as may
    // be.
    for (auto plugin = conflist_.plugins.rbegin(); plugin != conflist_.plugins.rend(); ++plugin) {
        const Said said = TRY(call(*plugin, "DEL", what, previous, options_.patience));
        if (!said.ok) {
            complaints += (complaints.empty() ? "" : "; ") + said.complaint;
        }
    }
    results_.erase(key_of(what));
    std::error_code gone;
    if (!options_.cache.empty()) {
        std::filesystem::remove(cache_file(options_.cache, conflist_.name, what), gone);
    }
    return complaints.empty() ? Status() : fail(ErrorCode::kFailed, "{}", complaints);
}

Result<std::string> Runtime::add_killed_after(const Attachment& what,
                                              std::chrono::microseconds life) {
    std::string previous;
    auto left = life;
    for (const Plugin& plugin : conflist_.plugins) {
        const Said said = TRY(call(plugin, "ADD", what, previous, left));
        if (said.killed) {
            return plugin.type;
        }
        if (!said.ok) {
            return fail(ErrorCode::kFailed, "{}", said.complaint);
        }
        const Added added = TRY(take(plugin, said));
        previous = added.json;
        left -= std::min(left - 1us, std::chrono::microseconds(static_cast<std::int64_t>(
                                         1000 * calls_.back().milliseconds)));
    }
    results_[key_of(what)] = previous;
    return std::string();
}

}  // namespace pathproof::cni
