#include "dataplane/calibration/look_alikes.h"

#include <netinet/in.h>

#include "dataplane/frame/checksum.h"
#include "dataplane/frame/view.h"
#include "dataplane/softnic/bytes.h"
#include "dataplane/softnic/word_sum.h"

namespace pathproof::calibration {
namespace {

using frame::Network;
using frame::PacketView;
using frame::Transport;
using softnic::get16;
using softnic::put16;
using softnic::WordSum;

constexpr std::size_t kUdpHeader = 8;
constexpr std::size_t kIpv4Header = 20;
constexpr std::uint8_t kUdpLite = 136;

// A word changes; the checksum over it follows (RFC 1624 equation 3).
void change(FrameBytes& frame, std::size_t at, std::uint16_t value, std::size_t checksum) {
    put16(frame, checksum,
          frame::updated_checksum(get16(frame, checksum), get16(frame, at), value));
    put16(frame, at, value);
}

void update_udp(FrameBytes& frame, std::size_t field, std::uint16_t before, std::uint16_t after) {
    if (get16(frame, field) == 0) {
        return;  // off
    }
    const std::uint16_t value = frame::updated_checksum(get16(frame, field), before, after);
    put16(frame, field, value == 0 ? 0xffff : value);
}

bool whole(const PacketView& packet) {
    return packet.network != Network::kNone && packet.fragment == frame::Fragment::kWhole;
}

bool plain(const frame::FrameView& view, Transport transport) {
    return !view.has_inner && view.tunnel == frame::Tunnel::kNone && whole(view.outer) &&
           view.outer.transport == transport && view.malformed == frame::Malformed::kNone;
}

std::optional<FrameBytes> tcp_all_ones(FrameBytes frame, const frame::FrameView& view) {
    const PacketView& packet = view.innermost();
    const std::size_t field = packet.transport_offset + 16u;
    const bool fits =
        whole(packet) && packet.transport == Transport::kTcp && get16(frame, field) == 0;
    if (!fits) {
        return std::nullopt;
    }
    put16(frame, field, 0xffff);
    return frame;
}

// A word of the data is chosen so that the checksum comes out as the pseudo-header's sum. All that
// covers the packet from outside stays right: word and checksum together sum up as before.
std::optional<FrameBytes> right_by_chance(FrameBytes frame, const frame::FrameView& view) {
    const PacketView& packet = view.innermost();
    const bool udp = packet.transport == Transport::kUdp;
    const bool fits = whole(packet) && packet.payload_length >= 2 && packet.trailer_length == 0 &&
                      packet.covered_length == packet.transport_length &&
                      (udp || packet.transport == Transport::kTcp);
    const std::size_t field = packet.transport_offset + (udp ? 6u : 16u);
    if (!fits || (udp && get16(frame, field) == 0)) {
        return std::nullopt;
    }
    const WordSum pseudo = pseudo_header(packet, packet.transport_length);
    WordSum word;
    word.add_word(get16(frame, packet.payload_offset));
    word.add_word(get16(frame, field));
    word.add_word(pseudo.inverted());
    put16(frame, packet.payload_offset, word.folded());
    put16(frame, field, pseudo.folded());
    return frame;
}

// UDP gives up its last two bytes, which stay in the IP packet: they and the length leave the sum.
std::optional<FrameBytes> data_behind_udp(FrameBytes frame, const frame::FrameView& view) {
    const std::size_t at = view.outer.transport_offset;
    if (!plain(view, Transport::kUdp)) {
        return std::nullopt;
    }
    const std::uint16_t length = get16(frame, at + 4);
    if (length < kUdpHeader + 2 || length % 2 != 0 || at + length != view.outer.network_end) {
        return std::nullopt;
    }
    const auto shorter = static_cast<std::uint16_t>(length - 2);
    update_udp(frame, at + 6, get16(frame, at + shorter), 0);
    update_udp(frame, at + 6, length, shorter);
    update_udp(frame, at + 6, length, shorter);  // in the header and in the pseudo-header
    put16(frame, at + 4, shorter);
    return frame;
}

// Makes an ICMP error that quotes an IPv4 datagram as a router does (RFC 792), its UDP checksum
// turned wrong.
std::optional<FrameBytes> icmp_error(const FrameBytes& frame, const frame::FrameView& view) {
    const PacketView& packet = view.outer;
    const bool fits = packet.network == Network::kIpv4 && whole(packet) && !view.has_inner &&
                      packet.network_length == kIpv4Header && packet.transport == Transport::kUdp &&
                      frame.size() >= packet.network_offset + kIpv4Header + kUdpHeader;
    if (!fits) {
        return std::nullopt;
    }
    const std::size_t ip = packet.network_offset;
    const auto begin = frame.begin() + static_cast<std::ptrdiff_t>(ip);
    FrameBytes error(frame.begin(), begin + kIpv4Header);
    error.insert(error.end(), {3, 3, 0, 0, 0, 0, 0, 0});  // port unreachable
    error.insert(error.end(), begin, begin + kIpv4Header + kUdpHeader);
    const std::size_t icmp = ip + kIpv4Header;
    error.back() = static_cast<std::uint8_t>(error.back() ^ 0x5a);
    WordSum body;
    body.add(softnic::Bytes(error).subspan(icmp));
    put16(error, icmp + 2, body.inverted());
    put16(error, ip + 2, static_cast<std::uint16_t>(error.size() - ip));
    error[ip + 9] = IPPROTO_ICMP;
    put16(error, ip + 10, 0);
    WordSum header;
    header.add(softnic::Bytes(error).subspan(ip, kIpv4Header));
    put16(error, ip + 10, header.inverted());
    return error;
}

// RFC 3828: the field of UDP's length is the coverage, here of the header alone.
std::optional<FrameBytes> udp_lite(FrameBytes frame, const frame::FrameView& view) {
    const PacketView& packet = view.outer;
    const bool fits = plain(view, Transport::kUdp) && packet.network == Network::kIpv4;
    if (!fits || get16(frame, packet.transport_offset + 4) != packet.transport_length ||
        packet.transport_offset + packet.transport_length != packet.network_end) {
        return std::nullopt;
    }
    const std::size_t ip = packet.network_offset;
    const std::size_t at = packet.transport_offset;
    change(frame, ip + 8, static_cast<std::uint16_t>(frame[ip + 8] << 8 | kUdpLite), ip + 10);
    put16(frame, at + 4, kUdpHeader);
    put16(frame, at + 6, 0);
    WordSum sum;
    sum.add(softnic::Bytes(frame).subspan(ip + 12, 8));
    sum.add_word(kUdpLite);
    sum.add_word(packet.transport_length);
    sum.add(softnic::Bytes(frame).subspan(at, kUdpHeader));
    put16(frame, at + 6, sum.inverted() == 0 ? 0xffff : sum.inverted());
    return frame;
}

std::optional<FrameBytes> forwarded(FrameBytes frame, const frame::FrameView& view) {
    const std::size_t ip = view.outer.network_offset;
    if (view.outer.network == Network::kIpv6) {
        frame[ip + 7] = static_cast<std::uint8_t>(frame[ip + 7] - 1);
        return frame;
    }
    if (view.outer.network != Network::kIpv4) {
        return std::nullopt;
    }
    const auto hop = static_cast<std::uint16_t>(get16(frame, ip + 8) - 0x100);
    change(frame, ip + 8, hop, ip + 10);
    change(frame, ip, static_cast<std::uint16_t>(get16(frame, ip) ^ 0xb8), ip + 10);  // EF
    return frame;
}

std::optional<FrameBytes> translated(FrameBytes frame, const frame::FrameView& view) {
    const PacketView& packet = view.outer;
    const std::size_t at = packet.transport_offset;
    constexpr std::uint16_t kPort = 61'003;
    if (!whole(packet)) {
        return std::nullopt;
    }
    if (packet.transport == Transport::kUdp) {
        update_udp(frame, at + 6, get16(frame, at), kPort);
        put16(frame, at, kPort);
        return frame;
    }
    if (packet.transport != Transport::kTcp) {
        return std::nullopt;
    }
    change(frame, at, kPort, at + 16);
    return frame;
}

bool is_vxlan(const frame::FrameView& view) {
    return view.has_inner && view.tunnel == frame::Tunnel::kVxlan;
}

// Words of the VXLAN header change; the outer checksum follows.
void change_tunnel(FrameBytes& frame, const frame::FrameView& view, std::size_t word,
                   std::uint16_t value) {
    const std::size_t at = view.tunnel_offset + word;
    update_udp(frame, view.outer.transport_offset + 6u, get16(frame, at), value);
    put16(frame, at, value);
}

std::optional<FrameBytes> vni_zero(FrameBytes frame, const frame::FrameView& view) {
    if (!is_vxlan(view)) {
        return std::nullopt;
    }
    change_tunnel(frame, view, 4, 0);
    change_tunnel(frame, view, 6, static_cast<std::uint16_t>(frame[view.tunnel_offset + 7u]));
    return frame;
}

std::optional<FrameBytes> group_policy(FrameBytes frame, const frame::FrameView& view) {
    if (!is_vxlan(view)) {
        return std::nullopt;
    }
    change_tunnel(frame, view, 0,
                  static_cast<std::uint16_t>(get16(frame, view.tunnel_offset) | 0x8000));
    change_tunnel(frame, view, 2, 0x0042);
    return frame;
}

// Cuts the frame in the middle of the innermost data.
std::optional<FrameBytes> cut(FrameBytes frame, const frame::FrameView& view) {
    const PacketView& packet = view.innermost();
    const bool data = packet.network != Network::kNone && packet.payload_length >= 2;
    if (!data) {
        return std::nullopt;
    }
    frame.resize(packet.payload_offset + packet.payload_length / 2);
    return frame;
}

}  // namespace

WordSum pseudo_header(const PacketView& packet, std::size_t length) {
    WordSum sum;
    sum.add({packet.source.bytes.data(), packet.source.size()});
    sum.add({packet.final_destination.bytes.data(), packet.final_destination.size()});
    sum.add_word(packet.protocol);
    sum.add_word(static_cast<std::uint32_t>(length));
    return sum;
}

const char* name(LookAlike kind) {
    constexpr const char* kNames[kLookAlikes] = {
        "B5 TCP 0xffff",      "B12 PSEUDO by chance",
        "B8 data behind UDP", "B11 ICMP error",
        "B16 UDP-Lite",       "B17 forwarded",
        "B18 translated",     "B21 VNI 0",
        "B21 group policy",   "B22 cut",
        "B9 merged segments", "B13 counter of good frames"};
    return kNames[static_cast<std::size_t>(kind)];
}

std::optional<FrameBytes> look_alike(LookAlike kind, const FrameBytes& healthy,
                                     const frame::TunnelPorts& tunnels) {
    const frame::FrameView view = frame::parse_frame(healthy, tunnels);
    switch (kind) {
        case LookAlike::kTcpAllOnes: return tcp_all_ones(healthy, view);
        case LookAlike::kByChance: return right_by_chance(healthy, view);
        case LookAlike::kDataBehindUdp: return data_behind_udp(healthy, view);
        case LookAlike::kIcmpError: return icmp_error(healthy, view);
        case LookAlike::kUdpLite: return udp_lite(healthy, view);
        case LookAlike::kForwarded: return forwarded(healthy, view);
        case LookAlike::kTranslated: return translated(healthy, view);
        case LookAlike::kVniZero: return vni_zero(healthy, view);
        case LookAlike::kGroupPolicy: return group_policy(healthy, view);
        case LookAlike::kCut: return cut(healthy, view);
        case LookAlike::kMerged:
        case LookAlike::kMiscounted: break;
    }
    return std::nullopt;
}

}  // namespace pathproof::calibration
