#include "dataplane/judge/latency.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace pathproof::judge {

std::size_t LatencyHistogram::bin_of(std::uint64_t units) noexcept {
    constexpr std::uint64_t kLinear = std::uint64_t{1} << kBitsInOctave;
    if (units < kLinear) {
        return units;
    }
    const unsigned octave = static_cast<unsigned>(std::bit_width(units)) - 1 - kBitsInOctave;
    const std::size_t within = (units >> octave) - kLinear;
    return std::min((std::size_t{octave} + 1) * kLinear + within, kBins - 1);
}

std::int64_t LatencyHistogram::middle_ns(std::size_t bin) noexcept {
    constexpr std::size_t kLinear = std::size_t{1} << kBitsInOctave;
    if (bin < kLinear) {
        return static_cast<std::int64_t>(bin) * kUnitNs + kUnitNs / 2;
    }
    const std::size_t octave = bin / kLinear - 1;
    const auto low = static_cast<std::int64_t>((kLinear + bin % kLinear) << octave) * kUnitNs;
    return low + (kUnitNs << octave) / 2;
}

void LatencyHistogram::add(std::int64_t nanoseconds) noexcept {
    const std::int64_t time = std::max<std::int64_t>(nanoseconds, 0);
    ++bins_[bin_of(static_cast<std::uint64_t>(time / kUnitNs))];
    min_ns_ = count_ == 0 ? time : std::min(min_ns_, time);
    max_ns_ = std::max(max_ns_, time);
    ++count_;
}

std::int64_t LatencyHistogram::quantile_ns(double share) const {
    if (count_ == 0) {
        return 0;
    }
    const auto wanted = static_cast<std::uint64_t>(
        std::max(1.0, std::ceil(std::clamp(share, 0.0, 1.0) * static_cast<double>(count_))));
    std::uint64_t seen = 0;
    for (std::size_t bin = 0; bin < kBins; ++bin) {
        seen += bins_[bin];
        if (seen >= wanted) {
            return std::clamp(middle_ns(bin), min_ns_, max_ns_);
        }
    }
    return max_ns_;
}

LatencySummary LatencyHistogram::summary() const {
    return {.count = count_,
            .min_ns = min_ns_,
            .p50_ns = quantile_ns(0.5),
            .p99_ns = quantile_ns(0.99),
            .max_ns = max_ns_};
}

}  // namespace pathproof::judge
