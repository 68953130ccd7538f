// Numbers that look random and are the same everywhere for one seed: splitmix64 (Steele, Lea,
// Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014).
#pragma once

#include <cstdint>

namespace pathproof::matrix {

class Random {
  public:
    explicit Random(std::uint64_t seed) : state_(seed) {}

    std::uint64_t operator()() {
        std::uint64_t value = state_ += 0x9e3779b97f4a7c15;
        value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9;
        value = (value ^ value >> 27) * 0x94d049bb133111eb;
        return value ^ value >> 31;
    }
    // Less than `end`, which is not 0. (Slightly uneven for ends near 2^64; none is.)
    std::size_t below(std::size_t end) { return static_cast<std::size_t>((*this)() % end); }

  private:
    std::uint64_t state_;
};

}  // namespace pathproof::matrix
