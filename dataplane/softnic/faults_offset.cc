// Sums begun, or written, at the wrong place: headers that the NIC does not count, or counts that
// are not there.
#include <netinet/in.h>

#include "dataplane/softnic/bytes.h"
#include "dataplane/softnic/mechanisms.h"

namespace pathproof::softnic {
namespace {

bool is_ipv6_with_extension(const TxCase&, Bytes, const Target& target) {
    return target.packet->family == 6 && target.packet->extension() != 0;
}

bool is_ipv4_with_options(const TxCase&, Bytes, const Target& target) {
    return target.packet->family == 4 && target.packet->extension() != 0;
}

std::uint32_t pseudo_of_base_header(const TxCase&, Bytes frame, const Target& target) {
    const PacketPlace& packet = *target.packet;
    return value_with(frame, target,
                      {~std::uint32_t{packet.protocol}, ~target.site->length(),
                       frame[packet.l3 + 6], get16(frame, packet.l3 + 4)});
}

// The field stays as it was handed over; the sum from `start` on goes where the field would be if
// the transport header began there.
void sum_from(const TxCase& at, Span frame, const Target& target, std::uint32_t start) {
    const Site& site = *target.site;
    set_value(frame, site, at.kept(site));
    const std::uint32_t field = start + (site.at - site.start);
    if (start >= site.end || field + 2 > frame.size()) {
        return;
    }
    WordSum sum;
    sum.add(Bytes(frame).subspan(start, site.end - start));
    put16(frame, field, field_value(site, sum));
}

void from_base_header(const TxCase& at, Span frame, const Target& target) {
    sum_from(at, frame, target, target.packet->l3 + target.packet->l3_base);
}

template <int bytes>
void shifted(const TxCase& at, Span frame, const Target& target) {
    sum_from(at, frame, target, target.site->start + bytes);
}

bool tagged(const TxCase&, Bytes, const Target& target) {
    return target.packet->vlans != 0;
}
bool tagged_twice(const TxCase&, Bytes, const Target& target) {
    return target.packet->vlans == 2;
}

bool reaches_tcp_field(const TxCase&, Bytes, const Target& target) {
    return target.site->kind == SiteKind::kUdp && target.site->start + 18 <= target.site->end;
}

// Asked for TCP's checksum, the NIC writes the sum where TCP has it.
void written_as_tcp(const TxCase& at, Span frame, const Target& target) {
    const Site& site = *target.site;
    set_value(frame, site, at.kept(site));
    WordSum sum;
    sum.add(Bytes(frame).subspan(site.start, site.length()));
    put16(frame, site.start + 16, sum.inverted());
}

bool in_tunnel(const TxCase&, Bytes, const Target& target) {
    return target.depth == Depth::kInner;
}

void without_outer_lengths(const TxCase& at, Span frame, const Target& target) {
    sum_from(at, frame, target, target.site->start - at.places.outer.l4);
}

TunnelKind tunnel_of_port(std::uint16_t port) {
    switch (port) {
        case 4789:
        case 8472: return TunnelKind::kVxlan;
        case 4790: return TunnelKind::kVxlanGpe;
        case 6081: return TunnelKind::kGeneve;
        default: return TunnelKind::kNone;
    }
}

bool plain_to_tunnel_port(const TxCase&, Bytes, const Target& target) {
    return target.depth == Depth::kPlain && target.site->kind == SiteKind::kUdp &&
           tunnel_of_port(target.packet->destination_port) != TunnelKind::kNone;
}

// The payload is taken for a tunnel: what looks like its inner packet gets a checksum, the real
// field stays as it was handed over.
void payload_as_tunnel(const TxCase& at, Span frame, const Target& target) {
    set_value(frame, *target.site, at.kept(*target.site));
    const Places mistaken =
        find_places(frame, at.limits, tunnel_of_port(target.packet->destination_port));
    if (mistaken.tunnel != TunnelKind::kNone) {
        fill(frame, mistaken.inner, transport_site(mistaken.inner));
    }
}

constexpr Mechanism kMechanisms[] = {
    // The pseudo-header has the IPv6 header's length and next header.
    {.name = "EXTHDR_PSEUDO", .applies = is_ipv6_with_extension, .value = pseudo_of_base_header},
    // IPv6 extension headers are taken for the transport header.
    {.name = "EXTHDR_START", .applies = is_ipv6_with_extension, .act = from_base_header},
    // IPv4 options are taken for the transport header.
    {.name = "IPOPT_START", .applies = is_ipv4_with_options, .act = from_base_header},
    // One tag is not counted: sum and field lie 4 bytes early.
    {.name = "VLAN_START", .applies = tagged, .act = shifted<-4>},
    // One tag is counted twice: sum and field lie 4 bytes late.
    {.name = "VLAN_START_LATE", .applies = tagged, .act = shifted<4>},
    // Two tags are not counted: sum and field lie 8 bytes early.
    {.name = "QINQ_START", .applies = tagged_twice, .act = shifted<-8>},
    // A UDP checksum is written where TCP has its own.
    {.name = "TCP_OFFSET", .fields = kUdpOnly, .applies = reaches_tcp_field, .act = written_as_tcp},
    // The outer headers' lengths are not counted.
    {.name = "TUNNEL_START", .applies = in_tunnel, .act = without_outer_lengths},
    // Plain UDP to a tunnel's port is taken for that tunnel.
    {.name = "AS_TUNNEL",
     .fields = kUdpOnly,
     .applies = plain_to_tunnel_port,
     .act = payload_as_tunnel},
};

}  // namespace

std::span<const Mechanism> offset_mechanisms() {
    return kMechanisms;
}

}  // namespace pathproof::softnic
