// Frames at one rate for a time and then, without a pause, at another: the load of a system
// recovery test (RFC 2544, 26.5). The times are the source's own, so that the sender needs to know
// of no rate.
#pragma once

#include <memory>

#include "dataplane/load/source.h"

namespace pathproof::measure {

using load::Nanoseconds;

// The schedule of one of several senders that take turns.
struct Steps {
    double first_pps = 0;  // of all senders together
    Nanoseconds first_duration{};
    double second_pps = 0;
    Nanoseconds second_duration{};
    unsigned sender = 0;
    unsigned senders = 1;

    std::uint64_t in_first() const;   // frames of this sender before the change
    std::uint64_t in_second() const;  // and after it
    std::uint64_t frames() const { return in_first() + in_second(); }
    // When frame number `n` of this sender is due, from the start.
    Nanoseconds departure(std::uint64_t n) const;
    // The change itself, from the start.
    Nanoseconds change() const { return first_duration; }
};

class SteppedSource final : public load::Source {
  public:
    SteppedSource(std::unique_ptr<load::Source> frames, const Steps& steps)
        : frames_(std::move(frames)), steps_(steps), count_(steps.frames()) {}

    std::size_t fill(std::span<rte_mbuf*> burst, std::uint64_t sent_ns) noexcept override;
    void restamp(std::span<rte_mbuf*> burst, std::uint64_t sent_ns) noexcept override {
        frames_->restamp(burst, sent_ns);
    }
    // Nothing behind the last frame: the trial ends.
    std::optional<std::uint64_t> next_due_ns() const noexcept override;

    const load::ClassCounts& made() const noexcept override { return frames_->made(); }
    void take_back(std::span<rte_mbuf* const> burst) noexcept override {
        frames_->take_back(burst);
    }
    std::uint16_t longest_frame() const noexcept override { return frames_->longest_frame(); }
    double mean_frame_bytes() const noexcept override { return frames_->mean_frame_bytes(); }
    std::uint64_t port_offloads() const noexcept override { return frames_->port_offloads(); }

  private:
    std::unique_ptr<load::Source> frames_;
    Steps steps_;
    std::uint64_t count_;
    std::uint64_t next_ = 0;
};

}  // namespace pathproof::measure
