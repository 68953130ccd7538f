// Ports as people name them, and whether the machine can spare them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "dataplane/base/result.h"
#include "dataplane/port/port_request.h"
#include "harness/lab/lab_file.h"

namespace pathproof::ports {

// A name may be a kernel interface ("u0" or "af_packet:u0": an af_packet port on it; "af_xdp:u0":
// an AF_XDP one), a DPDK virtual device with its arguments ("net_tap,iface=t0"), or a PCI address
// ("0000:3b:00.0", which a request has in this form however it was written).
//
// Looks at the interface in network namespace `netns` (empty: the caller's). `queues` each way; a
// driver on a kernel interface learns their number when the port is made. `plan`: the addresses
// that the port may have; null: those of test networks. Errors: a name that is none of these
// (kNotFound); an interface that is not up; a device that lab::check_touchable() refuses, be it the
// port itself or named by a virtual device's arguments.
Result<port::PortRequest> choose_port(const std::string& name, const std::string& netns,
                                      std::uint16_t queues = 1,
                                      const std::vector<lab::Prefix>* plan = nullptr);

struct Wanted {
    std::string name;
    std::uint16_t queues = 1;                            // each way
    const std::vector<lab::Prefix>* plan = nullptr;      // as above
    std::uint64_t tx_offloads = 0;                       // RTE_ETH_TX_OFFLOAD_*
    std::uint32_t send_buffer_bytes = 0;                 // PortConfig's
    port::PortHears hears = port::PortHears::kReceived;  // of a kernel interface
    bool super_frames = false;  // packet sockets take frames of up to 64 KiB, and fewer of them
};
// Several ports. Errors: as above; a device that is named twice, with the reason against it.
Result<std::vector<port::PortRequest>> choose_ports(const std::vector<Wanted>& wanted,
                                                    const std::string& netns, const char* why_once);

}  // namespace pathproof::ports
