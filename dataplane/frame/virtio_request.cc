#include "dataplane/frame/virtio_request.h"

#include "dataplane/frame/transport_shape.h"

namespace pathproof::frame {
namespace {

// virtio 1.2 section 5.1.6.
constexpr std::uint8_t kNeedsChecksum = 1;
constexpr std::uint8_t kGsoTcp4 = 1;
constexpr std::uint8_t kGsoTcp6 = 4;
constexpr std::uint8_t kGsoUdpL4 = 5;
constexpr std::uint8_t kGsoEcn = 0x80;

constexpr std::uint8_t kTcpCwr = 0x80;

bool left_to_nic(const PacketSpec& packet, std::uint16_t segment_bytes) {
    const ChecksumMode mode = packet.transport_checksum;
    const bool asked =
        mode == ChecksumMode::kOffload || (segment_bytes > 0 && mode == ChecksumMode::kPseudo);
    return asked && shape_of(packet).checksum_offset.has_value();
}

// A packet with CWR set needs the ECN bit, or the kernel would repeat CWR in each segment.
std::uint8_t gso_type(const PacketSpec& packet) {
    if (packet.transport == Transport::kUdp) {
        return kGsoUdpL4;
    }
    const int family = is_ipv4(packet) ? kGsoTcp4 : kGsoTcp6;
    const int ecn = (packet.tcp_flags & kTcpCwr) != 0 ? kGsoEcn : 0;
    return static_cast<std::uint8_t>(family | ecn);
}

}  // namespace

VirtioRequest virtio_request(const FrameSpec& spec) noexcept {
    const FrameLayout layout = layout_of(spec);
    VirtioRequest request;
    const auto ask = [&](const PacketSpec& packet, std::uint16_t transport) {
        request.flags = kNeedsChecksum;
        request.csum_start = transport;
        request.csum_offset = *shape_of(packet).checksum_offset;
    };
    if (left_to_nic(spec.packet, spec.segment_bytes)) {
        ask(spec.packet, layout.packet.transport);
    } else if (spec.tunnel && left_to_nic(spec.tunnel->outer, 0)) {
        ask(spec.tunnel->outer, layout.outer.transport);
    }
    if (spec.segment_bytes > 0 && request.flags != 0) {
        request.gso_type = gso_type(spec.packet);
        request.gso_size = spec.segment_bytes;
        request.header_length = layout.packet.payload;
    }
    return request;
}

}  // namespace pathproof::frame
