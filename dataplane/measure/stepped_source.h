// Frames at one rate for a time and then, without a pause, at another: the load of a system
// recovery test (RFC 2544, 26.5). The times are the source's own, so that the sender needs to know
// of no rate.
#pragma once

#include "dataplane/load/frame_source.h"
#include "dataplane/load/pacer.h"

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

    // Frames of this sender before the change, and after it.
    std::uint64_t in_first() const {
        return load::share_of(load::units_in(first_duration, first_pps), sender, senders);
    }
    std::uint64_t in_second() const {
        return load::share_of(load::units_in(second_duration, second_pps), sender, senders);
    }
    std::uint64_t frames() const { return in_first() + in_second(); }
    // Returns when this sender's frame number `n` is due, from the start.
    Nanoseconds departure(std::uint64_t n) const;
    // The change itself, from the start.
    Nanoseconds change() const { return first_duration; }
};

class SteppedSource final : public load::FrameSource {
  public:
    SteppedSource(load::FrameSource frames, const Steps& steps)
        : FrameSource(std::move(frames)), steps_(steps), count_(steps.frames()) {}

    std::size_t fill(std::span<rte_mbuf*> burst, std::uint64_t sent_ns) noexcept override;
    // Returns nothing behind the last frame: the trial ends.
    std::optional<std::uint64_t> next_due_ns() const noexcept override;

  private:
    Steps steps_;
    std::uint64_t count_;
    std::uint64_t next_ = 0;
};

}  // namespace pathproof::measure
