#include "dataplane/load/covered_bytes.h"

#include "dataplane/base/be.h"

namespace pathproof::load {

CoveredBytes::CoveredBytes(frame::Bytes frame, const frame::FrameView& view) noexcept {
    if (view.malformed != frame::Malformed::kNone) {
        return;
    }
    add_packet(frame, view.outer);
    if (view.has_inner) {
        add_packet(frame, view.inner);
    }
}

void CoveredBytes::add(std::size_t begin, std::size_t end) noexcept {
    ranges_[ranges_used_++] = {begin, end};
    count_ += end - begin;
}

void CoveredBytes::add_packet(frame::Bytes frame, const frame::PacketView& packet) noexcept {
    const std::size_t network = packet.network_offset;
    if (packet.network == frame::Network::kIpv4) {
        add(network + 1, network + packet.network_length);
    }
    if (packet.fragment != frame::Fragment::kWhole) {
        return;
    }
    switch (packet.transport) {
        case frame::Transport::kUdp: add_udp(frame, packet); return;
        case frame::Transport::kTcp:
        case frame::Transport::kIcmp:
        case frame::Transport::kIcmpv6:
            add(packet.transport_offset, packet.transport_offset + packet.covered_length);
            return;
        default: return;
    }
}

void CoveredBytes::add_udp(frame::Bytes frame, const frame::PacketView& packet) noexcept {
    constexpr std::size_t kLength = 4;
    constexpr std::size_t kChecksum = 6;
    constexpr std::size_t kHeader = 8;
    const std::size_t start = packet.transport_offset;
    const auto checksum = frame::view<Be16>(frame, start + kChecksum);
    if (!checksum || checksum->value() == 0) {
        return;
    }
    add(start, start + kLength);
    add(start + kHeader, start + packet.covered_length);
}

std::size_t CoveredBytes::at(std::size_t n) const noexcept {
    for (std::size_t i = 0; i < ranges_used_; ++i) {
        const std::size_t size = ranges_[i].end - ranges_[i].begin;
        if (n < size) {
            return ranges_[i].begin + n;
        }
        n -= size;
    }
    return 0;
}

}  // namespace pathproof::load
