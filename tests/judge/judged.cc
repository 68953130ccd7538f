#include "tests/judge/judged.h"

#include <fmt/format.h>
#include <rte_icmp.h>
#include <rte_ip.h>
#include <rte_tcp.h>
#include <rte_udp.h>

#include <cstring>

namespace pathproof::judged {
namespace {

Octets random_octets(raw::Random& random, std::size_t size, int fill) {
    Octets out(size);
    for (std::uint8_t& byte : out) {
        byte = static_cast<std::uint8_t>(fill < 0 ? random() : static_cast<std::uint32_t>(fill));
    }
    return out;
}

std::uint16_t port(raw::Random& random) {
    return static_cast<std::uint16_t>(10'000 + random() % 50'000);
}

void store(Octets& packet, std::size_t offset, std::uint16_t raw_value) {
    std::memcpy(packet.data() + offset, &raw_value, sizeof raw_value);
}

std::size_t field_offset(std::uint8_t protocol) {
    switch (protocol) {
        case 6: return offsetof(rte_tcp_hdr, cksum);
        case 17: return offsetof(rte_udp_hdr, dgram_cksum);
        default: return offsetof(rte_icmp_hdr, icmp_cksum);
    }
}

Octets random_ip(raw::Random& random, int fill) {
    const Octets data = random_octets(random, random() % 200, fill);
    const bool ipv6 = random() % 2 == 0;
    const unsigned kind = random() % 3;
    Octets packet;
    const Octets transport = kind == 0 ? raw::udp(port(random), 53, data)
                             : kind == 1
                                 ? raw::tcp(port(random), 80, data, Octets(random() % 3 * 4, 1))
                                 : raw::icmp(ipv6 ? 128 : 8, port(random), data);
    if (ipv6) {
        packet = raw::ipv6(kind == 0 ? 17 : (kind == 1 ? 6 : 58), transport);
        seal_ipv6(packet);
        return packet;
    }
    packet = raw::ipv4({.protocol = static_cast<std::uint8_t>(kind == 0 ? 17 : (kind == 1 ? 6 : 1)),
                        .options = Octets(random() % 4 * 4, 1),
                        .source = static_cast<std::uint32_t>(0xc6120000 + random() % 0x1ffff)},
                       transport);
    seal_ipv4(packet);
    return packet;
}

Octets with_trailer(raw::Random& random, Octets frame) {
    if (random() % 3 == 0) {
        raw::append(frame, random_octets(random, 1 + random() % 20, -1));
    }
    return frame;
}

Octets ethernet_of(raw::Random& random, const Octets& ip, const Octets& tags = {}) {
    const bool ipv6 = ip[0] >> 4 == 6;
    return with_trailer(random, raw::ethernet(ipv6 ? 0x86dd : 0x0800, ip, tags));
}

}  // namespace

void seal_ipv4(Octets& packet) {
    auto* header = reinterpret_cast<rte_ipv4_hdr*>(packet.data());
    const std::size_t length = (packet[0] & 0xf) * 4u;
    header->hdr_checksum = 0;
    // rte_ipv4_cksum() of DPDK 22.11 sums 20 bytes only.
    const std::uint16_t sum = rte_raw_cksum(header, length);
    store(packet, 10, static_cast<std::uint16_t>(~sum));
    const std::size_t field = length + field_offset(header->next_proto_id);
    store(packet, field, 0);
    if (header->next_proto_id == 1) {
        const std::uint16_t icmp = rte_raw_cksum(packet.data() + length, packet.size() - length);
        store(packet, field, static_cast<std::uint16_t>(~icmp));
        return;
    }
    store(packet, field, rte_ipv4_udptcp_cksum(header, packet.data() + length));
}

void seal_ipv6(Octets& packet) {
    const auto* header = reinterpret_cast<const rte_ipv6_hdr*>(packet.data());
    const std::size_t field = sizeof *header + field_offset(header->proto);
    store(packet, field, 0);
    store(packet, field, rte_ipv6_udptcp_cksum(header, packet.data() + sizeof *header));
}

Octets random_frame(raw::Random& random, Shape shape, int fill) {
    const Octets ip = random_ip(random, fill);
    switch (shape) {
        case Shape::kPlain: return ethernet_of(random, ip);
        case Shape::kVlan: return ethernet_of(random, ip, raw::vlan(0x8100, 7));
        case Shape::kQinq:
            return ethernet_of(random, ip,
                               raw::joined({raw::vlan(0x88a8, 9), raw::vlan(0x8100, 7)}));
        case Shape::kTunnel: {
            Octets outer =
                raw::ipv4({}, raw::udp(port(random), 4789,
                                       raw::vxlan(random() & 0xffffff, ethernet_of(random, ip))));
            seal_ipv4(outer);
            return ethernet_of(random, outer);
        }
        case Shape::kTunnelOverIpv6: break;
    }
    Octets outer =
        raw::ipv6(17, raw::udp(port(random), 8472, raw::vxlan(5, ethernet_of(random, ip))));
    seal_ipv6(outer);
    return ethernet_of(random, outer);
}

std::string text(const judge::FrameVerdict& verdict) {
    std::string out = fmt::format("malformed {}", static_cast<int>(verdict.malformed));
    for (const judge::ChecksumFinding& finding : verdict.all()) {
        out += fmt::format("; {} state {} at {} wire {:04x} right {:04x}", word(finding.layer),
                           static_cast<int>(finding.state), finding.field_offset, finding.wire,
                           finding.right);
    }
    return out;
}

}  // namespace pathproof::judged
