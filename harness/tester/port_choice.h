// Ports as people name them, and whether a machine can spare the interface behind one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "dataplane/base/result.h"
#include "harness/lab/lab_file.h"
#include "harness/tester/client.h"

namespace pathproof::tester {

// The interface that a driver on a kernel interface was given, and the sockets that it opens there.
struct KernelPort {
    enum class Sockets : std::uint8_t { kPacket, kXdp };
    std::string interface;
    Sockets sockets = Sockets::kPacket;
};
// Of a vdev with its arguments: "net_af_xdp,iface=u0". Nothing for any other device.
std::optional<KernelPort> kernel_port(const std::string& device);

// The interfaces on which these ports have an XDP program: those of AF_XDP.
std::vector<std::string> interfaces_with_programs(const std::vector<PortRequest>& ports);

// Whether both would be opened on one device.
bool is_same_port(const PortRequest& a, const PortRequest& b);

// What the EAL is told of devices, and calls them then.
struct EalDevices {
    std::vector<std::string> vdevs;  // with their arguments, as the PCI addresses
    std::vector<std::string> pci;
    std::vector<std::string> names;  // by port
};
// EAL wants a number behind each vdev's driver, and a different one for each: "net_tap,iface=t0"
// gets its port's, or the next that no other device has or asks for.
EalDevices eal_devices(const std::vector<PortRequest>& ports);

// What a port may be named: a kernel interface ("u0" or "af_packet:u0": an af_packet port on it;
// "af_xdp:u0": an AF_XDP one), a DPDK virtual device with its arguments ("net_tap,iface=t0"), or a
// PCI address ("0000:3b:00.0", which a request has in this form however it was written).
//
// Looks at the interface in network namespace `netns` (empty: the caller's). Errors: a name that is
// none of these (kNotFound); an interface that is not up; what lab::check_touchable refuses, be it
// the port itself or named by a virtual device's arguments. `queues` each way; drivers on a kernel
// interface are told when the port is made. `plan`: the addresses that it may have.
Result<PortRequest> choose_port(const std::string& name, const std::string& netns,
                                std::uint16_t queues = 1,
                                const std::vector<lab::Prefix>* plan = nullptr);

}  // namespace pathproof::tester
