#include "dataplane/softnic/places.h"

#include <netinet/in.h>
#include <rte_mbuf_core.h>

#include <algorithm>

#include "dataplane/softnic/bytes.h"

namespace pathproof::softnic {
namespace {

constexpr std::uint32_t kEthernet = 14;
constexpr std::uint32_t kTag = 4;
constexpr int kMostTags = 2;
constexpr int kMostExtensionHeaders = 8;
constexpr std::uint16_t kTypeIpv4 = 0x0800;
constexpr std::uint16_t kTypeIpv6 = 0x86dd;
constexpr std::uint16_t kTypeBridged = 0x6558;  // Transparent Ethernet Bridging, RFC 1701

bool is_tag(std::uint16_t type) {
    return type == 0x8100 || type == 0x88a8 || type == 0x9100;
}

bool listed(const std::vector<std::uint16_t>& ports, std::uint16_t port) {
    return std::find(ports.begin(), ports.end(), port) != ports.end();
}

// Walks the headers of one packet; stops at the first that does not fit.
class Walk {
  public:
    Walk(Bytes frame, std::uint32_t carrier_end, PacketPlace& place)
        : frame_(frame), place_(place) {
        place_.carrier_end = carrier_end;
        place_.end = carrier_end;
    }

    void ethernet(std::uint32_t at) noexcept {
        if (!fits(at, kEthernet)) {
            return;
        }
        std::uint32_t next = at + kEthernet;
        std::uint16_t type = get16(frame_, at + 12);
        while (is_tag(type) && place_.vlans < kMostTags && fits(next, kTag)) {
            type = get16(frame_, next + 2);
            next += kTag;
            ++place_.vlans;
        }
        place_.l3 = next;
        if (type == kTypeIpv4) {
            ipv4();
        } else if (type == kTypeIpv6) {
            ipv6();
        }
    }

    // IP without Ethernet in front, of the family that its first four bits say.
    void bare_ip(std::uint32_t at, unsigned version) noexcept {
        place_.l3 = at;
        if (version == 4) {
            ipv4();
        } else if (version == 6) {
            ipv6();
        }
    }

  private:
    bool fits(std::uint32_t at, std::uint32_t length) const noexcept {
        return at <= place_.carrier_end && length <= place_.carrier_end - at;
    }
    bool in_packet(std::uint32_t at, std::uint32_t length) const noexcept {
        return at <= place_.end && length <= place_.end - at;
    }

    void ipv4() noexcept {
        if (!fits(place_.l3, 20) || frame_[place_.l3] >> 4 != 4) {
            return;
        }
        const std::uint32_t header = (frame_[place_.l3] & 0xfu) * 4;
        const std::uint32_t total = get16(frame_, place_.l3 + 2);
        if (header < 20 || total < header || !fits(place_.l3, total)) {
            return;
        }
        place_.family = 4;
        place_.l3_base = 20;
        place_.l4 = place_.l3 + header;
        place_.end = place_.l3 + total;
        place_.protocol = frame_[place_.l3 + 9];
        place_.source_at = place_.l3 + 12;
        place_.destination_at = place_.l3 + 16;
        place_.destination_known = true;
        const std::uint16_t fragment = get16(frame_, place_.l3 + 6);
        set_fragment(fragment & 0x1fff, (fragment & 0x2000) != 0 ? 1 : 0);
        transport();
    }

    void ipv6() noexcept {
        if (!fits(place_.l3, 40) || frame_[place_.l3] >> 4 != 6) {
            return;
        }
        const std::uint32_t total = 40u + get16(frame_, place_.l3 + 4);
        if (!fits(place_.l3, total)) {
            return;
        }
        place_.family = 6;
        place_.l3_base = 40;
        place_.l4 = place_.l3 + 40;
        place_.end = place_.l3 + total;
        place_.protocol = frame_[place_.l3 + 6];
        place_.source_at = place_.l3 + 8;
        place_.destination_at = place_.l3 + 24;
        place_.destination_known = true;
        if (extension_headers()) {
            transport();
        }
    }

    void set_fragment(unsigned offset, unsigned more) noexcept {
        if (offset != 0) {
            place_.fragment = FragmentKind::kLater;
        } else if (more != 0) {
            place_.fragment = FragmentKind::kFirst;
        }
    }

    // True if a transport header may follow.
    bool extension_headers() noexcept {
        for (int count = 0; count < kMostExtensionHeaders; ++count) {
            const std::uint8_t kind = place_.protocol;
            const bool sized =
                kind == IPPROTO_HOPOPTS || kind == IPPROTO_DSTOPTS || kind == IPPROTO_ROUTING;
            if (!sized && kind != IPPROTO_FRAGMENT) {
                return true;
            }
            if (!in_packet(place_.l4, 8)) {
                return false;
            }
            const std::uint32_t length = sized ? 8u + 8u * frame_[place_.l4 + 1] : 8u;
            if (!in_packet(place_.l4, length)) {
                return false;
            }
            if (kind == IPPROTO_ROUTING) {
                routing_header(length);
            }
            if (kind == IPPROTO_FRAGMENT) {
                const std::uint16_t field = get16(frame_, place_.l4 + 2);
                set_fragment(field & 0xfff8u, field & 1u);
            }
            place_.protocol = frame_[place_.l4];
            place_.l4 += length;
            if (place_.fragment == FragmentKind::kLater) {
                return true;
            }
        }
        return false;
    }

    // With hops left the pseudo-header has the last one (RFC 8200 section 8.1): the last address of
    // types 0 and 2, the first of an SRv6 list, which is reversed (RFC 8754 section 2).
    void routing_header(std::uint32_t length) noexcept {
        if (frame_[place_.l4 + 3] == 0) {
            return;
        }
        const std::uint8_t type = frame_[place_.l4 + 2];
        const std::uint32_t addresses = (length - 8) / 16;
        place_.destination_known = addresses > 0 && (type == 0 || type == 2 || type == 4);
        if (place_.destination_known) {
            place_.destination_at = place_.l4 + 8 + (type == 4 ? 0 : 16 * (addresses - 1));
        }
    }

    void transport() noexcept {
        place_.l4_length = place_.end - place_.l4;
        place_.payload = place_.l4;
        if (place_.fragment == FragmentKind::kLater) {
            return;
        }
        switch (place_.protocol) {
            case IPPROTO_UDP: return udp();
            case IPPROTO_TCP: return tcp();
            case IPPROTO_SCTP: return fixed(12, true);
            case IPPROTO_ICMP:
            case IPPROTO_ICMPV6: return fixed(8, false);
            case IPPROTO_UDPLITE: return fixed(8, true);
            default: return;
        }
    }

    void set_ports() noexcept {
        place_.source_port = get16(frame_, place_.l4);
        place_.destination_port = get16(frame_, place_.l4 + 2);
    }

    void fixed(std::uint32_t header, bool ports) noexcept {
        if (place_.l4_length < header) {
            return;
        }
        place_.transport = place_.protocol;
        place_.payload = place_.l4 + header;
        if (ports) {
            set_ports();
        }
    }

    void udp() noexcept {
        if (place_.l4_length < 8) {
            return;
        }
        set_ports();
        const std::uint32_t length = get16(frame_, place_.l4 + 4);
        // The first fragment has the length of the whole datagram.
        const bool first = place_.fragment == FragmentKind::kFirst;
        if (length < 8 || (length > place_.l4_length && !first)) {
            return;
        }
        place_.l4_length = std::min(length, place_.l4_length);
        place_.transport = IPPROTO_UDP;
        place_.payload = place_.l4 + 8;
    }

    void tcp() noexcept {
        if (place_.l4_length < 20) {
            return;
        }
        set_ports();
        const std::uint32_t header = (frame_[place_.l4 + 12] >> 4) * 4u;
        if (header < 20 || header > place_.l4_length) {
            return;
        }
        place_.transport = IPPROTO_TCP;
        place_.payload = place_.l4 + header;
    }

    Bytes frame_;
    PacketPlace& place_;
};

// Reads the tunnel behind the outer packet, of a kind that is certain.
class TunnelWalk {
  public:
    TunnelWalk(Bytes frame, Places& places) : frame_(frame), places_(places) {}

    void read(TunnelKind kind) noexcept {
        const bool udp = kind == TunnelKind::kVxlan || kind == TunnelKind::kVxlanGpe ||
                         kind == TunnelKind::kGeneve;
        const PacketPlace& outer = places_.outer;
        if (outer.fragment != FragmentKind::kWhole || !outer.ip() ||
            (udp && outer.transport != IPPROTO_UDP)) {
            return;
        }
        at_ = udp ? outer.payload : outer.l4;
        end_ = udp ? outer.l4 + outer.l4_length : outer.end;
        places_.tunnel_at = at_;
        switch (kind) {
            case TunnelKind::kVxlan: return vxlan();
            case TunnelKind::kVxlanGpe: return vxlan_gpe();
            case TunnelKind::kGeneve: return geneve();
            case TunnelKind::kGre: return gre();
            case TunnelKind::kIpip: return ipip();
            case TunnelKind::kNone: return;
        }
    }

  private:
    bool there(std::uint32_t length) const noexcept { return length <= end_ - at_; }

    void ethernet(TunnelKind kind, std::uint32_t header) noexcept {
        if (!there(header + kEthernet)) {
            return;
        }
        places_.tunnel = kind;
        Walk(frame_, end_, places_.inner).ethernet(at_ + header);
    }
    void bare(TunnelKind kind, std::uint32_t header, unsigned version) noexcept {
        if (!there(header + 20)) {
            return;
        }
        places_.tunnel = kind;
        Walk(frame_, end_, places_.inner).bare_ip(at_ + header, version);
    }
    void by_type(TunnelKind kind, std::uint32_t header, std::uint16_t type) noexcept {
        if (type == kTypeBridged) {
            ethernet(kind, header);
        } else if (type == kTypeIpv4 || type == kTypeIpv6) {
            bare(kind, header, type == kTypeIpv4 ? 4 : 6);
        }
    }

    // RFC 7348 section 5: the I flag says that the VNI is valid.
    void vxlan() noexcept {
        if (!there(8) || (frame_[at_] & 0x08) == 0) {
            return;
        }
        places_.vni = get32(frame_, at_ + 4) >> 8;
        ethernet(TunnelKind::kVxlan, 8);
    }

    // draft-ietf-nvo3-vxlan-gpe: the P flag says that the fourth byte names what follows.
    void vxlan_gpe() noexcept {
        if (!there(8)) {
            return;
        }
        places_.vni = get32(frame_, at_ + 4) >> 8;
        const unsigned next = (frame_[at_] & 0x04) != 0 ? frame_[at_ + 3] : 3u;
        if (next == 3) {
            ethernet(TunnelKind::kVxlanGpe, 8);
        } else if (next == 1 || next == 2) {
            bare(TunnelKind::kVxlanGpe, 8, next == 1 ? 4 : 6);
        }
    }

    // RFC 8926 section 3.4.
    void geneve() noexcept {
        if (!there(8) || frame_[at_] >> 6 != 0) {
            return;
        }
        places_.tunnel_options = (frame_[at_] & 0x3fu) * 4;
        places_.vni = get32(frame_, at_ + 4) >> 8;
        by_type(TunnelKind::kGeneve, 8 + places_.tunnel_options, get16(frame_, at_ + 2));
    }

    // RFC 2784 and RFC 2890: checksum, key and sequence number are there if their flag is.
    void gre() noexcept {
        if (places_.outer.protocol != IPPROTO_GRE || !there(4) || (frame_[at_ + 1] & 7) != 0) {
            return;
        }
        std::uint32_t header = 4;
        for (const unsigned flag : {0x80u, 0x20u, 0x10u}) {
            header += (frame_[at_] & flag) != 0 ? 4u : 0u;
        }
        by_type(TunnelKind::kGre, header, get16(frame_, at_ + 2));
    }

    void ipip() noexcept {
        if (places_.outer.protocol == IPPROTO_IPIP) {
            bare(TunnelKind::kIpip, 0, 4);
        } else if (places_.outer.protocol == IPPROTO_IPV6) {
            bare(TunnelKind::kIpip, 0, 6);
        }
    }

    Bytes frame_;
    Places& places_;
    std::uint32_t at_ = 0;
    std::uint32_t end_ = 0;
};

TunnelKind kind_by_port(const PacketPlace& outer, const NicLimits& limits) {
    if (outer.transport != IPPROTO_UDP) {
        return TunnelKind::kNone;
    }
    if (listed(limits.vxlan_ports, outer.destination_port)) {
        return TunnelKind::kVxlan;
    }
    if (listed(limits.vxlan_gpe_ports, outer.destination_port)) {
        return TunnelKind::kVxlanGpe;
    }
    return listed(limits.geneve_ports, outer.destination_port) ? TunnelKind::kGeneve
                                                               : TunnelKind::kNone;
}

TunnelKind kind_found(const PacketPlace& outer, const NicLimits& limits) {
    switch (outer.protocol) {
        case IPPROTO_GRE: return TunnelKind::kGre;
        case IPPROTO_IPIP:
        case IPPROTO_IPV6: return TunnelKind::kIpip;
        default: return kind_by_port(outer, limits);
    }
}

}  // namespace

Places find_places(Bytes frame, const NicLimits& limits, ToldTunnel told) noexcept {
    Places places;
    Walk(frame, static_cast<std::uint32_t>(frame.size()), places.outer).ethernet(0);
    const TunnelKind kind = told ? *told : kind_found(places.outer, limits);
    TunnelWalk(frame, places).read(kind);
    return places;
}

std::optional<TunnelKind> tunnel_of(const TxRequest& request) noexcept {
    switch (request.offload.mbuf_flags & RTE_MBUF_F_TX_TUNNEL_MASK) {
        case 0: return TunnelKind::kNone;
        case RTE_MBUF_F_TX_TUNNEL_VXLAN: return TunnelKind::kVxlan;
        case RTE_MBUF_F_TX_TUNNEL_VXLAN_GPE: return TunnelKind::kVxlanGpe;
        case RTE_MBUF_F_TX_TUNNEL_GENEVE: return TunnelKind::kGeneve;
        case RTE_MBUF_F_TX_TUNNEL_GRE: return TunnelKind::kGre;
        case RTE_MBUF_F_TX_TUNNEL_IPIP: return TunnelKind::kIpip;
        default: return std::nullopt;
    }
}

ToldTunnel told_by(const TxRequest& request) noexcept {
    constexpr std::uint64_t kAsked = RTE_MBUF_F_TX_L4_MASK | RTE_MBUF_F_TX_IP_CKSUM |
                                     RTE_MBUF_F_TX_TUNNEL_MASK | RTE_MBUF_F_TX_TCP_SEG |
                                     RTE_MBUF_F_TX_UDP_SEG | RTE_MBUF_F_TX_OUTER_IP_CKSUM |
                                     RTE_MBUF_F_TX_OUTER_UDP_CKSUM;
    if ((request.offload.mbuf_flags & kAsked) == 0) {
        return std::nullopt;
    }
    return tunnel_of(request).value_or(TunnelKind::kNone);
}

}  // namespace pathproof::softnic
