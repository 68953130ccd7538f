// Records of the programs in the kernel, as bytes and as values.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "harness/fate/record.h"

namespace pathproof::fate {

// Reads what the ring hands over: a record whose steps end with the bytes. Nothing for bytes that are
// too few, or whose numbers are out of their range.
std::optional<fate_record> read_record(std::span<const std::byte> bytes);

}  // namespace pathproof::fate
