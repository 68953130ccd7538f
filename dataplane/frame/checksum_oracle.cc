#include "dataplane/frame/checksum_oracle.h"

namespace pathproof::frame {

void OracleSum::add(std::span<const std::uint8_t> bytes) noexcept {
    for (const std::uint8_t byte : bytes) {
        const unsigned total = sum_ + (high_ ? byte * 256u : byte);
        // RFC 1071 section 1: a carry out of the top comes back in at the bottom.
        sum_ = static_cast<std::uint16_t>(total > 0xffff ? total - 0xffff : total);
        high_ = !high_;
    }
}

// The polynomial stands as it is printed, its highest power on the left; bytes come in with their
// least significant bit first.
void OracleCrc32c::add(std::span<const std::uint8_t> bytes) noexcept {
    constexpr std::uint32_t kPolynomial = 0x1edc6f41;
    for (const std::uint8_t byte : bytes) {
        for (unsigned bit = 0; bit < 8; ++bit) {
            const bool in = (byte >> bit & 1) != 0;
            const bool out = (divided_ & 0x80000000) != 0;
            divided_ <<= 1;
            if (in != out) {
                divided_ ^= kPolynomial;
            }
        }
    }
}

// Bit 31 of the register is bit 0 of the first byte sent.
std::uint32_t OracleCrc32c::sctp_checksum() const noexcept {
    std::uint32_t sent = 0;
    for (unsigned byte = 0; byte < 4; ++byte) {
        for (unsigned bit = 0; bit < 8; ++bit) {
            const bool set = (divided_ >> (31 - (byte * 8 + bit)) & 1) == 0;  // complemented
            sent |= set ? 1u << ((3 - byte) * 8 + bit) : 0u;
        }
    }
    return sent;
}

}  // namespace pathproof::frame
