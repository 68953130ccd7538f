#include "dataplane/softnic/completion.h"

#include "dataplane/frame/checksum.h"
#include "dataplane/frame/view.h"

namespace pathproof::softnic {
namespace {

// Returns whether the kernel leaves the pseudo-header's sum in this protocol's field.
bool can_be_partial(judge::Protocol protocol) {
    return protocol == judge::Protocol::kUdp || protocol == judge::Protocol::kTcp ||
           protocol == judge::Protocol::kIcmpv6;
}

// Returns the partial checksum, not inverted, that csum_tcpudp_magic() leaves in the field for an
// empty payload (RFC 1071; RFC 8200 8.1).
std::uint16_t pseudo_header_sum(const frame::PacketView& packet) {
    return frame::folded(frame::pseudo_header_sum(packet.source, packet.final_destination,
                                                  packet.protocol, packet.transport_length));
}

// True if the packet's field was a partial checksum.
bool complete(std::span<std::uint8_t> frame, const frame::PacketView& packet, judge::Depth depth,
              const judge::FrameVerdict& verdict) {
    for (const judge::ChecksumFinding& finding : verdict.all()) {
        if (finding.layer.depth == depth && can_be_partial(finding.layer.protocol) &&
            finding.state == judge::ChecksumState::kBad &&
            finding.wire == pseudo_header_sum(packet)) {
            judge::write_right(frame, finding);
            return true;
        }
    }
    return false;
}

}  // namespace

unsigned complete_partial_checksums(std::span<std::uint8_t> frame,
                                    std::span<const std::uint16_t> tunnel_ports,
                                    judge::FrameVerdict& verdict) noexcept {
    const frame::FrameView view = frame::parse_frame(frame, tunnel_ports);
    unsigned completed = 0;
    if (view.has_inner && complete(frame, view.inner, judge::Depth::kInner, verdict)) {
        ++completed;
        verdict = judge::verify(frame, tunnel_ports);
    }
    const judge::Depth outer = view.to_tunnel ? judge::Depth::kOuter : judge::Depth::kPlain;
    if (complete(frame, view.outer, outer, verdict)) {
        ++completed;
        verdict = judge::verify(frame, tunnel_ports);
    }
    return completed;
}

}  // namespace pathproof::softnic
