// A packet socket (packet(7)) bound to one device, with a virtio_net_hdr in front of each frame.
#pragma once

#include <cstdint>
#include <string>

#include "dataplane/base/result.h"
#include "harness/agent/socket.h"

namespace pathproof::agent {

struct PacketSocket {
    Fd socket;
    int device_index = 0;
    bool ethernet = true;  // frames start with an Ethernet header
};

enum class PacketUse : std::uint8_t { kSend, kReceive };

// Errors: no such device (with close names), no permission, a kernel without PACKET_VNET_HDR.
Result<PacketSocket> open_packet_socket(const std::string& device, PacketUse use);

}  // namespace pathproof::agent
