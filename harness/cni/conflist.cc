#include "harness/cni/conflist.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "harness/process/json_text.h"

namespace pathproof::cni {
namespace {

using nlohmann::json;

constexpr std::array<std::pair<std::string_view, std::string_view>, 13> kDaemons{{
    {"cilium-cni", "cilium-agent"},
    {"calico", "calico-node"},
    {"calico-ipam", "calico-node"},
    {"flannel", "flanneld"},
    {"antrea", "antrea-agent"},
    {"ovn-k8s-cni-overlay", "ovnkube-node"},
    {"weave-net", "weave"},
    {"weave-ipam", "weave"},
    {"aws-cni", "aws-node"},
    {"azure-vnet", "azure-cns"},
    {"multus", "the API server"},
    {"kube-ovn", "kube-ovn-cni"},
    {"dhcp", "its own daemon, and a DHCP server"},
}};

// Networks that a pod of the lab may be in: private ones, and those that are set apart for tests.
constexpr std::array kPlan = {"10.0.0.0/8",    "172.16.0.0/12", "192.168.0.0/16",  "100.64.0.0/10",
                              "198.18.0.0/15", "192.0.2.0/24",  "198.51.100.0/24", "203.0.113.0/24",
                              "fc00::/7",      "2001:db8::/32", "2001:2::/48"};
// Networks of the lab's services.
constexpr std::array kTaken = {"10.96.0.0/16", "fd00:10:96::/48"};

bool is_in(const frame::IpAddress& address, const char* network) {
    const auto prefix = parse_pod_address(network);
    if (!prefix || prefix->address.family != address.family) {
        return false;
    }
    for (unsigned bit = 0; bit < prefix->prefix; ++bit) {
        const unsigned mask = 0x80u >> bit % 8;
        if (((address.bytes[bit / 8] ^ prefix->address.bytes[bit / 8]) & mask) != 0) {
            return false;
        }
    }
    return true;
}

bool is_on(const json& list, const char* key) {
    const json value = list.value(key, json(false));
    return value == json(true) || value == json("true");
}

// Returns the daemon that the plug-in needs beside it: "cilium-agent". Empty: it needs none.
std::string daemon_of(std::string_view type) {
    const auto found =
        std::ranges::find(kDaemons, type, [](const auto& each) { return each.first; });
    return found == kDaemons.end() ? "" : std::string(found->second);
}

class Reader {
  public:
    Reader(const std::string& source, const std::string& data_dir)
        : source_(source), data_dir_(data_dir) {}

    Result<Conflist> read(const json& list) {
        Conflist conflist{.source = source_};
        conflist.name = TRY(text(list, "name", "name"));
        conflist.version = TRY(text(list, "cniVersion", "cniVersion"));
        if (conflist.version.starts_with("0.1.") || conflist.version.starts_with("0.2.")) {
            return wrong("cniVersion", "lists of plug-ins there are since 0.3.0");
        }
        conflist.disable_check = is_on(list, "disableCheck");
        conflist.disable_gc = is_on(list, "disableGC");
        if (!list.contains("plugins") || !list["plugins"].is_array() || list["plugins"].empty()) {
            return wrong("plugins", list.contains("type")
                                        ? "there is none: write this single configuration as a "
                                          "list, {\"name\":..., \"plugins\":[{...}]}"
                                        : "there is none");
        }
        for (std::size_t i = 0; i < list["plugins"].size(); ++i) {
            TRY(plugin(list["plugins"][i], fmt::format("plugins[{}]", i), conflist));
        }
        return conflist;
    }

  private:
    Failure wrong(const std::string& key, const std::string& what) const {
        return fail(ErrorCode::kBadInput, "{}: {}: {}", source_, key, what);
    }

    Result<std::string> text(const json& object, const char* key, const std::string& path) const {
        if (!object.contains(key) || !object[key].is_string() ||
            object[key].get<std::string>().empty()) {
            return wrong(path, "a text is missing here");
        }
        return object[key].get<std::string>();
    }

    Status plugin(json object, const std::string& path, Conflist& conflist) {
        if (!object.is_object()) {
            return wrong(path, "it is no object");
        }
        Plugin plugin{.type = TRY(type(object, path + ".type"))};
        if (object.contains("ipam") && !object["ipam"].is_object()) {
            return wrong(path + ".ipam", "it is no object");
        }
        if (object.contains("ipam") && !object["ipam"].empty()) {
            TRY(ipam(object["ipam"], path + ".ipam", conflist));
        }
        if (object.contains("capabilities") && object["capabilities"].is_object()) {
            for (const auto& [name, on] : object["capabilities"].items()) {
                if (on == json(true)) {
                    plugin.capabilities.push_back(name);
                }
            }
        }
        plugin.config = process::to_text(object);
        conflist.plugins.push_back(std::move(plugin));
        return {};
    }

    // Reads a plug-in's type. It is also a name that is looked for in a folder, and must not lead
    // elsewhere.
    Result<std::string> type(const json& object, const std::string& path) const {
        auto name = TRY(text(object, "type", path));
        if (name.find('/') != name.npos || name.front() == '.') {
            return wrong(path, fmt::format("'{}' is no name of a plug-in", name));
        }
        if (const std::string daemon = daemon_of(name); !daemon.empty()) {
            return fail(ErrorCode::kNotSupported,
                        "{}: {}: {} does nothing without {} on the node, and this lab has none; "
                        "test it on the cluster: `pathproof k8s manifest` has a pair of its nodes "
                        "tested, `pathproof inspect hazards` reads a node's rules",
                        source_, path, name, daemon);
        }
        return name;
    }

    Status ipam(json& object, const std::string& path, Conflist& conflist) {
        const std::string name = TRY(type(object, path + ".type"));
        if (name != "host-local") {
            return {};
        }
        object["dataDir"] = data_dir_;
        if (object.contains("subnet")) {
            TRY(subnet(object, path, conflist));
        }
        const json sets = object.value("ranges", json::array());
        for (std::size_t i = 0; i < sets.size(); ++i) {
            for (std::size_t j = 0; sets[i].is_array() && j < sets[i].size(); ++j) {
                TRY(subnet(sets[i][j], fmt::format("{}.ranges[{}][{}]", path, i, j), conflist));
            }
        }
        return {};
    }

    Status subnet(const json& object, const std::string& path, Conflist& conflist) {
        if (!object.is_object()) {
            return wrong(path, "it is no object");
        }
        const std::string name = TRY(text(object, "subnet", path + ".subnet"));
        const auto network = parse_pod_address(name);
        if (!network) {
            return wrong(path + ".subnet", network.error().message);
        }
        if (const std::string why = outside_plan(network->address); !why.empty()) {
            return wrong(path + ".subnet", why);
        }
        conflist.subnets.push_back(
            fmt::format("{} {}", name, object.value("rangeStart", std::string())));
        return {};
    }

    const std::string& source_;
    const std::string& data_dir_;
};

}  // namespace

bool Plugin::can(std::string_view capability) const {
    return std::ranges::find(capabilities, capability) != capabilities.end();
}

bool Conflist::has(std::string_view type) const {
    return std::ranges::find(plugins, type, &Plugin::type) != plugins.end();
}

std::string outside_plan(const frame::IpAddress& address) {
    const auto holds = [&](const char* network) { return is_in(address, network); };
    if (std::ranges::none_of(kPlan, holds)) {
        return fmt::format(
            "{} is outside the networks that a lab may use: private ones, and those "
            "that are set apart for tests",
            frame::to_string(address));
    }
    const auto taken = std::ranges::find_if(kTaken, holds);
    return taken == kTaken.end() ? ""
                                 : fmt::format("{} is in {}, which the lab's services have",
                                               frame::to_string(address), *taken);
}

Result<Conflist> parse_conflist(std::string_view text, const std::string& source, unsigned node,
                                const std::string& data_dir) {
    constexpr std::string_view kNode = "{{node}}";
    std::string own(text);
    for (std::size_t at = 0; (at = own.find(kNode, at)) != own.npos;) {
        own.replace(at, kNode.size(), std::to_string(node));
    }
    const json list = process::parse_foreign(own);
    if (!list.is_object()) {
        return fail(ErrorCode::kBadInput, "{}: it is no JSON object", source);
    }
    try {
        return Reader(source, data_dir).read(list);
    } catch (const json::exception& error) {
        return fail(ErrorCode::kBadInput, "{}: {}", source, error.what());
    }
}

}  // namespace pathproof::cni
