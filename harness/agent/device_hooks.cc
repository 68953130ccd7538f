#include "harness/agent/device_hooks.h"

#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "harness/agent/operations.h"
#include "harness/process/json_text.h"
#include "harness/process/program.h"

namespace pathproof::agent {
namespace {

using nlohmann::json;

std::string said(const std::vector<std::string>& argv) {
    return process::run_checked(argv).value_or("");
}

// The objects of the list that `tc -json` prints.
std::vector<json> listed(const std::vector<std::string>& argv) {
    const json all = process::parse_foreign(said(argv));
    std::vector<json> objects;
    for (const json& each : all.is_array() ? all : json::array()) {
        if (each.is_object()) {
            objects.push_back(each);
        }
    }
    return objects;
}

// "mirred redirect to d0", "gact drop".
std::string action_in_words(const json& action) {
    std::string words = process::text_in(action, "kind");
    if (const std::string does = process::text_in(action, "mirred_action"); !does.empty()) {
        words += fmt::format(" {} to {}", does, process::text_in(action, "to_dev"));
    }
    if (const std::string control =
            process::text_in(process::part(action, "control_action"), "type");
        words == "gact" && !control.empty()) {
        words += " " + control;
    }
    return words;
}

void add_filters(const std::string& device, std::vector<DeviceHook>& hooks) {
    for (const char* direction : {"ingress", "egress"}) {
        std::vector<std::string> words;
        const auto filters = listed({"tc", "-json", "filter", "show", "dev", device, direction});
        for (const json& filter : filters) {
            const json& options = process::part(filter, "options");
            if (options.empty()) {
                continue;  // the head of a priority, whose filters follow
            }
            // A hash table of u32 is a row of its own, of the same kind.
            if (const std::string kind = process::text_in(filter, "kind");
                words.empty() || words.back() != kind) {
                words.push_back(kind);
            }
            const json& actions = process::part(options, "actions");
            for (const json& action : actions.is_array() ? actions : json::array()) {
                words.push_back(action_in_words(action));
            }
        }
        if (!filters.empty()) {
            hooks.push_back({.what = fmt::format("tc filters at {} ({}){}{}", device, direction,
                                                 words.empty() ? "" : ": ", fmt::join(words, ", ")),
                             .show = fmt::format("tc filter show dev {} {}", device, direction)});
        }
    }
}

}  // namespace

std::vector<DeviceHook> device_hooks(const std::string& device) {
    std::vector<DeviceHook> hooks;
    add_filters(device, hooks);
    if (said({"tc", "qdisc", "show", "dev", device}).find("netem") != std::string::npos) {
        hooks.push_back({.what = fmt::format("a netem queue at {}", device),
                         .show = fmt::format("tc qdisc show dev {}", device)});
    }
    if (!said({"nft", "list", "tables", "netdev"}).empty()) {
        hooks.push_back({.what = "nftables chains of devices", .show = "nft list tables netdev"});
    }
    return hooks;
}

Result<std::vector<DeviceHook>> Client::device_hooks(const std::string& device) {
    return impl_->ask<std::vector<DeviceHook>>("device_hooks", device);
}

void add_device_hooks(Operations& operations) {
    operations.add("device_hooks", agent::device_hooks);
}

}  // namespace pathproof::agent
