#include "harness/run/device.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "dataplane/port/device_name.h"
#include "harness/agent/ethtool.h"
#include "harness/lab/machine_use.h"
#include "harness/ports/choose.h"
#include "harness/process/json_text.h"
#include "harness/process/netns.h"
#include "harness/process/program.h"
#include "harness/truth/device_class.h"

namespace pathproof::run {
namespace {

using nlohmann::json;

// The far end of a cable that lies inside this machine.
struct FarEnd {
    std::string netns;
    std::string interface;
};

Result<agent::DeviceInfo> read_device(const std::string& netns, const std::string& device) {
    return process::in_netns(netns, [&] { return agent::read_device(device); });
}

Status check_device(const agent::DeviceInfo& info) {
    static const std::vector<std::string> kTunnels = {"vxlan", "geneve", "ip_gre", "ipip", "sit"};
    if (std::ranges::find(kTunnels, info.driver) != kTunnels.end()) {
        return fail(ErrorCode::kBadInput,
                    "{} is a tunnel device ({}): it has no wire of its own; name the device that "
                    "its packets leave by",
                    info.name, info.driver);
    }
    if (!info.link_up) {
        return fail(ErrorCode::kBadInput,
                    "{} has no link; 'ip link set {} up' on both ends of its cable brings it up",
                    info.name, info.name);
    }
    return {};
}

Result<std::vector<json>> links_of(const std::string& netns) {
    const auto text =
        TRY(process::run_checked({"ip", "-json", "-details", "link", "show"}, {.netns = netns}));
    const json links = process::parse_foreign(text);
    if (!links.is_array()) {
        return fail(ErrorCode::kFailed, "'ip -json link show' did not print a list");
    }
    return std::vector<json>(links.begin(), links.end());
}

// The name of a namespace that another knows by a number; empty if it has none.
std::string namespace_of(const std::string& netns, int id) {
    const auto text = process::run_checked({"ip", "-json", "netns", "list-id"}, {.netns = netns});
    const json known = process::parse_foreign(text.value_or(""));
    for (const json& each : known.is_array() ? known : json::array()) {
        if (each.value("nsid", -1) == id) {
            return each.value("name", "");
        }
    }
    return "";
}

// The peer of a veth device: in its own namespace by name, in another by its index there.
Result<FarEnd> find_peer(const std::string& netns, const std::string& device) {
    const auto links = TRY(links_of(netns));
    const auto own = std::ranges::find_if(
        links, [&](const json& link) { return link.value("ifname", "") == device; });
    const Failure unknown =
        fail(ErrorCode::kBadInput,
             "what is at the other end of {}'s cable? name the tester's port there with --tester "
             "(a network interface, a PCI address or a DPDK virtual device)",
             device);
    if (own == links.end() || !own->contains("linkinfo") ||
        own->at("linkinfo").value("info_kind", "") != "veth") {
        return unknown;
    }
    if (own->contains("link")) {
        return FarEnd{netns, own->at("link").get<std::string>()};
    }
    const std::string far = namespace_of(netns, own->value("link_netnsid", -1));
    const auto others = far.empty() ? Result<std::vector<json>>(unknown) : links_of(far);
    for (const json& link : others ? *others : std::vector<json>()) {
        if (link.value("ifindex", 0) == own->value("link_index", -1)) {
            return FarEnd{far, link.value("ifname", "")};
        }
    }
    return unknown;
}

// The tester's port at the other end of a cable: what the user says, or the peer of a veth device.
Result<FarEnd> far_end_of(const lab::CabledDevice& cable) {
    return cable.tester_port.empty() ? find_peer(cable.netns, cable.name)
                                     : FarEnd{cable.tester_netns, cable.tester_port};
}

}  // namespace

Result<DeviceChoice> choose_device(const lab::CabledDevice& cable, agent::Client* dut) {
    if (dut == nullptr && !cable.netns.empty() && !process::netns_exists(cable.netns)) {
        return fail(ErrorCode::kNotFound,
                    "network namespace '{}' does not exist; 'ip netns' lists them", cable.netns);
    }
    const auto info =
        TRY(dut == nullptr ? read_device(cable.netns, cable.name) : dut->device(cable.name));
    const auto plan_of = [](const auto& plan) { return plan ? &*plan : nullptr; };
    if (dut == nullptr) {  // else as the lab was opened
        TRY(lab::check_touchable(cable.name, cable.netns, plan_of(cable.device_plan)));
    }
    TRY(check_device(info));
    const auto far = TRY(far_end_of(cable));
    const auto port = TRY(ports::choose_port(far.interface, far.netns, cable.tester_queues,
                                             plan_of(cable.port_plan)));
    constexpr std::uint32_t kStandardPacket = 1500;
    scenario::TruthDevice device{.netns = cable.netns,
                                 .host = cable.host,
                                 .name = cable.name,
                                 .tester_netns = far.netns,
                                 .tester_port = port,
                                 .tester_lcore = cable.tester_lcore,
                                 .longest_packet = kStandardPacket};
    if (const std::string usual = port::af_packet_device(far.interface);
        port.device.starts_with(usual)) {
        const auto far_info = TRY(read_device(far.netns, far.interface));
        const std::string queues = port.device.substr(usual.size());
        device.tester_port.device = port::af_packet_device_for_long_frames(far.interface) + queues;
        device.tester_port.pool_mbufs = port::kLongFrameMbufs;
        device.longest_packet = std::min<std::uint32_t>(9000, far_info.mtu);
    }
    const port::Evidence evidence = truth::class_of_device(info);
    return DeviceChoice{
        std::move(device), evidence,
        truth::evidence_note(evidence, fmt::format("{} ({})", cable.name, info.driver))};
}

Status choose_proof(const std::string& name, scenario::TruthDevice& device) {
    const std::string option = "--path-proven-by " + name;
    const auto behind = port::kernel_port(device.tester_port.device);
    const bool is_tester =
        behind && behind->interface == name && device.tester_netns == device.netns;
    if (name == device.name || is_tester) {
        return fail(ErrorCode::kBadInput,
                    "{}: it is {}; name another device of the same host whose frames take the same "
                    "path to the tester's port",
                    option, is_tester ? "the tester's port" : "the device under test");
    }
    const auto info = TRY(doing(read_device(device.netns, name), "{}", option));
    TRY(doing(lab::check_touchable(name, device.netns), "{}", option));
    TRY(doing(check_device(info), "{}", option));
    device.proven_by = name;
    return {};
}

}  // namespace pathproof::run
