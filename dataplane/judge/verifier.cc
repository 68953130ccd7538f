#include "dataplane/judge/verifier.h"

#include <netinet/in.h>
#include <rte_icmp.h>
#include <rte_ip.h>
#include <rte_tcp.h>
#include <rte_udp.h>

#include <cstddef>

#include "dataplane/base/be.h"
#include "dataplane/frame/checksum.h"

namespace pathproof::judge {
namespace {

using frame::Bytes;
using frame::Fragment;
using frame::Network;
using frame::PacketView;
using frame::Transport;

void add(FrameVerdict& verdict, const ChecksumFinding& finding) {
    if (verdict.count < FrameVerdict::kMost) {
        verdict.findings[verdict.count++] = finding;
    }
}

std::uint16_t word_at(Bytes bytes, std::size_t offset) {
    return frame::view<Be16>(bytes, offset)->value();
}

// The sum of all but the 16-bit field at `field`. Taking the field out of a sum over everything
// would not do: in one's complement that makes 0xffff of a message of zeros, whose sum is 0.
frame::PartialSum sum_around(Bytes bytes, std::size_t field) {
    return frame::sum_bytes(bytes.subspan(field + 2), frame::sum_bytes(bytes.first(field)));
}

// 0xffff is not what RFC 1624 leads to, where 0 is meant: unlike TCP's, the value is held to the
// letter.
ChecksumFinding judge_ipv4(Bytes bytes, const PacketView& packet, Depth depth) {
    const std::size_t field = packet.network_offset + offsetof(rte_ipv4_hdr, hdr_checksum);
    const std::uint16_t wire = word_at(bytes, field);
    const std::uint16_t right =
        frame::checksum_of(sum_around(bytes.subspan(packet.network_offset, packet.network_length),
                                      offsetof(rte_ipv4_hdr, hdr_checksum)));
    return {.layer = {depth, Protocol::kIpv4},
            .state = wire == right ? ChecksumState::kGood : ChecksumState::kBad,
            .field_offset = static_cast<std::uint16_t>(field),
            .wire = wire,
            .right = right};
}

struct Field {
    Protocol protocol;
    std::size_t offset;  // from the start of the transport header
};

Field field_of(Transport transport) {
    switch (transport) {
        case Transport::kTcp:
            return {Protocol::kTcp, offsetof(rte_tcp_hdr, cksum)};
        case Transport::kIcmp:
            return {Protocol::kIcmp, offsetof(rte_icmp_hdr, icmp_cksum)};
        case Transport::kIcmpv6:
            return {Protocol::kIcmpv6, offsetof(rte_icmp_hdr, icmp_cksum)};
        case Transport::kUdp:
        case Transport::kOther:
        case Transport::kNone:
            break;
    }
    return {Protocol::kUdp, offsetof(rte_udp_hdr, dgram_cksum)};
}

std::uint16_t right_transport(Bytes bytes, const PacketView& packet, std::size_t field) {
    auto sum = sum_around(bytes.subspan(packet.transport_offset, packet.transport_length), field);
    if (packet.transport != Transport::kIcmp) {
        sum += frame::pseudo_header_sum(packet.source, packet.final_destination, packet.protocol,
                                        packet.transport_length);
    }
    return packet.transport == Transport::kUdp ? frame::udp_checksum_of(sum)
                                               : frame::checksum_of(sum);
}

bool verifiable(const PacketView& packet) {
    return packet.malformed == Malformed::kNone && packet.fragment == Fragment::kWhole &&
           packet.final_destination_known;
}

ChecksumState state_of(const PacketView& packet, Depth depth, std::uint16_t wire,
                       std::uint16_t right) {
    const bool zero_udp = packet.transport == Transport::kUdp && wire == 0;
    if (zero_udp && (packet.network == Network::kIpv4 || depth == Depth::kOuter)) {
        return ChecksumState::kDisabled;
    }
    if (!verifiable(packet)) {
        return ChecksumState::kUnverifiable;
    }
    // A receiver adds the field to the sum, and 0 and 0xffff are one number in one's complement.
    const bool same = wire == right || (right == 0 && wire == 0xffff);
    return same ? ChecksumState::kGood : ChecksumState::kBad;
}

void judge_transport(FrameVerdict& verdict, Bytes bytes, const PacketView& packet, Depth depth) {
    if (packet.transport == Transport::kNone || packet.transport == Transport::kOther) {
        return;
    }
    const Field place = field_of(packet.transport);
    const std::size_t field = packet.transport_offset + place.offset;
    const std::uint16_t wire = word_at(bytes, field);
    const std::uint16_t right =
        verifiable(packet) ? right_transport(bytes, packet, place.offset) : 0;
    add(verdict, {.layer = {depth, place.protocol},
                  .state = state_of(packet, depth, wire, right),
                  .field_offset = static_cast<std::uint16_t>(field),
                  .wire = wire,
                  .right = right});
}

// Its transport header is in another frame, and so is the checksum.
void note_later_fragment(FrameVerdict& verdict, const PacketView& packet, Depth depth) {
    const bool ipv4 = packet.network == Network::kIpv4;
    Protocol protocol = Protocol::kUdp;
    switch (packet.protocol) {
        case IPPROTO_UDP:
            break;
        case IPPROTO_TCP:
            protocol = Protocol::kTcp;
            break;
        case IPPROTO_ICMP:
            if (!ipv4) {
                return;
            }
            protocol = Protocol::kIcmp;
            break;
        case IPPROTO_ICMPV6:
            if (ipv4) {
                return;
            }
            protocol = Protocol::kIcmpv6;
            break;
        default:
            return;
    }
    add(verdict, {.layer = {depth, protocol}});
}

void judge_packet(FrameVerdict& verdict, Bytes bytes, const PacketView& packet, Depth depth) {
    if (packet.network == Network::kIpv4) {
        add(verdict, judge_ipv4(bytes, packet, depth));
    }
    if (packet.fragment == Fragment::kLater) {
        note_later_fragment(verdict, packet, depth);
        return;
    }
    judge_transport(verdict, bytes, packet, depth);
}

}  // namespace

FrameVerdict verify(std::span<const std::uint8_t> bytes, const frame::FrameView& view) noexcept {
    FrameVerdict verdict;
    verdict.malformed = view.malformed;
    judge_packet(verdict, bytes, view.outer, view.to_tunnel ? Depth::kOuter : Depth::kPlain);
    if (view.has_inner) {
        judge_packet(verdict, bytes, view.inner, Depth::kInner);
    }
    return verdict;
}

FrameVerdict verify(std::span<const std::uint8_t> bytes,
                    std::span<const std::uint16_t> tunnel_ports) noexcept {
    return verify(bytes, frame::parse_frame(bytes, tunnel_ports));
}

}  // namespace pathproof::judge
