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

}  // namespace pathproof::frame
