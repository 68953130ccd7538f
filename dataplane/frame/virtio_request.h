// The request to a NIC for a frame, in the terms of struct virtio_net_hdr: as a packet socket with
// PACKET_VNET_HDR takes it (packet(7), linux/virtio_net.h).
#pragma once

#include <array>
#include <bit>
#include <cstdint>

#include "dataplane/frame/frame_spec.h"

namespace pathproof::frame {

// Its members lie as the header's do (virtio 1.2 section 5.1.6; linux/virtio_net.h names a member
// `class`: no C++ compiler reads it).
struct VirtioRequest {
    std::uint8_t flags = 0;           // VIRTIO_NET_HDR_F_*
    std::uint8_t gso_type = 0;        // VIRTIO_NET_HDR_GSO_*
    std::uint16_t header_length = 0;  // bytes that the kernel keeps together; 0: its own choice
    std::uint16_t gso_size = 0;       // payload bytes of a segment
    std::uint16_t csum_start = 0;     // from where the checksum is over all that follows
    std::uint16_t csum_offset = 0;    // of its field, from csum_start

    bool any() const { return flags != 0 || gso_type != 0; }
    bool operator==(const VirtioRequest&) const = default;
};

// The header as it stands in front of the frame, in the machine's byte order (legacy virtio).
using VirtioHeader = std::array<std::uint8_t, 10>;
constexpr VirtioHeader to_bytes(const VirtioRequest& request) noexcept {
    return std::bit_cast<VirtioHeader>(request);
}
constexpr VirtioRequest virtio_from_bytes(const VirtioHeader& bytes) noexcept {
    return std::bit_cast<VirtioRequest>(bytes);
}

// Makes the request for the one transport checksum that the frame leaves to the NIC: the inner one,
// if both are left. Its mode is kOffload, or kPseudo in a super-frame (Linux wants the length in
// the pseudo-header's sum). IP header checksums and SCTP's cannot be requested this way. Empty if
// nothing is requested.
VirtioRequest virtio_request(const FrameSpec& spec) noexcept;

}  // namespace pathproof::frame
