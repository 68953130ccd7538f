#include "dataplane/judge/latency.h"

#include <cassert>
#include <cmath>
#include <numeric>

namespace pathproof::judge {

std::int64_t LatencyHistogram::middle_ns(std::size_t bin) noexcept {
    if (bin < kLinear) {
        return static_cast<std::int64_t>(bin) * kUnitNs + kUnitNs / 2;
    }
    const std::size_t octave = bin / kLinear - 1;
    const auto low = static_cast<std::int64_t>((kLinear + bin % kLinear) << octave) * kUnitNs;
    return low + (kUnitNs << octave) / 2;
}

void LatencyHistogram::merge(const LatencyHistogram& other) noexcept {
    assert(bias_ns_ == other.bias_ns_ || max_ns_ < 0 || other.max_ns_ < 0);
    if (max_ns_ < 0) {
        bias_ns_ = other.bias_ns_;
    }
    for (std::size_t bin = 0; bin < kBins; ++bin) {
        bins_[bin] += other.bins_[bin];
    }
    min_ns_ = std::min(min_ns_, other.min_ns_);
    max_ns_ = std::max(max_ns_, other.max_ns_);
}

LatencyHistogram LatencyHistogram::less(std::int64_t bias_ns) const noexcept {
    LatencyHistogram shorter = *this;
    shorter.bias_ns_ += bias_ns;
    return shorter;
}

std::int64_t LatencyHistogram::told(std::int64_t time) const noexcept {
    return std::max<std::int64_t>(time - bias_ns_, 0);
}

std::uint64_t LatencyHistogram::count() const noexcept {
    return std::accumulate(bins_.begin(), bins_.end(), std::uint64_t{0});
}

std::int64_t LatencyHistogram::min_ns() const noexcept {
    return max_ns_ < 0 ? 0 : told(min_ns_);
}

std::int64_t LatencyHistogram::max_ns() const noexcept {
    return max_ns_ < 0 ? 0 : told(max_ns_);
}

LatencyBins LatencyHistogram::contents() const {
    LatencyBins filled{.min_ns = min_ns_, .max_ns = max_ns_, .bias_ns = bias_ns_};
    for (std::size_t bin = 0; bin < kBins; ++bin) {
        if (bins_[bin] != 0) {
            filled.bins.push_back(static_cast<std::uint32_t>(bin));
            filled.counts.push_back(bins_[bin]);
        }
    }
    return filled;
}

LatencyHistogram LatencyHistogram::of(const LatencyBins& contents) {
    LatencyHistogram made;
    const std::size_t filled = std::min(contents.bins.size(), contents.counts.size());
    for (std::size_t n = 0; n < filled; ++n) {
        if (contents.bins[n] < kBins) {
            made.bins_[contents.bins[n]] = contents.counts[n];
        }
    }
    if (contents.max_ns >= 0) {
        made.min_ns_ = contents.min_ns;
        made.max_ns_ = contents.max_ns;
    }
    made.bias_ns_ = contents.bias_ns;
    return made;
}

double LatencyHistogram::share_within(std::int64_t nanoseconds) const {
    const std::uint64_t counted = count();
    if (counted == 0 || nanoseconds < 0) {
        return 0;
    }
    std::uint64_t within = 0;
    for (std::size_t bin = 0; bin < kBins && told(middle_ns(bin)) <= nanoseconds; ++bin) {
        within += bins_[bin];
    }
    return static_cast<double>(within) / static_cast<double>(counted);
}

std::int64_t LatencyHistogram::quantile_ns(double share) const {
    const std::uint64_t counted = count();
    if (counted == 0) {
        return 0;
    }
    const auto wanted = static_cast<std::uint64_t>(
        std::max(1.0, std::ceil(std::clamp(share, 0.0, 1.0) * static_cast<double>(counted))));
    std::uint64_t seen = 0;
    for (std::size_t bin = 0; bin < kBins; ++bin) {
        seen += bins_[bin];
        if (seen >= wanted) {
            return told(std::clamp(middle_ns(bin), min_ns_, max_ns_));
        }
    }
    return max_ns();
}

LatencySummary LatencyHistogram::summary() const {
    return {.count = count(),
            .min_ns = min_ns(),
            .p50_ns = quantile_ns(0.5),
            .p99_ns = quantile_ns(0.99),
            .max_ns = max_ns()};
}

}  // namespace pathproof::judge
