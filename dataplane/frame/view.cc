#include "dataplane/frame/view.h"

#include <netinet/in.h>
#include <rte_ether.h>
#include <rte_vxlan.h>

#include "dataplane/base/be.h"
#include "dataplane/base/contains.h"
#include "dataplane/frame/packet_reader.h"

namespace pathproof::frame {
namespace {

// A tunnel header's description of what follows it.
struct Envelope {
    std::uint32_t length = 0;
    std::uint32_t vni = 0;
    std::uint16_t carries = 0;  // an EtherType; RTE_ETHER_TYPE_TEB: an Ethernet frame
};

Bytes datagram_of(Bytes frame, const PacketView& outer) {
    return frame.first(outer.payload_offset + outer.payload_length);
}

std::optional<Envelope> vxlan(Bytes frame, const PacketView& outer) noexcept {
    const auto header = view<rte_vxlan_hdr>(datagram_of(frame, outer), outer.payload_offset);
    constexpr std::uint32_t kVniPresent = 0x08000000;
    if (!header || (__builtin_bswap32(header->vx_flags) & kVniPresent) == 0) {
        return std::nullopt;
    }
    return Envelope{.length = sizeof(rte_vxlan_hdr),
                    .vni = __builtin_bswap32(header->vx_vni) >> 8,
                    .carries = RTE_ETHER_TYPE_TEB};
}

// draft-ietf-nvo3-vxlan-gpe section 3: without the P bit it is plain VXLAN; an OAM packet (O bit)
// carries no user's frame.
std::optional<Envelope> vxlan_gpe(Bytes frame, const PacketView& outer) noexcept {
    struct Header {
        std::uint8_t flags;
        std::uint8_t reserved[2];
        std::uint8_t next_protocol;
        Be32 vni;
    };
    constexpr std::uint8_t kVersion = 0x30;
    constexpr std::uint8_t kVniPresent = 0x08;
    constexpr std::uint8_t kNextProtocol = 0x04;
    constexpr std::uint8_t kOam = 0x01;
    const auto header = view<Header>(datagram_of(frame, outer), outer.payload_offset);
    if (!header || (header->flags & kVniPresent) == 0 || (header->flags & kVersion) != 0) {
        return std::nullopt;
    }
    Envelope envelope{.length = sizeof(Header), .vni = header->vni.value() >> 8, .carries = 0};
    const unsigned next = (header->flags & kNextProtocol) != 0 ? header->next_protocol : 3;
    if ((header->flags & kOam) == 0) {
        constexpr std::uint16_t kCarried[] = {0, RTE_ETHER_TYPE_IPV4, RTE_ETHER_TYPE_IPV6,
                                              RTE_ETHER_TYPE_TEB};
        envelope.carries = next < std::size(kCarried) ? kCarried[next] : std::uint16_t{0};
    }
    return envelope;
}

// RFC 8926 section 3.4.
std::optional<Envelope> geneve(Bytes frame, const PacketView& outer) noexcept {
    struct Header {
        std::uint8_t version_and_length;
        std::uint8_t flags;
        Be16 protocol;
        Be32 vni;
    };
    const Bytes datagram = datagram_of(frame, outer);
    const auto header = view<Header>(datagram, outer.payload_offset);
    if (!header || header->version_and_length >> 6 != 0) {
        return std::nullopt;
    }
    const std::uint32_t length =
        static_cast<std::uint32_t>(sizeof(Header)) + (header->version_and_length & 0x3fu) * 4;
    if (length > datagram.size() - outer.payload_offset) {
        return std::nullopt;
    }
    return Envelope{
        .length = length, .vni = header->vni.value() >> 8, .carries = header->protocol.value()};
}

// Its header was read as a transport header before.
std::optional<Envelope> gre(Bytes frame, const PacketView& outer) noexcept {
    const std::uint32_t at = outer.transport_offset;
    const std::uint16_t flags = view<Be16>(frame, at)->value();
    const std::uint32_t key = at + ((flags & kGreChecksum) != 0 ? 8u : 4u);
    return Envelope{.length = gre_length(flags),
                    .vni = (flags & kGreKey) != 0 ? view<Be32>(frame, key)->value() : 0,
                    .carries = view<Be16>(frame, at + 2)->value()};
}

std::uint16_t family_of(std::uint8_t protocol) noexcept {
    return protocol == IPPROTO_IPIP ? RTE_ETHER_TYPE_IPV4 : RTE_ETHER_TYPE_IPV6;
}

std::optional<Envelope> envelope_of(Bytes frame, const PacketView& outer, Tunnel tunnel) noexcept {
    switch (tunnel) {
        case Tunnel::kVxlan: return vxlan(frame, outer);
        case Tunnel::kVxlanGpe: return vxlan_gpe(frame, outer);
        case Tunnel::kGeneve: return geneve(frame, outer);
        case Tunnel::kGre: return gre(frame, outer);
        case Tunnel::kIpInIp:
            return Envelope{.length = 0, .vni = 0, .carries = family_of(outer.protocol)};
        case Tunnel::kNone: break;
    }
    return std::nullopt;
}

void read_tunnel(Bytes frame, FrameView& result) noexcept {
    const PacketView& outer = result.outer;
    const auto envelope = envelope_of(frame, outer, result.tunnel);
    if (!envelope) {
        result.malformed =
            outer.malformed == Malformed::kNone ? Malformed::kShortTunnel : outer.malformed;
        return;
    }
    const bool by_port = outer.transport == Transport::kUdp;
    result.tunnel_offset = by_port ? outer.payload_offset : outer.transport_offset;
    result.tunnel_length = envelope->length;
    result.vni = envelope->vni;
    const std::uint32_t inner = result.tunnel_offset + envelope->length;
    const Bytes carrier = by_port ? datagram_of(frame, outer) : frame.first(outer.network_end);
    if (envelope->carries == RTE_ETHER_TYPE_TEB) {
        read_packet(carrier, inner, result.inner);
    } else if (envelope->carries == RTE_ETHER_TYPE_IPV4 ||
               envelope->carries == RTE_ETHER_TYPE_IPV6) {
        read_ip_packet(carrier, inner, envelope->carries, result.inner);
    } else {
        return;
    }
    result.has_inner = true;
    result.malformed =
        outer.malformed == Malformed::kNone ? result.inner.malformed : outer.malformed;
}

Tunnel ip_tunnel(const PacketView& outer) noexcept {
    if (outer.transport == Transport::kGre) {
        return Tunnel::kGre;
    }
    const bool ip_in_ip = outer.transport == Transport::kOther &&
                          (outer.protocol == IPPROTO_IPIP || outer.protocol == IPPROTO_IPV6);
    return ip_in_ip ? Tunnel::kIpInIp : Tunnel::kNone;
}

template <typename KindOf>
FrameView parse(Bytes frame, KindOf kind_of, IpTunnels ip_tunnels) noexcept {
    FrameView result;
    read_packet(frame, 0, result.outer);
    const PacketView& outer = result.outer;
    result.malformed = outer.malformed;
    if (outer.fragment != Fragment::kWhole) {
        return result;
    }
    if (outer.transport == Transport::kUdp) {
        result.tunnel = kind_of(outer.destination_port);
    } else if (ip_tunnels == IpTunnels::kFollowed) {
        result.tunnel = ip_tunnel(outer);
    }
    result.to_tunnel = result.tunnel != Tunnel::kNone;
    if (result.to_tunnel) {
        read_tunnel(frame, result);
    }
    return result;
}

}  // namespace

FrameView parse_frame(Bytes frame, const TunnelPorts& tunnels) noexcept {
    return parse(
        frame, [&](std::uint16_t port) { return tunnels.kind_of(port); }, tunnels.ip_tunnels());
}

FrameView parse_frame(Bytes frame, std::span<const std::uint16_t> vxlan_ports) noexcept {
    const auto kind_of = [&](std::uint16_t port) {
        const bool known = contains(vxlan_ports, port);
        return known ? Tunnel::kVxlan : Tunnel::kNone;
    };
    return parse(frame, kind_of, IpTunnels::kIgnored);
}

const char* name(Tunnel tunnel) {
    constexpr const char* kNames[kTunnels] = {"none",   "VXLAN", "VXLAN-GPE",
                                              "GENEVE", "GRE",   "IP in IP"};
    return kNames[static_cast<std::size_t>(tunnel)];
}

}  // namespace pathproof::frame
