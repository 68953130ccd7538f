#include "dataplane/softnic/completion.h"

#include <optional>

#include "dataplane/frame/view.h"

namespace pathproof::softnic {
namespace {

using frame::Network;
using frame::PacketView;
using frame::Transport;

std::uint32_t add_words(std::uint32_t sum, const frame::IpAddress& address) {
    for (std::size_t at = 0; at < address.size(); at += 2) {
        sum += static_cast<std::uint32_t>(address.bytes[at] << 8 | address.bytes[at + 1]);
    }
    return sum;
}

// What csum_tcpudp_magic() of an empty payload leaves in the field, not inverted (RFC 1071; RFC
// 8200 8.1).
std::uint16_t pseudo_header_sum(const PacketView& packet) {
    std::uint32_t sum = packet.protocol + packet.transport_length;
    sum = add_words(sum, packet.source);
    sum = add_words(sum, packet.final_destination);
    while (sum > 0xffff) {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    return static_cast<std::uint16_t>(sum);
}

std::optional<std::uint16_t> field_offset(const PacketView& packet) {
    switch (packet.transport) {
        case Transport::kUdp: return static_cast<std::uint16_t>(packet.transport_offset + 6);
        case Transport::kTcp: return static_cast<std::uint16_t>(packet.transport_offset + 16);
        case Transport::kIcmpv6: return static_cast<std::uint16_t>(packet.transport_offset + 2);
        case Transport::kIcmp:  // has no pseudo-header
        case Transport::kNone:
        case Transport::kOther:
        case Transport::kSctp:
        case Transport::kUdpLite:
        case Transport::kGre: break;
    }
    return std::nullopt;
}

// The right value for this packet's checksum field, if the field is a partial checksum.
std::optional<std::uint16_t> completed_value(const PacketView& packet,
                                             const judge::FrameVerdict& verdict) {
    const auto offset = field_offset(packet);
    if (!offset || packet.network == Network::kNone || !packet.final_destination_known) {
        return std::nullopt;
    }
    for (const judge::ChecksumFinding& finding : verdict.all()) {
        if (finding.field_offset == *offset && finding.state == judge::ChecksumState::kBad &&
            finding.wire == pseudo_header_sum(packet)) {
            // Of 16 bits: field_offset() knows no other fields.
            return static_cast<std::uint16_t>(finding.right);
        }
    }
    return std::nullopt;
}

bool complete(std::span<std::uint8_t> frame, const PacketView& packet,
              const judge::FrameVerdict& verdict) {
    const auto value = completed_value(packet, verdict);
    if (!value) {
        return false;
    }
    const std::uint16_t offset = *field_offset(packet);
    frame[offset] = static_cast<std::uint8_t>(*value >> 8);
    frame[offset + 1u] = static_cast<std::uint8_t>(*value);
    return true;
}

}  // namespace

unsigned complete_partial_checksums(std::span<std::uint8_t> frame,
                                    std::span<const std::uint16_t> tunnel_ports,
                                    judge::FrameVerdict& verdict) noexcept {
    const frame::FrameView view = frame::parse_frame(frame, tunnel_ports);
    unsigned completed = 0;
    if (view.has_inner && complete(frame, view.inner, verdict)) {
        ++completed;
        verdict = judge::verify(frame, tunnel_ports);
    }
    if (complete(frame, view.outer, verdict)) {
        ++completed;
        verdict = judge::verify(frame, tunnel_ports);
    }
    return completed;
}

}  // namespace pathproof::softnic
