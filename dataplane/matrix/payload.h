// The payloads of the matrix: which bytes a frame carries, and which of them are chosen afterwards.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "dataplane/matrix/dimensions.h"

namespace pathproof::matrix {

// Which frame of a run: the row, counted from 0, and the frame's number within the row.
struct Label {
    std::uint32_t row = 0;
    std::uint32_t index = 0;
    bool operator==(const Label&) const = default;
};

// Fills a payload of any length. Random bytes from label and seed, or the constant bytes of the
// class. kSumsToZero is random but for tuning_word(); kTunnelLike is random, for the caller to
// overwrite.
void write_payload(std::span<std::uint8_t> payload, PayloadValues values, const Label& label,
                   std::uint64_t seed);

// Where the word lies that is chosen to make a checksum 0: the last even place. The payload has at
// least two bytes.
std::size_t tuning_word(std::size_t payload_bytes);

}  // namespace pathproof::matrix
