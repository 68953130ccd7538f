#include "dataplane/calibration/merged.h"

#include <netinet/in.h>

#include "dataplane/frame/checksum.h"
#include "dataplane/frame/view.h"
#include "dataplane/softnic/word_sum.h"

namespace pathproof::calibration {
namespace {

using frame::Network;
using frame::PacketView;

constexpr std::size_t kFlags = 13;
constexpr std::size_t kChecksum = 16;
constexpr std::size_t kLongestPacket = 65'535;

std::uint16_t word_at(const FrameBytes& frame, std::size_t at) {
    return static_cast<std::uint16_t>(frame[at] << 8 | frame[at + 1]);
}
void put(FrameBytes& frame, std::size_t at, std::size_t value) {
    frame[at] = static_cast<std::uint8_t>(value >> 8);
    frame[at + 1] = static_cast<std::uint8_t>(value);
}

bool is_plain_tcp(const frame::FrameView& view) {
    return !view.has_inner && view.outer.network != Network::kNone &&
           view.outer.fragment == frame::Fragment::kWhole &&
           view.outer.transport == frame::Transport::kTcp && view.outer.payload_length > 0;
}

void set_length(FrameBytes& frame, const PacketView& packet) {
    const std::size_t ip = packet.network_offset;
    if (packet.network == Network::kIpv6) {
        constexpr std::size_t kFixedHeader = 40;
        put(frame, ip + 4, frame.size() - ip - kFixedHeader);
        return;
    }
    const auto length = static_cast<std::uint16_t>(frame.size() - ip);
    put(frame, ip + 10,
        frame::updated_checksum(word_at(frame, ip + 10), word_at(frame, ip + 2), length));
    put(frame, ip + 2, length);
}

void set_partial_sum(FrameBytes& frame, const PacketView& packet) {
    softnic::WordSum pseudo;
    pseudo.add({packet.source.bytes.data(), packet.source.size()});
    pseudo.add({packet.final_destination.bytes.data(), packet.final_destination.size()});
    pseudo.add_word(IPPROTO_TCP);
    pseudo.add_word(static_cast<std::uint32_t>(frame.size() - packet.transport_offset));
    put(frame, packet.transport_offset + kChecksum, pseudo.folded());
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
    set_partial_sum(whole, packet);
    return whole;
}

}  // namespace pathproof::calibration
