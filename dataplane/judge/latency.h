// A histogram of times with bins no wider than 1.6 % of their value and no finer than 100 ns, in
// fixed memory.
#pragma once

#include <array>
#include <cstdint>

#include "dataplane/judge/pair_report.h"

namespace pathproof::judge {

class LatencyHistogram {
  public:
    static constexpr std::int64_t kUnitNs = 100;

    // Counts one time. Negative ones count as 0, those beyond the last bin (about two minutes) in
    // the last.
    void add(std::int64_t nanoseconds) noexcept;

    std::uint64_t count() const { return count_; }
    // The smallest time that at least `share` (0 to 1) of all do not exceed: the middle of its bin,
    // but never outside what was seen. 0 when nothing was counted.
    std::int64_t quantile_ns(double share) const;
    LatencySummary summary() const;

  private:
    // 64 bins an octave, as HdrHistogram lays them out: below 64 units each unit has its own.
    static constexpr unsigned kBitsInOctave = 6;
    static constexpr unsigned kOctaves = 25;
    static constexpr std::size_t kBins = std::size_t{kOctaves + 1} << kBitsInOctave;

    static std::size_t bin_of(std::uint64_t units) noexcept;
    static std::int64_t middle_ns(std::size_t bin) noexcept;

    std::array<std::uint64_t, kBins> bins_{};
    std::uint64_t count_ = 0;
    std::int64_t min_ns_ = 0;
    std::int64_t max_ns_ = 0;
};

}  // namespace pathproof::judge
