// Checksum fields: where they lie, what they cover and which value a healthy NIC puts there.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "dataplane/softnic/places.h"
#include "dataplane/softnic/word_sum.h"

namespace pathproof::softnic {

enum class SiteKind : std::uint8_t { kIpHeader, kUdp, kTcp, kSctp };

struct Site {
    SiteKind kind = SiteKind::kUdp;
    std::uint32_t at = 0;     // of the field; 2 bytes, SCTP 4
    std::uint32_t start = 0;  // covered bytes: [start, end), a pseudo-header before them
    std::uint32_t end = 0;

    bool has_pseudo_header() const { return kind == SiteKind::kUdp || kind == SiteKind::kTcp; }
    std::uint32_t length() const { return end - start; }
};

std::optional<Site> ip_site(const PacketPlace& packet) noexcept;  // nothing for IPv6
std::optional<Site> transport_site(const PacketPlace& packet) noexcept;

// The addresses and the protocol.
void add_addresses(WordSum& sum, Bytes frame, const PacketPlace& packet) noexcept;
// The whole pseudo-header, for a transport length that may be another than the packet's.
void add_pseudo_header(WordSum& sum, Bytes frame, const PacketPlace& packet,
                       std::uint32_t length) noexcept;
// The covered bytes but the field, and the pseudo-header if the site has one. Not for SCTP.
WordSum sum_of(Bytes frame, const PacketPlace& packet, const Site& site) noexcept;
// Returns the value that goes into the field for a sum: UDP never sends a computed 0 (RFC 768).
std::uint16_t mangled(const Site& site, std::uint16_t value) noexcept;
std::uint16_t field_value(const Site& site, const WordSum& sum) noexcept;

// 16 bits, SCTP 32.
std::uint32_t right_value(Bytes frame, const PacketPlace& packet, const Site& site) noexcept;
std::uint32_t value_at(Bytes frame, const Site& site) noexcept;
// UDP's 0: no checksum.
bool is_off(Bytes frame, const Site& site) noexcept;
void set_value(std::span<std::uint8_t> frame, const Site& site, std::uint32_t value) noexcept;

// Puts the right value there; nothing without a site.
void fill(std::span<std::uint8_t> frame, const PacketPlace& packet,
          const std::optional<Site>& site) noexcept;

}  // namespace pathproof::softnic
