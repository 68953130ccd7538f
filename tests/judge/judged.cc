#include "tests/judge/judged.h"

#include <fmt/format.h>
#include <rte_icmp.h>
#include <rte_ip.h>
#include <rte_tcp.h>
#include <rte_udp.h>

#include <cstring>

namespace pathproof::judged {
namespace {

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

Octets plain4(const raw::Ipv4& header, const Octets& transport) {
    Octets ip = raw::ipv4(header, transport);
    seal_ipv4(ip);
    return raw::ethernet(0x0800, ip);
}

Octets plain6(std::uint8_t next_header, const Octets& transport) {
    Octets ip = raw::ipv6(next_header, transport);
    seal_ipv6(ip);
    return raw::ethernet(0x86dd, ip);
}

void mend(Octets& frame) {
    for (int inside_out = 0; inside_out < 2; ++inside_out) {
        const judge::FrameVerdict verdict =
            judge::verify_slowly(frame, frame::TunnelPorts::well_known());
        for (const judge::ChecksumFinding& finding : verdict.all()) {
            judge::write_right(frame, finding);
        }
    }
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
