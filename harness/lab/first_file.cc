#include "harness/lab/first_file.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "harness/lab/user_driver.h"

namespace pathproof::lab {
namespace {

// A port's part, and the addresses of its cable, from the networks set apart for tests.
struct RolePlan {
    const char* name;
    const char* own;
    const char* plays;
    const char* of_dut;
};
constexpr RolePlan kOnly{"port0", "198.18.0.2/24", "", "198.18.0.1/24"};
constexpr std::array kRoles{
    RolePlan{"client0", "198.18.0.2/24", "clients = \"198.18.0.0/17\"", "198.18.0.1/24"},
    RolePlan{"client1", "198.18.128.2/24", "clients = \"198.18.128.0/17\"", "198.18.128.1/24"},
    RolePlan{"server0", "", "servers = [\"203.0.113.2\", \"203.0.113.3\"]", "203.0.113.1/24"},
};

std::vector<RolePlan> roles_for(std::size_t ports) {
    if (ports == 1) {
        return {kOnly};
    }
    return ports == 2 ? std::vector{kRoles[0], kRoles[2]}
                      : std::vector(kRoles.begin(), kRoles.end());
}

std::string link_text(const agent::DeviceInfo& info) {
    if (!info.link_up) {
        return ", no link now";
    }
    if (info.speed_mbps > 0) {
        return fmt::format(", link at {} Mbit/s", info.speed_mbps);
    }
    return ", link up";
}

std::string about(const FoundDevice& device) {
    std::string text = device.use.name + ":";
    text += device.info.driver.empty() ? "" : " " + device.info.driver;
    text += device.use.pci.empty() ? "" : " at " + device.use.pci;
    text += link_text(device.info);
    text += device.info.numa_node < 0 ? "" : fmt::format(", NUMA node {}", device.info.numa_node);
    return text;
}

// Returns the devices that may be used, with a link first; the others become comments.
std::vector<const FoundDevice*> usable(const std::vector<FoundDevice>& devices,
                                       std::string& comments) {
    std::vector<const FoundDevice*> found;
    for (const bool linked : {true, false}) {
        for (const FoundDevice& device : devices) {
            if (device.objections.empty() && device.info.link_up == linked) {
                found.push_back(&device);
            }
        }
    }
    for (const FoundDevice& device : devices) {
        if (!device.objections.empty()) {
            comments += fmt::format("# {}; left alone: it {}\n", about(device),
                                    fmt::join(device.objections, ", "));
        }
    }
    return found;
}

// Gives the addresses that the device has already, or else the planned one.
std::string address_line(const FoundDevice* device, const char* planned) {
    std::vector<std::string> quoted;
    for (const Prefix& prefix : device != nullptr ? device->use.addresses : std::vector<Prefix>()) {
        quoted.push_back('"' + to_string(prefix) + '"');
    }
    if (quoted.empty() && *planned != '\0') {
        quoted.push_back(fmt::format("\"{}\"", planned));
    }
    return quoted.empty() ? "" : fmt::format("address = [{}]\n", fmt::join(quoted, ", "));
}

std::string port_table(const FoundDevice& device, const RolePlan& role) {
    std::string text =
        fmt::format("\n# {}\n[[tester.port]]\nname    = \"{}\"\n", about(device), role.name);
    text += device.use.pci.empty() ? fmt::format("device  = \"{}\"\n", device.use.name)
                                   : fmt::format("pci     = \"{}\"\n", device.use.pci);
    text += device.info.numa_node < 0 ? "" : fmt::format("numa    = {}\n", device.info.numa_node);
    text += address_line(&device, role.own);
    return text + (*role.plays == '\0' ? "" : role.plays + std::string("\n"));
}

std::string device_table(const FoundDevice* device, const RolePlan& role, std::size_t number) {
    const std::string what =
        device != nullptr ? about(*device) + ". Which cable it has is a guess: 'lab check' looks"
                          : "put the name of the device at the other end of the cable here";
    return fmt::format("\n# {}\n[[dut.device]]\nname    = \"{}\"\nport    = \"{}\"\n{}", what,
                       device != nullptr ? device->use.name : fmt::format("eth{}", number),
                       role.name, address_line(device, role.of_dut));
}

}  // namespace

Result<std::string> first_lab_file(const FoundHosts& found) {
    std::string alone;
    const auto ports = usable(found.tester, alone);
    if (ports.empty()) {
        std::replace(alone.begin(), alone.end(), '#', ' ');
        return fail(ErrorCode::kNotFound,
                    "there is no network device to spare for a tester's port here{}{}",
                    alone.empty() ? "" : ":\n", alone.substr(0, alone.size() - !alone.empty()));
    }
    std::string alone_there;
    const auto devices = usable(found.dut_devices, alone_there);
    const auto roles = roles_for(ports.size());
    const bool any_pci = std::ranges::any_of(ports, [](const FoundDevice* port) {
        return !port->use.pci.empty() && !is_shared_driver(port->info.driver);
    });
    std::string text =
        "# Written by 'pathproof lab init' from what it found. Look through it, and then have\n"
        "# 'pathproof lab check' look at the machines. Keys: harness/lab/lab_file.h\n"
        "name = \"first lab\"\n";
    text += any_pci ? "modules = [\"vfio-pci\"]\n" : "";
    text += fmt::format(
        "\n[tester]\n{}",
        found.tester_netns.empty() ? "" : fmt::format("netns = \"{}\"\n", found.tester_netns));
    text += alone;
    for (std::size_t i = 0; i < ports.size(); ++i) {
        text += i < roles.size() ? port_table(*ports[i], roles[i])
                                 : fmt::format("\n# {}: not used\n", about(*ports[i]));
    }
    const bool nowhere = found.dut.where.empty();
    text += fmt::format("\n[dut]\n{}{} = \"{}\"\n",
                        nowhere ? "# put your device under test here, as ssh takes it\n" : "",
                        nowhere || found.dut.kind == Dut::Kind::kSsh ? "ssh" : "netns",
                        nowhere ? "root@dut1" : found.dut.where);
    text += alone_there;
    for (std::size_t i = 0; i < roles.size(); ++i) {
        text += device_table(i < devices.size() ? devices[i] : nullptr, roles[i], i);
    }
    return text;
}

}  // namespace pathproof::lab
