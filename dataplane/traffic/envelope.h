// The headers around a UDP payload: Ethernet with its tags, IPv4 or IPv6, UDP; all checksums right.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "dataplane/frame/view.h"

namespace pathproof::traffic {

// What every packet written here has left to live: Linux's own default.
inline constexpr std::uint8_t kHops = 64;

enum class UdpChecksum : std::uint8_t { kFilled, kDisabled };

struct Envelope {
    static constexpr std::size_t kMostLinkBytes = 14 + 2 * 4;

    std::array<std::uint8_t, kMostLinkBytes> link{};  // Ethernet header, VLAN tags included
    std::size_t link_bytes = 0;
    frame::Endpoint source;
    frame::Endpoint destination;  // of the same family
    UdpChecksum checksum = UdpChecksum::kFilled;

    std::size_t bytes() const noexcept;
};

// Writes the headers to `frame`, whose payload stands in its place behind them: envelope.bytes()
// further on, to the end. The frame must not be longer than an IP packet can be.
void write_headers(std::span<std::uint8_t> frame, const Envelope& envelope) noexcept;

}  // namespace pathproof::traffic
