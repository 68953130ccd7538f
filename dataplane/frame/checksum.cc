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

PartialSum pseudo_header_sum(const IpAddress& source, const IpAddress& destination,
                             std::uint8_t protocol, std::uint32_t length) noexcept {
    PartialSum sum = sum_bytes({source.bytes.data(), source.size()});
    sum = sum_bytes({destination.bytes.data(), destination.size()}, sum);
    sum += sum_word(static_cast<std::uint16_t>(length));
    sum += sum_word(static_cast<std::uint16_t>(length >> 16));
    return sum + sum_word(protocol);
}

}  // namespace pathproof::frame
