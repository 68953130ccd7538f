#include "dataplane/softnic/facts.h"

#include <fmt/ranges.h>
#include <netinet/in.h>
#include <rte_mbuf_core.h>

#include <algorithm>

#include "dataplane/softnic/bytes.h"
#include "dataplane/softnic/transmit_stage.h"

namespace pathproof::softnic {
namespace {

// clang-format off
// By Fact.
constexpr std::array<std::string_view, kFacts> kFactNames = {
    "encap", "plain", "vxlan", "gpe", "geneve", "gre", "ipip",
    "nat", "nat:port", "nat:addr",
    "outer.v4", "outer.v6", "inner.v4", "inner.v6", "mixed", "outer.csum",
    "vlan", "vlan:hw", "inner.vlan",
    "frag", "frag:later", "exthdr", "ipopt",
    "udp", "tcp", "sctp", "icmp", "udp0",
    "seg", "tso", "uso", "seg:first", "seg:last",
    "frame", "used", "trailer", "inner.trailer",
    "payload", "odd", "opts", "mbufs", "mss",
    "sport", "dport", "inner.sport", "inner.dport",
    "vni", "ttl", "queue", "flow",
    "asked.ip", "asked.l4", "asked.outer.ip", "asked.outer.udp",
};
// clang-format on
static_assert(!kFactNames.back().empty());

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
    return kFactNames[static_cast<std::size_t>(fact)];
}

std::optional<Fact> fact_named(std::string_view name) {
    const auto* found = std::ranges::find(kFactNames, name);
    return found != kFactNames.end() ? std::optional(static_cast<Fact>(found - kFactNames.begin()))
                                     : std::nullopt;
}

std::string fact_names() {
    return fmt::format("{}", fmt::join(kFactNames, ", "));
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
