#include "dataplane/follow/variant.h"

#include <netinet/in.h>

#include <algorithm>

#include "dataplane/judge/verifier.h"

namespace pathproof::follow {
namespace {

using frame::Bytes;
using frame::ByteVector;
using frame::Network;
using frame::PacketView;

constexpr std::uint32_t kTagBytes = 4;
constexpr std::uint32_t kAddresses = 12;  // in front of a tag
constexpr std::uint32_t kLongest = 65'000;

Packet packet_of(Bytes frame) {
    return read_packet(
        {.piece = {}, .bytes = frame, .length = static_cast<std::uint32_t>(frame.size())}, {});
}

std::uint32_t get16(const ByteVector& bytes, std::size_t at) {
    return bytes[at] << 8U | bytes[at + 1];
}
void put16(ByteVector& bytes, std::size_t at, std::uint32_t value) {
    bytes[at] = static_cast<std::uint8_t>(value >> 8);
    bytes[at + 1] = static_cast<std::uint8_t>(value);
}
void put32(ByteVector& bytes, std::size_t at, std::uint32_t value) {
    put16(bytes, at, value >> 16);
    put16(bytes, at + 2, value);
}

bool has_no_sum(const ByteVector& bytes, const Packet& packet) {
    return packet.protocol == IPPROTO_UDP && packet.checksum_at() != kNowhere &&
           get16(bytes, packet.checksum_at()) == 0;
}

// Puts right checksums into all layers, the inner ones first. A UDP checksum of 0 stays.
void mend(ByteVector& bytes) {
    for (int pass = 0; pass < 2; ++pass) {
        const auto verdict = judge::verify(bytes, frame::TunnelPorts::well_known());
        for (std::size_t i = verdict.count; i-- > 0;) {
            if (verdict.findings[i].state == judge::ChecksumState::kBad) {
                judge::write_right(bytes, verdict.findings[i]);
            }
        }
    }
}

// Adds to the length fields of a packet's IP and UDP headers.
void add_to_lengths(ByteVector& bytes, const PacketView& packet, std::int64_t more) {
    const auto add = [&](std::size_t at) {
        put16(bytes, at, static_cast<std::uint32_t>(get16(bytes, at) + more));
    };
    if (packet.network == Network::kNone) {
        return;
    }
    add(packet.network_offset + (packet.network == Network::kIpv4 ? 2 : 4));
    if (packet.protocol == IPPROTO_UDP && packet.transport == frame::Transport::kUdp) {
        add(packet.transport_offset + 4);
    }
}

std::optional<ByteVector> with_payload(const ByteVector& bytes, const Packet& packet,
                                       std::int64_t length) {
    const auto view = frame::parse_frame(bytes, frame::TunnelPorts::well_known());
    const std::int64_t now = packet.payload_length();
    const bool whole = packet.ip == Network::kNone ||
                       (packet.has_transport && packet.fragment == frame::Fragment::kWhole &&
                        view.malformed == frame::Malformed::kNone);
    // 802.3 frames have their length in place of a type.
    constexpr std::uint16_t kFirstType = 1536;
    if (length < 0 || length > kLongest || !whole || packet.broken ||
        (packet.ip == Network::kNone && packet.ethertype < kFirstType) ||
        packet.carrier_end != packet.end || packet.end != bytes.size()) {
        return std::nullopt;
    }
    constexpr std::size_t kShortest = 60;
    if (length < now && packet.payload + static_cast<std::size_t>(length) < kShortest) {
        return std::nullopt;
    }
    ByteVector made = bytes;
    // More of the same, so that what is in it stays as likely or unlikely.
    const std::size_t from = packet.payload;
    made.resize(from + static_cast<std::size_t>(length));
    for (std::int64_t i = now; i < length; ++i) {
        made[from + static_cast<std::size_t>(i)] =
            now == 0 ? static_cast<std::uint8_t>(i * 7)
                     : bytes[from + static_cast<std::size_t>(i % now)];
    }
    add_to_lengths(made, view.outer, length - now);
    if (view.has_inner) {
        add_to_lengths(made, view.inner, length - now);
    }
    return made;
}

std::optional<ByteVector> with_tags(const ByteVector& bytes, const Packet& packet,
                                    std::uint32_t tags) {
    // Tags of the outermost packet: behind a tunnel they are others.
    if (packet.tunnel != frame::Tunnel::kNone || packet.vlans + tags != 1) {
        return std::nullopt;
    }
    ByteVector made = bytes;
    const auto at = made.begin() + kAddresses;
    if (tags == 0) {
        made.erase(at, at + kTagBytes);
    } else {
        made.insert(at, {0x81, 0x00, 0x00, 0x01});
    }
    return made;
}

// The tag control information of the only tag, whose bits of `mask` become `value`.
std::optional<ByteVector> with_tag(const ByteVector& bytes, const Packet& packet,
                                   std::uint32_t mask, std::uint32_t value) {
    if (packet.tunnel != frame::Tunnel::kNone || packet.vlans != 1) {
        return std::nullopt;
    }
    ByteVector made = bytes;
    constexpr std::size_t kAt = kAddresses + 2;
    put16(made, kAt, (get16(made, kAt) & ~mask) | (value & mask));
    return made;
}

std::optional<ByteVector> with_ip_field(const ByteVector& bytes, const Packet& packet, Trait trait,
                                        std::uint32_t value) {
    if (packet.ip == Network::kNone) {
        return std::nullopt;
    }
    ByteVector made = bytes;
    std::uint8_t* const ip = made.data() + packet.network;
    const bool v4 = packet.ip == Network::kIpv4;
    switch (trait) {
        case Trait::kHopLimit: ip[v4 ? 8 : 7] = static_cast<std::uint8_t>(value); return made;
        case Trait::kTrafficClass:
            if (v4) {
                ip[1] = static_cast<std::uint8_t>(value);
            } else {
                ip[0] = static_cast<std::uint8_t>((ip[0] & 0xf0U) | value >> 4);
                ip[1] = static_cast<std::uint8_t>((ip[1] & 0x0fU) | value << 4);
            }
            return made;
        case Trait::kDontFragment:
            if (!v4) {
                return std::nullopt;
            }
            ip[6] = static_cast<std::uint8_t>((ip[6] & ~0x40U) | (value != 0 ? 0x40U : 0U));
            return made;
        default: return std::nullopt;
    }
}

std::optional<ByteVector> with_port(const ByteVector& bytes, const Packet& packet, Trait trait,
                                    std::uint32_t value) {
    const bool ports = packet.protocol == IPPROTO_TCP || packet.protocol == IPPROTO_UDP;
    if (!packet.has_transport || !ports || value == 0) {
        return std::nullopt;
    }
    ByteVector made = bytes;
    put16(made, packet.transport + (trait == Trait::kSourcePort ? 0U : 2U), value);
    return made;
}

}  // namespace

std::optional<ByteVector> with_trait(Bytes frame, Trait trait, std::uint32_t value) {
    const ByteVector bytes(frame.begin(), frame.end());
    const Packet packet = packet_of(bytes);
    constexpr std::size_t kEthernet = 14;
    if (packet.headless || bytes.size() < kEthernet) {
        return std::nullopt;
    }
    const bool no_sum = has_no_sum(bytes, packet);
    std::optional<ByteVector> made;
    switch (trait) {
        case Trait::kFrameBytes:
            made = with_payload(bytes, packet,
                                static_cast<std::int64_t>(packet.payload_length()) + value -
                                    static_cast<std::int64_t>(bytes.size()));
            break;
        case Trait::kPayloadBytes: made = with_payload(bytes, packet, value); break;
        case Trait::kVlans: made = with_tags(bytes, packet, value); break;
        case Trait::kVlan: made = with_tag(bytes, packet, 0x0fff, value); break;
        case Trait::kVlanPriority: made = with_tag(bytes, packet, 0xe000, value << 13U); break;
        case Trait::kSourcePort:
        case Trait::kDestinationPort: made = with_port(bytes, packet, trait, value); break;
        case Trait::kHopLimit:
        case Trait::kTrafficClass:
        case Trait::kDontFragment: made = with_ip_field(bytes, packet, trait, value); break;
        case Trait::kNoUdpChecksum:
            if (packet.protocol == IPPROTO_UDP && packet.has_transport &&
                packet.ip == Network::kIpv4) {
                made = bytes;
                put16(*made, packet.checksum_at(), value != 0 ? 0 : 1);
            }
            break;
        case Trait::kTcpOptionBytes:
        case Trait::kFamily:
        case Trait::kProtocol:
        case Trait::kTunnel:
        case Trait::kFragment:
        case Trait::kOptions:
        case Trait::kTcpFlags:
        case Trait::kLeftToNic:
        case Trait::kGroup:
        case Trait::kSourceAddress:
        case Trait::kDestinationAddress:
        case Trait::kInterface: break;
    }
    if (!made) {
        return std::nullopt;
    }
    if (trait != Trait::kNoUdpChecksum && no_sum && packet_of(*made).checksum_at() != kNowhere) {
        put16(*made, packet_of(*made).checksum_at(), 0);
    }
    mend(*made);
    return traits_of(Bytes(*made))[bit(trait)] == value ? made : std::nullopt;
}

ByteVector with_number(Bytes frame, std::uint32_t number) {
    constexpr std::uint32_t kMark = 4;
    constexpr std::uint32_t kStreamStep = 1u << 17;
    ByteVector made(frame.begin(), frame.end());
    const Packet packet = packet_of(made);
    if (packet.headless || packet.broken || packet.ip == Network::kNone) {
        return made;
    }
    if (packet.end >= packet.payload + kMark && packet.end <= made.size()) {
        put32(made, packet.end - kMark, number * 2'654'435'761U);
    }
    if (packet.ip == Network::kIpv4) {
        put16(made, packet.network + 4, number + 1);
    }
    if (packet.protocol == IPPROTO_TCP && packet.has_transport) {
        put32(made, packet.transport + 4, packet.sequence + number * kStreamStep);
    }
    mend(made);
    return made;
}

Traits traits_of(Bytes frame) {
    return traits_of(packet_of(frame));
}

}  // namespace pathproof::follow
