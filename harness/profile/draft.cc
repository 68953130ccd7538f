// A profile written from what one device says of itself.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "dataplane/base/contains.h"
#include "harness/profile/live.h"

namespace pathproof::profile {
namespace {

// A TOML basic string.
std::string quoted(const std::string& text) {
    std::string out = "\"";
    for (const char letter : text) {
        const auto code = static_cast<unsigned char>(letter);
        if (letter == '"' || letter == '\\') {
            out += '\\';
            out += letter;
        } else if (code < 0x20 || code == 0x7f) {
            out += fmt::format("\\u{:04x}", code);
        } else {
            out += letter;
        }
    }
    return out + '"';
}

// Letters, digits and hyphens, fit for a file's name.
std::string id_of(const DeviceIdentity& identity) {
    std::string id = identity.driver();
    std::ranges::replace_if(
        id, [](char letter) { return !std::isalnum(static_cast<unsigned char>(letter)); }, '-');
    return (id.empty() ? "device" : id) + "-draft";
}

bool paravirtual(const std::string& driver) {
    constexpr std::array<std::string_view, 10> kDrivers{
        "virtio_net", "net_virtio", "vmxnet3",    "net_vmxnet3", "ena",
        "net_ena",    "hv_netvsc",  "net_netvsc", "gve",         "net_gve"};
    return contains(kDrivers, driver);
}

const char* evidence_of(const DeviceIdentity& identity) {
    return identity.pci.empty() || paravirtual(identity.driver()) ? "virtual" : "physical";
}

// Returns whether the feature decides over checksums or segments; the absence of others proves
// nothing.
bool matters(const std::string& feature) {
    return feature.starts_with("tx-checksum-") || feature == "rx-checksum" ||
           (feature.starts_with("tx-") && feature.ends_with("-segmentation")) ||
           feature == "rx-lro" || feature == "rx-gro-hw" || feature == "rx-udp_tunnel-port-offload";
}

std::string ethtool_claims(const std::vector<agent::Feature>& features) {
    std::vector<std::string> lines;
    for (const agent::Feature& feature : features) {
        if (offered(feature)) {
            lines.push_back(fmt::format(
                "{} = {{ expect = \"required\", default = \"{}\", source = \"probe\" }}\n",
                feature.name, feature.active ? "on" : "off"));
        } else if (matters(feature.name)) {
            lines.push_back(
                fmt::format("{} = {{ expect = \"absent\", source = \"probe\" }}\n", feature.name));
        }
    }
    std::ranges::sort(lines);
    return fmt::format("\n[offload.ethtool]\n{}", fmt::join(lines, ""));
}

std::string dpdk_claims(const char* side, std::vector<std::string> names) {
    std::ranges::sort(names);
    std::string text = fmt::format("\n[offload.dpdk.{}]\n", side);
    for (const std::string& name : names) {
        text += fmt::format("{} = {{ expect = \"required\", source = \"probe\" }}\n", name);
    }
    return text;
}

std::string limits_of(const LiveDevice& device) {
    if (device.limits.empty()) {
        return "";
    }
    std::string text = device.identity.kernel_driver.empty() ? "\n[dpdk_limits]\n" : "\n[limits]\n";
    for (const auto& [kind, value] : device.limits) {
        text += fmt::format("{} = {{ value = {}, source = \"probe\" }}\n", name(kind), value);
    }
    return text;
}

std::string match_of(const DeviceIdentity& identity) {
    std::string text = "\n[match]\n";
    if (!identity.kernel_driver.empty()) {
        text += fmt::format("kernel_driver = [{}]\n", quoted(identity.kernel_driver));
    }
    if (!identity.pmd.empty()) {
        text += fmt::format("pmd = [{}]\n", quoted(identity.pmd));
    }
    if (!identity.pci.empty()) {
        text += fmt::format("pci = [{}]\nsource = \"probe\"\n", quoted(identity.pci));
    }
    return text;
}

std::string probe_of(const LiveDevice& device) {
    const bool kernel = !device.identity.kernel_driver.empty();
    return fmt::format("'pathproof profile probe' of {} with {}{}", device.name,
                       kernel ? "Linux " + device.running.kernel : "DPDK " + device.running.dpdk,
                       device.firmware.empty() ? "" : ", firmware " + device.firmware);
}

}  // namespace

std::string draft(const LiveDevice& device, const std::string& date) {
    const std::string probe = quoted(probe_of(device));
    std::string text = fmt::format(
        "# A draft from one device: what it offers is taken for what it should offer. Review each "
        "line.\nschema = \"nicprofile/1\"\nid = {}\ntitle = {}\nstatus = \"draft\"\n"
        "evidence_class = \"{}\"\n",
        quoted(id_of(device.identity)), quoted("Devices of driver " + device.identity.driver()),
        evidence_of(device.identity));
    text += match_of(device.identity);
    text += fmt::format("\n[sources]\nprobe = {}\n", probe);
    if (device.speed_mbps > 0) {
        text += fmt::format(
            "\n[link]\nspeeds_mbps = [{}]\nwhy = \"the speed it had\"\nsource = \"probe\"\n",
            device.speed_mbps);
    }
    text += limits_of(device);
    text += "\n[offload]\n";
    if (!device.features.empty()) {
        text += ethtool_claims(device.features);
    }
    if (!device.identity.pmd.empty()) {
        text += dpdk_claims("tx", device.dpdk_tx) + dpdk_claims("rx", device.dpdk_rx);
    }
    return text + fmt::format("\n[provenance]\nsource = {}\ndate = {}\n", probe, date);
}

}  // namespace pathproof::profile
