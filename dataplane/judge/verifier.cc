#include "dataplane/judge/verifier.h"

#include <netinet/in.h>
#include <rte_icmp.h>
#include <rte_ip.h>
#include <rte_tcp.h>
#include <rte_udp.h>

#include <cstddef>

#include "dataplane/base/be.h"
#include "dataplane/frame/checksum.h"
#include "dataplane/frame/crc32c.h"
#include "dataplane/frame/packet_reader.h"

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

constexpr std::size_t kSctpField = 8;  // RFC 9260 section 3.1
constexpr std::size_t kGreField = 4;   // RFC 2784 section 2.1

struct Field {
    Protocol protocol;
    std::size_t offset;  // from the start of the transport header
};

Field field_of(Transport transport) {
    switch (transport) {
        case Transport::kTcp: return {Protocol::kTcp, offsetof(rte_tcp_hdr, cksum)};
        case Transport::kIcmp: return {Protocol::kIcmp, offsetof(rte_icmp_hdr, icmp_cksum)};
        case Transport::kIcmpv6: return {Protocol::kIcmpv6, offsetof(rte_icmp_hdr, icmp_cksum)};
        case Transport::kSctp: return {Protocol::kSctp, kSctpField};
        case Transport::kUdpLite: return {Protocol::kUdpLite, offsetof(rte_udp_hdr, dgram_cksum)};
        case Transport::kGre: return {Protocol::kGre, kGreField};
        case Transport::kUdp:
        case Transport::kOther:
        case Transport::kNone: break;
    }
    return {Protocol::kUdp, offsetof(rte_udp_hdr, dgram_cksum)};
}

bool has_pseudo_header(Transport transport) {
    return transport != Transport::kIcmp && transport != Transport::kGre;
}
// RFC 768 and RFC 3828 section 3.1: a computed 0 is sent as 0xffff.
bool mangles_zero(Transport transport) {
    return transport == Transport::kUdp || transport == Transport::kUdpLite;
}

std::uint32_t right_sctp(Bytes covered) {
    constexpr std::uint8_t kNothing[4] = {};
    frame::Crc32c crc;
    crc.add(covered.first(kSctpField));
    crc.add(kNothing);
    crc.add(covered.subspan(kSctpField + sizeof kNothing));
    return crc.sctp_checksum();
}

std::uint32_t right_transport(Bytes bytes, const PacketView& packet, std::size_t field) {
    const Bytes covered = bytes.subspan(packet.transport_offset, packet.covered_length);
    if (packet.transport == Transport::kSctp) {
        return right_sctp(covered);
    }
    auto sum = sum_around(covered, field);
    if (has_pseudo_header(packet.transport)) {
        sum += frame::pseudo_header_sum(packet.source, packet.final_destination, packet.protocol,
                                        packet.transport_length);
    }
    return mangles_zero(packet.transport) ? frame::udp_checksum_of(sum) : frame::checksum_of(sum);
}

bool verifiable(const PacketView& packet) {
    return packet.malformed == Malformed::kNone && packet.fragment == Fragment::kWhole &&
           packet.final_destination_known;
}

ChecksumState state_of(const PacketView& packet, Depth depth, std::uint32_t wire,
                       std::uint32_t right) {
    const bool zero_udp = packet.transport == Transport::kUdp && wire == 0;
    if (zero_udp && (packet.network == Network::kIpv4 || depth == Depth::kOuter)) {
        return ChecksumState::kDisabled;
    }
    if (!verifiable(packet)) {
        return ChecksumState::kUnverifiable;
    }
    // A receiver adds the field to the sum, and 0 and 0xffff are one number in one's complement.
    const bool same =
        wire == right || (right == 0 && wire == 0xffff && packet.transport != Transport::kSctp);
    return same ? ChecksumState::kGood : ChecksumState::kBad;
}

std::uint32_t field_value(Bytes bytes, Protocol protocol, std::size_t field) {
    return protocol == Protocol::kSctp ? frame::view<Be32>(bytes, field)->value()
                                       : word_at(bytes, field);
}

bool carries_checksum(Bytes bytes, const PacketView& packet) {
    if (packet.transport == Transport::kNone || packet.transport == Transport::kOther) {
        return false;
    }
    return packet.transport != Transport::kGre ||
           (word_at(bytes, packet.transport_offset) & frame::kGreChecksum) != 0;
}

void judge_transport(FrameVerdict& verdict, Bytes bytes, const PacketView& packet, Depth depth) {
    if (!carries_checksum(bytes, packet)) {
        return;
    }
    const Field place = field_of(packet.transport);
    const std::size_t field = packet.transport_offset + place.offset;
    const std::uint32_t wire = field_value(bytes, place.protocol, field);
    const std::uint32_t right =
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
    switch (packet.protocol) {
        case IPPROTO_UDP: return add(verdict, {.layer = {depth, Protocol::kUdp}});
        case IPPROTO_UDPLITE: return add(verdict, {.layer = {depth, Protocol::kUdpLite}});
        case IPPROTO_TCP: return add(verdict, {.layer = {depth, Protocol::kTcp}});
        case IPPROTO_SCTP: return add(verdict, {.layer = {depth, Protocol::kSctp}});
        case IPPROTO_ICMP: return ipv4 ? add(verdict, {.layer = {depth, Protocol::kIcmp}}) : void();
        case IPPROTO_ICMPV6:
            return ipv4 ? void() : add(verdict, {.layer = {depth, Protocol::kIcmpv6}});
        default:  // GRE too: whether it has a checksum stands in the first fragment
            return;
    }
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
                    const frame::TunnelPorts& tunnels) noexcept {
    return verify(bytes, frame::parse_frame(bytes, tunnels));
}

FrameVerdict verify(std::span<const std::uint8_t> bytes,
                    std::span<const std::uint16_t> vxlan_ports) noexcept {
    return verify(bytes, frame::parse_frame(bytes, vxlan_ports));
}

}  // namespace pathproof::judge
