#include "dataplane/frame/crc32c.h"

#include <array>
#include <cstring>

namespace pathproof::frame {
namespace {

constexpr std::uint32_t kReflectedPolynomial = 0x82f63b78;  // 0x1edc6f41, bit 31 for bit 0

using Table = std::array<std::uint32_t, 256>;

// tables[n][b]: what byte b adds to the remainder once n more bytes have passed behind it.
constexpr std::array<Table, 8> make_tables() {
    std::array<Table, 8> tables{};
    for (std::uint32_t byte = 0; byte < 256; ++byte) {
        std::uint32_t remainder = byte;
        for (int bit = 0; bit < 8; ++bit) {
            remainder = remainder >> 1 ^ ((remainder & 1) != 0 ? kReflectedPolynomial : 0);
        }
        tables[0][byte] = remainder;
    }
    for (std::size_t n = 1; n < tables.size(); ++n) {
        for (std::size_t byte = 0; byte < 256; ++byte) {
            const std::uint32_t before = tables[n - 1][byte];
            tables[n][byte] = before >> 8 ^ tables[0][before & 0xff];
        }
    }
    return tables;
}

constexpr std::array<Table, 8> kTables = make_tables();

}  // namespace

void Crc32c::add(Bytes bytes) noexcept {
    const std::uint8_t* at = bytes.data();
    std::size_t left = bytes.size();
    std::uint32_t crc = remainder;
    for (; left >= 8; at += 8, left -= 8) {
        std::uint64_t word;
        std::memcpy(&word, at, sizeof word);
        word ^= crc;
        crc = 0;
        for (std::size_t n = 0; n < 8; ++n) {
            crc ^= kTables[7 - n][word >> 8 * n & 0xff];
        }
    }
    for (; left > 0; ++at, --left) {
        crc = crc >> 8 ^ kTables[0][(crc ^ *at) & 0xff];
    }
    remainder = crc;
}

}  // namespace pathproof::frame
