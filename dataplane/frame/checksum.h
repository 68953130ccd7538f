// The Internet checksum (RFC 1071) word by word: the fast path. Its judge is checksum_oracle.h,
// which shares no code with it.
//
// Sums are kept over 16-bit words as they lie in memory; RFC 1071 section 2(B) shows that the byte
// order may be put right once, at the end. Values handed out are in host order.
#pragma once

#include <cstdint>

#include "dataplane/frame/address.h"
#include "dataplane/frame/view.h"

namespace pathproof::frame {

// A one's-complement sum that was not folded to 16 bits yet. Good for 2^32 words.
using PartialSum = std::uint64_t;

// `bytes` must start at an even place of what is summed; an odd last byte is padded with 0.
PartialSum sum_bytes(Bytes bytes, PartialSum start = 0) noexcept;

// The pseudo-header of RFC 768 and RFC 9293 (IPv4) or RFC 8200 section 8.1 (IPv6).
PartialSum pseudo_header_sum(const IpAddress& source, const IpAddress& destination,
                             std::uint8_t protocol, std::uint32_t length) noexcept;

// One word, given in host order.
constexpr PartialSum sum_word(std::uint16_t word) noexcept {
    return __builtin_bswap16(word);
}
// Returns the addend that takes a word of the data out of the sum (RFC 1624: ~m).
constexpr PartialSum without_word(std::uint16_t word) noexcept {
    return __builtin_bswap16(static_cast<std::uint16_t>(~word));
}

// The 16-bit sum, carries added in, not inverted: the value of a partial checksum.
constexpr std::uint16_t folded(PartialSum sum) noexcept {
    sum = (sum & 0xffffffff) + (sum >> 32);
    sum = (sum & 0xffff) + (sum >> 16 & 0xffff) + (sum >> 32);
    sum = (sum & 0xffff) + (sum >> 16);
    sum = (sum & 0xffff) + (sum >> 16);
    return __builtin_bswap16(static_cast<std::uint16_t>(sum));
}

// Returns the checksum that goes into the field.
constexpr std::uint16_t checksum_of(PartialSum sum) noexcept {
    return static_cast<std::uint16_t>(~folded(sum));
}
// Returns the checksum for UDP, which sends a computed 0 as 0xffff (RFC 768).
constexpr std::uint16_t udp_checksum_of(PartialSum sum) noexcept {
    const std::uint16_t checksum = checksum_of(sum);
    return checksum == 0 ? 0xffff : checksum;
}

// RFC 1624 equation 3: the checksum after one word of the data changed.
constexpr std::uint16_t updated_checksum(std::uint16_t checksum, std::uint16_t old_word,
                                         std::uint16_t new_word) noexcept {
    return checksum_of(without_word(checksum) + without_word(old_word) + sum_word(new_word));
}

}  // namespace pathproof::frame
