#include "harness/tester/port_choice.h"

#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cctype>
#include <cstring>
#include <string_view>
#include <utility>

#include "dataplane/base/file.h"
#include "harness/lab/lab_file.h"
#include "harness/lab/machine_use.h"
#include "harness/lab/port_interface.h"
#include "harness/process/netns.h"

namespace pathproof::tester {
namespace {

bool is_vdev(const std::string& name) {
    return name.starts_with("net_") || name.starts_with("eth_");
}

// What stands before a device's arguments: "net_af_packet", "net_ring0", "0000:3b:00.0".
std::string driver_of(const std::string& device) {
    return device.substr(0, device.find(','));
}

bool ends_in_digit(const std::string& text) {
    return !text.empty() && std::isdigit(static_cast<unsigned char>(text.back())) != 0;
}

// The interface in "net_af_packet,iface=u0"; empty when there is none. net_tap's iface= is one that
// it makes.
std::string interface_behind(const std::string& vdev) {
    return vdev.starts_with("net_tap") ? "" : lab::interface_argument(vdev);
}

// What a vdev's arguments name of the machine: iface=u0, remote=eth0, slave=0000:3b:00.0, ...
std::vector<std::string> named_by(const std::string& vdev) {
    std::vector<std::string> found;
    for (std::size_t begin = 0; begin < vdev.size();) {
        const std::size_t end = std::min(vdev.find_first_of(",=()", begin), vdev.size());
        const std::string word = vdev.substr(begin, end - begin);
        if (!lab::pci_address(word).empty() || if_nametoindex(word.c_str()) != 0) {
            found.push_back(word);
        }
        begin = end + 1;
    }
    return found;
}

// An ioctl of netdevice(7); whether the kernel answered.
bool ask(unsigned long what, const std::string& interface, ifreq& request) {
    const Fd handle(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    std::strncpy(request.ifr_name, interface.c_str(), IFNAMSIZ - 1);
    return handle && ioctl(handle.get(), what, &request) == 0;
}

bool is_up(const std::string& interface) {
    ifreq request{};
    return ask(SIOCGIFFLAGS, interface, request) && (request.ifr_flags & IFF_UP) != 0;
}

Status check_interface(const std::string& interface) {
    TRY(lab::interface_index(interface));
    if (!is_up(interface)) {
        return fail(ErrorCode::kBadInput, "interface {} is down; 'ip link set {} up' brings it up",
                    interface, interface);
    }
    return {};
}

struct Channels {
    std::uint32_t receiving = 1;
    std::uint32_t combined = 1;  // as net_af_xdp counts them (xdp_get_channels_info)
};

Channels channels_of(const std::string& interface) {
    ethtool_channels channels{};
    channels.cmd = ETHTOOL_GCHANNELS;
    ifreq request{};
    request.ifr_data = reinterpret_cast<char*>(&channels);
    return ask(SIOCETHTOOL, interface, request)
               ? Channels{.receiving = channels.combined_count + channels.rx_count,
                          .combined = channels.max_combined == 0 ? 1 : channels.combined_count}
               : Channels();
}

// An AF_XDP socket gets what comes in at its own queue; the rest goes past it into the kernel.
Status check_xdp_queues(const std::string& interface, std::uint16_t queues) {
    const Channels there = channels_of(interface);
    if (queues > there.combined) {
        return fail(ErrorCode::kBadInput,
                    "interface {} has {} combined queue{} ('ethtool -l {}') and {} were asked for: "
                    "AF_XDP has no more",
                    interface, there.combined, there.combined == 1 ? "" : "s", interface, queues);
    }
    if (there.receiving <= queues) {
        return {};
    }
    return fail(ErrorCode::kBadInput,
                "interface {} has {} receive queues and AF_XDP would see {} of them: open as many "
                "queues, or let it have fewer ('ethtool -L {} combined {}', for veth 'rx {}')",
                interface, there.receiving, queues, interface, queues, queues);
}

Status check_packet_queues(const std::string& interface, std::uint16_t queues) {
    constexpr unsigned kMostSockets = 256;  // of a PACKET_FANOUT group (fanout_add)
    if (queues <= kMostSockets) {
        return {};
    }
    return fail(ErrorCode::kBadInput,
                "{} queues were asked for on interface {}: at most {} packet sockets can share its "
                "frames",
                queues, interface, kMostSockets);
}

constexpr std::string_view kOverAfPacket = "af_packet:";
constexpr std::string_view kOverAfXdp = "af_xdp:";

std::string packet_socket_device(const std::string& interface, std::uint16_t queues) {
    return af_packet_device(interface) + (queues > 1 ? fmt::format(",qpairs={}", queues) : "");
}

std::string xdp_socket_device(const std::string& interface, std::uint16_t queues) {
    return fmt::format("net_af_xdp,iface={},start_queue=0,queue_count={}", interface, queues);
}

// Runs in the namespace. `used` becomes what the machine may need for something else.
Status choose(const std::string& name, std::uint16_t queues, PortRequest& request,
              std::vector<std::string>& used) {
    request = {.name = name, .device = name, .queues = queues};
    const bool is_interface = if_nametoindex(name.c_str()) != 0;
    const bool over_xdp = !is_interface && name.starts_with(kOverAfXdp);
    if (is_interface || over_xdp || name.starts_with(kOverAfPacket)) {
        request.name = is_interface ? name : name.substr(name.find(':') + 1);
        request.device = over_xdp ? xdp_socket_device(request.name, queues)
                                  : packet_socket_device(request.name, queues);
        used = {request.name};
        TRY(check_interface(request.name));
        return over_xdp ? check_xdp_queues(request.name, queues)
                        : check_packet_queues(request.name, queues);
    }
    if (is_vdev(name)) {
        const std::string interface = interface_behind(name);
        used = named_by(name);
        request.name = interface.empty() ? driver_of(name) : interface;
        return interface.empty() ? Status() : check_interface(interface);
    }
    const std::string pci = lab::pci_address(name);
    if (pci.empty()) {
        return fail(ErrorCode::kNotFound,
                    "there is no port '{}': name a network interface ('ip link' lists them), "
                    "af_xdp:INTERFACE, a DPDK virtual device such as net_tap,iface=t0, or a PCI "
                    "address such as 0000:3b:00.0",
                    name);
    }
    request.device = pci + name.substr(driver_of(name).size());
    used = {name};
    return {};
}

// The driver's name with the first number from `number` on that no other device has or asks for.
std::string free_name(const std::string& driver, std::size_t number,
                      const std::vector<PortRequest>& ports,
                      const std::vector<std::string>& given) {
    for (;; ++number) {
        std::string name = driver + std::to_string(number);
        const auto asks_for_it = [&](const PortRequest& port) {
            return driver_of(port.device) == name;
        };
        if (std::ranges::none_of(ports, asks_for_it) &&
            std::ranges::find(given, name) == given.end()) {
            return name;
        }
    }
}

}  // namespace

std::optional<KernelPort> kernel_port(const std::string& device) {
    std::string interface = interface_behind(device);
    if (interface.empty()) {
        return std::nullopt;
    }
    if (device.starts_with("net_af_xdp") || device.starts_with("eth_af_xdp")) {
        return KernelPort{std::move(interface), KernelPort::Sockets::kXdp};
    }
    if (device.starts_with("net_af_packet") || device.starts_with("eth_af_packet")) {
        return KernelPort{std::move(interface), KernelPort::Sockets::kPacket};
    }
    return std::nullopt;
}

std::vector<std::string> interfaces_with_programs(const std::vector<PortRequest>& ports) {
    std::vector<std::string> interfaces;
    for (const PortRequest& port : ports) {
        const auto behind = kernel_port(port.device);
        if (behind && behind->sockets == KernelPort::Sockets::kXdp) {
            interfaces.push_back(behind->interface);
        }
    }
    return interfaces;
}

bool is_same_port(const PortRequest& a, const PortRequest& b) {
    const auto behind_a = kernel_port(a.device);
    const auto behind_b = kernel_port(b.device);
    const std::string driver = driver_of(a.device);
    return a.device == b.device || (ends_in_digit(driver) && driver == driver_of(b.device)) ||
           (behind_a && behind_b && behind_a->interface == behind_b->interface);
}

EalDevices eal_devices(const std::vector<PortRequest>& ports) {
    EalDevices devices;
    for (std::size_t index = 0; index < ports.size(); ++index) {
        const std::string& device = ports[index].device;
        std::string name = driver_of(device);
        const std::string arguments = device.substr(name.size());
        const bool is_pci = name.find(':') != std::string::npos;
        if (!is_pci && !name.empty() && !ends_in_digit(name)) {
            name = free_name(name, index, ports, devices.names);
        }
        (is_pci ? devices.pci : devices.vdevs).push_back(name + arguments);
        devices.names.push_back(std::move(name));
    }
    return devices;
}

Result<PortRequest> choose_port(const std::string& name, const std::string& netns,
                                std::uint16_t queues, const std::vector<lab::Prefix>* plan) {
    PortRequest request;
    std::vector<std::string> used;
    Status chosen = process::in_netns(netns, [&] { return choose(name, queues, request, used); });
    for (const std::string& device : used) {
        chosen = chosen ? lab::check_touchable(device, netns, plan) : chosen;
    }
    if (!chosen) {
        return pass_on(chosen.error());
    }
    return request;
}

}  // namespace pathproof::tester
