// Ethernet, IPv4 and IPv6 addresses and transport end points as plain comparable values.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "dataplane/base/result.h"

namespace pathproof::frame {

struct MacAddress {
    std::array<std::uint8_t, 6> bytes{};
    auto operator<=>(const MacAddress&) const = default;
};

enum class Family : std::uint8_t { kIpv4 = 4, kIpv6 = 6 };

// An IPv4 or IPv6 address, in network order; an IPv4 address uses the first four bytes, the rest
// are zero.
struct IpAddress {
    Family family = Family::kIpv4;
    std::array<std::uint8_t, 16> bytes{};

    static IpAddress v4(std::uint32_t host_order);
    std::uint32_t v4_host_order() const;  // meaningful for kIpv4 only
    std::size_t size() const { return family == Family::kIpv4 ? 4 : 16; }
    // The address `offset` further on (the low 32 bits count; they wrap).
    IpAddress plus(std::uint32_t offset) const;
    auto operator<=>(const IpAddress&) const = default;
};

// An address and a UDP, TCP or SCTP port (host order).
struct Endpoint {
    IpAddress address;
    std::uint16_t port = 0;
    auto operator<=>(const Endpoint&) const = default;
};

Result<MacAddress> parse_mac(std::string_view text);     // "02:00:00:00:00:01"
Result<IpAddress> parse_ip(std::string_view text);       // "198.18.0.1", "2001:db8::1"
Result<Endpoint> parse_endpoint(std::string_view text);  // "198.18.0.1:53", "[2001:db8::1]:53"
std::string to_string(const MacAddress& mac);
std::string to_string(const IpAddress& ip);
std::string to_string(const Endpoint& endpoint);

}  // namespace pathproof::frame
