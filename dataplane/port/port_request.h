// A port that is to be opened.
#pragma once

#include <cstdint>
#include <string>

namespace pathproof::port {

enum class PortOffloads : std::uint8_t {
    kListed,  // those of tx_offloads
    kAll,     // every checksum, segmentation, VLAN insertion and multi-segment offload it has
};

// Frames that a packet socket hands over. Ports of other drivers hear what they receive.
enum class PortHears : std::uint8_t {
    kReceived,
    kSent,  // by the kernel, as it forwards frames or sends its own
};

struct PortRequest {
    std::string name;    // "c0"
    std::string device;  // a vdev with its arguments ("net_af_packet,iface=c0,qdisc_bypass=1"; a
                         // number is added to the driver's name) or a PCI address
    std::uint64_t tx_offloads = 0;
    PortOffloads offloads = PortOffloads::kListed;
    std::uint32_t pool_mbufs = 0;         // 0: as many as its queues and the lcores take
    std::uint16_t queues = 1;             // of each direction; all receive queues are read in turn
    std::string xdp_interface = {};       // on which it loads an XDP program; empty: it loads none
    std::uint32_t send_buffer_bytes = 0;  // PortConfig's
    PortHears hears = PortHears::kReceived;
};

}  // namespace pathproof::port
