#include "dataplane/frame/checksum.h"

#include <cstring>

namespace pathproof::frame {

PartialSum sum_bytes(Bytes bytes, PartialSum start) noexcept {
    const std::uint8_t* at = bytes.data();
    std::size_t left = bytes.size();
    PartialSum sum = start;
    // Halves of 32 bits cannot overflow 64 bits before 2^32 of them were added; no carry to look
    // after.
    for (; left >= 8; at += 8, left -= 8) {
        std::uint64_t words;
        std::memcpy(&words, at, sizeof words);
        sum += (words & 0xffffffff) + (words >> 32);
    }
    if (left > 0) {
        std::uint64_t words = 0;
        std::memcpy(&words, at, left);
        sum += (words & 0xffffffff) + (words >> 32);
    }
    return sum;
}

namespace {

// An address has 4 or 16 bytes: no loop is needed, and most have 4.
PartialSum address_sum(const IpAddress& address, PartialSum start) noexcept {
    std::uint32_t words[4];
    std::memcpy(words, address.bytes.data(), sizeof words);
    const PartialSum first = start + words[0];
    return address.family == Family::kIpv4 ? first : first + words[1] + words[2] + words[3];
}

}  // namespace

PartialSum pseudo_header_sum(const IpAddress& source, const IpAddress& destination,
                             std::uint8_t protocol, std::uint32_t length) noexcept {
    PartialSum sum = address_sum(source, address_sum(destination, 0));
    sum += sum_word(static_cast<std::uint16_t>(length));
    sum += sum_word(static_cast<std::uint16_t>(length >> 16));
    return sum + sum_word(protocol);
}

}  // namespace pathproof::frame
