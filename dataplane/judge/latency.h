// A histogram of times with bins no wider than 1.6 % of their value and no finer than 100 ns, in
// fixed memory.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <limits>
#include <vector>

#include "dataplane/judge/pair_report.h"

namespace pathproof::judge {

// The contents of a histogram as plain values: for other processes, and for charts.
struct LatencyBins {
    std::vector<std::uint32_t> bins;  // those that are not empty, ascending
    std::vector<std::uint64_t> counts;
    std::int64_t min_ns = 0;
    std::int64_t max_ns = -1;  // negative: nothing was counted
    std::int64_t bias_ns = 0;  // taken off what is read
};

class LatencyHistogram {
  public:
    static constexpr std::int64_t kUnitNs = 100;

    // Counts one time, or the same one several times. Negative ones count as 0, those beyond the
    // last bin (about two minutes) in the last.
    void add(std::int64_t nanoseconds, std::uint64_t times = 1) noexcept {
        const std::int64_t time = std::max<std::int64_t>(nanoseconds, 0);
        // Frames of one burst have left together and come together.
        if (time == last_ns_) {
            bins_[last_bin_] += times;
            return;
        }
        last_ns_ = time;
        last_bin_ = bin_of(static_cast<std::uint64_t>(time) / kUnitNs);
        bins_[last_bin_] += times;
        if (time < min_ns_) [[unlikely]] {
            min_ns_ = time;
        }
        if (time > max_ns_) [[unlikely]] {
            max_ns_ = time;
        }
    }

    // Adds the other's times. The bias that was taken off must be the same in both.
    void merge(const LatencyHistogram& other) noexcept;

    // Returns the same times, each shorter by `bias_ns`, none shorter than 0. The bias is what the
    // measurement itself took. Nothing is lost: the bins stay as they are, and readings from them
    // are lower.
    LatencyHistogram less(std::int64_t bias_ns) const noexcept;

    // Summed over all bins: not for the data path.
    std::uint64_t count() const noexcept;
    // The smallest time that at least `share` (0 to 1) of all do not exceed: the middle of its bin,
    // but never outside what was seen. 0 when nothing was counted.
    std::int64_t quantile_ns(double share) const;
    std::int64_t min_ns() const noexcept;
    std::int64_t max_ns() const noexcept;
    LatencySummary summary() const;

    LatencyBins contents() const;
    // A bin that does not exist is left out.
    static LatencyHistogram of(const LatencyBins& contents);
    // Share of all times that are not longer, to the width of a bin; 0 where nothing was counted.
    double share_within(std::int64_t nanoseconds) const;

  private:
    // 64 bins an octave, as HdrHistogram lays them out: below 64 units each unit has its own.
    static constexpr unsigned kBitsInOctave = 6;
    static constexpr unsigned kOctaves = 25;
    static constexpr std::size_t kLinear = std::size_t{1} << kBitsInOctave;
    static constexpr std::size_t kBins = std::size_t{kOctaves + 1} << kBitsInOctave;

    // Below 64 units a unit has a bin to itself as it has from 64 to 127: no branch is needed.
    static std::size_t bin_of(std::uint64_t units) noexcept {
        const auto octave =
            static_cast<unsigned>(std::bit_width(units | kLinear)) - 1 - kBitsInOctave;
        const std::size_t bin = (std::size_t{octave} << kBitsInOctave) + (units >> octave);
        return std::min(bin, kBins - 1);
    }
    static std::int64_t middle_ns(std::size_t bin) noexcept;
    std::int64_t told(std::int64_t time) const noexcept;

    std::array<std::uint64_t, kBins> bins_{};
    std::int64_t min_ns_ = std::numeric_limits<std::int64_t>::max();
    std::int64_t max_ns_ = -1;  // negative: nothing was counted
    std::int64_t bias_ns_ = 0;
    std::int64_t last_ns_ = -1;
    std::size_t last_bin_ = 0;
};

}  // namespace pathproof::judge
