// Numbers that look random and are the same everywhere for one seed: splitmix64 (Steele, Lea,
// Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014).
#pragma once

#include <cstddef>
#include <cstdint>

namespace pathproof {

// Its last step: neighbouring numbers give such that have nothing in common.
constexpr std::uint64_t mixed(std::uint64_t value) {
    value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9;
    value = (value ^ value >> 27) * 0x94d049bb133111eb;
    return value ^ value >> 31;
}

class Random {
  public:
    explicit constexpr Random(std::uint64_t seed) : state_(seed) {}

    constexpr std::uint64_t operator()() { return mixed(state_ += 0x9e3779b97f4a7c15); }
    // Less than `end`, which is not 0. (Slightly uneven for ends near 2^64; none is.)
    std::size_t below(std::size_t end) { return static_cast<std::size_t>((*this)() % end); }

  private:
    std::uint64_t state_;
};

// A number drawn as one of 0 to less than 1: 53 bits, what a double holds exactly.
constexpr double as_share(std::uint64_t number) {
    return static_cast<double>(number >> 11) * 0x1p-53;
}

// The first number of each seed.
constexpr std::uint64_t drawn(std::uint64_t seed) {
    return Random(seed)();
}

}  // namespace pathproof
