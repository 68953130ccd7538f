#include "dataplane/softnic/facts.h"

#include <fmt/ranges.h>
#include <netinet/in.h>
#include <rte_mbuf_core.h>

#include <algorithm>
#include <ranges>

#include "dataplane/softnic/bytes.h"
#include "dataplane/softnic/transmit_stage.h"

namespace pathproof::softnic {
namespace {

struct Entry {
    Fact fact;
    std::string_view name;
    std::string_view meaning;
};

constexpr std::array<Entry, kFacts> kEntries = {{
    {Fact::kEncap, "encap", "there is a tunnel that the NIC knows"},
    {Fact::kPlain, "plain", "there is none"},
    {Fact::kVxlan, "vxlan", "a VXLAN tunnel"},
    {Fact::kGpe, "gpe", "a VXLAN-GPE tunnel"},
    {Fact::kGeneve, "geneve", "a GENEVE tunnel"},
    {Fact::kGre, "gre", "a GRE tunnel"},
    {Fact::kIpip, "ipip", "IP directly in IP"},
    {Fact::kNat, "nat", "a NAT has changed the outermost source"},
    {Fact::kNatPort, "nat:port", "it changed the port and not the address"},
    {Fact::kNatAddress, "nat:addr", "it changed the address"},
    {Fact::kOuterV4, "outer.v4", "the outermost packet is IPv4"},
    {Fact::kOuterV6, "outer.v6", "the outermost packet is IPv6"},
    {Fact::kInnerV4, "inner.v4", "the innermost packet is IPv4"},
    {Fact::kInnerV6, "inner.v6", "the innermost packet is IPv6"},
    {Fact::kMixed, "mixed", "the two packets are of different families"},
    {Fact::kOuterCsum, "outer.csum", "the outermost UDP checksum field"},
    {Fact::kVlan, "vlan", "number of VLAN tags outside"},
    {Fact::kVlanInserted, "vlan:hw", "the NIC inserts a tag"},
    {Fact::kInnerVlan, "inner.vlan", "number of VLAN tags inside the tunnel"},
    {Fact::kFragment, "frag", "the innermost or outermost packet is a fragment"},
    {Fact::kLaterFragment, "frag:later", "and not the first"},
    {Fact::kExtension, "exthdr", "bytes of IPv6 extension headers of the innermost packet"},
    {Fact::kIpOptions, "ipopt", "bytes of IPv4 options of the innermost packet"},
    {Fact::kUdp, "udp", "the innermost transport is UDP"},
    {Fact::kTcp, "tcp", "it is TCP"},
    {Fact::kSctp, "sctp", "it is SCTP"},
    {Fact::kIcmp, "icmp", "it is ICMP or ICMPv6"},
    {Fact::kUdpZero, "udp0", "a UDP checksum field is 0"},
    {Fact::kSegmented, "seg", "segmentation was asked for"},
    {Fact::kTso, "tso", "of TCP"},
    {Fact::kUso, "uso", "of UDP"},
    {Fact::kFirstSegment, "seg:first", "the first of several segments"},
    {Fact::kLastSegment, "seg:last", "the last of several segments"},
    {Fact::kFrame, "frame", "bytes of the frame"},
    {Fact::kUsed, "used", "bytes up to the end of the outermost IP packet"},
    {Fact::kTrailer, "trailer", "bytes behind it"},
    {Fact::kInnerTrailer, "inner.trailer", "bytes behind the inner IP packet, in the tunnel"},
    {Fact::kPayload, "payload", "bytes behind the innermost transport header"},
    {Fact::kOdd, "odd", "that number is odd"},
    {Fact::kOptions, "opts", "bytes of GENEVE options"},
    {Fact::kBuffers, "mbufs", "buffers in which the frame was handed over"},
    {Fact::kMss, "mss", "payload bytes of a segment, if segmentation was asked for"},
    {Fact::kSourcePort, "sport", "outermost source port"},
    {Fact::kDestinationPort, "dport", "outermost destination port"},
    {Fact::kInnerSourcePort, "inner.sport", "innermost source port"},
    {Fact::kInnerDestinationPort, "inner.dport", "innermost destination port"},
    {Fact::kVni, "vni", "of the tunnel"},
    {Fact::kTtl, "ttl", "hop limit of the outermost packet"},
    {Fact::kQueue, "queue", "on which it is sent or received"},
    {Fact::kFlow, "flow", "16-bit hash of the innermost addresses and ports"},
    {Fact::kAskedIp, "asked.ip", "the NIC shall fill in the (inner) IPv4 header checksum"},
    {Fact::kAskedL4, "asked.l4", "the (inner) transport checksum"},
    {Fact::kAskedOuterIp, "asked.outer.ip", "the outer IPv4 header checksum"},
    {Fact::kAskedOuterUdp, "asked.outer.udp", "the outer UDP checksum"},
}};

const Entry& entry(Fact fact) {
    return kEntries[static_cast<std::size_t>(fact)];
}

consteval bool in_order() {
    for (std::size_t at = 0; at < kEntries.size(); ++at) {
        if (static_cast<std::size_t>(kEntries[at].fact) != at) {
            return false;
        }
    }
    return true;
}
static_assert(in_order(), "kEntries is indexed by Fact");

void add_tunnel(Facts& facts, const Places& places) {
    const TunnelKind kind = places.tunnel;
    facts[Fact::kEncap] = kind != TunnelKind::kNone;
    facts[Fact::kPlain] = kind == TunnelKind::kNone;
    facts[Fact::kVxlan] = kind == TunnelKind::kVxlan;
    facts[Fact::kGpe] = kind == TunnelKind::kVxlanGpe;
    facts[Fact::kGeneve] = kind == TunnelKind::kGeneve;
    facts[Fact::kGre] = kind == TunnelKind::kGre;
    facts[Fact::kIpip] = kind == TunnelKind::kIpip;
    if (kind == TunnelKind::kNone) {
        return;
    }
    const PacketPlace& inner = places.inner;
    facts[Fact::kMixed] = inner.ip() && inner.family != places.outer.family;
    facts[Fact::kInnerVlan] = inner.vlans;
    facts[Fact::kInnerTrailer] = inner.ip() ? inner.trailer() : 0;
    facts[Fact::kOptions] = places.tunnel_options;
    facts[Fact::kVni] = places.vni;
}

std::uint16_t udp_field(Bytes wire, const PacketPlace& packet) {
    return get16(wire, packet.l4 + 6);
}

void add_outermost(Facts& facts, Bytes wire, const PacketPlace& outer) {
    facts[Fact::kFrame] = static_cast<std::int64_t>(wire.size());
    facts[Fact::kVlan] = outer.vlans;
    facts[Fact::kUsed] = outer.ip() ? outer.end : static_cast<std::int64_t>(wire.size());
    facts[Fact::kTrailer] = outer.ip() ? outer.trailer() : 0;
    facts[Fact::kOuterV4] = outer.family == 4;
    facts[Fact::kOuterV6] = outer.family == 6;
    facts[Fact::kSourcePort] = outer.source_port;
    facts[Fact::kDestinationPort] = outer.destination_port;
    if (outer.ip()) {
        facts[Fact::kTtl] = wire[outer.hop_limit_at()];
    }
    if (outer.transport == IPPROTO_UDP) {
        facts[Fact::kOuterCsum] = udp_field(wire, outer);
    }
}

std::uint16_t flow_hash(Bytes wire, const PacketPlace& packet) {
    std::uint32_t hash = 2166136261;  // FNV-1a, 32 bits
    const auto add = [&](Bytes bytes) {
        for (const std::uint8_t byte : bytes) {
            hash = (hash ^ byte) * 16777619;
        }
    };
    add(wire.subspan(packet.source_at, packet.address_length()));
    add(wire.subspan(packet.destination_at, packet.address_length()));
    const std::array<std::uint8_t, 4> ports = {
        static_cast<std::uint8_t>(packet.source_port >> 8),
        static_cast<std::uint8_t>(packet.source_port),
        static_cast<std::uint8_t>(packet.destination_port >> 8),
        static_cast<std::uint8_t>(packet.destination_port)};
    add(ports);
    return static_cast<std::uint16_t>(hash ^ hash >> 16);
}

void add_innermost(Facts& facts, Bytes wire, const PacketPlace& packet) {
    facts[Fact::kInnerV4] = packet.family == 4;
    facts[Fact::kInnerV6] = packet.family == 6;
    if (!packet.ip()) {
        return;
    }
    facts[Fact::kExtension] = packet.family == 6 ? packet.extension() : 0;
    facts[Fact::kIpOptions] = packet.family == 4 ? packet.extension() : 0;
    facts[Fact::kUdp] = packet.protocol == IPPROTO_UDP;
    facts[Fact::kTcp] = packet.protocol == IPPROTO_TCP;
    facts[Fact::kSctp] = packet.protocol == IPPROTO_SCTP;
    facts[Fact::kIcmp] = packet.protocol == IPPROTO_ICMP || packet.protocol == IPPROTO_ICMPV6;
    facts[Fact::kInnerSourcePort] = packet.source_port;
    facts[Fact::kInnerDestinationPort] = packet.destination_port;
    facts[Fact::kPayload] = packet.payload_length();
    facts[Fact::kOdd] = facts[Fact::kPayload] % 2;
    facts[Fact::kFlow] = flow_hash(wire, packet);
}

void add_either(Facts& facts, Bytes wire, const Places& places) {
    for (const PacketPlace* packet : {&places.outer, &places.innermost()}) {
        facts[Fact::kFragment] |= packet->fragment != FragmentKind::kWhole;
        facts[Fact::kLaterFragment] |= packet->fragment == FragmentKind::kLater;
        facts[Fact::kUdpZero] |= packet->transport == IPPROTO_UDP && udp_field(wire, *packet) == 0;
    }
}

void add_request(Facts& facts, const TxFrame& given, const Origin& origin) {
    const TxRequest& request = given.request;
    const std::uint64_t flags = request.offload.mbuf_flags;
    const auto asked = [flags](std::uint64_t of) { return (flags & of) != 0; };
    facts[Fact::kVlanInserted] = asked(RTE_MBUF_F_TX_VLAN | RTE_MBUF_F_TX_QINQ);
    facts[Fact::kSegmented] = is_segmented(request);
    facts[Fact::kTso] = asked(RTE_MBUF_F_TX_TCP_SEG);
    facts[Fact::kUso] = asked(RTE_MBUF_F_TX_UDP_SEG);
    facts[Fact::kMss] = is_segmented(request) ? request.offload.segment_bytes : 0;
    facts[Fact::kFirstSegment] = origin.segments > 1 && origin.segment == 0;
    facts[Fact::kLastSegment] = origin.segments > 1 && origin.segment + 1 == origin.segments;
    facts[Fact::kBuffers] =
        given.buffers.empty() ? 1 : static_cast<std::int64_t>(given.buffers.size());
    facts[Fact::kAskedIp] = asked(RTE_MBUF_F_TX_IP_CKSUM);
    facts[Fact::kAskedL4] = asked_transport(request) != 0;
    facts[Fact::kAskedOuterIp] = asked(RTE_MBUF_F_TX_OUTER_IP_CKSUM);
    facts[Fact::kAskedOuterUdp] = asked(RTE_MBUF_F_TX_OUTER_UDP_CKSUM);
}

void add_nat(Facts& facts, Bytes wire, const PacketPlace& outer, const frame::Endpoint& before) {
    if (!outer.ip()) {
        return;
    }
    const Bytes now = wire.subspan(outer.source_at, outer.address_length());
    const bool address = !std::equal(now.begin(), now.end(), before.address.bytes.begin());
    const bool port = before.port != outer.source_port;
    facts[Fact::kNat] = address || port;
    facts[Fact::kNatAddress] = address;
    facts[Fact::kNatPort] = port && !address;
}

}  // namespace

std::string_view name(Fact fact) {
    return entry(fact).name;
}

std::string_view meaning(Fact fact) {
    return entry(fact).meaning;
}

std::optional<Fact> fact_named(std::string_view name) {
    const auto* found = std::ranges::find(kEntries, name, &Entry::name);
    return found != kEntries.end() ? std::optional(found->fact) : std::nullopt;
}

std::string fact_names() {
    return fmt::format("{}", fmt::join(kEntries | std::views::transform(&Entry::name), ", "));
}

Facts facts_of(Bytes wire, const Places& places, const Origin& origin) noexcept {
    Facts facts;
    add_tunnel(facts, places);
    add_outermost(facts, wire, places.outer);
    add_innermost(facts, wire, places.innermost());
    add_either(facts, wire, places);
    facts[Fact::kQueue] = origin.queue;
    if (origin.given != nullptr) {
        add_request(facts, *origin.given, origin);
        if (origin.given->source_before_nat) {
            add_nat(facts, wire, places.outer, *origin.given->source_before_nat);
        }
    }
    return facts;
}

}  // namespace pathproof::softnic
