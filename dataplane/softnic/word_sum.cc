#include "dataplane/softnic/word_sum.h"

#include <array>
#include <cstring>

namespace pathproof::softnic {
namespace {

// The sum of the bytes as little-endian words, folded to 16 bits.
std::uint16_t native_sum(Bytes bytes) {
    std::uint64_t sum = 0;
    std::size_t at = 0;
    for (; at + 8 <= bytes.size(); at += 8) {
        std::uint64_t words;
        std::memcpy(&words, bytes.data() + at, sizeof words);
        sum += words;
        sum += sum < words ? 1 : 0;
    }
    if (at < bytes.size()) {
        std::uint64_t words = 0;
        std::memcpy(&words, bytes.data() + at, bytes.size() - at);
        sum += words;
        sum += sum < words ? 1 : 0;
    }
    sum = (sum & 0xffffffff) + (sum >> 32);
    while (sum >> 16 != 0) {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    return static_cast<std::uint16_t>(sum);
}

constexpr std::array<std::uint32_t, 256> crc_table() {
    std::array<std::uint32_t, 256> table{};
    for (std::uint32_t value = 0; value < table.size(); ++value) {
        std::uint32_t crc = value;
        for (int bit = 0; bit < 8; ++bit) {
            crc = crc >> 1 ^ ((crc & 1) != 0 ? 0x82f63b78u : 0u);
        }
        table[value] = crc;
    }
    return table;
}
constexpr std::array<std::uint32_t, 256> kCrcTable = crc_table();

std::uint32_t crc_add(std::uint32_t crc, Bytes bytes) {
    for (const std::uint8_t byte : bytes) {
        crc = crc >> 8 ^ kCrcTable[(crc ^ byte) & 0xff];
    }
    return crc;
}

}  // namespace

void WordSum::add(Bytes bytes) noexcept {
    const std::uint16_t native = native_sum(bytes);
    // RFC 1071 section 2(B): begun at an odd byte, the sum comes out with its bytes swapped.
    sum_ += odd_ ? native : __builtin_bswap16(native);
    odd_ ^= bytes.size() % 2 != 0;
}

std::uint16_t WordSum::folded() const noexcept {
    std::uint64_t sum = sum_;
    while (sum >> 16 != 0) {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    return static_cast<std::uint16_t>(sum);
}

std::uint32_t sctp_checksum(Bytes bytes, std::size_t field) noexcept {
    constexpr std::array<std::uint8_t, 4> kZeros{};
    std::uint32_t crc = crc_add(0xffffffff, bytes.first(field));
    crc = crc_add(crc, kZeros);
    crc = ~crc_add(crc, bytes.subspan(field + 4));
    return __builtin_bswap32(crc);  // transmitted least significant byte first
}

}  // namespace pathproof::softnic
