#include "dataplane/matrix/row_spec.h"

#include <algorithm>

#include "dataplane/base/random.h"
#include "dataplane/frame/template.h"
#include "dataplane/frame/transport_shape.h"

namespace pathproof::matrix {
namespace {

using frame::ChecksumMode;
using frame::FrameSpec;
using frame::PacketSpec;
using frame::Transport;
using frame::Tunnel;
using frame::TunnelSpec;

constexpr std::size_t kShortestFrame = 60;  // without FCS (IEEE 802.3)
constexpr std::size_t kTrailerBytes = 6;
constexpr std::uint32_t kStandardMtu = 1500;
constexpr std::uint32_t kJumboMtu = 9000;
constexpr std::uint16_t kPlainPort = 5201;
constexpr std::uint8_t kEverySegmentFlag = 0x10;  // ACK
// CWR on the first segment, PSH and FIN on the last.
constexpr std::uint8_t kFirstAndLastFlags = 0x89;

Transport transport_of(const Row& row) {
    switch (row.transport) {
        case InnerTransport::kUdp:
        case InnerTransport::kUdpZero: return Transport::kUdp;
        case InnerTransport::kTcp:
        case InnerTransport::kTcpOptions: return Transport::kTcp;
        case InnerTransport::kSctp: return Transport::kSctp;
        case InnerTransport::kIcmp: return is_ipv4(row) ? Transport::kIcmp : Transport::kIcmpv6;
        case InnerTransport::kUnknown: break;
    }
    return Transport::kOther;
}

std::uint16_t port_number(TunnelPort port, std::uint32_t index, Encap encap) {
    switch (port) {
        case TunnelPort::kNone: return kPlainPort;
        case TunnelPort::k4789:
        case TunnelPort::kPlainTo4789: return 4789;
        case TunnelPort::k8472: return 8472;
        case TunnelPort::k4790:
        case TunnelPort::kPlainTo4790: return 4790;
        case TunnelPort::k6081:
        case TunnelPort::kPlainTo6081: return 6081;
        case TunnelPort::k8223: return 8223;
        case TunnelPort::kTwo: break;
    }
    const bool vxlan = encap == Encap::kVxlanOverIpv4 || encap == Encap::kVxlanOverIpv6;
    const bool first = index % 2 == 0;
    if (vxlan) {
        return first ? 4789 : 8472;
    }
    return first ? 6081 : 8223;
}

void add_extension(PacketSpec& packet, const Row& row, const Addresses& addresses) {
    switch (row.network) {
        case InnerNetwork::kIpv4:
        case InnerNetwork::kIpv6: break;
        case InnerNetwork::kIpv4Options: packet.ipv4_option_bytes = 8; break;
        case InnerNetwork::kIpv6HopByHop: packet.extensions = {frame::Extension::kHopByHop}; break;
        case InnerNetwork::kIpv6Destination:
            packet.extensions = {frame::Extension::kDestination};
            break;
        case InnerNetwork::kIpv6Routing:
            packet.extensions = {frame::Extension::kRouting};
            packet.final_destination = addresses.destination6.plus(0x10000);
            break;
    }
}

PacketSpec inner_packet(const Row& row, const Label& label, const Addresses& addresses,
                        Random& random) {
    const bool v4 = is_ipv4(row);
    const std::uint32_t number = label.index & 0xffff;
    PacketSpec packet;
    packet.source_mac = addresses.source_mac;
    packet.destination_mac = addresses.destination_mac;
    packet.source = {(v4 ? addresses.source4 : addresses.source6).plus(label.row & 0xffff),
                     static_cast<std::uint16_t>(20'000 + random.below(20'000))};
    packet.destination = {(v4 ? addresses.destination4 : addresses.destination6).plus(number),
                          kPlainPort};
    packet.transport = transport_of(row);
    packet.identification = static_cast<std::uint16_t>(random());
    packet.flow_label = static_cast<std::uint32_t>(random() & 0xfffff);
    packet.tcp_sequence = static_cast<std::uint32_t>(random());
    packet.tcp_acknowledgement = static_cast<std::uint32_t>(random());
    packet.tcp_option_bytes = row.transport == InnerTransport::kTcpOptions ? 12 : 0;
    if (row.segmentation != Segmentation::kNone) {
        packet.tcp_flags = kEverySegmentFlag | kFirstAndLastFlags;
    }
    if (row.transport == InnerTransport::kUdpZero) {
        packet.transport_checksum = ChecksumMode::kZero;
    }
    add_extension(packet, row, addresses);
    return packet;
}

// Makes the tunnel of a row's frame. Outer ports and addresses are the same for all frames to one
// port, but for the source port, which carries entropy as real tunnels' do (RFC 7348 section 5).
TunnelSpec tunnel_around(const Row& row, const Label& label, const Addresses& addresses,
                         Random& random) {
    const bool v6 = row.encap == Encap::kVxlanOverIpv6;
    TunnelSpec tunnel;
    PacketSpec& outer = tunnel.outer;
    tunnel.kind = tunnel_of(row.encap);
    tunnel.vni = 0x1000 + (label.row & 0xfff);
    outer.source_mac = addresses.source_mac;
    outer.destination_mac = addresses.destination_mac;
    outer.source = {v6 ? addresses.outer_source6 : addresses.outer_source4,
                    static_cast<std::uint16_t>(49'152 + random.below(16'384))};
    outer.destination = {v6 ? addresses.outer_destination6 : addresses.outer_destination4,
                         port_number(row.tunnel_port, label.index, row.encap)};
    outer.identification = static_cast<std::uint16_t>(random());
    const bool over_ip = tunnel.kind == Tunnel::kGre || tunnel.kind == Tunnel::kIpInIp;
    outer.transport = over_ip ? Transport::kOther : Transport::kUdp;
    if (over_ip || tunnel.kind == Tunnel::kVxlanGpe) {
        tunnel.carries = frame::Carries::kIp;
    }
    if (row.outer_checksum == OuterChecksum::kDisabled) {
        outer.transport_checksum = ChecksumMode::kZero;
    }
    if (row.encap == Encap::kGeneve40 || row.encap == Encap::kGeneve124) {
        tunnel.geneve_option_bytes = row.encap == Encap::kGeneve40 ? 40 : 124;
    }
    return tunnel;
}

void add_tags(FrameSpec& spec, const Row& row) {
    PacketSpec& link = spec.tunnel ? spec.tunnel->outer : spec.packet;
    switch (row.vlan) {
        case Vlan::kNone: break;
        case Vlan::kOne:
        case Vlan::kOneInserted:
            link.vlan[0] = {0x8100, kInsertedTag};
            link.vlans = 1;
            break;
        case Vlan::kTwo:
            link.vlan = {frame::VlanTag{0x88a8, kInsertedTag}, frame::VlanTag{0x8100, 200}};
            link.vlans = 2;
            break;
        case Vlan::kInner:
            spec.packet.vlan[0] = {0x8100, 300};
            spec.packet.vlans = 1;
            break;
    }
}

// Returns the number of bytes from the outermost IP header to the innermost payload.
std::size_t header_bytes(const FrameSpec& spec) {
    const frame::FrameLayout layout = frame::layout_of(spec);
    return layout.packet.payload - (spec.tunnel ? layout.outer.network : layout.packet.network);
}

std::size_t unit_bytes(Length length, const FrameSpec& empty, std::uint32_t mtu) {
    switch (length) {
        case Length::k0: return 0;
        case Length::k1: return 1;
        case Length::k2: return 2;
        case Length::k17: return 17;
        case Length::k18: return 18;
        case Length::k171: return 171;
        case Length::k256: return 256;
        case Length::kMtu: return std::min(kStandardMtu, mtu) - header_bytes(empty);
        case Length::k2501: return 2501;
        case Length::k9000: break;
    }
    return kJumboMtu - header_bytes(empty);
}

std::size_t super_bytes(Segmentation segmentation, std::size_t unit) {
    switch (segmentation) {
        case Segmentation::kNone: return unit;
        case Segmentation::kTcpTwo:
        case Segmentation::kTcpMangledId: return unit + unit / 2;
        case Segmentation::kTcpExact: return 3 * unit;
        case Segmentation::kTcpOddRest:
        case Segmentation::kUdp: return 3 * unit + (unit / 3 | 1);
        case Segmentation::kTcpOneByte: break;
    }
    return 3 * unit + 1;
}

std::vector<std::uint8_t> trailer_bytes(std::size_t frame_bytes, Trailer trailer, Random& random) {
    const std::size_t missing = frame_bytes < kShortestFrame ? kShortestFrame - frame_bytes : 0;
    std::vector<std::uint8_t> bytes(missing > 0 ? missing : kTrailerBytes);
    if (trailer == Trailer::kNonZero || trailer == Trailer::kInnerNonZero) {
        std::ranges::generate(bytes,
                              [&] { return static_cast<std::uint8_t>(1 + random.below(255)); });
    }
    return bytes;
}

void add_trailer(FrameSpec& spec, const Row& row, Random& random) {
    const frame::FrameLayout layout = frame::layout_of(spec);
    switch (row.trailer) {
        case Trailer::kNone: break;
        case Trailer::kInnerZero:
        case Trailer::kInnerNonZero:
            spec.packet.trailer =
                trailer_bytes(layout.end - layout.packet.ethernet, row.trailer, random);
            break;
        case Trailer::kZero:
        case Trailer::kNonZero: {
            PacketSpec& link = spec.tunnel ? spec.tunnel->outer : spec.packet;
            const std::size_t inserted = row.vlan == Vlan::kOneInserted ? 4 : 0;
            link.trailer = trailer_bytes(layout.end - inserted, row.trailer, random);
            break;
        }
    }
}

std::vector<std::uint8_t> rendered(const FrameSpec& spec) {
    const auto made = frame::FrameTemplate::make(spec);
    return made ? made->render() : std::vector<std::uint8_t>();
}

// Encapsulation that a plain packet to that port looks like.
Encap imitated_encap(TunnelPort port) {
    if (port == TunnelPort::kPlainTo6081) {
        return Encap::kGeneve;
    }
    if (port == TunnelPort::kPlainTo4790) {
        return Encap::kVxlanGpe;
    }
    return Encap::kVxlanOverIpv4;
}

// A whole tunnel packet's UDP payload in front of the rest: a NIC that goes by the port alone takes
// it for one. The inner checksums are wrong, so that whoever "completes" them is seen.
void look_like_tunnel(FrameSpec& spec, const Row& row, const Label& label,
                      const Addresses& addresses, Random& random) {
    const Row inside{.encap = imitated_encap(row.tunnel_port),
                     .outer_checksum = OuterChecksum::kComputed};
    FrameSpec tunnelled;
    tunnelled.tunnel = tunnel_around(inside, label, addresses, random);
    tunnelled.packet = inner_packet({}, label, addresses, random);
    tunnelled.packet.transport_checksum = ChecksumMode::kRandom;
    tunnelled.payload.assign(spec.payload.begin(), spec.payload.end());
    const std::size_t headers =
        frame::layout_of(tunnelled).packet.payload - frame::layout_of(tunnelled).tunnel;
    tunnelled.payload.resize(spec.payload.size() - headers);
    const std::vector<std::uint8_t> bytes = rendered(tunnelled);
    if (!bytes.empty()) {
        std::copy(bytes.begin() + frame::layout_of(tunnelled).tunnel, bytes.end(),
                  spec.payload.begin());
    }
}

// Target for the folded sum over all that the innermost transport's checksum covers.
enum class SumTo : std::uint8_t {
    kAllOnes,  // the checksum computes to 0: the word takes the value that it has without the word
    kOne,      // adding the carries in carries once more
};

// Chooses the payload's last word so that the sum becomes `target`. The payload has at least two
// bytes.
void tune(FrameSpec& spec, SumTo target) {
    FrameSpec alone{.packet = spec.packet, .payload = spec.payload};
    alone.packet.trailer.clear();
    const std::size_t word = (spec.payload.size() - 2) & ~std::size_t{1};  // the last even place
    alone.payload[word] = alone.payload[word + 1] = 0;
    const std::vector<std::uint8_t> bytes = rendered(alone);
    const auto field = frame::shape_of(alone.packet).checksum_offset;
    if (bytes.empty() || !field) {
        return;
    }
    const std::size_t at = frame::layout_of(alone).packet.transport + std::size_t{*field};
    std::uint32_t value = bytes[at] * 256u + bytes[at + 1];
    if (target == SumTo::kOne) {
        value = value == 0xffff ? 1 : value + 1;
    }
    spec.payload[word] = static_cast<std::uint8_t>(value >> 8);
    spec.payload[word + 1] = static_cast<std::uint8_t>(value);
}

bool has_internet_checksum(const Row& row) {
    return row.transport != InnerTransport::kSctp && row.transport != InnerTransport::kUnknown &&
           row.transport != InnerTransport::kUdpZero;
}

// Gives each IPv4 header the identification that makes its checksum compute to 0, which is legal
// there (0xffff is not).
void tune_headers_to_zero(FrameSpec& spec) {
    const auto tune = [&](PacketSpec& packet, bool outer) {
        if (!is_ipv4(packet)) {
            return;
        }
        packet.identification = 0;
        const std::vector<std::uint8_t> bytes = rendered(spec);
        if (bytes.empty()) {
            return;
        }
        const frame::FrameLayout layout = frame::layout_of(spec);
        const std::size_t at = (outer ? layout.outer : layout.packet).network + 10u;
        packet.identification = static_cast<std::uint16_t>(bytes[at] << 8 | bytes[at + 1]);
    };
    tune(spec.packet, false);
    if (spec.tunnel) {
        tune(spec.tunnel->outer, true);
    }
}

// Nobody can ask for SCTP's CRC or ICMP's checksum in a virtio_net_hdr, nor for one that is off.
bool can_be_left(const PacketSpec& packet, DutKind kind) {
    if (packet.transport_checksum == ChecksumMode::kZero) {
        return false;
    }
    const bool sctp = packet.transport == Transport::kSctp && kind != DutKind::kKernelDevice;
    return sctp || packet.transport == Transport::kUdp || packet.transport == Transport::kTcp;
}

void leave(PacketSpec& packet, DutKind kind) {
    if (can_be_left(packet, kind)) {
        packet.transport_checksum = ChecksumMode::kOffload;
    }
    if (is_ipv4(packet) && kind != DutKind::kKernelDevice) {
        packet.ip_checksum = ChecksumMode::kOffload;
    }
}

ChecksumMode mode_of(RxMistake mistake) {
    switch (mistake) {
        case RxMistake::kNone: return ChecksumMode::kSoftware;
        case RxMistake::kComplement: return ChecksumMode::kComplement;
        case RxMistake::kPlusOne: return ChecksumMode::kPlusOne;
        case RxMistake::kZero: return ChecksumMode::kZero;
        case RxMistake::kPseudo: break;
    }
    return ChecksumMode::kPseudo;
}

}  // namespace

frame::Tunnel tunnel_of(Encap encap) {
    switch (encap) {
        case Encap::kNone: return Tunnel::kNone;
        case Encap::kVxlanOverIpv4:
        case Encap::kVxlanOverIpv6: return Tunnel::kVxlan;
        case Encap::kGeneve:
        case Encap::kGeneve40:
        case Encap::kGeneve124: return Tunnel::kGeneve;
        case Encap::kIpInIp: return Tunnel::kIpInIp;
        case Encap::kGre: return Tunnel::kGre;
        case Encap::kVxlanGpe: break;
    }
    return Tunnel::kVxlanGpe;
}

void write_payload(std::span<std::uint8_t> payload, PayloadValues values, const Label& label,
                   std::uint64_t seed) {
    if (values == PayloadValues::kAllZero || values == PayloadValues::kAllOnes) {
        std::ranges::fill(payload,
                          static_cast<std::uint8_t>(values == PayloadValues::kAllOnes ? 0xff : 0));
        return;
    }
    Random random(seed ^ (std::uint64_t{label.row} << 32 | label.index));
    for (std::uint8_t& byte : payload) {
        byte = static_cast<std::uint8_t>(random());
    }
    if (!payload.empty() && payload.back() == 0) {
        payload.back() = 1;  // a last odd byte of 0 could be lost without a trace
    }
}

frame::FrameSpec spec_of(const Row& row, const Label& label, const Addresses& addresses,
                         std::uint64_t seed, std::uint32_t mtu) {
    Random random(seed * 31 + (std::uint64_t{label.row} << 32 | label.index));
    FrameSpec spec;
    spec.seed = random();
    spec.packet = inner_packet(row, label, addresses, random);
    if (row.encap == Encap::kNone) {
        spec.packet.destination.port = port_number(row.tunnel_port, label.index, row.encap);
    } else {
        spec.tunnel = tunnel_around(row, label, addresses, random);
    }
    add_tags(spec, row);
    spec.payload.resize(super_bytes(row.segmentation, unit_bytes(row.length, spec, mtu)));
    write_payload(spec.payload, row.values, label, seed);
    if (row.values == PayloadValues::kTunnelLike) {
        look_like_tunnel(spec, row, label, addresses, random);
    }
    add_trailer(spec, row, random);
    // Every other frame: beside them, ordinary ones show that checksums are on at all.
    if (row.values == PayloadValues::kSumsToZero && label.index % 2 == 0) {
        tune(spec, SumTo::kAllOnes);
        tune_headers_to_zero(spec);
    }
    // Data that is handed over in pieces stays all ones: only a whole frame is tuned.
    const bool whole = row.segmentation == Segmentation::kNone && row.buffers == Buffers::kOne;
    if (row.values == PayloadValues::kAllOnes && whole && has_internet_checksum(row) &&
        spec.payload.size() >= 2) {
        tune(spec, SumTo::kOne);
    }
    return spec;
}

std::uint16_t segment_bytes_of(const Row& row, const frame::FrameSpec& spec, std::uint32_t mtu) {
    if (row.segmentation == Segmentation::kNone) {
        return 0;
    }
    return static_cast<std::uint16_t>(unit_bytes(row.length, spec, mtu));
}

void hand_over(frame::FrameSpec& spec, const Row& row, const DutLimits& limits) {
    const DutKind kind = limits.kind;
    const bool segmented = row.segmentation != Segmentation::kNone;
    const bool inner = row.handover == Handover::kInner || row.handover == Handover::kBoth;
    const bool outer = row.handover == Handover::kOuter || row.handover == Handover::kBoth;
    if (inner) {
        leave(spec.packet, kind);
    }
    if (spec.tunnel && (outer || segmented)) {
        leave(spec.tunnel->outer, kind);
    }
    if (segmented) {
        spec.segment_bytes = segment_bytes_of(row, spec, limits.mtu);
        if (kind == DutKind::kKernelDevice) {
            spec.packet.transport_checksum = ChecksumMode::kPseudo;
        }
    }
}

void make_mistakes(frame::FrameSpec& spec, const Row& row) {
    const ChecksumMode mode = mode_of(row.rx_mistake);
    switch (row.rx_input) {
        case RxInput::kGood: break;
        case RxInput::kBadInnerBoth:
            spec.packet.ip_checksum = mode;
            spec.packet.transport_checksum = mode;
            break;
        case RxInput::kBadInnerTransport: spec.packet.transport_checksum = mode; break;
        case RxInput::kBadInnerIp: spec.packet.ip_checksum = mode; break;
        case RxInput::kBadOuterTransport: spec.tunnel->outer.transport_checksum = mode; break;
        case RxInput::kBadOuterIp: spec.tunnel->outer.ip_checksum = mode; break;
        case RxInput::kBadBothTransports:
            spec.tunnel->outer.transport_checksum = mode;
            spec.packet.transport_checksum = mode;
            break;
    }
}

}  // namespace pathproof::matrix
