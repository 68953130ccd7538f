#include "dataplane/matrix/payload.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "dataplane/matrix/random.h"

namespace pathproof::matrix {
namespace {

constexpr std::array<std::uint64_t, 256> make_table() {
    std::array<std::uint64_t, 256> table{};
    for (std::size_t byte = 0; byte < table.size(); ++byte) {
        std::uint64_t rest = byte;
        for (int bit = 0; bit < 8; ++bit) {
            rest = rest >> 1 ^ ((rest & 1) != 0 ? 0xc96c5795d7870f42 : 0);
        }
        table[byte] = rest;
    }
    return table;
}
constexpr std::array<std::uint64_t, 256> kTable = make_table();

bool can_be_signed(std::size_t bytes, PayloadValues values) {
    return (values == PayloadValues::kRandom && bytes >= kSignatureBytes) ||
           (values == PayloadValues::kSumsToZero && bytes >= kSignatureBytes + 2);
}

// Over all but the digest itself and the word that is chosen afterwards.
std::uint64_t digest_of(std::span<const std::uint8_t> payload, PayloadValues values) {
    std::uint64_t crc = crc64(payload.first(sizeof(Label)));
    std::span<const std::uint8_t> rest = payload.subspan(kSignatureBytes);
    if (values == PayloadValues::kSumsToZero) {
        const std::size_t word = tuning_word(payload.size()) - kSignatureBytes;
        crc = crc64(rest.first(word), crc);
        rest = rest.subspan(word + 2);
    }
    return crc64(rest, crc);
}

}  // namespace

std::uint64_t crc64(std::span<const std::uint8_t> bytes, std::uint64_t crc) {
    crc = ~crc;
    for (const std::uint8_t byte : bytes) {
        crc = crc >> 8 ^ kTable[(crc ^ byte) & 0xff];
    }
    return ~crc;
}

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
    if (can_be_signed(payload.size(), values)) {
        std::memcpy(payload.data(), &label, sizeof label);
        const std::uint64_t digest = digest_of(payload, values);
        std::memcpy(payload.data() + sizeof label, &digest, sizeof digest);
    }
}

PayloadReading read_payload(std::span<const std::uint8_t> payload, PayloadValues values) {
    if (!can_be_signed(payload.size(), values)) {
        return {};
    }
    PayloadReading reading;
    std::uint64_t digest = 0;
    std::memcpy(&reading.label, payload.data(), sizeof reading.label);
    std::memcpy(&digest, payload.data() + sizeof reading.label, sizeof digest);
    const bool intact = digest == digest_of(payload, values);
    reading.state = intact ? PayloadState::kIntact : PayloadState::kChanged;
    return reading;
}

}  // namespace pathproof::matrix
