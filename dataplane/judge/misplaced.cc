#include "dataplane/judge/misplaced.h"

#include <netinet/in.h>

#include <algorithm>

#include "dataplane/frame/checksum.h"
#include "dataplane/judge/suspect.h"

namespace pathproof::judge {
namespace {

using frame::FrameView;
using frame::Network;
using frame::Transport;

constexpr std::size_t kUdpField = 6;
constexpr std::size_t kTcpField = 16;
constexpr std::size_t kIcmpField = 2;

std::vector<std::size_t> own_fields(const PacketView& packet) {
    switch (packet.protocol) {
        case IPPROTO_UDP:
        case IPPROTO_UDPLITE: return {kUdpField};
        case IPPROTO_TCP: return {kTcpField};
        case IPPROTO_ICMPV6: return {kIcmpField};
        default: return {};
    }
}

class Writes {
  public:
    Writes(Bytes base, const frame::TunnelPorts& tunnels) : base_(base), tunnels_(tunnels) {}

    std::vector<MisplacedWrite> make() && {
        const FrameView view = frame::parse_frame(base_, tunnels_);
        add_packet(view, view.outer);
        if (view.has_inner) {
            add_packet(view, view.inner);
            add_without_outer(view);
        } else {
            add_as_tunnel(view);
        }
        return std::move(writes_);
    }

  private:
    // A sum from `start` to `end`, put at `field` behind the start, which may be behind the packet.
    // What a sender takes for the field holds its partial sum, or is left out of the sum.
    void add(Misplaced misplaced, const PacketView& packet, std::size_t start, std::size_t field,
             std::size_t end) {
        const std::size_t at = start + field;
        if (start >= end || end > base_.size() || at + 2 > base_.size()) {
            return;
        }
        const PartialSum all = frame::sum_bytes(base_.subspan(start, end - start));
        const std::uint16_t held = word_at(base_, at);
        const PartialSum pseudo =
            frame::sum_word(pseudo_of(packet, static_cast<std::uint32_t>(end - start)));
        const PartialSum own_pseudo = frame::sum_word(pseudo_of(packet, packet.transport_length));
        const PartialSum left_out = field % 2 == 0 && at + 2 <= end ? frame::without_word(held) : 0;
        for (const PartialSum sum : {all, all + left_out, all + left_out + pseudo,
                                     all + left_out + own_pseudo, all + own_pseudo}) {
            writes_.push_back({misplaced, static_cast<std::uint32_t>(at), frame::checksum_of(sum)});
        }
    }

    void add_packet(const FrameView& view, const PacketView& packet) {
        if (packet.network == Network::kNone) {
            return;
        }
        if (packet.fragment == frame::Fragment::kLater) {
            return add_fragment(packet);
        }
        if (packet.transport_length == 0) {
            return;
        }
        const std::size_t end = packet.transport_offset + packet.transport_length;
        const std::size_t start = packet.transport_offset;
        for (const std::size_t field : own_fields(packet)) {
            add_shifted(view, packet, field, end);
            for (const std::size_t other : {kUdpField, kTcpField, kIcmpField}) {
                if (other != field) {
                    add(Misplaced::kOtherProtocol, packet, start, other, end);
                }
            }
        }
    }

    void add_shifted(const FrameView& view, const PacketView& packet, std::size_t field,
                     std::size_t end) {
        const bool ipv6 = packet.network == Network::kIpv6;
        const std::size_t fixed = packet.network_offset + (ipv6 ? 40u : 20u);
        if (fixed < packet.transport_offset) {
            add(ipv6 ? Misplaced::kExthdrStart : Misplaced::kOptionsStart, packet, fixed, field,
                end);
        }
        const std::size_t tags = view.outer.vlans + view.inner.vlans;
        for (std::size_t tag = 1; tag <= tags; ++tag) {
            add(Misplaced::kVlanStart, packet, packet.transport_offset - 4 * tag, field, end);
            add(Misplaced::kVlanStart, packet, packet.transport_offset + 4 * tag, field, end);
        }
    }

    // Lengths of the outer headers that nobody told: the start is counted from elsewhere.
    void add_without_outer(const FrameView& view) {
        const PacketView& inner = view.inner;
        if (inner.network == Network::kNone || inner.transport_length == 0) {
            return;
        }
        const std::size_t end = inner.transport_offset + inner.transport_length;
        const std::size_t starts[] = {
            inner.transport_offset - view.outer.transport_offset,
            inner.transport_offset - inner.ethernet_offset,
            view.outer.transport_offset,
        };
        for (const std::size_t field : own_fields(inner)) {
            for (const std::size_t start : starts) {
                add(Misplaced::kNoOuterLengths, inner, start, field, end);
            }
        }
    }

    void add_fragment(const PacketView& packet) {
        const std::size_t start = packet.network_offset + packet.network_length;
        for (const std::size_t field : own_fields(packet)) {
            add(Misplaced::kFragment, packet, start, field, packet.network_end);
        }
    }

    // VXLAN or GENEVE without options in the payload of plain UDP, an Ethernet header without tags,
    // and IPv4 or IPv6 behind it.
    void add_as_tunnel(const FrameView& view) {
        const PacketView& packet = view.outer;
        if (packet.transport != Transport::kUdp) {
            return;
        }
        const std::size_t end = packet.payload_offset + packet.payload_length;
        for (const std::size_t network : {20u, 40u}) {
            const std::size_t start = packet.payload_offset + 8 + 14 + network;
            for (const std::size_t field : {kUdpField, kTcpField}) {
                add(Misplaced::kPlainAsTunnel, packet, start, field, end);
            }
        }
        add_readable_tunnel(packet);
    }

    // A payload that reads as a tunnel's: the checksums that belong into it.
    void add_readable_tunnel(const PacketView& packet) {
        for (const frame::Tunnel kind :
             {frame::Tunnel::kVxlan, frame::Tunnel::kVxlanGpe, frame::Tunnel::kGeneve}) {
            frame::TunnelPorts guess(frame::IpTunnels::kIgnored);
            guess.add(packet.destination_port, kind);
            const FrameVerdict verdict = verify(base_, guess);
            for (const ChecksumFinding& finding : verdict.all()) {
                const bool inside = finding.layer.depth == Depth::kInner;
                if (inside && finding.state != ChecksumState::kUnverifiable) {
                    writes_.push_back({Misplaced::kPlainAsTunnel, finding.field_offset,
                                       static_cast<std::uint16_t>(finding.right)});
                }
            }
        }
    }

    Bytes base_;
    const frame::TunnelPorts& tunnels_;
    std::vector<MisplacedWrite> writes_;
};

}  // namespace

std::vector<MisplacedWrite> misplaced_writes(std::span<const std::uint8_t> base,
                                             const frame::TunnelPorts& tunnels) {
    return Writes(base, tunnels).make();
}

}  // namespace pathproof::judge
