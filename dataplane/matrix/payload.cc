#include "dataplane/matrix/payload.h"

#include <algorithm>

#include "dataplane/matrix/random.h"

namespace pathproof::matrix {

std::size_t tuning_word(std::size_t payload_bytes) {
    return (payload_bytes - 2) & ~std::size_t{1};
}

void write_payload(std::span<std::uint8_t> payload, PayloadValues values, const Label& label,
                   std::uint64_t seed) {
    if (values == PayloadValues::kAllZero || values == PayloadValues::kAllOnes) {
        std::ranges::fill(payload,
                          static_cast<std::uint8_t>(values == PayloadValues::kAllOnes ? 0xff : 0));
        return;
    }
    Random random(seed ^ (std::uint64_t{label.row} << 32 | label.index));
    for (std::uint8_t& byte : payload) {
        byte = static_cast<std::uint8_t>(random());
    }
    if (!payload.empty() && payload.back() == 0) {
        payload.back() = 1;  // a last odd byte of 0 could be lost without a trace
    }
}

}  // namespace pathproof::matrix
