#include "dataplane/judge/intake.h"

#include <algorithm>
#include <utility>

namespace pathproof::judge {
namespace {

using frame::Bytes;
using frame::FrameView;

const ChecksumFinding& first_bad(const FrameVerdict& verdict) noexcept {
    const auto all = verdict.all();
    return *std::ranges::find(all, ChecksumState::kBad, &ChecksumFinding::state);
}

// RFC 792: destination unreachable, source quench, redirect, time exceeded, parameter problem.
bool is_icmpv4_error(std::uint8_t type) noexcept {
    return type == 3 || type == 4 || type == 5 || type == 11 || type == 12;
}

bool is_icmp_error(Bytes frame, const FrameView& view) noexcept {
    const frame::PacketView& packet = view.innermost();
    const auto type = frame::view<std::uint8_t>(frame, packet.transport_offset);
    switch (packet.transport) {
        case frame::Transport::kIcmp:
            return type && is_icmpv4_error(*type);
        case frame::Transport::kIcmpv6:
            return type && *type < 128;  // RFC 4443 section 2.1
        case frame::Transport::kNone:
        case frame::Transport::kUdp:
        case frame::Transport::kTcp:
        case frame::Transport::kOther:
        case frame::Transport::kSctp:
        case frame::Transport::kUdpLite:
        case frame::Transport::kGre:
            return false;
    }
    return false;
}

}  // namespace

bool is_whole_udp(const frame::PacketView& packet) noexcept {
    return packet.transport == frame::Transport::kUdp && packet.fragment == frame::Fragment::kWhole;
}

Intake::Intake(std::vector<std::uint16_t> tunnel_ports, std::uint32_t keep_bad_frames)
    : tunnel_ports_(std::move(tunnel_ports)), keeper_(keep_bad_frames) {}

std::optional<FrameView> Intake::admit(Bytes frame, std::size_t port,
                                       std::int64_t now_ns) noexcept {
    ++tally_.received;
    const FrameVerdict verdict = verify(frame, tunnel_ports_);
    for (const ChecksumFinding& finding : verdict.all()) {
        ++checksums_[index_of(finding.layer)][static_cast<std::size_t>(finding.state)];
    }
    if (verdict.any_bad()) {
        ++tally_.bad_checksum;
        keeper_.keep(frame, port, now_ns, first_bad(verdict));
        return std::nullopt;
    }
    if (verdict.malformed != Malformed::kNone) {
        ++tally_.malformed;
        return std::nullopt;
    }
    return frame::parse_frame(frame, tunnel_ports_);
}

void Intake::count_other(Bytes frame, const FrameView& view) noexcept {
    ++tally_.other_traffic;
    tally_.icmp_errors += is_icmp_error(frame, view) ? 1 : 0;
}

}  // namespace pathproof::judge
