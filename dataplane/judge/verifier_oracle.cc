// The slow judge. It reads frames and sums bytes by itself, straight from the RFCs, so that a
// mistake in the fast parser or the fast sums shows as a difference.
#include <algorithm>
#include <optional>

#include "dataplane/frame/checksum_oracle.h"
#include "dataplane/judge/verifier.h"

namespace pathproof::judge {
namespace {

using Octets = std::span<const std::uint8_t>;

constexpr unsigned kMostExtensionHeaders = 8;

unsigned word(Octets octets, std::size_t at) {
    return octets[at] * 256u + octets[at + 1];
}

// What is known of one Ethernet frame and the IP packet in it.
struct Packet {
    Octets
        octets;  // up to where its carrier ends; positions count from the start of the whole frame
    Malformed malformed = Malformed::kNone;
    bool ipv6 = false;
    std::size_t ip = 0;         // where the IP header starts
    std::size_t transport = 0;  // where the header behind it starts
    std::size_t end = 0;        // where the IP packet ends
    unsigned protocol = 256;    // 256: none that is judged
    bool first_fragment = false;
    bool later_fragment = false;
    bool destination_known = true;
    std::size_t final_destination = 0;  // where its bytes lie
    std::optional<ChecksumFinding> ip_finding;
    std::optional<ChecksumFinding> transport_finding;
    std::size_t datagram_end = 0;  // of UDP
};

void mark(Packet& packet, Malformed reason) {
    if (packet.malformed == Malformed::kNone) {
        packet.malformed = reason;
    }
}

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

void sum_but(frame::OracleSum& sum, Octets octets, std::size_t from, std::size_t to,
             std::size_t field) {
    constexpr std::uint8_t kZeros[2] = {};
    sum.add(octets.subspan(from, field - from));
    sum.add(kZeros);
    sum.add(octets.subspan(field + 2, to - field - 2));
}

void judge_ipv4_header(Packet& packet) {
    const std::size_t field = packet.ip + 10;
    frame::OracleSum sum;
    sum_but(sum, packet.octets, packet.ip, packet.transport, field);
    const unsigned wire = word(packet.octets, field);
    packet.ip_finding = ChecksumFinding{
        .layer = {Depth::kPlain, Protocol::kIpv4},
        .state = wire == sum.checksum() ? ChecksumState::kGood : ChecksumState::kBad,
        .field_offset = static_cast<std::uint16_t>(field),
        .wire = static_cast<std::uint16_t>(wire),
        .right = sum.checksum(),
    };
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
    judge_ipv4_header(packet);
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
            packet.protocol = 256;
        } else if (!pass_extension_header(packet)) {
            mark(packet, Malformed::kShortTransport);
            packet.protocol = 256;
        }
    }
}

std::optional<Protocol> judged_protocol(const Packet& packet) {
    switch (packet.protocol) {
        case 6:
            return Protocol::kTcp;
        case 17:
            return Protocol::kUdp;
        case 1:
            return packet.ipv6 ? std::nullopt : std::optional(Protocol::kIcmp);
        case 58:
            return packet.ipv6 ? std::optional(Protocol::kIcmpv6) : std::nullopt;
        default:
            return std::nullopt;
    }
}

void add_pseudo_header(frame::OracleSum& sum, const Packet& packet, std::size_t length) {
    const std::size_t size = packet.ipv6 ? 16 : 4;
    sum.add(packet.octets.subspan(packet.ip + (packet.ipv6 ? 8 : 12), size));
    sum.add(packet.octets.subspan(packet.final_destination, size));
    const std::uint8_t rest[] = {static_cast<std::uint8_t>(length >> 24),
                                 static_cast<std::uint8_t>(length >> 16),
                                 static_cast<std::uint8_t>(length >> 8),
                                 static_cast<std::uint8_t>(length),
                                 0,
                                 static_cast<std::uint8_t>(packet.protocol)};
    sum.add(rest);
}

// The end of what the checksum covers. Marks lengths that cannot be.
std::size_t covered_end(Packet& packet, Protocol protocol) {
    const std::size_t room = packet.end - packet.transport;
    if (protocol == Protocol::kTcp) {
        const std::size_t header = packet.octets[packet.transport + 12] / 16 * 4u;
        if (header < 20 || header > room) {
            mark(packet, Malformed::kShortTransport);
        }
        return packet.end;
    }
    if (protocol != Protocol::kUdp) {
        return packet.end;
    }
    const std::size_t length = word(packet.octets, packet.transport + 4);
    if (length < 8 || (length > room && !packet.first_fragment)) {
        mark(packet, Malformed::kShortTransport);
        return packet.end;
    }
    return packet.transport + std::min(length, room);
}

std::uint16_t right_value(const Packet& packet, Protocol protocol, std::size_t field,
                          std::size_t end) {
    frame::OracleSum sum;
    if (protocol != Protocol::kIcmp) {
        add_pseudo_header(sum, packet, end - packet.transport);
    }
    sum_but(sum, packet.octets, packet.transport, end, field);
    const bool zero_is_taken = protocol == Protocol::kUdp && sum.checksum() == 0;  // RFC 768
    return zero_is_taken ? 0xffff : sum.checksum();
}

ChecksumState transport_state(const ChecksumFinding& finding) {
    const bool either_zero = finding.right == 0 && finding.wire == 0xffff;
    return finding.wire == finding.right || either_zero ? ChecksumState::kGood
                                                        : ChecksumState::kBad;
}

void judge_transport(Packet& packet) {
    const std::optional<Protocol> protocol = judged_protocol(packet);
    if (!protocol) {
        return;
    }
    ChecksumFinding finding{.layer = {Depth::kPlain, *protocol}};
    if (packet.later_fragment) {
        packet.transport_finding = finding;
        return;
    }
    const std::size_t header = *protocol == Protocol::kTcp ? 20 : 8;
    if (packet.end - packet.transport < header) {
        return mark(packet, Malformed::kShortTransport);
    }
    const std::size_t field_in_header =
        *protocol == Protocol::kTcp ? 16 : (*protocol == Protocol::kUdp ? 6 : 2);
    const std::size_t field = packet.transport + field_in_header;
    const std::size_t end = covered_end(packet, *protocol);
    packet.datagram_end = end;
    finding.field_offset = static_cast<std::uint16_t>(field);
    finding.wire = static_cast<std::uint16_t>(word(packet.octets, field));
    if (packet.malformed == Malformed::kNone && !packet.first_fragment &&
        packet.destination_known) {
        finding.right = right_value(packet, *protocol, field, end);
        finding.state = transport_state(finding);
    }
    packet.transport_finding = finding;
}

Packet read_packet(Octets octets, std::size_t start) {
    Packet packet{.octets = octets};
    std::size_t at = start;
    const std::optional<unsigned> type = ethertype(octets, at);
    if (!type) {
        mark(packet, Malformed::kShortEthernet);
        return packet;
    }
    packet.ip = at;
    if (*type == 0x0800) {
        read_ipv4(packet);
    } else if (*type == 0x86dd) {
        read_ipv6(packet);
    }
    judge_transport(packet);
    return packet;
}

// Field 0 under UDP: no checksum was made, which IPv6 allows to the outside of a tunnel only (RFC
// 6935).
void settle_disabled(ChecksumFinding& finding, bool ipv6) {
    if (finding.layer.protocol != Protocol::kUdp || finding.wire != 0 ||
        finding.field_offset == 0) {
        return;
    }
    if (!ipv6 || finding.layer.depth == Depth::kOuter) {
        finding.state = ChecksumState::kDisabled;
    }
}

void report(FrameVerdict& verdict, Packet& packet, Depth depth) {
    for (auto* finding : {&packet.ip_finding, &packet.transport_finding}) {
        if (*finding) {
            (*finding)->layer.depth = depth;
            settle_disabled(**finding, packet.ipv6);
            verdict.findings[verdict.count++] = **finding;
        }
    }
    if (verdict.malformed == Malformed::kNone) {
        verdict.malformed = packet.malformed;
    }
}

bool is_tunnel(const Packet& packet, std::span<const std::uint16_t> tunnel_ports) {
    const auto& finding = packet.transport_finding;
    if (!finding || finding->layer.protocol != Protocol::kUdp || packet.first_fragment ||
        packet.later_fragment) {
        return false;
    }
    const unsigned port = word(packet.octets, packet.transport + 2);
    return std::any_of(tunnel_ports.begin(), tunnel_ports.end(),
                       [port](std::uint16_t tunnel) { return tunnel == port; });
}

}  // namespace

FrameVerdict verify_slowly(std::span<const std::uint8_t> bytes,
                           std::span<const std::uint16_t> tunnel_ports) noexcept {
    FrameVerdict verdict;
    Packet outer = read_packet(bytes, 0);
    const bool tunnel = is_tunnel(outer, tunnel_ports);
    report(verdict, outer, tunnel ? Depth::kOuter : Depth::kPlain);
    if (!tunnel) {
        return verdict;
    }
    // RFC 7348 section 5: eight bytes, the I flag in the first.
    const std::size_t header = outer.transport + 8;
    const Octets datagram = bytes.first(outer.datagram_end);
    if (datagram.size() - header < 8 || (datagram[header] & 8) == 0) {
        if (verdict.malformed == Malformed::kNone) {
            verdict.malformed = Malformed::kShortTunnel;
        }
        return verdict;
    }
    Packet inner = read_packet(datagram, header + 8);
    report(verdict, inner, Depth::kInner);
    return verdict;
}

}  // namespace pathproof::judge
