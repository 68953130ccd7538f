#include "dataplane/port/device_name.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <string_view>
#include <utility>

namespace pathproof::port {
namespace {

constexpr std::string_view kOverAfPacket = "af_packet:";
constexpr std::string_view kOverAfXdp = "af_xdp:";

bool is_vdev(const std::string& name) {
    return name.starts_with("net_") || name.starts_with("eth_");
}

// The interface in "net_af_packet,iface=u0"; empty: there is none. net_tap makes its own.
std::string interface_behind(const std::string& vdev) {
    return vdev.starts_with("net_tap") ? "" : interface_argument(vdev);
}

bool is_xdp(const std::string& vdev) {
    return vdev.starts_with("net_af_xdp") || vdev.starts_with("eth_af_xdp");
}

bool is_packet(const std::string& vdev) {
    return vdev.starts_with("net_af_packet") || vdev.starts_with("eth_af_packet");
}

// Words of a vdev's arguments: iface=u0, remote=eth0, slave=0000:3b:00.0, ...
std::vector<PortName::Device> named_by(const std::string& vdev) {
    std::vector<PortName::Device> found;
    for (std::size_t begin = 0; begin < vdev.size();) {
        const std::size_t end = std::min(vdev.find_first_of(",=()", begin), vdev.size());
        const std::string word = vdev.substr(begin, end - begin);
        found.push_back({word, !pci_address(word).empty()});
        begin = end + 1;
    }
    return found;
}

std::string packet_device(const std::string& interface, std::uint16_t queues) {
    return af_packet_device(interface) + (queues > 1 ? fmt::format(",qpairs={}", queues) : "");
}

std::string xdp_device(const std::string& interface, std::uint16_t queues) {
    return fmt::format("net_af_xdp,iface={},start_queue=0,queue_count={}", interface, queues);
}

}  // namespace

std::string driver_of(const std::string& device) {
    return device.substr(0, device.find(','));
}

bool ends_in_digit(const std::string& text) {
    return !text.empty() && std::isdigit(static_cast<unsigned char>(text.back())) != 0;
}

std::string pci_address(const std::string& name) {
    constexpr std::string_view kShape = "hhhh:hh:hh.7";  // h: a hexadecimal digit; 7: one up to it
    std::string address = driver_of(name);
    if (address.size() + 5 == kShape.size()) {
        address.insert(0, "0000:");
    }
    std::ranges::transform(address, address.begin(), [](unsigned char letter) {
        return static_cast<char>(std::tolower(letter));
    });
    const bool fits = std::ranges::equal(address, kShape, [](unsigned char letter, char shape) {
        if (shape == 'h') {
            return std::isxdigit(letter) != 0;
        }
        return shape == '7' ? letter >= '0' && letter <= '7' : letter == shape;
    });
    return fits ? address : "";
}

std::string interface_argument(const std::string& vdev) {
    constexpr std::string_view kKey = ",iface=";
    const std::size_t at = vdev.find(kKey);
    if (at == std::string::npos) {
        return {};
    }
    const std::size_t begin = at + kKey.size();
    return vdev.substr(begin, vdev.find(',', begin) - begin);
}

std::optional<KernelPort> kernel_port(const std::string& device) {
    std::string interface = interface_behind(device);
    if (interface.empty()) {
        return std::nullopt;
    }
    if (is_xdp(device)) {
        return KernelPort{std::move(interface), KernelPort::Sockets::kXdp};
    }
    if (is_packet(device)) {
        return KernelPort{std::move(interface), KernelPort::Sockets::kPacket};
    }
    return std::nullopt;
}

bool is_same_device(const std::string& a, const std::string& b) {
    const auto behind_a = kernel_port(a);
    const auto behind_b = kernel_port(b);
    const std::string driver = driver_of(a);
    return a == b || (ends_in_digit(driver) && driver == driver_of(b)) ||
           (behind_a && behind_b && behind_a->interface == behind_b->interface);
}

std::string af_packet_device(const std::string& interface) {
    // The driver takes slot n at n * framesz (rte_pmd_init_internals), which is where the kernel
    // has it only if framesz divides blocksz exactly: 112 slots of 2304 bytes in 63 pages. 40
    // blocks.
    return "net_af_packet,iface=" + interface +
           ",blocksz=258048,framesz=2304,framecnt=4480,qdisc_bypass=1";
}

std::string af_packet_device_for_long_frames(const std::string& interface) {
    // 64 slots of 65,344 bytes in a block of 1021 pages, 16 blocks. A slot and its mbuf's headroom fit the
    // 16 bits that DPDK has for a buffer's length, and 45 segments of 1448 bytes fit a slot.
    return "net_af_packet,iface=" + interface +
           ",blocksz=4182016,framesz=65344,framecnt=1024,qdisc_bypass=1";
}

PortName parse_port_name(const std::string& name, bool is_interface, std::uint16_t queues) {
    using Kind = PortName::Kind;
    if (!is_interface && name.starts_with(kOverAfXdp)) {
        const std::string interface = name.substr(kOverAfXdp.size());
        return {.kind = Kind::kXdpSockets,
                .title = interface,
                .device = xdp_device(interface, queues),
                .interface = interface,
                .loads_program = true,
                .touched = {{interface}}};
    }
    if (is_interface || name.starts_with(kOverAfPacket)) {
        const std::string interface = is_interface ? name : name.substr(kOverAfPacket.size());
        return {.kind = Kind::kPacketSockets,
                .title = interface,
                .device = packet_device(interface, queues),
                .interface = interface,
                .touched = {{interface}}};
    }
    if (is_vdev(name)) {
        const std::string interface = interface_behind(name);
        return {.kind = Kind::kVdev,
                .title = interface.empty() ? driver_of(name) : interface,
                .device = name,
                .interface = interface,
                .loads_program = !interface.empty() && is_xdp(name),
                .touched = named_by(name)};
    }
    const std::string pci = pci_address(name);
    if (pci.empty()) {
        return {};
    }
    return {.kind = Kind::kPci,
            .title = name,
            .device = pci + name.substr(driver_of(name).size()),
            .touched = {{name, true}}};
}

}  // namespace pathproof::port
