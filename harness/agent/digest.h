// A 64-bit digest of a byte stream, and a byte stream to send: pseudo-random, so that no wrong
// byte, lost or swapped piece leaves the digest as it was.
#pragma once

#include <cstdint>
#include <span>

#include "dataplane/base/random.h"

namespace pathproof::agent {

// FNV-1a (http://www.isthe.com/chongo/tech/comp/fnv), 64 bits. Unlike the internet checksum it sees
// exchanged words. It finds accidents, not forgeries.
class Digest {
  public:
    void add(std::span<const std::uint8_t> bytes);
    std::uint64_t value() const { return value_; }

  private:
    std::uint64_t value_ = 0xcbf29ce484222325ULL;
};

// Fills pieces of one endless pseudo-random stream that depends on the seed only.
class ByteStream {
  public:
    explicit ByteStream(std::uint64_t seed) : random_(seed) {}
    void fill(std::span<std::uint8_t> piece);

  private:
    std::uint8_t next();

    Random random_;
    std::uint64_t word_ = 0;
    unsigned left_ = 0;  // bytes of word_ that were not given out
};

}  // namespace pathproof::agent
