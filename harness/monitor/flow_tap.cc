#include "harness/monitor/flow_tap.h"

#include <netinet/in.h>
#include <pcap/pcap.h>

#include <array>

#include "dataplane/base/clock.h"
#include "dataplane/base/owned.h"

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
std::string tcp_flags(std::span<const std::byte> packet, const frame::PacketView& view) {
    if (view.transport != frame::Transport::kTcp) {
        return {};
    }
    const auto flags = std::to_integer<unsigned>(packet[view.transport_offset + 13]);
    return flags & 0x04 ? "RST" : flags & 0x02 ? "SYN" : flags & 0x01 ? "FIN" : "";
}

}  // namespace

Result<FlowTap> FlowTap::start(const std::string& netns, const netfilter::Tuple& tuple) {
    const Owned<pcap_t, pcap_close> capture(pcap_open_dead(DLT_RAW, kFlowSnapBytes));
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
    auto opened = TRY(std::move(socket));
    return FlowTap(tuple, std::move(opened));
}

void FlowTap::drain(const std::function<void(const FlowPacket&)>& visit) {
    std::array<std::byte, kFlowSnapBytes> buffer;
    while (const auto packet = socket_.next(buffer)) {
        const frame::PacketView view = view_of(packet->bytes);
        if (view.network == frame::Network::kNone) {
            continue;
        }
        // Both ends may have one address: then their ports tell.
        const bool back = tuple_.source.address == tuple_.destination.address
                              ? view.source_port != tuple_.source.port
                              : view.source != tuple_.source.address;
        visit({.time_ns = realtime_ns(),
               .back = back,
               .leaving = packet->leaving(),
               .flags = tcp_flags(packet->bytes, view)});
    }
}

}  // namespace pathproof::monitor
