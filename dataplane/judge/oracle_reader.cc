#include "dataplane/judge/oracle_reader.h"

#include <algorithm>

namespace pathproof::judge::oracle {
namespace {

constexpr unsigned kMostExtensionHeaders = 8;

// The EtherType behind at most two VLAN tags, or nothing if the frame ends before it. Moves `at`
// behind it.
std::optional<unsigned> ethertype(Octets octets, std::size_t& at) {
    at += 12;
    for (int tags = 0;; ++tags) {
        if (octets.size() < at + 2) {
            return std::nullopt;
        }
        const unsigned type = word(octets, at);
        at += 2;
        const bool tag = type == 0x8100 || type == 0x88a8 || type == 0x9100;
        if (!tag || tags == 2) {
            return type;
        }
        at += 2;
    }
}

// RFC 791.
void read_ipv4(Packet& packet) {
    const Octets octets = packet.octets;
    const std::size_t room = octets.size() - packet.ip;
    if (room < 20 || octets[packet.ip] / 16 != 4) {
        return mark(packet, Malformed::kShortIp);
    }
    const std::size_t header = octets[packet.ip] % 16 * 4u;
    if (header < 20 || header > room) {
        return mark(packet, Malformed::kShortIp);
    }
    packet.transport = packet.ip + header;
    const std::size_t total = word(octets, packet.ip + 2);
    packet.end = packet.ip + total;
    if (total < header || total > room) {
        mark(packet, Malformed::kShortIp);
        packet.end = octets.size();
    }
    packet.ipv4 = true;
    const unsigned fragment = word(octets, packet.ip + 6);
    packet.later_fragment = fragment % 0x2000 != 0;
    packet.first_fragment = !packet.later_fragment && (fragment & 0x2000) != 0;
    packet.protocol = octets[packet.ip + 9];
    packet.final_destination = packet.ip + 16;
}

// RFC 8200 section 4.4, RFC 8754: where the address lies that the pseudo-header has.
void follow_routing_header(Packet& packet, std::size_t length) {
    const std::size_t at = packet.transport;
    const unsigned type = packet.octets[at + 2];
    const unsigned segments_left = packet.octets[at + 3];
    if (segments_left == 0) {
        return;
    }
    const std::size_t addresses = (length - 8) / 16;
    if (addresses == 0 || (type != 0 && type != 2 && type != 4)) {
        packet.destination_known = false;
        return;
    }
    packet.destination_known = true;
    packet.final_destination = at + 8 + (type == 4 ? 0 : (addresses - 1) * 16);
}

// Steps over one extension header; false if the packet ends within it.
bool pass_extension_header(Packet& packet) {
    const std::size_t at = packet.transport;
    const std::size_t room = packet.end - at;
    const bool is_fragment = packet.protocol == 44;
    if (room < (is_fragment ? 8 : 2)) {
        return false;
    }
    const std::size_t length = is_fragment ? 8 : 8 + packet.octets[at + 1] * 8u;
    if (length > room) {
        return false;
    }
    if (packet.protocol == 43) {
        follow_routing_header(packet, length);
    }
    if (is_fragment) {
        const unsigned field = word(packet.octets, at + 2);
        packet.later_fragment = field / 8 != 0;
        packet.first_fragment = !packet.later_fragment && field % 2 != 0;
    }
    packet.protocol = packet.octets[at];
    packet.transport += length;
    return true;
}

bool is_extension_header(unsigned protocol) {
    return protocol == 0 || protocol == 43 || protocol == 44 || protocol == 60;
}

// RFC 8200.
void read_ipv6(Packet& packet) {
    const Octets octets = packet.octets;
    const std::size_t room = octets.size() - packet.ip;
    if (room < 40 || octets[packet.ip] / 16 != 6) {
        return mark(packet, Malformed::kShortIp);
    }
    packet.ipv6 = true;
    packet.transport = packet.ip + 40;
    packet.end = packet.transport + word(octets, packet.ip + 4);
    if (packet.end > octets.size()) {
        mark(packet, Malformed::kShortIp);
        packet.end = octets.size();
    }
    packet.protocol = octets[packet.ip + 6];
    packet.final_destination = packet.ip + 24;
    for (unsigned passed = 0; is_extension_header(packet.protocol) && !packet.later_fragment;) {
        if (passed++ == kMostExtensionHeaders) {
            packet.protocol = kNoProtocol;
        } else if (!pass_extension_header(packet)) {
            mark(packet, Malformed::kShortTransport);
            packet.protocol = kNoProtocol;
        }
    }
}

// GRE that is read: version 0 and none of the bits that RFC 1701 had besides checksum, key and
// sequence number. Its header's length, or nothing.
std::optional<std::size_t> gre_header(Octets octets, std::size_t at) {
    const unsigned flags = word(octets, at);
    if ((flags & 0x4fff) != 0) {
        return std::nullopt;
    }
    std::size_t length = 4;
    for (const unsigned flag : {0x8000u, 0x2000u, 0x1000u}) {
        length += (flags & flag) != 0 ? 4u : 0u;
    }
    return length;
}

struct TransportRule {
    Protocol protocol;
    std::size_t header;
    std::size_t field;
};

std::optional<TransportRule> rule_of(const Packet& packet) {
    switch (packet.protocol) {
        case 1:
            return packet.ipv6 ? std::nullopt : std::optional(TransportRule{Protocol::kIcmp, 8, 2});
        case 6: return TransportRule{Protocol::kTcp, 20, 16};
        case 17: return TransportRule{Protocol::kUdp, 8, 6};
        case 47: return TransportRule{Protocol::kGre, 2, 4};
        case 58:
            return packet.ipv6 ? std::optional(TransportRule{Protocol::kIcmpv6, 8, 2})
                               : std::nullopt;
        case 132: return TransportRule{Protocol::kSctp, 12, 8};
        case 136: return TransportRule{Protocol::kUdpLite, 8, 6};
        default: return std::nullopt;
    }
}

void check_tcp(Packet& packet) {
    const std::size_t header = packet.octets[packet.transport + 12] / 16 * 4u;
    if (header < 20 || header > packet.length) {
        mark(packet, Malformed::kShortTransport);
    }
}

void read_udp_length(Packet& packet) {
    const std::size_t room = packet.length;
    const std::size_t length = word(packet.octets, packet.transport + 4);
    if (length < 8 || (length > room && !packet.first_fragment)) {
        return mark(packet, Malformed::kShortTransport);
    }
    packet.length = std::min(length, room);
    packet.covered_end = packet.transport + packet.length;
}

// RFC 3828 section 3.1.
void read_coverage(Packet& packet) {
    const std::size_t coverage = word(packet.octets, packet.transport + 4);
    if (coverage == 0) {
        return;
    }
    if (coverage < 8 || (coverage > packet.length && !packet.first_fragment)) {
        return mark(packet, Malformed::kShortTransport);
    }
    packet.covered_end = packet.transport + std::min(coverage, packet.length);
}

// True if there is a checksum.
bool read_gre(Packet& packet) {
    const auto header = gre_header(packet.octets, packet.transport);
    if (!header) {
        packet.protocol = kNoProtocol;
        return false;
    }
    if (*header > packet.length) {
        mark(packet, Malformed::kShortTransport);
        packet.protocol = kNoProtocol;
        return false;
    }
    return packet.octets[packet.transport] >= 0x80;
}

void read_transport(Packet& packet) {
    const auto rule = rule_of(packet);
    if (!rule) {
        return;
    }
    if (packet.later_fragment) {
        if (rule->protocol != Protocol::kGre) {
            packet.judged = rule->protocol;
        }
        return;
    }
    packet.length = packet.end - packet.transport;
    packet.covered_end = packet.end;
    if (packet.length < rule->header) {
        packet.protocol = kNoProtocol;
        return mark(packet, Malformed::kShortTransport);
    }
    if (rule->protocol == Protocol::kGre && !read_gre(packet)) {
        return;
    }
    packet.judged = rule->protocol;
    packet.field = packet.transport + rule->field;
    if (rule->protocol == Protocol::kTcp) {
        check_tcp(packet);
    } else if (rule->protocol == Protocol::kUdp) {
        read_udp_length(packet);
    } else if (rule->protocol == Protocol::kUdpLite) {
        read_coverage(packet);
    }
}

void read_network(Packet& packet, unsigned ethertype) {
    if (ethertype == 0x0800) {
        read_ipv4(packet);
    } else if (ethertype == 0x86dd) {
        read_ipv6(packet);
    }
    read_transport(packet);
}

// A tunnel's header: where its payload starts and the payload's EtherType, 0 if that is not read.
struct Header {
    std::size_t payload = 0;
    unsigned carries = 0;
};
constexpr unsigned kEthernet = 0x6558;

// RFC 7348 section 5: eight bytes, the I flag in the first.
std::optional<Header> read_vxlan(Octets octets, std::size_t at) {
    if (octets.size() - at < 8 || (octets[at] & 8) == 0) {
        return std::nullopt;
    }
    return Header{at + 8, kEthernet};
}

// draft-ietf-nvo3-vxlan-gpe section 3.1: I and P flags, version 0, O for what is no user's frame.
std::optional<Header> read_vxlan_gpe(Octets octets, std::size_t at) {
    const auto vxlan = read_vxlan(octets, at);
    if (!vxlan || (octets[at] & 0x30) != 0) {
        return std::nullopt;
    }
    if ((octets[at] & 1) != 0) {
        return Header{at + 8, 0};
    }
    if ((octets[at] & 4) == 0) {
        return vxlan;
    }
    switch (octets[at + 3]) {
        case 1: return Header{at + 8, 0x0800};
        case 2: return Header{at + 8, 0x86dd};
        case 3: return Header{at + 8, kEthernet};
        default: return Header{at + 8, 0};
    }
}

// RFC 8926 section 3.4.
std::optional<Header> read_geneve(Octets octets, std::size_t at) {
    if (octets.size() - at < 8 || octets[at] >= 0x40) {
        return std::nullopt;
    }
    const std::size_t length = 8 + octets[at] % 64 * 4u;
    if (octets.size() - at < length) {
        return std::nullopt;
    }
    return Header{at + length, word(octets, at + 2)};
}

std::optional<Header> read_header(Octets octets, std::size_t at, frame::Tunnel kind) {
    switch (kind) {
        case frame::Tunnel::kVxlan: return read_vxlan(octets, at);
        case frame::Tunnel::kVxlanGpe: return read_vxlan_gpe(octets, at);
        case frame::Tunnel::kGeneve: return read_geneve(octets, at);
        case frame::Tunnel::kGre:
        case frame::Tunnel::kIpInIp:
        case frame::Tunnel::kNone: break;
    }
    return std::nullopt;
}

Inside read_payload(Octets carrier, const Header& header) {
    Inside inside{.is_tunnel = true, .malformed = Malformed::kNone, .packet = std::nullopt};
    if (header.carries == kEthernet) {
        inside.packet = read_frame(carrier, header.payload);
    } else if (header.carries == 0x0800 || header.carries == 0x86dd) {
        inside.packet = read_ip(carrier, header.payload, header.carries);
    }
    return inside;
}

bool is_whole_udp(const Packet& outer) {
    return outer.judged == Protocol::kUdp && !outer.first_fragment && !outer.later_fragment;
}

Inside read_udp_tunnel(const Packet& outer, frame::Tunnel kind) {
    const Octets datagram = outer.octets.first(outer.covered_end);
    const auto header = read_header(datagram, outer.transport + 8, kind);
    if (!header) {
        return {.is_tunnel = true, .malformed = Malformed::kShortTunnel, .packet = std::nullopt};
    }
    return read_payload(datagram, *header);
}

// GRE and IP in IP.
Inside read_ip_tunnel(const Packet& outer) {
    const bool whole = !outer.first_fragment && !outer.later_fragment;
    const Octets carrier = outer.octets.first(outer.end);
    if (!whole || (!outer.ipv4 && !outer.ipv6)) {
        return {};
    }
    if (outer.protocol == 47) {
        return read_payload(carrier, {outer.transport + *gre_header(outer.octets, outer.transport),
                                      word(outer.octets, outer.transport + 2)});
    }
    if (outer.protocol == 4 || outer.protocol == 41) {
        return read_payload(carrier, {outer.transport, outer.protocol == 4 ? 0x0800u : 0x86ddu});
    }
    return {};
}

unsigned destination_port(const Packet& outer) {
    return word(outer.octets, outer.transport + 2);
}

}  // namespace

Packet read_frame(Octets octets, std::size_t start) {
    Packet packet{.octets = octets};
    std::size_t at = start;
    const std::optional<unsigned> type = ethertype(octets, at);
    if (!type) {
        mark(packet, Malformed::kShortEthernet);
        return packet;
    }
    packet.ip = at;
    read_network(packet, *type);
    return packet;
}

Packet read_ip(Octets octets, std::size_t start, unsigned ethertype) {
    Packet packet{.octets = octets};
    packet.ip = start;
    read_network(packet, ethertype);
    return packet;
}

Inside read_inside(const Packet& outer, const frame::TunnelPorts& tunnels) {
    if (is_whole_udp(outer)) {
        const auto port = static_cast<std::uint16_t>(destination_port(outer));
        const frame::Tunnel kind = tunnels.kind_of(port);
        return kind == frame::Tunnel::kNone ? Inside{} : read_udp_tunnel(outer, kind);
    }
    const bool follow = tunnels.ip_tunnels() == frame::IpTunnels::kFollowed;
    return follow ? read_ip_tunnel(outer) : Inside{};
}

Inside read_inside(const Packet& outer, std::span<const std::uint16_t> vxlan_ports) {
    const bool tunnel =
        is_whole_udp(outer) &&
        std::any_of(vxlan_ports.begin(), vxlan_ports.end(),
                    [&](std::uint16_t port) { return port == destination_port(outer); });
    return tunnel ? read_udp_tunnel(outer, frame::Tunnel::kVxlan) : Inside{};
}

}  // namespace pathproof::judge::oracle
