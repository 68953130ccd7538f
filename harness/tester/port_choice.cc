#include "harness/tester/port_choice.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <net/route.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <sstream>
#include <string_view>
#include <utility>

#include "harness/process/netns.h"

namespace pathproof::tester {
namespace {

bool is_pci_address(const std::string& name) {
    static const std::regex kAddress(
        "([0-9a-fA-F]{4}:)?[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\\.[0-7](,.*)?");
    return std::regex_match(name, kAddress);
}

bool is_vdev(const std::string& name) {
    return name.starts_with("net_") || name.starts_with("eth_");
}

// The interface in "net_af_packet,iface=u0"; empty when there is none. net_tap's iface= is one that
// it makes.
std::string interface_argument(const std::string& vdev) {
    constexpr std::string_view kKey = ",iface=";
    const std::size_t at = vdev.find(kKey);
    if (at == std::string::npos || vdev.starts_with("net_tap")) {
        return {};
    }
    const std::size_t begin = at + kKey.size();
    return vdev.substr(begin, vdev.find(',', begin) - begin);
}

std::vector<std::string> interfaces_of_pci(const std::string& address) {
    std::vector<std::string> names;
    std::error_code ignored;
    const std::string full = address.size() < 12 ? "0000:" + address : address;
    for (const auto& entry :
         std::filesystem::directory_iterator("/sys/bus/pci/devices/" + full + "/net", ignored)) {
        names.push_back(entry.path().filename().string());
    }
    return names;
}

// Link-local addresses come by themselves with every interface that is up.
bool is_reachable_address(const sockaddr* address) {
    if (address == nullptr) {
        return false;
    }
    if (address->sa_family == AF_INET) {
        return true;
    }
    return address->sa_family == AF_INET6 &&
           !IN6_IS_ADDR_LINKLOCAL(&reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr);
}

bool has_address(const std::string& interface) {
    ifaddrs* list = nullptr;
    if (getifaddrs(&list) != 0) {
        return true;  // unknown counts as in use
    }
    bool found = false;
    for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next) {
        found = found || (interface == entry->ifa_name && is_reachable_address(entry->ifa_addr));
    }
    freeifaddrs(list);
    return found;
}

// Destination and prefix length 0 in the thread's own view of the routing tables.
bool carries_default_route(const std::string& interface) {
    std::ifstream v4("/proc/thread-self/net/route");
    std::string line;
    while (std::getline(v4, line)) {
        std::istringstream words(line);
        std::string device, destination, gateway, flags, references, use, metric, mask;
        words >> device >> destination >> gateway >> flags >> references >> use >> metric >> mask;
        if (device == interface && destination == "00000000" && mask == "00000000") {
            return true;
        }
    }
    std::ifstream v6("/proc/thread-self/net/ipv6_route");
    while (std::getline(v6, line)) {
        // destination, length, source, length, gateway, metric, references, uses, flags, device
        // (ipv6_route.c)
        std::istringstream words(line);
        std::vector<std::string> fields{std::istream_iterator<std::string>(words), {}};
        const bool is_route =
            fields.size() == 10 && (std::strtoul(fields[8].c_str(), nullptr, 16) & RTF_REJECT) == 0;
        if (is_route && fields[9] == interface && fields[0] == std::string(32, '0') &&
            fields[1] == "00") {
            return true;
        }
    }
    return false;
}

bool is_up(const std::string& interface) {
    const int handle = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (handle < 0) {
        return false;
    }
    ifreq request{};
    std::strncpy(request.ifr_name, interface.c_str(), IFNAMSIZ - 1);
    const bool asked = ioctl(handle, SIOCGIFFLAGS, &request) == 0;
    close(handle);
    return asked && (request.ifr_flags & IFF_UP) != 0;
}

enum class Ground { kOwnNamespace, kMachine };

Status check_spare(const std::string& interface, Ground ground) {
    if (ground == Ground::kOwnNamespace) {
        return {};
    }
    const char* use = carries_default_route(interface) ? "carries the default route"
                      : has_address(interface)         ? "has an IP address"
                                                       : nullptr;
    if (use != nullptr) {
        return fail(ErrorCode::kBadInput,
                    "interface {} {}: the machine may be reached through it. Take another port, or "
                    "move it into "
                    "a network namespace of its own and name that with --netns",
                    interface, use);
    }
    return {};
}

Status check_interface(const std::string& interface, Ground ground) {
    if (if_nametoindex(interface.c_str()) == 0) {
        return fail(ErrorCode::kNotFound,
                    "there is no network interface '{}' here; 'ip link' lists them", interface);
    }
    if (const Status spare = check_spare(interface, ground); !spare) {
        return spare;
    }
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
    const int handle = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    ethtool_channels channels{};
    channels.cmd = ETHTOOL_GCHANNELS;
    ifreq request{};
    std::strncpy(request.ifr_name, interface.c_str(), IFNAMSIZ - 1);
    request.ifr_data = reinterpret_cast<char*>(&channels);
    const bool told = handle >= 0 && ioctl(handle, SIOCETHTOOL, &request) == 0;
    if (handle >= 0) {
        close(handle);
    }
    return told ? Channels{.receiving = channels.combined_count + channels.rx_count,
                           .combined = channels.max_combined == 0 ? 1 : channels.combined_count}
                : Channels();
}

// An AF_XDP socket gets what comes in at its own queue; the rest goes past it into the kernel.
Status check_xdp_queues(const std::string& interface, const PortQueues& queues) {
    const Channels there = channels_of(interface);
    if (const unsigned wanted = std::max(queues.rx, queues.tx); wanted > there.combined) {
        return fail(ErrorCode::kBadInput,
                    "interface {} has {} combined queue{} ('ethtool -l {}') and {} were asked for: "
                    "AF_XDP has no more",
                    interface, there.combined, there.combined == 1 ? "" : "s", interface, wanted);
    }
    if (there.receiving <= queues.rx) {
        return {};
    }
    return fail(ErrorCode::kBadInput,
                "interface {} has {} receive queues and AF_XDP would see {} of them: open as many "
                "queues, or let it have fewer ('ethtool -L {} combined {}', for veth 'rx {}')",
                interface, there.receiving, queues.rx, interface, queues.rx, queues.rx);
}

Status check_packet_queues(const std::string& interface, const PortQueues& queues) {
    constexpr unsigned kMostSockets = 256;  // of a PACKET_FANOUT group (fanout_add)
    const unsigned wanted = std::max(queues.rx, queues.tx);
    if (wanted <= kMostSockets) {
        return {};
    }
    return fail(ErrorCode::kBadInput,
                "{} queues were asked for on interface {}: at most {} packet sockets can share its "
                "frames",
                wanted, interface, kMostSockets);
}

constexpr std::string_view kOverAfPacket = "af_packet:";
constexpr std::string_view kOverAfXdp = "af_xdp:";

std::string packet_socket_device(const std::string& interface, const PortQueues& queues) {
    const unsigned pairs = std::max(queues.rx, queues.tx);
    return af_packet_device(interface) + (pairs > 1 ? fmt::format(",qpairs={}", pairs) : "");
}

std::string xdp_socket_device(const std::string& interface, const PortQueues& queues) {
    return fmt::format("net_af_xdp,iface={},start_queue=0,queue_count={}", interface,
                       std::max(queues.rx, queues.tx));
}

// Runs in the namespace.
Status choose(const std::string& name, Ground ground, const PortQueues& queues,
              PortRequest& request) {
    request = {.name = name, .device = name};
    if (if_nametoindex(name.c_str()) != 0) {
        request.device = packet_socket_device(name, queues);
        const Status usable = check_interface(name, ground);
        return usable ? check_packet_queues(name, queues) : usable;
    }
    if (name.starts_with(kOverAfPacket)) {
        request.name = name.substr(kOverAfPacket.size());
        request.device = packet_socket_device(request.name, queues);
        const Status usable = check_interface(request.name, ground);
        return usable ? check_packet_queues(request.name, queues) : usable;
    }
    if (name.starts_with(kOverAfXdp)) {
        request.name = name.substr(kOverAfXdp.size());
        request.device = xdp_socket_device(request.name, queues);
        const Status usable = check_interface(request.name, ground);
        return usable ? check_xdp_queues(request.name, queues) : usable;
    }
    if (is_vdev(name)) {
        const std::string interface = interface_argument(name);
        request.name = interface.empty() ? name.substr(0, name.find(',')) : interface;
        // The interface of net_tap is one that it makes.
        const bool is_there = !interface.empty() && !name.starts_with("net_tap");
        return is_there ? check_interface(interface, ground) : Status();
    }
    if (!is_pci_address(name)) {
        return fail(ErrorCode::kNotFound,
                    "there is no port '{}': name a network interface ('ip link' lists them), "
                    "af_xdp:INTERFACE, a DPDK virtual device such as net_tap,iface=t0, or a PCI "
                    "address such as 0000:3b:00.0",
                    name);
    }
    for (const std::string& interface : interfaces_of_pci(name)) {
        if (const Status spare = check_spare(interface, ground); !spare) {
            return spare;
        }
    }
    return {};
}

}  // namespace

std::optional<KernelPort> kernel_port(const std::string& device) {
    std::string interface = interface_argument(device);
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
    return a.device == b.device ||
           (behind_a && behind_b && behind_a->interface == behind_b->interface);
}

Result<PortRequest> choose_port(const std::string& name, const std::string& netns,
                                const PortQueues& queues) {
    const Ground ground = netns.empty() ? Ground::kMachine : Ground::kOwnNamespace;
    PortRequest request;
    const Status chosen =
        process::in_netns(netns, [&] { return choose(name, ground, queues, request); });
    if (!chosen) {
        return pass_on(chosen.error());
    }
    return request;
}

}  // namespace pathproof::tester
