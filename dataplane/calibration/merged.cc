#include "dataplane/calibration/merged.h"

#include "dataplane/calibration/look_alikes.h"
#include "dataplane/frame/checksum.h"
#include "dataplane/frame/view.h"
#include "dataplane/softnic/bytes.h"

namespace pathproof::calibration {
namespace {

using frame::Network;
using frame::PacketView;
using softnic::get16;
using softnic::put16;

constexpr std::size_t kFlags = 13;
constexpr std::size_t kChecksum = 16;
constexpr std::size_t kLongestPacket = 65'535;

bool is_plain_tcp(const frame::FrameView& view) {
    return !view.has_inner && view.outer.network != Network::kNone &&
           view.outer.fragment == frame::Fragment::kWhole &&
           view.outer.transport == frame::Transport::kTcp && view.outer.payload_length > 0;
}

void set_length(FrameBytes& frame, const PacketView& packet) {
    const std::size_t ip = packet.network_offset;
    if (packet.network == Network::kIpv6) {
        constexpr std::size_t kFixedHeader = 40;
        put16(frame, ip + 4, static_cast<std::uint32_t>(frame.size() - ip - kFixedHeader));
        return;
    }
    const auto length = static_cast<std::uint16_t>(frame.size() - ip);
    put16(frame, ip + 10,
          frame::updated_checksum(get16(frame, ip + 10), get16(frame, ip + 2), length));
    put16(frame, ip + 2, length);
}

}  // namespace

std::optional<FrameBytes> merged(std::span<const FrameBytes> segments,
                                 const frame::TunnelPorts& tunnels) {
    if (segments.size() < 2) {
        return std::nullopt;
    }
    const PacketView packet = frame::parse_frame(segments[0], tunnels).outer;
    FrameBytes whole(segments[0].begin(), segments[0].begin() + packet.network_end);
    for (const FrameBytes& segment : segments) {
        const frame::FrameView view = frame::parse_frame(segment, tunnels);
        if (!is_plain_tcp(view)) {
            return std::nullopt;
        }
        if (&segment != &segments[0]) {
            const auto data = segment.begin() + view.outer.payload_offset;
            whole.insert(whole.end(), data, data + view.outer.payload_length);
        }
        const std::size_t flags = packet.transport_offset + kFlags;
        whole[flags] =
            static_cast<std::uint8_t>(whole[flags] | segment[view.outer.transport_offset + kFlags]);
    }
    if (whole.size() - packet.network_offset > kLongestPacket) {
        return std::nullopt;
    }
    set_length(whole, packet);
    put16(whole, packet.transport_offset + kChecksum,
          pseudo_header(packet, whole.size() - packet.transport_offset).folded());
    return whole;
}

}  // namespace pathproof::calibration
