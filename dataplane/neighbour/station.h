// A station on a link: a MAC address with IP addresses behind it, for which ARP requests (RFC 826)
// and neighbour solicitations (RFC 4861) are answered. It knows nothing of ports: frames in, frames
// out.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dataplane/frame/address.h"
#include "dataplane/frame/view.h"

namespace pathproof::neighbour {

// `count` addresses in a row.
struct AddressRange {
    frame::IpAddress first;
    std::uint32_t count = 1;

    bool has(const frame::IpAddress& address) const noexcept;
    bool operator==(const AddressRange&) const = default;
};

// "198.18.0.53", or "198.18.0.10-198.18.0.20". Errors (kBadInput): no address; a range that ends
// before it begins, is of two families or has more than 2^20 addresses.
Result<AddressRange> parse_addresses(std::string_view text);

struct Station {
    frame::MacAddress mac;
    std::vector<AddressRange> addresses;
    // VLAN IDs of the tags in which it lives, outermost first. Nothing: it answers in any.
    std::optional<std::vector<std::uint16_t>> vlans = std::vector<std::uint16_t>();

    // Its IPv6 link-local address (RFC 4291 section 2.5.6) is its own whatever the others are.
    bool has(const frame::IpAddress& address) const noexcept;
};

// fe80::/64 and the modified EUI-64 of the MAC address.
frame::IpAddress link_local(const frame::MacAddress& mac) noexcept;

// No frame of this room is longer: Ethernet, two tags, IPv6, and ICMPv6 with one option.
inline constexpr std::size_t kMostFrame = 14 + 2 * 4 + 40 + 32;

// Writes the reply to `frame` if it asks for an address of the station: an ARP reply, or a
// neighbour advertisement (RFC 4861 section 7.2.4; to all nodes where the sender has no address yet).
// Tags are repeated. Gives its length; 0: nothing is to be answered, or it does not fit.
std::size_t write_answer(std::span<std::uint8_t> out, frame::Bytes frame,
                         const Station& station) noexcept;

// Writes the question which MAC address `asked` has: an ARP request from `from`, or a neighbour
// solicitation from `from` to the solicited-node address (RFC 4861 section 7.2.2). `from` must be of
// the same family. Gives the length; 0: it does not fit.
std::size_t write_question(std::span<std::uint8_t> out, const Station& station,
                           const frame::IpAddress& from, const frame::IpAddress& asked) noexcept;

// The MAC address that `frame`, an ARP packet or a neighbour advertisement in the station's VLAN, gives
// for `asked`; nothing: it says nothing about it.
std::optional<frame::MacAddress> told_by(frame::Bytes frame, const Station& station,
                                         const frame::IpAddress& asked) noexcept;

}  // namespace pathproof::neighbour
