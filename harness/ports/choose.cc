#include "harness/ports/choose.h"

#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "dataplane/base/file.h"
#include "dataplane/port/device_name.h"
#include "harness/lab/machine_use.h"
#include "harness/lab/port_interface.h"
#include "harness/process/netns.h"

namespace pathproof::ports {
namespace {

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

// Runs in the namespace.
Status check_there(const port::PortName& port, const std::string& name, std::uint16_t queues) {
    if (port.kind == port::PortName::Kind::kNone) {
        return fail(ErrorCode::kNotFound,
                    "there is no port '{}': name a network interface ('ip link' lists them), "
                    "af_xdp:INTERFACE, a DPDK virtual device such as net_tap,iface=t0, or a PCI "
                    "address such as 0000:3b:00.0",
                    name);
    }
    TRY(port.interface.empty() ? Status() : check_interface(port.interface));
    switch (port.kind) {
        case port::PortName::Kind::kXdpSockets: return check_xdp_queues(port.interface, queues);
        case port::PortName::Kind::kPacketSockets:
            return check_packet_queues(port.interface, queues);
        case port::PortName::Kind::kVdev:
        case port::PortName::Kind::kPci:
        case port::PortName::Kind::kNone: return {};
    }
    return {};
}

// Lets a port that one thread only listens at take super-frames, with as many buffers as it holds at once.
void take_super_frames(port::PortRequest& port) {
    constexpr std::uint32_t kMbufs = 512;
    const auto behind = port::kernel_port(port.device);
    if (behind && behind->sockets == port::KernelPort::Sockets::kPacket) {
        port.device = port::af_packet_device_for_long_frames(behind->interface);
        port.pool_mbufs = kMbufs;
    }
}

}  // namespace

Result<port::PortRequest> choose_port(const std::string& name, const std::string& netns,
                                      std::uint16_t queues, const std::vector<lab::Prefix>* plan) {
    port::PortName port;
    TRY(process::in_netns(netns, [&] {
        port = port::parse_port_name(name, if_nametoindex(name.c_str()) != 0, queues);
        std::erase_if(port.touched, [](const port::PortName::Device& device) {
            return !device.is_pci && if_nametoindex(device.name.c_str()) == 0;
        });
        return check_there(port, name, queues);
    }));
    for (const port::PortName::Device& device : port.touched) {
        TRY(lab::check_touchable(device.name, netns, plan));
    }
    return port::PortRequest{.name = port.title,
                             .device = port.device,
                             .queues = queues,
                             .xdp_interface = port.loads_program ? port.interface : ""};
}

Result<std::vector<port::PortRequest>> choose_ports(const std::vector<Wanted>& wanted,
                                                    const std::string& netns,
                                                    const char* why_once) {
    std::vector<port::PortRequest> chosen;
    for (const Wanted& each : wanted) {
        auto port = TRY(choose_port(each.name, netns, each.queues, each.plan));
        const auto same = [&](const port::PortRequest& other) {
            return port::is_same_device(other.device, port.device);
        };
        if (std::ranges::any_of(chosen, same)) {
            return fail(ErrorCode::kBadInput, "port '{}' is named twice; {}", each.name, why_once);
        }
        port.tx_offloads = each.tx_offloads;
        port.send_buffer_bytes = each.send_buffer_bytes;
        port.hears = each.hears;
        if (each.super_frames) {
            take_super_frames(port);
        }
        chosen.push_back(std::move(port));
    }
    return chosen;
}

}  // namespace pathproof::ports
