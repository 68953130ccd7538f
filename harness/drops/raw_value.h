// A value out of bytes that need not be aligned.
#pragma once

#include <cstddef>
#include <cstring>
#include <span>

namespace pathproof::drops {

// The caller has made sure that `bytes` reach so far.
template <typename Value>
Value load(std::span<const std::byte> bytes, std::size_t offset) {
    Value value;
    std::memcpy(&value, bytes.data() + offset, sizeof value);
    return value;
}

}  // namespace pathproof::drops
