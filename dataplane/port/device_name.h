// Names of DPDK devices: PCI addresses, and virtual devices with their arguments.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace pathproof::port {

// The part before a device's arguments: "net_af_packet", "net_ring0", "0000:3b:00.0".
std::string driver_of(const std::string& device);
bool ends_in_digit(const std::string& text);

// "3B:00.0" or "0000:3b:00.0,representor=vf0" -> "0000:3b:00.0"; empty: no PCI address.
std::string pci_address(const std::string& name);

// "net_tap0,iface=t0" -> "t0"; empty: no argument iface=.
std::string interface_argument(const std::string& vdev);
// The interface that a driver on a kernel interface was given, and the sockets that it opens there.
struct KernelPort {
    enum class Sockets : std::uint8_t { kPacket, kXdp };
    std::string interface;
    Sockets sockets = Sockets::kPacket;
};
// Reads a vdev with its arguments, "net_af_xdp,iface=u0"; nothing for any other device.
std::optional<KernelPort> kernel_port(const std::string& device);

// Returns whether both names would open one device.
bool is_same_device(const std::string& a, const std::string& b);

// The af_packet device of a kernel interface. Its ring slots take whole frames of up to 2238 bytes,
// 4480 of them; the driver's own 512 slots of 2048 bytes lose a burst when the CPU is shared and
// cut frames above 1982 bytes.
std::string af_packet_device(const std::string& interface);
// Returns an af_packet device whose slots take whole frames and super-frames of up to 65,278 bytes:
// 1024 of them. Goes with kLongFrameMbufs as PortRequest::pool_mbufs, for each mbuf is as long.
std::string af_packet_device_for_long_frames(const std::string& interface);
inline constexpr std::uint32_t kLongFrameMbufs = 2048;
// A port as a person names it, taken apart.
struct PortName {
    enum class Kind : std::uint8_t { kPacketSockets, kXdpSockets, kVdev, kPci, kNone };
    struct Device {
        std::string name;
        bool is_pci = false;  // else an interface, if there is one of that name
    };
    Kind kind = Kind::kNone;
    std::string title;            // the port's name in reports
    std::string device;           // as PortRequest has it
    std::string interface;        // that must be there before the port; empty: none
    bool loads_program = false;   // an XDP program, on that interface
    std::vector<Device> touched;  // devices of the machine that it names
};
// "u0" or "af_packet:u0" (an af_packet port on the interface), "af_xdp:u0", "net_tap,iface=t0",
// "0000:3b:00.0". `is_interface`: there is an interface of that whole name.
PortName parse_port_name(const std::string& name, bool is_interface, std::uint16_t queues);

}  // namespace pathproof::port
