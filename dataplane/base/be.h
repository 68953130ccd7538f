// Integers in network byte order. They have no implicit conversion, so that a value in network
// order is never added to, compared with or printed as one in host order by mistake.
#pragma once

#include <bit>
#include <cstdint>

namespace pathproof {

static_assert(std::endian::native == std::endian::little,
              "the byte swaps below assume little endian");

class [[gnu::packed]] Be16 {
  public:
    constexpr Be16() = default;
    explicit constexpr Be16(std::uint16_t host) : raw_(__builtin_bswap16(host)) {}
    constexpr std::uint16_t value() const { return __builtin_bswap16(raw_); }
    // The bytes as they lie in memory, read as a host integer: what a checksum over words adds.
    constexpr std::uint16_t raw() const { return raw_; }
    friend constexpr bool operator==(Be16 a, Be16 b) { return a.raw_ == b.raw_; }

  private:
    std::uint16_t raw_ = 0;
};

class [[gnu::packed]] Be32 {
  public:
    constexpr Be32() = default;
    explicit constexpr Be32(std::uint32_t host) : raw_(__builtin_bswap32(host)) {}
    constexpr std::uint32_t value() const { return __builtin_bswap32(raw_); }
    constexpr std::uint32_t raw() const { return raw_; }
    friend constexpr bool operator==(Be32 a, Be32 b) { return a.raw_ == b.raw_; }

  private:
    std::uint32_t raw_ = 0;
};

static_assert(sizeof(Be16) == 2 && alignof(Be16) == 1);
static_assert(sizeof(Be32) == 4 && alignof(Be32) == 1);
static_assert(Be16(0x1234).raw() == 0x3412);

}  // namespace pathproof
