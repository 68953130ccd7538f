// The Internet checksum read literally from RFC 1071, byte by byte, and SCTP's CRC32c bit by bit,
// for judging others. They are slow, and share no code with checksum.h, crc32c.h nor DPDK.
#pragma once

#include <cstdint>
#include <span>

namespace pathproof::frame {

// Adds bytes in the order in which they are sent: the first of each two is the high half of a
// 16-bit integer.
class OracleSum {
  public:
    // May be called with any number of bytes; an odd number is continued by the next call.
    void add(std::span<const std::uint8_t> bytes) noexcept;
    // The one's-complement sum so far, as if a 0 byte ended an odd number.
    std::uint16_t sum() const noexcept { return sum_; }
    // The checksum: the one's complement of the sum.
    std::uint16_t checksum() const noexcept { return static_cast<std::uint16_t>(sum_ ^ 0xffff); }

  private:
    std::uint16_t sum_ = 0;
    bool high_ = true;
};

// The remainder of a division of polynomials (RFC 9260 appendix A), one bit a step.
class OracleCrc32c {
  public:
    void add(std::span<const std::uint8_t> bytes) noexcept;
    // As SCTP sends it: its four bytes read in the order in which they are sent.
    std::uint32_t sctp_checksum() const noexcept;

  private:
    std::uint32_t divided_ = 0xffffffff;
};

}  // namespace pathproof::frame
