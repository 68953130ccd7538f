#include "harness/agent/digest.h"

namespace pathproof::agent {

void Digest::add(std::span<const std::uint8_t> bytes) {
    constexpr std::uint64_t kPrime = 0x100000001b3ULL;
    for (std::uint8_t byte : bytes) {
        value_ = (value_ ^ byte) * kPrime;
    }
}

void ByteStream::fill(std::span<std::uint8_t> piece) {
    for (std::uint8_t& byte : piece) {
        byte = next();
    }
}

std::uint8_t ByteStream::next() {
    if (left_ == 0) {
        word_ = random_();
        left_ = 8;
    }
    const auto byte = static_cast<std::uint8_t>(word_);
    word_ >>= 8;
    --left_;
    return byte;
}

}  // namespace pathproof::agent
