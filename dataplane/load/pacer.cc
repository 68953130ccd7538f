#include "dataplane/load/pacer.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace pathproof::load {
namespace {

constexpr std::uint64_t kNoLimit = std::numeric_limits<std::uint64_t>::max();

}  // namespace

std::uint64_t units_in(Nanoseconds duration, double units_per_second) noexcept {
    const double units = static_cast<double>(duration.count()) * units_per_second / 1e9;
    // 1 s at 7 per us is 7000000.000000001 in binary, and no deadline more.
    return static_cast<std::uint64_t>(std::ceil(units * (1 - 1e-12)));
}

std::uint64_t share_of(std::uint64_t units, unsigned sender, unsigned senders) noexcept {
    return units > sender ? (units - sender - 1) / senders + 1 : 0;
}

Pacer::Pacer(const Pacing& pacing, const traffic::TscClock& clock, Tsc start) noexcept
    : senders_(pacing.senders),
      sender_(pacing.sender),
      most_behind_(pacing.most_behind),
      counted_(pacing.units == 0 ? kNoLimit
                                 : share_of(pacing.units, pacing.sender, pacing.senders)),
      lasting_(kNoLimit),
      start_(start),
      end_(kNoLimit) {
    const bool lasts = pacing.duration.count() > 0;
    if (pacing.units_per_second > 0) {
        cycles_apart_ = clock.hz() / pacing.units_per_second;
        units_a_cycle_ = pacing.units_per_second / clock.hz();
    }
    if (lasts && paced()) {
        lasting_ = share_of(units_in(pacing.duration, pacing.units_per_second), pacing.sender,
                            pacing.senders);
    } else if (lasts) {
        end_ = start + clock.ticks(pacing.duration);
    }
}

std::uint64_t Pacer::remaining() const noexcept {
    const std::uint64_t lasting = lasting_ == kNoLimit ? kNoLimit : lasting_ - left_out_;
    return std::min(counted_, lasting) - taken_;
}

std::uint64_t Pacer::due(Tsc now) noexcept {
    if (now < start_) {
        return 0;
    }
    if (!paced()) {
        return now < end_ ? remaining() : 0;
    }
    const double turns = static_cast<double>(now - start_) * units_a_cycle_ - sender_;
    if (turns < 0) {
        return 0;
    }
    const auto passed = static_cast<std::uint64_t>(senders_ == 1 ? turns : turns / senders_) + 1;
    const std::uint64_t gone = taken_ + left_out_;
    const std::uint64_t behind = std::min(passed > gone ? passed - gone : 0, remaining());
    if (behind <= most_behind_) {
        return behind;
    }
    left_out_ += behind - most_behind_;
    return most_behind_;
}

Tsc Pacer::deadline() const noexcept {
    const double turn = static_cast<double>(taken_ + left_out_) * senders_ + sender_;
    return start_ + static_cast<Tsc>(std::ceil(turn * cycles_apart_));
}

bool Pacer::finished(Tsc now) const noexcept {
    return remaining() == 0 || now >= end_;
}

RateWindows::RateWindows(const traffic::TscClock& clock, Tsc start,
                         double units_per_second) noexcept
    : start_(start),
      end_(start + static_cast<Tsc>(clock.hz())),
      second_(clock.hz()),
      asked_(units_per_second) {}

void RateWindows::close() noexcept {
    ++windows_;
    worst_ = std::max(worst_, std::abs(static_cast<double>(in_window_) / asked_ - 1));
    in_window_ = 0;
    end_ = start_ + static_cast<Tsc>(static_cast<double>(windows_ + 1) * second_);
}

}  // namespace pathproof::load
