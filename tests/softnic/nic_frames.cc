#include "tests/softnic/nic_frames.h"

#include <boost/test/unit_test.hpp>

#include "dataplane/frame/template.h"

namespace pathproof::softnic {
namespace {

using frame::ChecksumMode;
using frame::Family;
using frame::FrameSpec;
using frame::PacketSpec;
using frame::Transport;
using frame::Tunnel;

WireFrameBytes rendered(const FrameSpec& spec) {
    const auto made = frame::FrameTemplate::make(spec);
    BOOST_REQUIRE_MESSAGE(made, made.error().message);
    return made->render();
}

void to_software(ChecksumMode& mode) {
    mode = mode == ChecksumMode::kOffload ? ChecksumMode::kSoftware : mode;
}

void to_software(PacketSpec& packet) {
    to_software(packet.ip_checksum);
    to_software(packet.transport_checksum);
}

}  // namespace

frame::Endpoint NicFrames::endpoint(Family family) {
    frame::Endpoint endpoint;
    endpoint.address.family = family;
    for (std::size_t at = 0; at < endpoint.address.size(); ++at) {
        endpoint.address.bytes[at] = static_cast<std::uint8_t>(random_());
    }
    endpoint.port = static_cast<std::uint16_t>(1024 + below(2000));
    return endpoint;
}

std::vector<std::uint8_t> NicFrames::payload(std::size_t length) {
    const std::size_t kind = below(6);
    std::vector<std::uint8_t> bytes(length, kind == 0 ? 0xff : 0);
    if (kind <= 1) {
        return bytes;
    }
    for (std::uint8_t& byte : bytes) {
        byte = static_cast<std::uint8_t>(random_());
    }
    return bytes;
}

std::vector<std::uint8_t> NicFrames::trailer() {
    std::vector<std::uint8_t> bytes(below(9));
    const bool zeros = one_in(2);
    for (std::uint8_t& byte : bytes) {
        byte = zeros ? 0 : static_cast<std::uint8_t>(random_());
    }
    return bytes;
}

PacketSpec NicFrames::network(std::uint8_t bytes_of_options) {
    const Family family = one_in(2) ? Family::kIpv4 : Family::kIpv6;
    PacketSpec packet;
    packet.source_mac.bytes = {2, 0, 0, 0, 0, static_cast<std::uint8_t>(random_())};
    packet.destination_mac.bytes = {2, 0, 0, 0, 1, 2};
    packet.source = endpoint(family);
    packet.destination = endpoint(family);
    packet.hop_limit = static_cast<std::uint8_t>(1 + below(255));
    packet.identification = static_cast<std::uint16_t>(random_());
    packet.vlans = one_in(4) ? static_cast<std::uint8_t>(1 + below(2)) : 0;
    for (frame::VlanTag& tag : packet.vlan) {
        tag.control = static_cast<std::uint16_t>(below(4095));
    }
    if (family == Family::kIpv4 && one_in(4)) {
        packet.ipv4_option_bytes = bytes_of_options;
    }
    if (family == Family::kIpv6 && one_in(3)) {
        packet.extensions = {frame::Extension::kHopByHop};
        if (one_in(2)) {
            packet.extensions.push_back(frame::Extension::kRouting);
            packet.final_destination = endpoint(family).address;
        }
        if (one_in(2)) {
            packet.extensions.push_back(frame::Extension::kDestination);
        }
    }
    if (family == Family::kIpv4) {
        packet.ip_checksum = one_in(2) ? ChecksumMode::kOffload : ChecksumMode::kSoftware;
    }
    return packet;
}

void NicFrames::set_transport(PacketSpec& packet) {
    const bool v4 = packet.source.address.family == Family::kIpv4;
    switch (below(8)) {
        case 0: packet.transport = v4 ? Transport::kIcmp : Transport::kIcmpv6; return;
        case 1: packet.transport = Transport::kOther; return;
        case 2: packet.transport = Transport::kSctp; break;
        case 3:
        case 4:
            packet.transport = Transport::kTcp;
            packet.tcp_sequence = static_cast<std::uint32_t>(random_());
            packet.tcp_option_bytes = one_in(2) ? 12 : 0;
            break;
        default: packet.transport = Transport::kUdp;
    }
    packet.transport_checksum = one_in(3) ? ChecksumMode::kSoftware : ChecksumMode::kOffload;
    if (packet.transport == Transport::kUdp && v4 && one_in(8)) {
        packet.transport_checksum = ChecksumMode::kZero;
    }
}

std::uint16_t NicFrames::tunnel_port(Tunnel kind) {
    if (kind == Tunnel::kGeneve) {
        return 6081;
    }
    if (kind == Tunnel::kVxlanGpe) {
        return 4790;
    }
    return one_in(2) ? 4789 : 8472;
}

void NicFrames::set_tunnel(FrameSpec& spec) {
    frame::TunnelSpec tunnel;
    tunnel.outer = network(8);
    tunnel.kind = static_cast<Tunnel>(1 + below(frame::kTunnels - 1));
    tunnel.vni = static_cast<std::uint32_t>(below(1u << 24));
    const bool udp = tunnel.kind == Tunnel::kVxlan || tunnel.kind == Tunnel::kVxlanGpe ||
                     tunnel.kind == Tunnel::kGeneve;
    tunnel.outer.transport = udp ? Transport::kUdp : Transport::kOther;
    if (udp) {
        const std::array<ChecksumMode, 3> modes = {ChecksumMode::kSoftware, ChecksumMode::kOffload,
                                                   ChecksumMode::kZero};
        tunnel.outer.transport_checksum = modes[below(modes.size())];
        tunnel.outer.destination.port = tunnel_port(tunnel.kind);
    }
    const bool only_ip = tunnel.kind == Tunnel::kIpInIp;
    tunnel.carries = only_ip || (tunnel.kind != Tunnel::kVxlan && one_in(2))
                         ? frame::Carries::kIp
                         : frame::Carries::kEthernet;
    if (tunnel.kind == Tunnel::kGeneve) {
        const std::array<std::uint8_t, 3> options = {0, 40, 68};
        tunnel.geneve_option_bytes = options[below(options.size())];
    }
    if (tunnel.kind == Tunnel::kGre && one_in(2)) {
        tunnel.gre_key = static_cast<std::uint32_t>(random_());
    }
    if (tunnel.carries == frame::Carries::kIp) {
        spec.packet.vlans = 0;
        spec.packet.trailer.clear();
    }
    tunnel.outer.trailer = one_in(6) ? trailer() : std::vector<std::uint8_t>{};
    spec.tunnel = tunnel;
}

FrameSpec NicFrames::any() {
    FrameSpec spec;
    spec.packet = network(8);
    set_transport(spec.packet);
    spec.payload = payload(one_in(20) ? below(3000) : below(120));
    spec.packet.trailer = one_in(4) ? trailer() : std::vector<std::uint8_t>{};
    if (one_in(2)) {
        set_tunnel(spec);
    }
    return spec;
}

FrameSpec NicFrames::offloaded() {
    FrameSpec spec = any();
    while (spec.packet.transport != Transport::kUdp && spec.packet.transport != Transport::kTcp &&
           spec.packet.transport != Transport::kSctp) {
        spec = any();
    }
    spec.packet.transport_checksum = ChecksumMode::kOffload;
    if (spec.packet.source.address.family == Family::kIpv4) {
        spec.packet.ip_checksum = ChecksumMode::kOffload;
    }
    if (spec.tunnel) {
        PacketSpec& outer = spec.tunnel->outer;
        outer.ip_checksum = outer.source.address.family == Family::kIpv4 ? ChecksumMode::kOffload
                                                                         : ChecksumMode::kSoftware;
        if (outer.transport == Transport::kUdp) {
            outer.transport_checksum = ChecksumMode::kOffload;
        }
    }
    spec.payload.resize(spec.payload.size() + 24, 0xa5);
    return spec;
}

FrameSpec NicFrames::super() {
    FrameSpec spec = offloaded();
    while (spec.packet.transport == Transport::kSctp) {
        spec = offloaded();
    }
    spec.packet.trailer.clear();
    if (spec.tunnel) {
        spec.tunnel->outer.trailer.clear();
        if (spec.tunnel->outer.transport == Transport::kUdp && one_in(2)) {
            spec.tunnel->outer.transport_checksum = ChecksumMode::kZero;
        }
    }
    spec.packet.tcp_flags = static_cast<std::uint8_t>(
        0x10 | (one_in(2) ? 0x08 : 0) | (one_in(2) ? 0x01 : 0) | (one_in(2) ? 0x80 : 0));
    spec.segment_bytes = static_cast<std::uint16_t>(64 + below(1400));
    const std::size_t whole = 1 + below(6);
    const std::array<std::size_t, 4> rests = {0, 1, 63, below(spec.segment_bytes)};
    spec.payload = payload(whole * spec.segment_bytes + rests[below(rests.size())]);
    return spec;
}

std::vector<std::uint32_t> NicFrames::buffers(std::size_t length) {
    std::vector<std::uint32_t> lengths;
    std::size_t left = length;
    const std::size_t count = below(4);
    for (std::size_t buffer = 0; buffer < count && left > 1; ++buffer) {
        const std::size_t piece = 1 + below(left - 1);
        lengths.push_back(static_cast<std::uint32_t>(piece));
        left -= piece;
    }
    if (!lengths.empty()) {
        lengths.push_back(static_cast<std::uint32_t>(left));
    }
    return lengths;
}

TxFrame handed_over(const FrameSpec& spec) {
    return {.bytes = rendered(spec), .request = {.offload = frame::offload_request(spec)}};
}

WireFrameBytes in_software(FrameSpec spec) {
    to_software(spec.packet);
    if (spec.tunnel) {
        to_software(spec.tunnel->outer);
    }
    spec.segment_bytes = 0;
    return rendered(spec);
}

}  // namespace pathproof::softnic
