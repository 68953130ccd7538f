#include "harness/truth/super_frame.h"

#include <rte_mbuf_core.h>

#include <algorithm>

#include "dataplane/judge/explain.h"
#include "dataplane/judge/segment_audit.h"
#include "dataplane/softnic/completion.h"
#include "harness/truth/finish.h"

namespace pathproof::truth {
namespace {

using matrix::FrameBytes;
using verdict::Observed;

constexpr std::size_t kMostBad = 32;
constexpr std::uint8_t kFinPush = 0x09;
constexpr std::size_t kTcpFlags = 13;

const frame::TunnelPorts kTunnels = frame::TunnelPorts::well_known();

void put16(FrameBytes& bytes, std::size_t at, std::size_t value) {
    bytes[at] = static_cast<std::uint8_t>(value >> 8);
    bytes[at + 1] = static_cast<std::uint8_t>(value);
}

// The super-frame that the first frame of the wire must have come from: its headers, with the
// lengths of the whole payload behind them. Over IPv4 inside and outside.
FrameBytes super_frame_of(const FrameBytes& first, const std::vector<std::uint8_t>& payload) {
    const frame::FrameView view = frame::parse_frame(first, kTunnels);
    FrameBytes super(first.begin(),
                     first.begin() + static_cast<std::ptrdiff_t>(view.inner.payload_offset));
    super.insert(super.end(), payload.begin(), payload.end());
    for (const frame::PacketView* packet : {&view.outer, &view.inner}) {
        put16(super, packet->network_offset + 2u, super.size() - packet->network_offset);
        if (packet->transport == frame::Transport::kUdp) {
            put16(super, packet->transport_offset + 4u, super.size() - packet->transport_offset);
        } else {
            super[packet->transport_offset + kTcpFlags] |= kFinPush;
        }
    }
    return super;
}

// Cuts the super-frame as a NIC must that gets the same request in an mbuf (rte_mbuf_core.h, "TSO
// of tunnels").
std::vector<FrameBytes> cut_by_healthy_nic(const FrameBytes& super, std::uint16_t segment_bytes,
                                           OuterSum outer) {
    const frame::FrameView view = frame::parse_frame(super, kTunnels);
    const bool tcp = view.inner.transport == frame::Transport::kTcp;
    return through_healthy_nic(
        super,
        {.mbuf_flags = (tcp ? RTE_MBUF_F_TX_TCP_SEG | RTE_MBUF_F_TX_TCP_CKSUM
                            : RTE_MBUF_F_TX_UDP_SEG | RTE_MBUF_F_TX_UDP_CKSUM) |
                       RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_IP_CKSUM | RTE_MBUF_F_TX_TUNNEL_VXLAN |
                       RTE_MBUF_F_TX_OUTER_IPV4 | RTE_MBUF_F_TX_OUTER_IP_CKSUM |
                       (outer == OuterSum::kComputed ? RTE_MBUF_F_TX_OUTER_UDP_CKSUM : 0),
         .outer_l2_len = static_cast<std::uint16_t>(view.outer.network_offset),
         .outer_l3_len = static_cast<std::uint16_t>(view.outer.network_length),
         .l2_len =
             static_cast<std::uint16_t>(view.inner.network_offset - view.outer.transport_offset),
         .l3_len = static_cast<std::uint16_t>(view.inner.network_length),
         .l4_len =
             static_cast<std::uint16_t>(view.inner.payload_offset - view.inner.transport_offset),
         .segment_bytes = segment_bytes});
}

bool is_super(const FrameBytes& bytes, std::uint16_t segment_bytes) {
    const frame::FrameView view = frame::parse_frame(bytes, kTunnels);
    return view.has_inner && view.inner.network_end > view.inner.payload_offset + segment_bytes;
}

std::vector<FrameBytes> finished(const std::vector<FrameBytes>& wire, std::uint16_t segment_bytes,
                                 OuterSum outer, SegmentTally& tally) {
    std::vector<FrameBytes> frames;
    for (const FrameBytes& bytes : wire) {
        if (is_super(bytes, segment_bytes)) {
            ++tally.uncut;
            std::ranges::move(cut_by_healthy_nic(bytes, segment_bytes, outer),
                              std::back_inserter(frames));
            continue;
        }
        frames.push_back(bytes);
        constexpr std::array<std::uint16_t, 1> kVxlan = {4789};
        judge::FrameVerdict verdict = judge::verify(frames.back(), kVxlan);
        tally.unfinished +=
            softnic::complete_partial_checksums(frames.back(), kVxlan, verdict) > 0 ? 1 : 0;
    }
    return frames;
}

void object(const std::string& name, const FrameBytes& frame, SegmentTally& tally) {
    ++tally.names[name];
    ++tally.wrong;
    if (frame.empty() || tally.bad.size() == kMostBad) {
        return;
    }
    tally.bad.push_back(frame);
    tally.explanation += fmt::format("frame {} of the pcapng: {}\n{}\n", tally.bad.size(), name,
                                     judge::explain(frame, judge::Evidence{.tunnels = kTunnels}));
}

// Checks that the outer UDP has a checksum if one was asked for, and none if not.
void check_outer(const FrameBytes& frame, OuterSum outer, SegmentTally& tally) {
    const judge::FrameVerdict verdict = judge::verify(frame, kTunnels);
    const auto* udp = verdict.find({judge::Depth::kOuter, judge::Protocol::kUdp});
    const bool zero = udp != nullptr && udp->state == judge::ChecksumState::kDisabled;
    if (udp != nullptr && zero != (outer == OuterSum::kZero)) {
        object(zero ? "ZERO(outer.udp)" : "NOT_ZERO(outer.udp)", frame, tally);
    }
}

}  // namespace

Observed SegmentTally::observed(WireKind wire) const {
    if (sent == 0) {
        return Observed::kNotTested;
    }
    if (wrong != 0) {
        return Observed::kWrong;
    }
    return wire == WireKind::kMemory && uncut + unfinished != 0 ? Observed::kByDesign
                                                                : Observed::kRight;
}

void judge_super_frame(const std::vector<FrameBytes>& wire,
                       const std::vector<std::uint8_t>& payload, std::uint16_t segment_bytes,
                       OuterSum outer, WireKind kind, SegmentTally& tally) {
    const std::size_t expected = (payload.size() + segment_bytes - 1) / segment_bytes;
    tally.frames += expected;
    if (wire.empty()) {
        object("MISSING", {}, tally);
        return;
    }
    const FrameBytes super = super_frame_of(wire.front(), payload);
    const std::vector<FrameBytes> frames =
        kind == WireKind::kMemory ? finished(wire, segment_bytes, outer, tally) : wire;
    tally.seen += frames.size();
    const std::vector<std::span<const std::uint8_t>> spans(frames.begin(), frames.end());
    const auto audit =
        judge::audit_segments({.bytes = super, .mss = segment_bytes, .tunnels = kTunnels}, spans);
    if (!audit) {
        object("UNREADABLE", wire.front(), tally);
        return;
    }
    for (const judge::SegmentFinding& finding : audit->findings) {
        const bool there =
            finding.fault != judge::SegmentFault::kMissing && finding.segment < frames.size();
        object(judge::title(finding), there ? frames[finding.segment] : FrameBytes(), tally);
    }
    for (const FrameBytes& frame : frames) {
        check_outer(frame, outer, tally);
    }
}

}  // namespace pathproof::truth
