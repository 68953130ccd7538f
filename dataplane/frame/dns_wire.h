// The fixed parts of a DNS message as they lie in it (RFC 1035 sections 4.1.1 and 4.1.2), and the
// numbers that our names are made of.
#pragma once

#include "dataplane/base/be.h"
#include "dataplane/frame/dns.h"

namespace pathproof::frame {

// The flag word is kept whole and taken apart by hand.
struct DnsWireHeader {
    Be16 id;
    Be16 flags;
    Be16 questions;
    Be16 answers;
    Be16 authorities;
    Be16 additionals;
};
static_assert(sizeof(DnsWireHeader) == kDnsHeaderBytes);

inline constexpr std::uint16_t kDnsResponse = 0x8000;
inline constexpr std::uint16_t kDnsOpcodeMask = 0x7800;
inline constexpr std::uint16_t kDnsRecursionDesired = 0x0100;

struct DnsQuestionTail {
    Be16 type;
    Be16 query_class;
};

// Of either case (RFC 4343).
inline std::optional<std::uint8_t> hexadecimal_digit(std::uint8_t byte) {
    if (byte >= '0' && byte <= '9') {
        return static_cast<std::uint8_t>(byte - '0');
    }
    const auto letter = static_cast<std::uint8_t>(byte | 0x20);
    if (letter >= 'a' && letter <= 'f') {
        return static_cast<std::uint8_t>(letter - 'a' + 10);
    }
    return std::nullopt;
}

// Nothing if a byte is no digit.
inline std::optional<std::uint64_t> hexadecimal(std::span<const std::uint8_t> digits) {
    std::uint64_t value = 0;
    for (const std::uint8_t byte : digits) {
        const std::optional<std::uint8_t> nibble = hexadecimal_digit(byte);
        if (!nibble) {
            return std::nullopt;
        }
        value = value << 4 | *nibble;
    }
    return value;
}

}  // namespace pathproof::frame
