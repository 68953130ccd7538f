// The software NIC's own arithmetic: RFC 1071 sums by 64-bit loads with end-around carry, and
// CRC32c by table.
#pragma once

#include <cstdint>

#include "dataplane/softnic/engine.h"

namespace pathproof::softnic {

// The one's-complement sum of 16-bit words. Pieces may have any length: the byte after an odd piece
// is the low half of a word that was begun.
class WordSum {
  public:
    void add(Bytes bytes) noexcept;
    // A whole word in host order, wherever the pieces stand.
    void add_word(std::uint32_t word) noexcept { sum_ += word & 0xffff; }
    // Makes the next piece start a word.
    void align() noexcept { odd_ = false; }
    std::uint16_t folded() const noexcept;
    std::uint16_t inverted() const noexcept { return static_cast<std::uint16_t>(~folded()); }

  private:
    std::uint64_t sum_ = 0;  // words of 16 bits as numbers: good for 2^48 of them
    bool odd_ = false;
};

// RFC 9260 appendix A; `bytes` with the checksum field taken as four zeros at `field` (an offset
// into `bytes`). The value as the four bytes are written, first one highest.
std::uint32_t sctp_checksum(Bytes bytes, std::size_t field) noexcept;

}  // namespace pathproof::softnic
