// The words that conntrack(8) and libnetfilter_conntrack use for protocols, states and status bits.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace pathproof::netfilter {

// "udp", "icmpv6"; "unknown" for a protocol that libnetfilter_conntrack has no word for.
std::string_view protocol_name(std::uint8_t protocol);
// The inverse, and decimal numbers up to 255.
std::optional<std::uint8_t> protocol_number(std::string_view word);
// Returns whether packets of this protocol have ports.
bool has_ports(std::uint8_t protocol);
// Returns all words that protocol_number() knows.
std::vector<std::string_view> protocol_names();

// A state of TCP, SCTP or DCCP (IPPROTO_*) as conntrack(8) prints it; a value that is out of range
// reads "NONE", as there.
std::string_view state_name(std::uint8_t protocol, std::uint8_t state);

// Names of all protocol states, each once. protocol_state_name() returns the one that a word stands
// for, in any case.
std::vector<std::string_view> protocol_state_names();
std::optional<std::string_view> protocol_state_name(std::string_view word);

// The names of the status bits from the lowest on, those of the kernel without IPS_: "EXPECTED", ...
std::span<const std::string_view> status_bits();
// {"SEEN_REPLY", "CONFIRMED"}; bits without a name are given as "BIT_21".
std::vector<std::string> status_names(std::uint32_t status);
// Returns the bit of a name in any case; "seen-reply" is "SEEN_REPLY".
std::optional<std::uint32_t> status_bit(std::string_view word);

}  // namespace pathproof::netfilter
