// The fixed parts of a DNS message as they lie in it (RFC 1035 sections 4.1.1 and 4.1.2), and the
// numbers that our names are made of.
#pragma once

#include "dataplane/base/be.h"
#include "dataplane/base/number.h"
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

// Reads hexadecimal digits in either case (RFC 4343); nothing if a byte is none.
inline std::optional<std::uint64_t> hexadecimal(std::span<const std::uint8_t> digits) {
    return whole_number<std::uint64_t>(
        {reinterpret_cast<const char*>(digits.data()), digits.size()}, 16);
}

}  // namespace pathproof::frame
