#include "dataplane/traffic/envelope.h"

#include <rte_ip.h>
#include <rte_udp.h>

#include <cstddef>
#include <cstring>

#include "dataplane/base/be.h"
#include "dataplane/frame/checksum.h"

namespace pathproof::traffic {
namespace {

bool is_v4(const Envelope& envelope) {
    return envelope.source.address.family == frame::Family::kIpv4;
}

std::size_t ip_bytes(const Envelope& envelope) {
    return is_v4(envelope) ? sizeof(rte_ipv4_hdr) : sizeof(rte_ipv6_hdr);
}

void write_ipv4(std::uint8_t* out, const Envelope& envelope, std::size_t udp_bytes) {
    rte_ipv4_hdr ip{};
    ip.version_ihl = RTE_IPV4_VHL_DEF;
    ip.total_length = Be16(static_cast<std::uint16_t>(sizeof ip + udp_bytes)).raw();
    ip.fragment_offset = Be16(RTE_IPV4_HDR_DF_FLAG).raw();
    ip.time_to_live = kHops;
    ip.next_proto_id = IPPROTO_UDP;
    std::memcpy(&ip.src_addr, envelope.source.address.bytes.data(), sizeof ip.src_addr);
    std::memcpy(&ip.dst_addr, envelope.destination.address.bytes.data(), sizeof ip.dst_addr);
    std::memcpy(out, &ip, sizeof ip);
    const std::uint16_t sum = frame::checksum_of(frame::sum_bytes({out, sizeof ip}));
    const std::uint16_t field = Be16(sum).raw();
    std::memcpy(out + offsetof(rte_ipv4_hdr, hdr_checksum), &field, sizeof field);
}

void write_ipv6(std::uint8_t* out, const Envelope& envelope, std::size_t udp_bytes) {
    rte_ipv6_hdr ip{};
    ip.vtc_flow = Be32(std::uint32_t{6} << 28).raw();
    ip.payload_len = Be16(static_cast<std::uint16_t>(udp_bytes)).raw();
    ip.proto = IPPROTO_UDP;
    ip.hop_limits = kHops;
    std::memcpy(&ip.src_addr, envelope.source.address.bytes.data(), sizeof ip.src_addr);
    std::memcpy(&ip.dst_addr, envelope.destination.address.bytes.data(), sizeof ip.dst_addr);
    std::memcpy(out, &ip, sizeof ip);
}

// `udp`: header with a checksum of 0, and payload.
std::uint16_t checksum_of(frame::Bytes udp, const Envelope& envelope) {
    const auto length = static_cast<std::uint32_t>(udp.size());
    return frame::udp_checksum_of(frame::sum_bytes(
        udp, frame::pseudo_header_sum(envelope.source.address, envelope.destination.address,
                                      IPPROTO_UDP, length)));
}

}  // namespace

std::size_t Envelope::bytes() const noexcept {
    return link_bytes + ip_bytes(*this) + sizeof(rte_udp_hdr);
}

void write_headers(std::span<std::uint8_t> frame, const Envelope& envelope) noexcept {
    std::memcpy(frame.data(), envelope.link.data(), envelope.link_bytes);
    const auto ip = frame.subspan(envelope.link_bytes);
    const auto udp = ip.subspan(ip_bytes(envelope));
    if (is_v4(envelope)) {
        write_ipv4(ip.data(), envelope, udp.size());
    } else {
        write_ipv6(ip.data(), envelope, udp.size());
    }
    rte_udp_hdr header{.src_port = Be16(envelope.source.port).raw(),
                       .dst_port = Be16(envelope.destination.port).raw(),
                       .dgram_len = Be16(static_cast<std::uint16_t>(udp.size())).raw(),
                       .dgram_cksum = 0};
    std::memcpy(udp.data(), &header, sizeof header);
    if (envelope.checksum == UdpChecksum::kFilled) {
        header.dgram_cksum = Be16(checksum_of(udp, envelope)).raw();
        std::memcpy(udp.data(), &header, sizeof header);
    }
}

}  // namespace pathproof::traffic
