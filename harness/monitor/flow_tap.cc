#include "harness/monitor/flow_tap.h"

#include <netinet/in.h>
#include <netinet/ip.h>
#include <pcap/pcap.h>

#include <array>
#include <cstring>

#include "dataplane/base/clock.h"
#include "harness/netfilter/names.h"

namespace pathproof::monitor {
namespace {

// IP header with options or one IPv6 header, and the flags of TCP.
constexpr int kFlowSnapBytes = 128;

std::string one_way(const netfilter::Tuple& tuple, const frame::Endpoint& source,
                    const frame::Endpoint& destination) {
    std::string text = fmt::format("src host {} and dst host {}", frame::to_string(source.address),
                                   frame::to_string(destination.address));
    if (tuple.protocol == IPPROTO_TCP || tuple.protocol == IPPROTO_UDP ||
        tuple.protocol == IPPROTO_SCTP) {
        text += fmt::format(" and src port {} and dst port {}", source.port, destination.port);
    }
    return "(" + text + ")";
}

// pcap-filter(7).
std::string expression(const netfilter::Tuple& tuple) {
    return fmt::format("{} proto {} and ({} or {})",
                       tuple.source.address.family == frame::Family::kIpv4 ? "ip" : "ip6",
                       tuple.protocol, one_way(tuple, tuple.source, tuple.destination),
                       one_way(tuple, tuple.destination, tuple.source));
}

// "SYN", "FIN", "RST" of a TCP segment.
std::string tcp_flags(std::span<const std::byte> packet) {
    const auto at = [&](std::size_t place) {
        return place < packet.size() ? std::to_integer<unsigned>(packet[place]) : 0u;
    };
    const bool ipv4 = at(0) >> 4 == 4;
    if (at(ipv4 ? 9 : 6) != IPPROTO_TCP) {
        return {};
    }
    const unsigned flags = at((ipv4 ? (at(0) & 0xf) * 4 : 40) + 13);
    return flags & 0x04 ? "RST" : flags & 0x02 ? "SYN" : flags & 0x01 ? "FIN" : "";
}

}  // namespace

Result<FlowTap> FlowTap::start(const std::string& netns, const netfilter::Tuple& tuple) {
    const std::unique_ptr<pcap_t, decltype(&pcap_close)> capture(
        pcap_open_dead(DLT_RAW, kFlowSnapBytes), &pcap_close);
    bpf_program program{};
    const std::string words = expression(tuple);
    if (pcap_compile(capture.get(), &program, words.c_str(), 1, PCAP_NETMASK_UNKNOWN) != 0) {
        return fail(ErrorCode::kFailed, "compile the packet filter '{}': {}", words,
                    pcap_geterr(capture.get()));
    }
    static_assert(sizeof(bpf_insn) == sizeof(sock_filter));
    const sock_fprog filter{static_cast<unsigned short>(program.bf_len),
                            reinterpret_cast<sock_filter*>(program.bf_insns)};
    auto socket = PacketSocket::open(netns, filter, "watch the flow's packets");
    pcap_freecode(&program);
    return FlowTap(tuple, TRY(std::move(socket)));
}

void FlowTap::drain(const std::function<void(const FlowPacket&)>& visit) {
    std::array<std::byte, kFlowSnapBytes> buffer;
    while (const auto packet = socket_.next(buffer)) {
        const bool ipv4 = tuple_.source.address.family == frame::Family::kIpv4;
        const std::size_t source_at = ipv4 ? 12 : 8;
        const frame::IpAddress& source = tuple_.source.address;
        if (packet->bytes.size() < source_at + source.size()) {
            continue;
        }
        // Both ends may have one address: then their ports tell, behind the IP header.
        bool back =
            std::memcmp(packet->bytes.data() + source_at, source.bytes.data(), source.size()) != 0;
        if (tuple_.destination.address == source) {
            const std::size_t header =
                ipv4 ? (std::to_integer<std::size_t>(packet->bytes[0]) & 0xf) * 4 : 40;
            if (packet->bytes.size() < header + 2) {
                continue;
            }
            const auto port =
                static_cast<std::uint16_t>(std::to_integer<unsigned>(packet->bytes[header]) << 8 |
                                           std::to_integer<unsigned>(packet->bytes[header + 1]));
            back = port != tuple_.source.port;
        }
        visit({.time_ns = realtime_ns(),
               .back = back,
               .leaving = packet->leaving(),
               .flags = tcp_flags(packet->bytes)});
    }
}

}  // namespace pathproof::monitor
