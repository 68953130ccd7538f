// Payloads that can be recognised: signed with their place in the matrix and a digest of their own
// bytes, so that a change behind a right checksum is seen.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "dataplane/matrix/dimensions.h"

namespace pathproof::matrix {

// Which frame of a run: the row, counted from 0, and the frame's number within the row.
struct Label {
    std::uint32_t row = 0;
    std::uint32_t index = 0;
    bool operator==(const Label&) const = default;
};

// Shorter payloads have no room for a signature.
inline constexpr std::size_t kSignatureBytes = 16;

// Fills a payload of any length. Random bytes from label and seed, signed where there is room; or
// the constant bytes of the class. kSumsToZero is random but for tuning_word(); kTunnelLike is
// random, for the caller to overwrite.
void write_payload(std::span<std::uint8_t> payload, PayloadValues values, const Label& label,
                   std::uint64_t seed);

// Where the word lies that is chosen to make a checksum 0: an even place, at the end behind a
// signature. The payload has at least two bytes.
std::size_t tuning_word(std::size_t payload_bytes);

enum class PayloadState : std::uint8_t {
    kUnsigned,  // too short or of another class: nothing can be said
    kIntact,
    kChanged,
};
struct PayloadReading {
    PayloadState state = PayloadState::kUnsigned;
    Label label;  // meaningful if kIntact
};
PayloadReading read_payload(std::span<const std::uint8_t> payload, PayloadValues values);

// CRC-64 of ECMA-182, bits reflected (as in xz).
std::uint64_t crc64(std::span<const std::uint8_t> bytes, std::uint64_t crc = 0);

}  // namespace pathproof::matrix
