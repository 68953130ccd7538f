#include "dataplane/load/replay.h"

#include <rte_mbuf.h>

#include <algorithm>
#include <cmath>
#include <cstring>

namespace pathproof::load {
namespace {

constexpr std::size_t kReplay = static_cast<std::size_t>(frame::TrafficClass::kReplay);
constexpr double kLongestNs = 9e18;  // what fits std::chrono::nanoseconds

// The last frame's time and, behind it, the mean gap.
std::uint64_t pass_of(const Recording& recording) {
    const std::size_t last = recording.frames() - 1;
    const std::uint64_t span = recording.at_ns(last);
    return last == 0 ? 0 : span + span / last;
}

void describe(rte_mbuf& mbuf, std::uint16_t length) {
    rte_pktmbuf_reset(&mbuf);
    mbuf.ol_flags = 0;  // reset leaves RTE_MBUF_F_EXTERNAL standing
    mbuf.data_len = length;
    mbuf.pkt_len = length;
}

}  // namespace

ReplaySource::ReplaySource(std::shared_ptr<const Recording> recording, const ReplayPlan& plan)
    : recording_(std::move(recording)),
      plan_(plan),
      pass_ns_(pass_of(*recording_)),
      next_(plan.first) {}

Result<ReplaySource> ReplaySource::make(std::shared_ptr<const Recording> recording,
                                        const ReplayPlan& plan) {
    if (plan.step == 0 || plan.first >= recording->frames()) {
        return fail(ErrorCode::kBadInput,
                    "{} frames of a capture are too few for {} senders: one of them would have "
                    "none; use fewer queues",
                    recording->frames(), plan.step);
    }
    if (!std::isfinite(plan.gap_scale) || plan.gap_scale <= 0) {
        return fail(ErrorCode::kBadInput,
                    "gaps scaled by {}; the factor is a number above 0: 1 for the file's own speed",
                    plan.gap_scale);
    }
    ReplaySource made(std::move(recording), plan);
    const auto passes = static_cast<double>(plan.times == 0 ? 1 : plan.times);
    if (passes * static_cast<double>(made.pass_ns_) * plan.gap_scale > kLongestNs) {
        return fail(ErrorCode::kBadInput,
                    "{} times {} s of capture, gaps scaled by {}, take longer than a clock counts",
                    plan.times, static_cast<double>(made.pass_ns_) / 1e9, plan.gap_scale);
    }
    return made;
}

void ReplaySource::step_on() noexcept {
    next_ += plan_.step;
    if (next_ >= recording_->frames()) {
        next_ = plan_.first;
        ++pass_;
    }
}

std::size_t ReplaySource::fill(std::span<rte_mbuf*> burst, std::uint64_t) noexcept {
    std::size_t filled = 0;
    for (; filled < burst.size() && !ended(); ++filled) {
        const frame::Bytes bytes = recording_->bytes(next_);
        rte_mbuf& mbuf = *burst[filled];
        describe(mbuf, static_cast<std::uint16_t>(bytes.size()));
        std::memcpy(rte_pktmbuf_mtod(&mbuf, std::uint8_t*), bytes.data(), bytes.size());
        step_on();
    }
    made_[kReplay] += filled;
    return filled;
}

void ReplaySource::left(std::size_t frames, std::uint64_t at_ns) noexcept {
    if (plan_.departures == nullptr) {
        return;
    }
    std::vector<std::uint64_t>& all = *plan_.departures;
    const std::size_t room = all.capacity() - all.size();
    all.insert(all.end(), std::min(frames, room), at_ns);
}

std::optional<std::uint64_t> ReplaySource::next_due_ns() const noexcept {
    if (plan_.gaps == ReplayPlan::Gaps::kOfTheRun || ended()) {
        return std::nullopt;
    }
    const double unscaled = static_cast<double>(pass_) * static_cast<double>(pass_ns_) +
                            static_cast<double>(recording_->at_ns(next_));
    return static_cast<std::uint64_t>(unscaled * plan_.gap_scale);
}

void ReplaySource::take_back(std::span<rte_mbuf* const> burst) noexcept {
    made_[kReplay] -= burst.size();
}

}  // namespace pathproof::load
