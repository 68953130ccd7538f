#include "dataplane/judge/intake.h"

#include <utility>

namespace pathproof::judge {
namespace {

using frame::Bytes;
using frame::FrameView;

bool is_icmp(frame::Transport transport) noexcept {
    return transport == frame::Transport::kIcmp || transport == frame::Transport::kIcmpv6;
}

}  // namespace

bool is_icmp_error(frame::Network network, std::uint8_t type) noexcept {
    if (network == frame::Network::kIpv6) {
        return type < 128;
    }
    // Destination unreachable, source quench, redirect, time exceeded, parameter problem.
    return type == 3 || type == 4 || type == 5 || type == 11 || type == 12;
}

bool is_whole_udp(const frame::PacketView& packet) noexcept {
    return packet.transport == frame::Transport::kUdp && packet.fragment == frame::Fragment::kWhole;
}

Intake::Intake(std::vector<std::uint16_t> tunnel_ports, std::uint32_t keep_bad_frames)
    : tunnel_ports_(std::move(tunnel_ports)), keeper_(keep_bad_frames) {}

std::optional<FrameView> Intake::admit(Bytes frame, std::size_t port,
                                       std::int64_t now_ns) noexcept {
    ++tally_.received;
    const FrameView view = frame::parse_frame(frame, tunnel_ports_);
    const FrameVerdict verdict = verify(frame, view);
    for (const ChecksumFinding& finding : verdict.all()) {
        ++checksums_[index_of(finding.layer)][static_cast<std::size_t>(finding.state)];
    }
    if (const ChecksumFinding* bad = verdict.first_bad(); bad != nullptr) {
        ++tally_.bad_checksum;
        keeper_.keep(frame, port, now_ns, *bad);
        return std::nullopt;
    }
    if (verdict.malformed != Malformed::kNone) {
        ++tally_.malformed;
        return std::nullopt;
    }
    return view;
}

void Intake::count_other(Bytes frame, const FrameView& view) noexcept {
    ++tally_.other_traffic;
    const frame::PacketView& packet = view.innermost();
    const auto type = frame::view<std::uint8_t>(frame, packet.transport_offset);
    const bool error = is_icmp(packet.transport) && type && is_icmp_error(packet.network, *type);
    tally_.icmp_errors += error ? 1 : 0;
}

}  // namespace pathproof::judge
