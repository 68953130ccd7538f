#include "dataplane/matrix/feasibility.h"

namespace pathproof::matrix {
namespace {

template <typename... Enums>
constexpr ValueSet set_of(Enums... values) {
    return ((ValueSet{1} << static_cast<std::uint8_t>(values)) | ... | 0u);
}
template <typename... Enums>
constexpr ValueSet all_but(Enums... values) {
    return ~set_of(values...);
}

// A constraint: if `dimension` has one of `values`, `other` has one of `allowed`.
struct Rule {
    Dimension dimension;
    ValueSet values;
    Dimension other;
    ValueSet allowed;
    const char* why;
};

struct Limit {
    Dimension dimension;
    ValueSet allowed;
    const char* why;
};

constexpr ValueSet kVxlan = set_of(Encap::kVxlanOverIpv4, Encap::kVxlanOverIpv6);
constexpr ValueSet kGeneves = set_of(Encap::kGeneve, Encap::kGeneve40, Encap::kGeneve124);
constexpr ValueSet kOverUdp = kVxlan | kGeneves | set_of(Encap::kVxlanGpe);
constexpr ValueSet kOverIp = set_of(Encap::kIpInIp, Encap::kGre);
constexpr ValueSet kEthernetInside = kVxlan | kGeneves;
constexpr ValueSet kIpv4Inside = set_of(InnerNetwork::kIpv4, InnerNetwork::kIpv4Options);
constexpr ValueSet kPlainTo =
    set_of(TunnelPort::kPlainTo4789, TunnelPort::kPlainTo4790, TunnelPort::kPlainTo6081);
constexpr ValueSet kTcp = set_of(InnerTransport::kTcp, InnerTransport::kTcpOptions);
constexpr ValueSet kLong =
    set_of(Length::k171, Length::k256, Length::kMtu, Length::k2501, Length::k9000);
constexpr ValueSet kTcpSegments =
    set_of(Segmentation::kTcpTwo, Segmentation::kTcpExact, Segmentation::kTcpOddRest,
           Segmentation::kTcpOneByte, Segmentation::kTcpMangledId);
constexpr ValueSet kSegmented = all_but(Segmentation::kNone);
constexpr ValueSet kBadInner =
    set_of(RxInput::kBadInnerTransport, RxInput::kBadInnerBoth, RxInput::kBadBothTransports);
constexpr ValueSet kBadInnerHeader = set_of(RxInput::kBadInnerIp, RxInput::kBadInnerBoth);
constexpr ValueSet kBadOuter = set_of(RxInput::kBadOuterTransport, RxInput::kBadBothTransports);

constexpr Rule kTunnelRules[] = {
    {Dimension::kEncap, kOverUdp, Dimension::kOuterChecksum, all_but(OuterChecksum::kNone),
     "a tunnel over UDP has an outer checksum, or has it disabled"},
    {Dimension::kEncap, ~kOverUdp, Dimension::kOuterChecksum, set_of(OuterChecksum::kNone),
     "only a tunnel over UDP has an outer UDP checksum"},
    {Dimension::kEncap, set_of(Encap::kNone), Dimension::kTunnelPort,
     kPlainTo | set_of(TunnelPort::kNone), "without tunnel there is no tunnel port"},
    {Dimension::kEncap, kOverIp, Dimension::kTunnelPort, set_of(TunnelPort::kNone),
     "GRE and IP in IP have no port"},
    {Dimension::kEncap, kVxlan, Dimension::kTunnelPort,
     set_of(TunnelPort::k4789, TunnelPort::k8472, TunnelPort::k8223, TunnelPort::kTwo),
     "VXLAN listens on 4789, 8472 or a port of its own"},
    {Dimension::kEncap, kGeneves, Dimension::kTunnelPort,
     set_of(TunnelPort::k6081, TunnelPort::k8223, TunnelPort::kTwo),
     "GENEVE listens on 6081 or a port of its own"},
    {Dimension::kEncap, set_of(Encap::kVxlanGpe), Dimension::kTunnelPort,
     set_of(TunnelPort::k4790, TunnelPort::k8223),
     "VXLAN-GPE listens on 4790 or a port of its own"},
    {Dimension::kTunnelPort, kPlainTo, Dimension::kInnerTransport, set_of(InnerTransport::kUdp),
     "only UDP goes to a tunnel's port"},
    {Dimension::kNat, all_but(Nat::kNone), Dimension::kEncap, kOverUdp,
     "NAT of the outer header needs a tunnel over UDP"},
    {Dimension::kVlan, set_of(Vlan::kInner), Dimension::kEncap, kEthernetInside,
     "a VLAN tag inside the tunnel needs an inner Ethernet frame"},
    {Dimension::kTrailer, set_of(Trailer::kInnerZero, Trailer::kInnerNonZero), Dimension::kEncap,
     kEthernetInside, "a trailer inside the tunnel needs an inner Ethernet frame"},
    {Dimension::kHandover, set_of(Handover::kOuter, Handover::kBoth), Dimension::kEncap,
     all_but(Encap::kNone), "without tunnel there is no outer checksum to offload"},
};

constexpr Rule kPayloadRules[] = {
    {Dimension::kInnerTransport, set_of(InnerTransport::kUdpZero), Dimension::kInnerNetwork,
     kIpv4Inside, "UDP over IPv6 must have a checksum (RFC 8200 section 8.1)"},
    {Dimension::kPayloadValues, set_of(PayloadValues::kSumsToZero), Dimension::kInnerTransport,
     kTcp | set_of(InnerTransport::kUdp, InnerTransport::kIcmp),
     "only an Internet checksum can be made 0 by a word of the payload"},
    {Dimension::kPayloadValues, set_of(PayloadValues::kSumsToZero), Dimension::kLength,
     all_but(Length::k0, Length::k1), "the word that makes the sum 0 needs two bytes"},
    {Dimension::kPayloadValues, all_but(PayloadValues::kRandom), Dimension::kLength,
     all_but(Length::k0), "an empty payload has no values"},
    {Dimension::kLength, set_of(Length::k0), Dimension::kInnerTransport,
     all_but(InnerTransport::kUnknown),
     "an IPv6 payload length of 0 does not mean no payload (RFC 2675)"},
    {Dimension::kPayloadValues, set_of(PayloadValues::kTunnelLike), Dimension::kTunnelPort,
     kPlainTo, "what looks like a tunnel matters at a tunnel's port only"},
    {Dimension::kPayloadValues, set_of(PayloadValues::kTunnelLike), Dimension::kLength, kLong,
     "what looks like a tunnel has room for inner headers"},
    {Dimension::kBuffers, set_of(Buffers::kOddBoundary), Dimension::kLength,
     all_but(Length::k0, Length::k1, Length::k2), "an odd boundary lies inside the payload"},
    {Dimension::kLength, set_of(Length::kMtu, Length::k9000), Dimension::kTrailer,
     all_but(Trailer::kInnerZero, Trailer::kInnerNonZero), "a full packet has no room inside"},
    {Dimension::kFragmentation, set_of(Fragmentation::kThree), Dimension::kLength, kLong,
     "three fragments need more than 48 bytes"},
    {Dimension::kFragmentation, set_of(Fragmentation::kThree), Dimension::kSegmentation,
     set_of(Segmentation::kNone), "a fragment is not cut again"},
    {Dimension::kFragmentation, set_of(Fragmentation::kThree), Dimension::kHandover,
     set_of(Handover::kSoftware, Handover::kOuter),
     "a fragment's transport checksum is over the whole datagram: nobody asks a NIC for it"},
    {Dimension::kFragmentation, set_of(Fragmentation::kThree), Dimension::kPayloadValues,
     all_but(PayloadValues::kTunnelLike), "a fragment carries no tunnel"},
};

constexpr Rule kSegmentRules[] = {
    {Dimension::kSegmentation, kTcpSegments, Dimension::kInnerTransport, kTcp,
     "TCP segmentation needs TCP"},
    {Dimension::kSegmentation, set_of(Segmentation::kUdp), Dimension::kInnerTransport,
     set_of(InnerTransport::kUdp), "UDP segmentation needs UDP"},
    {Dimension::kSegmentation, kSegmented, Dimension::kHandover, set_of(Handover::kInner),
     "the checksums of segments are the NIC's work"},
    {Dimension::kSegmentation, kSegmented, Dimension::kLength,
     set_of(Length::k171, Length::k256, Length::kMtu, Length::k9000),
     "segments of a few bytes are refused by many NICs"},
    {Dimension::kSegmentation, kSegmented, Dimension::kTrailer, set_of(Trailer::kNone),
     "a super-frame has no trailer"},
    {Dimension::kSegmentation, kSegmented, Dimension::kPayloadValues,
     all_but(PayloadValues::kSumsToZero, PayloadValues::kTunnelLike),
     "the checksums of segments are the NIC's work, not the payload's"},
    {Dimension::kSegmentation, set_of(Segmentation::kTcpMangledId), Dimension::kInnerNetwork,
     kIpv4Inside, "IPv6 has no identification"},
};

constexpr Rule kReceiveRules[] = {
    {Dimension::kRxInput, set_of(RxInput::kGood), Dimension::kRxMistake, set_of(RxMistake::kNone),
     "a good frame has no mistake"},
    {Dimension::kRxInput, all_but(RxInput::kGood), Dimension::kRxMistake, all_but(RxMistake::kNone),
     "a bad frame has a mistake"},
    {Dimension::kRxInput, kBadInner, Dimension::kInnerTransport,
     all_but(InnerTransport::kUdpZero, InnerTransport::kUnknown),
     "no transport checksum can be wrong where there is none"},
    {Dimension::kRxInput, kBadInner, Dimension::kPayloadValues, all_but(PayloadValues::kSumsToZero),
     "a wrong value beside 0 may be a legal one"},
    {Dimension::kRxInput, kBadInner, Dimension::kFragmentation, set_of(Fragmentation::kNone),
     "a fragment's transport checksum cannot be judged alone"},
    {Dimension::kRxInput, kBadInnerHeader, Dimension::kInnerNetwork, kIpv4Inside,
     "IPv6 has no header checksum"},
    {Dimension::kRxInput, kBadOuter, Dimension::kOuterChecksum, set_of(OuterChecksum::kComputed),
     "an outer checksum can be wrong only where there is one"},
    {Dimension::kRxInput, set_of(RxInput::kBadOuterIp), Dimension::kEncap,
     all_but(Encap::kNone, Encap::kVxlanOverIpv6), "there is no outer IPv4 header"},
    {Dimension::kRxMistake, set_of(RxMistake::kZero), Dimension::kInnerTransport,
     kTcp | set_of(InnerTransport::kIcmp, InnerTransport::kSctp),
     "0 under UDP means no checksum, which is legal over IPv4"},
    {Dimension::kRxMistake, set_of(RxMistake::kZero), Dimension::kRxInput, ~kBadOuter,
     "0 in a tunnel's UDP means no checksum, which is legal"},
    {Dimension::kRxMistake, set_of(RxMistake::kZero), Dimension::kPayloadValues,
     all_but(PayloadValues::kSumsToZero), "0 in the place of a sum of 0 is no mistake"},
    {Dimension::kRxMistake, set_of(RxMistake::kPseudo), Dimension::kRxInput,
     all_but(RxInput::kGood, RxInput::kBadInnerIp, RxInput::kBadInnerBoth, RxInput::kBadOuterIp),
     "an IP header has no pseudo-header"},
    {Dimension::kRxMistake, set_of(RxMistake::kPseudo), Dimension::kInnerTransport,
     kTcp | set_of(InnerTransport::kUdp), "only TCP and UDP have a pseudo-header in both families"},
    {Dimension::kRxMistake, set_of(RxMistake::kPlusOne), Dimension::kInnerTransport,
     all_but(InnerTransport::kSctp), "a CRC is no sum"},
};

// rte_mbuf's l2_len has 7 bits: 124 bytes of options do not fit beside the headers around them.
constexpr const char* kManyOptions =
    "an mbuf cannot say where the inner headers lie behind so many options";
constexpr Rule kMbufRules[] = {
    {Dimension::kEncap, set_of(Encap::kGeneve124), Dimension::kHandover,
     set_of(Handover::kSoftware), kManyOptions},
    {Dimension::kEncap, set_of(Encap::kGeneve124), Dimension::kSegmentation,
     set_of(Segmentation::kNone), kManyOptions},
};

// virtio 1.2 section 5.1.6.2: the sum runs from csum_start to the end of the frame. The bytes of a
// trailer would be in it by request, and zeros alone change nothing.
constexpr const char* kToTheEnd =
    "a virtio_net_hdr asks for the sum to the frame's end, trailer included";
constexpr Rule kKernelRules[] = {
    // __virtio_net_hdr_to_skb() knows no tunnels: AF_PACKET takes plain super-frames only.
    {Dimension::kSegmentation, kSegmented, Dimension::kEncap, set_of(Encap::kNone),
     "a virtio_net_hdr on a packet socket describes no super-frame in a tunnel"},
    // One csum_start; what lies between the headers and it is software's work.
    {Dimension::kSegmentation, kSegmented, Dimension::kInnerNetwork,
     set_of(InnerNetwork::kIpv4, InnerNetwork::kIpv4Options, InnerNetwork::kIpv6),
     "the kernel's own GSO refuses super-frames behind extension headers on some paths"},
    {Dimension::kTrailer, set_of(Trailer::kNonZero), Dimension::kHandover,
     set_of(Handover::kSoftware), kToTheEnd},
    {Dimension::kTrailer, set_of(Trailer::kInnerNonZero), Dimension::kHandover,
     set_of(Handover::kSoftware, Handover::kOuter), kToTheEnd},
};

// A device's MTU leaves room for one tag beside a full packet, and no more.
constexpr Rule kFullRules[] = {
    {Dimension::kLength, set_of(Length::kMtu, Length::k9000), Dimension::kTrailer,
     all_but(Trailer::kZero, Trailer::kNonZero), "a full frame has no room for a trailer"},
    {Dimension::kLength, set_of(Length::kMtu, Length::k9000), Dimension::kVlan, all_but(Vlan::kTwo),
     "a full frame has no room for two tags"},
};

std::vector<Rule> all_rules(DutKind kind, Direction direction) {
    std::vector<Rule> rules;
    const auto add = [&](std::span<const Rule> more) {
        rules.insert(rules.end(), more.begin(), more.end());
    };
    add(kTunnelRules);
    add(kPayloadRules);
    add(direction == Direction::kReceive ? std::span<const Rule>(kReceiveRules) : kSegmentRules);
    add(kind == DutKind::kKernelDevice ? std::span<const Rule>(kKernelRules) : kMbufRules);
    if (kind != DutKind::kSoftwareNic) {
        add(kFullRules);
    }
    return rules;
}

ValueSet lengths_within(std::uint32_t mtu) {
    constexpr std::uint32_t kMostHeaders = 400;
    ValueSet fitting = all_but(Length::k2501, Length::k9000);
    fitting |= mtu >= 2501 + kMostHeaders ? set_of(Length::k2501) : 0;
    fitting |= mtu >= 9000 ? set_of(Length::k9000) : 0;
    return fitting;
}

std::vector<Limit> direction_limits(Direction direction) {
    if (direction == Direction::kTransmit) {
        return {
            {Dimension::kRxInput, set_of(RxInput::kGood), "what is sent is meant to be good"},
            {Dimension::kRxMistake, set_of(RxMistake::kNone), "what is sent is meant to be good"}};
    }
    constexpr const char* kAlready = "what is received was sent already";
    return {{Dimension::kNat, set_of(Nat::kNone), kAlready},
            {Dimension::kSegmentation, set_of(Segmentation::kNone), kAlready},
            {Dimension::kBuffers, set_of(Buffers::kOne), kAlready},
            {Dimension::kHandover, set_of(Handover::kSoftware), kAlready},
            {Dimension::kVlan, all_but(Vlan::kOneInserted), kAlready}};
}

std::vector<Limit> limits_of(const DutLimits& limits, Direction direction) {
    std::vector<Limit> all = direction_limits(direction);
    all.push_back({Dimension::kLength, lengths_within(limits.mtu), "the MTU is too small"});
    if (limits.most_buffers < 3) {
        all.push_back(
            {Dimension::kBuffers, set_of(Buffers::kOne), "the device takes frames in one buffer"});
    }
    if (limits.kind != DutKind::kSoftwareNic) {
        all.push_back({Dimension::kNat, set_of(Nat::kNone),
                       "nothing between the sender and the device translates addresses"});
    }
    if (limits.kind == DutKind::kKernelDevice) {
        all.push_back({Dimension::kHandover, all_but(Handover::kBoth),
                       "a virtio_net_hdr asks for one checksum"});
        all.push_back({Dimension::kVlan, all_but(Vlan::kOneInserted),
                       "a virtio_net_hdr has no tag to insert"});
        all.push_back({Dimension::kBuffers, set_of(Buffers::kOne, Buffers::kHeaderSplit),
                       "a packet socket splits behind the headers or not at all"});
    }
    return all;
}

bool has(ValueSet set, std::uint8_t value) {
    return (set >> value & 1) != 0;
}

}  // namespace

DutLimits software_nic_limits() {
    return {};
}

DutLimits dpdk_port_limits(std::uint32_t mtu, std::uint16_t most_buffers) {
    return {.kind = DutKind::kDpdkPort, .mtu = mtu, .most_buffers = most_buffers};
}

DutLimits kernel_device_limits(std::uint32_t mtu) {
    return {.kind = DutKind::kKernelDevice, .mtu = mtu};
}

Space space_for(const DutLimits& limits, Direction direction) {
    std::vector<std::uint8_t> sizes;
    for (std::size_t i = 0; i < kDimensions; ++i) {
        sizes.push_back(static_cast<std::uint8_t>(value_names(static_cast<Dimension>(i)).size()));
    }
    Space space(std::move(sizes));
    for (const Rule& rule : all_rules(limits.kind, direction)) {
        space.require(index_of(rule.dimension), rule.values, index_of(rule.other), rule.allowed);
    }
    for (const Limit& limit : limits_of(limits, direction)) {
        space.restrict(index_of(limit.dimension), limit.allowed);
    }
    return space;
}

std::optional<std::string> objection(const Row& row, const DutLimits& limits, Direction direction) {
    const auto values = values_of(row);
    for (const Limit& limit : limits_of(limits, direction)) {
        if (!has(limit.allowed, values[index_of(limit.dimension)])) {
            return limit.why;
        }
    }
    for (const Rule& rule : all_rules(limits.kind, direction)) {
        if (has(rule.values, values[index_of(rule.dimension)]) &&
            !has(rule.allowed, values[index_of(rule.other)])) {
            return rule.why;
        }
    }
    return std::nullopt;
}

}  // namespace pathproof::matrix
