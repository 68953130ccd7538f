#include "dataplane/measure/stepped_source.h"

#include <algorithm>

namespace pathproof::measure {
namespace {

double turn(std::uint64_t n, const Steps& steps) {
    return static_cast<double>(n) * steps.senders + steps.sender;
}

}  // namespace

Nanoseconds Steps::departure(std::uint64_t n) const {
    const std::uint64_t before = in_first();
    if (n < before) {
        return Nanoseconds(static_cast<std::int64_t>(turn(n, *this) / first_pps * 1e9));
    }
    const double after = turn(n - before, *this) / second_pps * 1e9;
    return first_duration + Nanoseconds(static_cast<std::int64_t>(after));
}

std::size_t SteppedSource::fill(std::span<rte_mbuf*> burst, std::uint64_t sent_ns) noexcept {
    const auto left = static_cast<std::size_t>(count_ - next_);
    const std::size_t filled =
        FrameSource::fill(burst.first(std::min(burst.size(), left)), sent_ns);
    next_ += filled;
    return filled;
}

std::optional<std::uint64_t> SteppedSource::next_due_ns() const noexcept {
    if (next_ == count_) {
        return std::nullopt;
    }
    return static_cast<std::uint64_t>(steps_.departure(next_).count());
}

}  // namespace pathproof::measure
