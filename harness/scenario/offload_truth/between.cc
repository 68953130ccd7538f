#include "harness/scenario/offload_truth/between.h"

#include <nlohmann/json.hpp>

#include "harness/agent/device_hooks.h"
#include "harness/process/json_text.h"
#include "harness/process/netns.h"
#include "harness/process/program.h"

namespace pathproof::scenario {
namespace {

using nlohmann::json;
using truth::PathEnd;

void add_hooks(const PathEnd& end, std::vector<std::string>& found) {
    const auto hooks = process::in_netns(
        end.netns,
        [&]() -> Result<std::vector<agent::DeviceHook>> { return agent::device_hooks(end.name); });
    for (const agent::DeviceHook& hook : hooks.value_or(std::vector<agent::DeviceHook>{})) {
        found.push_back(fmt::format("{}; {} shows it", hook.what, end.command(hook.show)));
    }
}

void add_xdp(const PathEnd& end, std::vector<std::string>& found) {
    if (!end.xdp.empty()) {
        found.push_back(
            fmt::format("an XDP program at {}: {}; {} takes it off", end.name, end.xdp,
                        end.command(fmt::format("ip link set dev {} xdp off", end.name))));
    }
}

// The device as `ip` shows it; empty where that fails.
std::string link_of(const PathEnd& end) {
    return process::run_checked({"ip", "-json", "-details", "link", "show", "dev", end.name},
                                {.netns = end.netns})
        .value_or("");
}

// The first of the list that `ip -json` prints.
json first_link(const std::string& text) {
    const json all = process::parse_foreign(text);
    return all.is_array() && !all.empty() && all.front().is_object() ? all.front() : json::object();
}

bool is_veth(const json& link) {
    return process::text_in(process::part(link, "linkinfo"), "info_kind") == "veth";
}

int number(const json& link, const char* key) {
    const auto found = link.find(key);
    return found != link.end() && found->is_number_integer() ? found->get<int>() : -1;
}

// Within one namespace `ip` gives the peer's name.
bool points_at(const json& from, const json& to) {
    if (const std::string name = process::text_in(from, "link"); !name.empty()) {
        return name == process::text_in(to, "ifname");
    }
    return number(from, "link_index") == number(to, "ifindex");
}

}  // namespace

bool are_peers(const std::string& end, const std::string& other) {
    const json one = first_link(end);
    const json two = first_link(other);
    return is_veth(one) && is_veth(two) && points_at(one, two) && points_at(two, one);
}

std::vector<std::string> between(const TruthDevice& device, const truth::PathFacts& path) {
    std::vector<std::string> found;
    add_xdp(path.device, found);
    add_xdp(path.far, found);
    const bool far_is_known = path.far.mtu != 0;  // an interface of this machine's kernel
    if (far_is_known) {
        add_hooks(path.far, found);
    }
    if (!device.host.empty()) {
        return found;
    }
    add_hooks(path.device, found);
    const std::string own = link_of(path.device);
    if (far_is_known && is_veth(first_link(own)) && !are_peers(own, link_of(path.far))) {
        found.push_back(fmt::format(
            "whatever {} and {} are joined by: {} is not the peer of this veth device; without "
            "--tester its peer is taken",
            path.device.name, path.far.name, path.far.name));
    }
    return found;
}

}  // namespace pathproof::scenario
