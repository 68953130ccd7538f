#include "dataplane/follow/packet.h"

#include <fmt/format.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "dataplane/frame/checksum.h"

namespace pathproof::follow {
namespace {

using frame::Bytes;
using frame::Fragment;
using frame::Network;
using frame::Transport;

__extension__ using Wide = unsigned __int128;

constexpr std::uint64_t kOne = 0x9e3779b97f4a7c15;
constexpr std::uint64_t kTwo = 0xbf58476d1ce4e5b9;
constexpr std::uint64_t kThree = 0x94d049bb133111eb;

std::uint64_t load64(const std::uint8_t* at) noexcept {
    std::uint64_t value = 0;
    std::memcpy(&value, at, sizeof value);
    return value;
}

std::uint16_t be16(Bytes bytes, std::size_t at) {
    return at + 2 <= bytes.size() ? static_cast<std::uint16_t>(bytes[at] << 8 | bytes[at + 1])
                                  : std::uint16_t{0};
}
std::uint32_t be32(Bytes bytes, std::size_t at) {
    return static_cast<std::uint32_t>(be16(bytes, at)) << 16 | be16(bytes, at + 2);
}

bool has_ports(std::uint8_t protocol) {
    return protocol == IPPROTO_TCP || protocol == IPPROTO_UDP || protocol == IPPROTO_SCTP ||
           protocol == IPPROTO_UDPLITE;
}

bool is_icmp(const Packet& packet) {
    return packet.ip == Network::kIpv4 ? packet.protocol == IPPROTO_ICMP
                                       : packet.protocol == IPPROTO_ICMPV6;
}

bool is_echo(const Packet& packet, std::uint8_t type) {
    return packet.ip == Network::kIpv4 ? type == 0 || type == 8 : type == 128 || type == 129;
}

// Returns the end of the frame's own content. Bytes behind it are padding, which a sender or a tap may
// add or leave out.
std::uint32_t content_end(const Packet& packet, std::uint32_t all) {
    constexpr std::uint16_t kFirstType = 1536;
    if (packet.ethertype < kFirstType && packet.network + packet.ethertype <= all) {
        return packet.network + packet.ethertype;  // IEEE 802.3: a length
    }
    constexpr std::uint16_t kArp = 0x0806;
    constexpr std::uint32_t kArpBytes = 28;
    if (packet.ethertype == kArp && packet.network + kArpBytes <= all) {
        return packet.network + kArpBytes;
    }
    constexpr std::uint32_t kPadded = 64;
    const std::uint32_t frame = all - (packet.ethernet == kNowhere ? 0 : packet.ethernet);
    std::uint32_t end = all;
    while (frame <= kPadded && end > packet.network && packet.bytes[end - 1] == 0) {
        --end;
    }
    return end;
}

// `all`: where what carries it ends.
void read_opaque(Packet& packet, const frame::PacketView& view, std::uint32_t all) {
    packet.network = std::min(view.network_offset, all);
    packet.transport = packet.payload = packet.network;
    packet.end = packet.carrier_end = all;
    packet.ethertype = view.ethertype;
    packet.broken = view.malformed != frame::Malformed::kNone;
    if (!packet.broken) {
        packet.end = content_end(packet, all);
    }
}

void read_transport(Packet& packet) {
    const Bytes bytes = packet.bytes;
    const std::uint32_t room = packet.end - packet.transport;
    packet.payload = packet.transport;
    if (packet.fragment == Fragment::kLater) {
        return;
    }
    if (has_ports(packet.protocol) && room >= 4) {
        packet.source_port = be16(bytes, packet.transport);
        packet.destination_port = be16(bytes, packet.transport + 2);
    }
    std::uint32_t header = kNowhere;
    switch (packet.protocol) {
        case IPPROTO_TCP:
            header = room >= 20 ? (bytes[packet.transport + 12] >> 4) * 4u : kNowhere;
            header = header < 20 ? kNowhere : header;
            break;
        case IPPROTO_UDP:
        case IPPROTO_UDPLITE: header = 8; break;
        case IPPROTO_SCTP: header = 12; break;
        case IPPROTO_ICMP:
        case IPPROTO_ICMPV6: header = is_icmp(packet) ? 8 : kNowhere; break;
        default: return;
    }
    if (header > room) {
        packet.broken = packet.broken || header != kNowhere || packet.protocol == IPPROTO_TCP;
        return;
    }
    packet.has_transport = true;
    packet.payload = packet.transport + header;
    if (packet.protocol == IPPROTO_TCP) {
        packet.sequence = be32(bytes, packet.transport + 4);
        packet.flags = bytes[packet.transport + 13];
    } else if (packet.protocol == IPPROTO_UDP && packet.fragment == Fragment::kWhole) {
        const std::uint32_t length = be16(bytes, packet.transport + 4);
        packet.broken = packet.broken || length < header || length > room;
    } else if (is_icmp(packet) && is_echo(packet, bytes[packet.transport])) {
        packet.source_port = packet.destination_port = be16(bytes, packet.transport + 4);
    }
}

void read_ip(Packet& packet, const frame::PacketView& view) {
    packet.ip = view.network;
    packet.ethertype = view.ethertype;
    packet.network = view.network_offset;
    packet.transport = view.network_offset + view.network_length;
    packet.end = std::max(view.network_end, packet.transport);
    packet.carrier_end = packet.end + view.trailer_length;
    packet.protocol = view.protocol;
    packet.fragment = view.fragment;
    packet.broken = view.malformed == frame::Malformed::kShortIp;
    if (packet.ip == Network::kIpv4) {
        packet.identification = be16(packet.bytes, packet.network + 4);
    } else if (packet.fragment != Fragment::kWhole && packet.transport >= packet.network + 48) {
        packet.identification = be32(packet.bytes, packet.transport - 4);
    }
    read_transport(packet);
}

std::uint64_t digest_of_header(const Packet& packet) {
    std::array<std::uint8_t, 512> copy;
    const std::uint32_t length = packet.payload - packet.network;
    if (length > copy.size()) {
        return digest(packet.bytes.subspan(packet.network, length));
    }
    std::memcpy(copy.data(), packet.bytes.data() + packet.network, length);
    if (packet.ip == Network::kIpv4) {
        copy[8] = copy[10] = copy[11] = 0;
    } else {
        copy[7] = 0;
    }
    if (const std::uint32_t at = packet.checksum_at(); at != kNowhere) {
        const std::uint32_t bytes = packet.protocol == IPPROTO_SCTP ? 4 : 2;
        std::memset(copy.data() + (at - packet.network), 0, bytes);
    }
    return digest(Bytes(copy.data(), length), kThree);
}

// The parts of an ICMP error that survive translation and name the packet that it quotes: type, code, the
// fourth word (MTU), and of the quote its length, identification, protocol and what follows the
// transport's ports and checksums.
std::uint64_t digest_of_error(const Packet& packet) {
    const Bytes bytes = packet.bytes;
    const std::uint32_t quote = packet.payload;
    std::uint64_t sum = mix(be16(bytes, packet.transport), be32(bytes, packet.transport + 4));
    if (packet.end < quote + 20) {
        return sum;
    }
    const bool v4 = packet.ip == Network::kIpv4;
    const std::uint32_t header = v4 ? (bytes[quote] & 0xfu) * 4 : 40u;
    const std::uint8_t protocol = v4 ? bytes[quote + 9] : bytes[quote + 6];
    sum = mix(sum, v4 ? be32(bytes, quote + 2) : be16(bytes, quote + 4));
    sum = mix(sum, protocol);
    const std::uint32_t words = quote + header + 4;
    switch (protocol) {
        case IPPROTO_TCP: return mix(sum, be32(bytes, words));  // sequence number
        case IPPROTO_UDP: return mix(sum, be16(bytes, words));  // length
        default: return mix(sum, be16(bytes, words + 2));       // ICMP echo: sequence number
    }
}

// The transport's words that stay when addresses and ports are translated.
std::uint64_t digest_of_transport(const Packet& packet) {
    const Bytes bytes = packet.bytes;
    if (!packet.has_transport) {
        return 0;
    }
    if (packet.protocol == IPPROTO_TCP) {
        const Bytes options =
            bytes.subspan(packet.transport + 20, packet.payload - packet.transport - 20);
        const std::uint64_t words =
            mix(be32(bytes, packet.transport + 4), be32(bytes, packet.transport + 8));
        return mix(mix(words, be32(bytes, packet.transport + 12)), digest(options));
    }
    if (is_icmp(packet)) {
        const std::uint8_t type = bytes[packet.transport];
        if (is_echo(packet, type)) {
            return mix(be16(bytes, packet.transport), be16(bytes, packet.transport + 6));
        }
        return mix(be16(bytes, packet.transport), be32(bytes, packet.transport + 4));
    }
    return packet.protocol == IPPROTO_SCTP ? be32(bytes, packet.transport + 4) : 0;
}

void make_keys(Packet& packet, const ReadLimits& limits) {
    const Bytes bytes = packet.bytes;
    const std::uint32_t hashed = std::min(packet.payload_length(), limits.payload_bytes);
    const std::uint64_t length = packet.payload_length();
    packet.payload_digest = digest(bytes.subspan(packet.payload, hashed), length);
    if (packet.ip == Network::kNone) {
        const std::size_t ethernet = packet.ethernet == kNowhere ? 0 : packet.ethernet;
        const Bytes macs =
            bytes.subspan(ethernet, std::min<std::size_t>(bytes.size() - ethernet, 12));
        packet.flow = mix(digest(macs, kOne), packet.ethertype);
        packet.loose = packet.content = mix(packet.payload_digest, packet.ethertype);
        packet.strict = mix(packet.flow, packet.payload_digest);
        return;
    }
    const std::uint64_t addresses =
        mix(digest(packet.source(), kOne), digest(packet.destination(), kTwo));
    const std::uint64_t ports = std::uint64_t{packet.source_port} << 16 | packet.destination_port;
    // A fragmented datagram is a flow, though only its first fragment has ports; so is an ICMP error,
    // which goes where the packet that it quotes came from.
    const bool whole = packet.fragment == Fragment::kWhole;
    packet.flow = whole ? mix(mix(addresses, ports), packet.protocol)
                        : mix(mix(addresses, packet.identification), packet.protocol + 256u);
    if (is_icmp_error(packet)) {
        packet.flow = mix(packet.flow, digest_of_error(packet));
    }
    packet.strict = mix(digest_of_header(packet), packet.payload_digest);
    const std::uint64_t body = is_icmp_error(packet)
                                   ? digest_of_error(packet)
                                   : mix(digest_of_transport(packet), packet.payload_digest);
    std::uint64_t place = 0;
    if (!whole && packet.ip == Network::kIpv4) {
        place = be16(bytes, packet.network + 6) & 0x3fffu;
    } else if (!whole) {
        place = be16(bytes, packet.transport - 6);
    }
    packet.loose = mix(mix(body, packet.identification), packet.protocol + (place << 8));
    if (packet.has_transport && packet.protocol == IPPROTO_TCP) {
        const std::uint64_t acknowledged =
            length == 0 ? be32(bytes, packet.transport + 8) : std::uint64_t{0};
        packet.content = mix(mix(packet.payload_digest, packet.sequence), acknowledged + 6);
    } else {
        packet.content = mix(whole ? body : packet.payload_digest, packet.protocol + (place << 8));
    }
}

}  // namespace

std::uint64_t mix(std::uint64_t one, std::uint64_t other) noexcept {
    const Wide product = static_cast<Wide>(one ^ kOne) * (other ^ kTwo);
    return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

std::uint64_t digest(Bytes bytes, std::uint64_t seed) noexcept {
    const std::uint8_t* at = bytes.data();
    std::size_t left = bytes.size();
    std::uint64_t one = seed ^ kOne;
    std::uint64_t other = seed ^ kThree;
    for (; left >= 32; left -= 32, at += 32) {
        one = mix(load64(at) ^ one, load64(at + 8));
        other = mix(load64(at + 16) ^ other, load64(at + 24));
    }
    for (; left >= 8; left -= 8, at += 8) {
        one = mix(load64(at) ^ one, kThree);
    }
    std::uint64_t rest = 0;
    if (left != 0) {
        std::memcpy(&rest, at, left);
    }
    return mix(mix(one ^ rest, other), bytes.size());
}

std::uint32_t Packet::checksum_at() const {
    if (!has_transport) {
        return kNowhere;
    }
    switch (protocol) {
        case IPPROTO_TCP: return transport + 16;
        case IPPROTO_UDP:
        case IPPROTO_UDPLITE: return transport + 6;
        case IPPROTO_SCTP: return transport + 8;
        default: return transport + 2;  // ICMP and ICMPv6
    }
}

bool is_left_to_nic(const Packet& packet) {
    frame::IpAddress source{
        .family = packet.ip == Network::kIpv4 ? frame::Family::kIpv4 : frame::Family::kIpv6,
        .bytes = {}};
    frame::IpAddress destination = source;
    std::ranges::copy(packet.source(), source.bytes.begin());
    std::ranges::copy(packet.destination(), destination.bytes.begin());
    const unsigned wire = be16(packet.bytes, packet.checksum_at());
    const auto is_of = [&](std::uint32_t length) {
        return wire == frame::folded(
                           frame::pseudo_header_sum(source, destination, packet.protocol, length));
    };
    return is_of(packet.end - packet.transport) || is_of(0);
}

bool Packet::is_tcp_data() const {
    return protocol == IPPROTO_TCP && has_transport && !broken && fragment == Fragment::kWhole &&
           end > payload;
}

bool is_icmp_error(const Packet& packet) {
    if (!packet.has_transport || !is_icmp(packet)) {
        return false;
    }
    const std::uint8_t type = packet.bytes[packet.transport];
    return packet.ip == Network::kIpv4
               ? type == 3 || type == 4 || type == 5 || type == 11 || type == 12
               : type >= 1 && type <= 4;
}

Packet read_packet(const CapturedFrame& captured, const ReadLimits& limits) {
    static constexpr frame::TunnelPorts kTunnels = frame::TunnelPorts::well_known();
    Packet packet;
    packet.length = captured.length;
    packet.time_ns = captured.time_ns;
    packet.number = captured.number;
    packet.file = captured.file;
    packet.interface = captured.interface;
    packet.cut = captured.bytes.size() < captured.length;
    // Lengths in the headers are those of the whole frame: a frame that was cut by the capture is
    // read as if zeros followed.
    frame::ByteVector padded;
    packet.bytes = captured.bytes;
    if (packet.cut) {
        padded.assign(captured.bytes.begin(), captured.bytes.end());
        padded.resize(captured.length);
        packet.bytes = padded;
    }
    const frame::FrameView view = frame::parse_frame(packet.bytes, kTunnels);
    const bool inside = view.has_inner && view.malformed == frame::Malformed::kNone;
    const frame::PacketView& innermost = inside ? view.inner : view.outer;
    if (inside) {
        packet.tunnel = view.tunnel;
        packet.vni = view.vni;
    }
    packet.ethernet = innermost.has_ethernet ? innermost.ethernet_offset : kNowhere;
    packet.vlans = innermost.vlans;
    packet.vlan[0] = innermost.vlan[0];
    packet.vlan[1] = innermost.vlan[1];
    if (innermost.network == Network::kNone) {
        const frame::PacketView& outer = view.outer;
        const std::uint32_t carried = outer.transport == Transport::kUdp
                                          ? outer.payload_offset + outer.payload_length
                                          : outer.network_end;
        read_opaque(packet, innermost,
                    inside ? carried : static_cast<std::uint32_t>(packet.bytes.size()));
    } else {
        read_ip(packet, innermost);
    }
    ReadLimits own = limits;
    if (packet.cut) {
        const auto there = static_cast<std::uint32_t>(captured.bytes.size());
        own.payload_bytes = std::min(own.payload_bytes, there - std::min(there, packet.payload));
    }
    make_keys(packet, own);
    packet.bytes = captured.bytes;
    packet.headless = packet.cut && captured.bytes.size() < packet.payload;
    return packet;
}

std::string address_text(Bytes address) {
    frame::IpAddress ip{.family = address.size() == 4 ? frame::Family::kIpv4 : frame::Family::kIpv6,
                        .bytes = {}};
    std::copy(address.begin(), address.end(), ip.bytes.begin());
    return frame::to_string(ip);
}

std::string mac_text(Bytes six) {
    frame::MacAddress mac;
    std::copy_n(six.begin(), std::min<std::size_t>(6, six.size()), mac.bytes.begin());
    return frame::to_string(mac);
}

std::string protocol_text(const Packet& packet) {
    if (packet.ip != Network::kNone) {
        if (packet.fragment != Fragment::kWhole) {
            return "fragment";
        }
        return protocol_text(packet.protocol);
    }
    return ethertype_text(packet.ethertype);
}

std::string protocol_text(std::uint8_t ip_protocol) {
    switch (ip_protocol) {
        case IPPROTO_TCP: return "TCP";
        case IPPROTO_UDP: return "UDP";
        case IPPROTO_SCTP: return "SCTP";
        case IPPROTO_UDPLITE: return "UDP-Lite";
        case IPPROTO_ICMP: return "ICMP";
        case IPPROTO_ICMPV6: return "ICMPv6";
        default: return fmt::format("protocol {}", ip_protocol);
    }
}

std::string ethertype_text(std::uint16_t type) {
    constexpr std::uint16_t kFirstType = 1536;
    switch (type) {
        case 0x0806: return "ARP";
        case 0x88cc: return "LLDP";
        case 0x8809: return "slow protocol";
        case 0x888e: return "EAPOL";
        default: break;
    }
    return type < kFirstType ? "LLC" : fmt::format("EtherType 0x{:04x}", type);
}

std::string flow_text(const Packet& packet) {
    const std::size_t needed =
        packet.ip == Network::kIpv4 ? packet.network + 20 : packet.network + 40;
    if (packet.ip == Network::kNone || packet.bytes.size() < needed) {
        const std::size_t at = packet.ethernet == kNowhere ? 0 : packet.ethernet;
        if (packet.bytes.size() < at + 12) {
            return "a frame without Ethernet header";
        }
        return fmt::format("{} -> {} {}", mac_text(packet.bytes.subspan(at + 6, 6)),
                           mac_text(packet.bytes.subspan(at, 6)), protocol_text(packet));
    }
    const std::string source = address_text(packet.source());
    const std::string destination = address_text(packet.destination());
    if (!has_ports(packet.protocol) || packet.fragment != Fragment::kWhole) {
        return fmt::format("{} -> {} {}", source, destination, protocol_text(packet));
    }
    const auto end = [&](const std::string& address, std::uint16_t port) {
        return packet.ip == Network::kIpv6 ? fmt::format("[{}]:{}", address, port)
                                           : fmt::format("{}:{}", address, port);
    };
    return fmt::format("{} -> {} {}", end(source, packet.source_port),
                       end(destination, packet.destination_port), protocol_text(packet));
}

}  // namespace pathproof::follow
