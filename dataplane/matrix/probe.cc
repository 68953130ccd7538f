#include "dataplane/matrix/probe.h"

#include <rte_ethdev.h>
#include <rte_ether.h>
#include <rte_mbuf.h>

#include <algorithm>
#include <array>

#include "dataplane/frame/template.h"
#include "dataplane/frame/transport_shape.h"
#include "dataplane/matrix/row_spec.h"

namespace pathproof::matrix {
namespace {

using frame::FrameSpec;

constexpr std::uint16_t kFirstFlagsOnly = 0x80;  // CWR (RFC 3168 section 6.1.2)
constexpr std::uint16_t kLastFlagsOnly = 0x09;   // PSH, FIN
constexpr std::uint16_t kPortBeforeNat = 33'000;
constexpr std::uint32_t kAddressBeforeNat = 9;  // so many hosts further on
constexpr std::size_t kOddBytes = 7;
constexpr std::ptrdiff_t kMacs = 2 * RTE_ETHER_ADDR_LEN;

struct Rendered {
    FrameBytes bytes;
    frame::OffloadRequest request;
    frame::FrameLayout layout;
};

Result<Rendered> render(const FrameSpec& spec) {
    const auto made = TRY(frame::FrameTemplate::make(spec));
    return Rendered{made.render(), made.offload(), made.layout()};
}

// Lengths of the buffers; the headers stay together, as drivers ask for.
std::vector<std::uint32_t> split(const Rendered& frame, Buffers how, std::uint16_t most) {
    const auto total = static_cast<std::uint32_t>(frame.bytes.size());
    const std::uint32_t headers = frame.layout.packet.payload;
    if (how == Buffers::kOne || headers >= total) {
        return {};
    }
    if (how == Buffers::kHeaderSplit) {
        return {headers, total - headers};
    }
    if (how == Buffers::kOddBoundary) {
        const auto odd = static_cast<std::uint32_t>(total - headers > kOddBytes ? kOddBytes : 1);
        return total - headers > odd
                   ? std::vector<std::uint32_t>{headers, odd, total - headers - odd}
                   : std::vector<std::uint32_t>{headers, total - headers};
    }
    std::vector<std::uint32_t> buffers{headers};
    std::uint32_t left = total - headers;
    for (std::uint32_t places = most - 1u; left > 0; --places) {
        const std::uint32_t share = (left + places - 1) / places;
        buffers.push_back(share);
        left -= share;
    }
    return buffers;
}

// Takes the outermost tag out of the frame: the NIC shall put it there.
void leave_tag_to_nic(FrameSpec& spec) {
    (spec.tunnel ? spec.tunnel->outer : spec.packet).vlans = 0;
}

Result<HandedFrame> hand(FrameSpec spec, const Row& row, const DutLimits& limits) {
    const bool inserted = row.vlan == Vlan::kOneInserted;
    if (inserted) {
        leave_tag_to_nic(spec);
    }
    hand_over(spec, row, limits);
    Rendered frame = TRY(render(spec));
    if (limits.kind != DutKind::kKernelDevice) {
        TRY(frame::check(frame.request));
    }
    HandedFrame handed{.request = frame.request,
                       .buffers = split(frame, row.buffers, limits.most_buffers),
                       .virtio = frame::virtio_request(spec)};
    if (inserted) {
        handed.request.mbuf_flags |= RTE_MBUF_F_TX_VLAN;
        handed.request.port_offloads |= RTE_ETH_TX_OFFLOAD_VLAN_INSERT;
        handed.vlan_tci = kInsertedTag;
    }
    if (!handed.buffers.empty()) {
        handed.request.port_offloads |= RTE_ETH_TX_OFFLOAD_MULTI_SEGS;
        handed.virtio.header_length = static_cast<std::uint16_t>(handed.buffers.front());
    }
    handed.bytes = std::move(frame.bytes);
    return handed;
}

// Segment `number` of a super-frame, as RFC 9293 has it: sequence advanced, PSH and FIN at the end,
// CWR at the beginning. The identifications count up.
FrameSpec segment_of(const FrameSpec& whole, std::size_t number, std::size_t segment_bytes) {
    FrameSpec segment = whole;
    const std::size_t begin = number * segment_bytes;
    const std::size_t end = std::min(begin + segment_bytes, whole.payload.size());
    segment.payload.assign(whole.payload.begin() + static_cast<std::ptrdiff_t>(begin),
                           whole.payload.begin() + static_cast<std::ptrdiff_t>(end));
    frame::PacketSpec& packet = segment.packet;
    packet.tcp_sequence += static_cast<std::uint32_t>(begin);
    packet.identification = static_cast<std::uint16_t>(packet.identification + number);
    if (begin > 0) {
        packet.tcp_flags &= static_cast<std::uint8_t>(~kFirstFlagsOnly);
    }
    if (end < whole.payload.size()) {
        packet.tcp_flags &= static_cast<std::uint8_t>(~kLastFlagsOnly);
    }
    if (segment.tunnel) {
        std::uint16_t& outer = segment.tunnel->outer.identification;
        outer = static_cast<std::uint16_t>(outer + number);
    }
    return segment;
}

// The three pieces of the datagram that `whole`, without its tunnel, is.
std::vector<FrameSpec> fragments_of(const FrameSpec& whole, const Rendered& alone) {
    const std::size_t begin = alone.layout.packet.transport;
    const std::size_t bytes = alone.layout.packet.end - begin;
    const std::size_t piece = (bytes / 3 + 7) & ~std::size_t{7};
    std::vector<FrameSpec> fragments;
    for (std::size_t at = 0; at < bytes; at += piece) {
        FrameSpec fragment = whole;
        fragment.packet.fragment = frame::FragmentSpec{.offset = static_cast<std::uint16_t>(at),
                                                       .more = at + piece < bytes,
                                                       .identification = whole.packet.flow_label};
        const auto from = alone.bytes.begin() + static_cast<std::ptrdiff_t>(begin + at);
        fragment.payload.assign(from,
                                from + static_cast<std::ptrdiff_t>(std::min(piece, bytes - at)));
        fragments.push_back(std::move(fragment));
    }
    return fragments;
}

std::optional<frame::Endpoint> before_nat(const FrameSpec& spec, Nat nat) {
    if (nat == Nat::kNone || !spec.tunnel) {
        return std::nullopt;
    }
    frame::Endpoint source = spec.tunnel->outer.source;
    source.port = static_cast<std::uint16_t>(kPortBeforeNat + source.port % 16'000);
    if (nat == Nat::kSource) {
        source.address = source.address.plus(kAddressBeforeNat);
    }
    return source;
}

Status add_plain(Probe& probe, const FrameSpec& spec, const Row& row, const DutLimits& limits) {
    const Rendered intended = TRY(render(spec));
    HandedFrame handed = TRY(hand(spec, row, limits));
    probe.intended.push_back(intended.bytes);
    probe.handed.push_back(std::move(handed));
    return {};
}

Status add_segments(Probe& probe, const FrameSpec& spec, const Row& row, const DutLimits& limits) {
    HandedFrame handed = TRY(hand(spec, row, limits));
    probe.handed.push_back(std::move(handed));
    probe.segment_bytes = segment_bytes_of(row, spec, limits.mtu);
    for (std::size_t n = 0; n * probe.segment_bytes < spec.payload.size(); ++n) {
        const Rendered segment = TRY(render(segment_of(spec, n, probe.segment_bytes)));
        probe.intended.push_back(segment.bytes);
    }
    return {};
}

Status add_fragments(Probe& probe, const FrameSpec& spec, const Row& row, const DutLimits& limits) {
    const Rendered whole = TRY(render(spec));
    FrameSpec untunnelled = spec;
    untunnelled.tunnel.reset();
    untunnelled.packet.trailer.clear();
    const Rendered alone = TRY(render(untunnelled));
    probe.whole = whole.bytes;
    for (FrameSpec& fragment : fragments_of(spec, alone)) {
        fragment.packet.protocol = frame::shape_of(spec.packet).protocol;
        fragment.packet.transport = frame::Transport::kOther;
        fragment.packet.transport_checksum = frame::ChecksumMode::kSoftware;
        fragment.packet.tcp_option_bytes = 0;
        TRY(add_plain(probe, fragment, row, limits));
    }
    return {};
}

Status add_frames(Probe& probe, const FrameSpec& spec, const Row& row, const DutLimits& limits) {
    if (row.fragmentation != Fragmentation::kNone) {
        return add_fragments(probe, spec, row, limits);
    }
    if (row.segmentation != Segmentation::kNone) {
        return add_segments(probe, spec, row, limits);
    }
    return add_plain(probe, spec, row, limits);
}

std::optional<std::uint32_t> distance(const frame::IpAddress& from, const frame::IpAddress& to) {
    // The first addresses end in two zero bytes.
    const auto offset =
        static_cast<std::uint32_t>(to.bytes[to.size() - 2] << 8 | to.bytes[to.size() - 1]);
    return from.family == to.family && from.plus(offset) == to ? std::optional(offset)
                                                               : std::nullopt;
}

}  // namespace

frame::TunnelPorts tunnels_of(const Row& row) {
    if (row.encap == Encap::kNone) {
        return frame::TunnelPorts(frame::IpTunnels::kIgnored);
    }
    const frame::Tunnel kind = tunnel_of(row.encap);
    frame::TunnelPorts tunnels(frame::IpTunnels::kFollowed);
    for (const std::uint16_t port : std::array<std::uint16_t, 4>{4789, 8472, 4790, 6081}) {
        if (frame::TunnelPorts::well_known().kind_of(port) == kind) {
            tunnels.add(port, kind);
        }
    }
    if (frame::over_udp(kind)) {
        tunnels.add(8223, kind);
    }
    return tunnels;
}

Result<Probe> ProbeMaker::make(const Row& row, const Label& label,
                               std::optional<std::size_t> payload_bytes) const {
    FrameSpec spec = spec_of(row, label, addresses_, seed_, limits_.mtu);
    if (payload_bytes) {
        spec.payload.resize(*payload_bytes);
        write_payload(spec.payload, row.values, label, seed_);
    }
    Probe probe{.label = label, .tunnels = tunnels_of(row)};
    probe.source_before_nat = before_nat(spec, row.nat);
    if (direction_ == Direction::kReceive) {
        make_mistakes(spec, row);
    }
    TRY(doing(add_frames(probe, spec, row, limits_), "row '{}'", describe(row)));
    return probe;
}

std::optional<Label> ProbeMaker::label_of(const frame::PacketView& innermost) const {
    const bool v4 = innermost.network == frame::Network::kIpv4;
    if (innermost.network == frame::Network::kNone) {
        return std::nullopt;
    }
    const auto row = distance(v4 ? addresses_.source4 : addresses_.source6, innermost.source);
    const auto index =
        distance(v4 ? addresses_.destination4 : addresses_.destination6, innermost.destination);
    if (!row || !index) {
        return std::nullopt;
    }
    return Label{*row, *index};
}

Probe as_plain(Probe probe) {
    probe.handed.clear();
    for (const FrameBytes& intended : probe.intended) {
        probe.handed.push_back({.bytes = intended});
    }
    probe.segment_bytes = 0;
    return probe;
}

FrameBytes with_tag(FrameBytes frame, std::uint16_t control) {
    const std::array<std::uint8_t, RTE_VLAN_HLEN> tag = {
        0x81, 0x00, static_cast<std::uint8_t>(control >> 8), static_cast<std::uint8_t>(control)};
    frame.insert(frame.begin() + kMacs, tag.begin(), tag.end());
    return frame;
}

FrameBytes without_tag(FrameBytes frame) {
    frame.erase(frame.begin() + kMacs, frame.begin() + kMacs + RTE_VLAN_HLEN);
    return frame;
}

softnic::TxFrame to_tx_frame(const HandedFrame& frame, const Probe& probe) {
    return {.bytes = frame.bytes,
            .request = {.offload = frame.request, .vlan_tci = frame.vlan_tci},
            .buffers = frame.buffers,
            .source_before_nat = probe.source_before_nat};
}

}  // namespace pathproof::matrix
