#include "dataplane/softnic/transmit_stage.h"

#include <netinet/in.h>
#include <rte_mbuf_core.h>

#include <algorithm>
#include <numeric>

#include "dataplane/softnic/bytes.h"
#include "dataplane/softnic/segmentation.h"
#include "dataplane/softnic/sites.h"

namespace pathproof::softnic {
namespace {

constexpr std::uint32_t kMacs = 12;
constexpr std::uint64_t kOuterAsked = RTE_MBUF_F_TX_OUTER_IP_CKSUM | RTE_MBUF_F_TX_OUTER_UDP_CKSUM;
constexpr std::uint64_t kOuterFamily = RTE_MBUF_F_TX_OUTER_IPV4 | RTE_MBUF_F_TX_OUTER_IPV6;
constexpr std::uint64_t kFamily = RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_IPV6;
constexpr std::uint64_t kSegment = RTE_MBUF_F_TX_TCP_SEG | RTE_MBUF_F_TX_UDP_SEG;

bool all_of(std::uint64_t flags, std::uint64_t wanted) {
    return (flags & wanted) == wanted;
}

bool flags_conflict(const TxRequest& request) {
    const std::uint64_t flags = request.offload.mbuf_flags;
    const std::uint64_t l4 = flags & RTE_MBUF_F_TX_L4_MASK;
    const bool tso = (flags & RTE_MBUF_F_TX_TCP_SEG) != 0;
    const bool uso = (flags & RTE_MBUF_F_TX_UDP_SEG) != 0;
    const bool tunnel = (flags & RTE_MBUF_F_TX_TUNNEL_MASK) != 0;
    return all_of(flags, kFamily) || all_of(flags, kOuterFamily) || (tso && uso) ||
           (tso && l4 != 0 && l4 != RTE_MBUF_F_TX_TCP_CKSUM) ||
           (uso && l4 != 0 && l4 != RTE_MBUF_F_TX_UDP_CKSUM) ||
           (asked_transport(request) != 0 && (flags & kFamily) == 0) ||
           ((flags & RTE_MBUF_F_TX_IP_CKSUM) != 0 && (flags & RTE_MBUF_F_TX_IPV4) == 0) ||
           ((flags & RTE_MBUF_F_TX_OUTER_IP_CKSUM) != 0 &&
            (flags & RTE_MBUF_F_TX_OUTER_IPV4) == 0) ||
           ((flags & kOuterAsked) != 0 && (!tunnel || (flags & kOuterFamily) == 0)) ||
           (tunnel && (flags & kOuterFamily) == 0);
}

bool family_fits(const PacketPlace& packet, std::uint64_t flags, std::uint64_t ipv4) {
    return packet.family == ((flags & ipv4) != 0 ? 4 : 6);
}

Refusal check_packet(const PacketPlace& packet, std::uint32_t l3, const TxRequest& request) {
    const std::uint64_t flags = request.offload.mbuf_flags;
    if (!family_fits(packet, flags, RTE_MBUF_F_TX_IPV4) || packet.l3 != l3 ||
        packet.l4 != l3 + request.offload.l3_len) {
        return Refusal::kNoNetworkHeader;
    }
    const std::uint8_t protocol = asked_transport(request);
    if (protocol == 0) {
        return Refusal::kNone;
    }
    if (packet.fragment != FragmentKind::kWhole) {
        return Refusal::kFragment;
    }
    if (packet.transport != protocol || !packet.destination_known) {
        return Refusal::kNoTransportHeader;
    }
    return Refusal::kNone;
}

Refusal check_outer(const Places& places, const TxRequest& request) {
    const frame::OffloadRequest& asked = request.offload;
    const PacketPlace& outer = places.outer;
    if (!family_fits(outer, asked.mbuf_flags, RTE_MBUF_F_TX_OUTER_IPV4) ||
        outer.l3 != asked.outer_l2_len || outer.l4 != outer.l3 + asked.outer_l3_len ||
        places.tunnel == TunnelKind::kNone) {
        return Refusal::kNoNetworkHeader;
    }
    if ((asked.mbuf_flags & RTE_MBUF_F_TX_OUTER_UDP_CKSUM) != 0 && outer.transport != IPPROTO_UDP) {
        return Refusal::kNoTransportHeader;
    }
    return Refusal::kNone;
}

bool has_trailer(const Places& places) {
    const PacketPlace& innermost = places.innermost();
    const bool tunnel = places.tunnel != TunnelKind::kNone;
    const bool behind_udp = innermost.l4 + innermost.l4_length != innermost.end;
    const PacketPlace& outer = places.outer;
    const bool behind_outer_udp = tunnel && outer.l4 + outer.l4_length != outer.end;
    return outer.trailer() != 0 || innermost.trailer() != 0 || behind_udp || behind_outer_udp;
}

Refusal check_tunnel_segmentation(Bytes frame, const Places& places, const TxRequest& request) {
    const std::uint64_t flags = request.offload.mbuf_flags;
    const PacketPlace& outer = places.outer;
    if (outer.family == 4 && (flags & RTE_MBUF_F_TX_OUTER_IP_CKSUM) == 0) {
        return Refusal::kIpChecksumMissing;
    }
    if (outer.transport == IPPROTO_UDP && get16(frame, outer.l4 + 6) != 0 &&
        (flags & RTE_MBUF_F_TX_OUTER_UDP_CKSUM) == 0) {
        return Refusal::kOuterChecksumMissing;
    }
    if (places.tunnel == TunnelKind::kGre && (frame[places.tunnel_at] & 0x90) != 0) {
        return Refusal::kGreField;
    }
    return Refusal::kNone;
}

Refusal check_segmentation(Bytes frame, const Places& places, const TxRequest& request,
                           const NicLimits& limits) {
    const PacketPlace& packet = places.innermost();
    if (request.offload.segment_bytes < limits.smallest_mss) {
        return Refusal::kMssMissing;
    }
    if (packet.payload != packet.l4 + request.offload.l4_len) {
        return Refusal::kNoTransportHeader;
    }
    if (packet.family == 4 && (request.offload.mbuf_flags & RTE_MBUF_F_TX_IP_CKSUM) == 0) {
        return Refusal::kIpChecksumMissing;
    }
    if (has_trailer(places)) {
        return Refusal::kTrailer;
    }
    const Cut cut = cut_of(places, request.offload.segment_bytes);
    if (cut.header + cut.length(0) > limits.longest_frame) {
        return Refusal::kTooLong;
    }
    return places.tunnel == TunnelKind::kNone ? Refusal::kNone
                                              : check_tunnel_segmentation(frame, places, request);
}

// `places` were found as the request told, in the bytes as they were handed over.
Refusal check_request(Bytes frame, const Places& places, const TxRequest& request,
                      const NicLimits& limits) {
    const frame::OffloadRequest& asked = request.offload;
    const std::uint64_t flags = asked.mbuf_flags;
    if (flags_conflict(request)) {
        return Refusal::kFlagsConflict;
    }
    const auto tunnel = tunnel_of(request);
    if (!tunnel) {
        return Refusal::kUnknownTunnel;
    }
    std::uint32_t l3 = asked.l2_len;
    if (*tunnel != TunnelKind::kNone) {
        if (const Refusal refusal = check_outer(places, request); refusal != Refusal::kNone) {
            return refusal;
        }
        l3 += asked.outer_l2_len + asked.outer_l3_len;
    }
    const bool inner_asked = asked_transport(request) != 0 || (flags & RTE_MBUF_F_TX_IP_CKSUM) != 0;
    if (!inner_asked) {
        return Refusal::kNone;
    }
    if (const Refusal refusal = check_packet(places.innermost(), l3, request);
        refusal != Refusal::kNone) {
        return refusal;
    }
    return (flags & kSegment) != 0 ? check_segmentation(frame, places, request, limits)
                                   : Refusal::kNone;
}

Refusal check_size(const TxFrame& frame, const NicLimits& limits) {
    if (frame.bytes.size() < 14) {
        return Refusal::kNoFrame;
    }
    const auto sum = std::accumulate(frame.buffers.begin(), frame.buffers.end(), std::size_t{0});
    if (!frame.buffers.empty() && sum != frame.bytes.size()) {
        return Refusal::kNoFrame;
    }
    if (frame.buffers.size() > limits.most_buffers) {
        return Refusal::kTooManyBuffers;
    }
    const std::uint32_t longest =
        is_segmented(frame.request) ? limits.longest_super_frame : limits.longest_frame;
    return frame.bytes.size() > longest ? Refusal::kTooLong : Refusal::kNone;
}

std::uint32_t inserted_bytes(std::uint64_t flags) {
    if ((flags & RTE_MBUF_F_TX_QINQ) == RTE_MBUF_F_TX_QINQ) {
        return 8;
    }
    return (flags & RTE_MBUF_F_TX_VLAN) != 0 ? 4 : 0;
}

void copy_with_tags(const TxFrame& frame, std::vector<std::uint8_t>& out) {
    const std::uint32_t inserted = inserted_bytes(frame.request.offload.mbuf_flags);
    out.assign(frame.bytes.begin(), frame.bytes.end());
    if (inserted == 0) {
        return;
    }
    std::array<std::uint8_t, 8> tags{};
    if (inserted == 8) {
        put16(tags, 0, 0x88a8);
        put16(tags, 2, frame.request.vlan_tci_outer);
    }
    put16(tags, inserted - 4, 0x8100);
    put16(tags, inserted - 2, frame.request.vlan_tci);
    out.insert(out.begin() + kMacs, tags.begin(), tags.begin() + inserted);
}

void list_buffer_ends(const TxFrame& frame, std::uint32_t inserted,
                      std::vector<std::uint32_t>& ends) {
    ends.clear();
    std::uint32_t end = 0;
    for (const std::uint32_t length : frame.buffers) {
        end += length;
        ends.push_back(end < kMacs ? end : end + inserted);
    }
    if (ends.empty()) {
        ends.push_back(static_cast<std::uint32_t>(frame.bytes.size()) + inserted);
    }
}

// All checksums that the request asks for.
void fill_requested(std::span<std::uint8_t> frame, const Places& places,
                    const TxRequest& request) noexcept {
    const std::uint64_t flags = request.offload.mbuf_flags;
    const PacketPlace& packet = places.innermost();
    if ((flags & RTE_MBUF_F_TX_IP_CKSUM) != 0) {
        fill(frame, packet, ip_site(packet));
    }
    if (asked_transport(request) != 0) {
        fill(frame, packet, transport_site(packet));
    }
    fill_requested_outer(frame, places, request);
}

void emit_segment(const HandedOver& handed, const TxRequest& request, const NicLimits& limits,
                  const Cut& cut, std::uint32_t segment, WireFrameBytes& out) {
    const auto header = handed.bytes.begin() + cut.header;
    const auto payload = header + cut.offset(segment);
    out.assign(handed.bytes.begin(), header);
    out.insert(out.end(), payload, payload + cut.length(segment));
    edit_headers(out, handed.places, cut, segment);
    fill_requested(out, find_places(out, limits, told_by(request)), request);
}

}  // namespace

std::uint8_t asked_transport(const TxRequest& request) noexcept {
    const std::uint64_t flags = request.offload.mbuf_flags;
    if ((flags & RTE_MBUF_F_TX_TCP_SEG) != 0) {
        return IPPROTO_TCP;
    }
    if ((flags & RTE_MBUF_F_TX_UDP_SEG) != 0) {
        return IPPROTO_UDP;
    }
    switch (flags & RTE_MBUF_F_TX_L4_MASK) {
        case RTE_MBUF_F_TX_TCP_CKSUM: return IPPROTO_TCP;
        case RTE_MBUF_F_TX_UDP_CKSUM: return IPPROTO_UDP;
        case RTE_MBUF_F_TX_SCTP_CKSUM: return IPPROTO_SCTP;
        default: return 0;
    }
}

bool is_segmented(const TxRequest& request) noexcept {
    return (request.offload.mbuf_flags & kSegment) != 0;
}

Refusal take_over(const TxFrame& frame, const NicLimits& limits, HandedOver& handed) noexcept {
    if (const Refusal refusal = check_size(frame, limits); refusal != Refusal::kNone) {
        return refusal;
    }
    const ToldTunnel told = told_by(frame.request);
    handed.places = find_places(frame.bytes, limits, told);
    if (const Refusal refusal = check_request(frame.bytes, handed.places, frame.request, limits);
        refusal != Refusal::kNone) {
        return refusal;
    }
    copy_with_tags(frame, handed.bytes);
    const std::uint32_t inserted = inserted_bytes(frame.request.offload.mbuf_flags);
    list_buffer_ends(frame, inserted, handed.buffer_ends);
    if (inserted != 0) {
        if (handed.places.outer.vlans + inserted / 4 > 2) {
            return Refusal::kFlagsConflict;
        }
        handed.places = find_places(handed.bytes, limits, told);
    }
    return Refusal::kNone;
}

void emit(const HandedOver& handed, const TxRequest& request, const NicLimits& limits,
          std::vector<WireFrameBytes>& frames) {
    if (!is_segmented(request)) {
        frames.assign(1, handed.bytes);
        fill_requested(frames.front(), handed.places, request);
        return;
    }
    const Cut cut = cut_of(handed.places, request.offload.segment_bytes);
    frames.resize(cut.segments());
    for (std::uint32_t segment = 0; segment < frames.size(); ++segment) {
        emit_segment(handed, request, limits, cut, segment, frames[segment]);
    }
}

void fill_requested_outer(std::span<std::uint8_t> frame, const Places& places,
                          const TxRequest& request) noexcept {
    const std::uint64_t flags = request.offload.mbuf_flags;
    if ((flags & RTE_MBUF_F_TX_OUTER_IP_CKSUM) != 0) {
        fill(frame, places.outer, ip_site(places.outer));
    }
    if ((flags & RTE_MBUF_F_TX_OUTER_UDP_CKSUM) != 0) {
        fill(frame, places.outer, transport_site(places.outer));
    }
}

}  // namespace pathproof::softnic
