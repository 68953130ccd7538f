// Remembers the last frames that were received, and keeps those before and after each of the first
// anomalies. Memory is set aside at the start; nothing is copied unless frames were asked for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "dataplane/load/tracked_intake.h"

namespace pathproof::load {

class AnomalyRing {
  public:
    // Longer frames are kept cut.
    static constexpr std::size_t kMostBytes = 2048;

    // `around`: frames before and after; 0: nothing is ever kept.
    AnomalyRing(std::uint32_t around, std::uint32_t anomalies);

    bool active() const noexcept { return around_ > 0; }
    // The next frame received.
    void note(std::span<const std::uint8_t> frame, std::int64_t at_ns) noexcept;
    // The last noted frame is an anomaly; the first reason given for a frame counts. Nothing where
    // nothing is kept.
    void mark(Anomaly::Kind kind) noexcept;

    // Gives away what is there, oldest first, those too whose frames after have not all come; room
    // for as many others is made.
    std::vector<Anomaly> take();

  private:
    // Copies the frames around anomaly `index`, as far as they have come.
    void complete(std::size_t index) noexcept;
    void set_room();

    std::uint32_t around_;
    std::uint32_t most_;
    std::vector<RingFrame> ring_;
    std::vector<Anomaly> found_;  // room for `most_`, and in each for its frames
    std::size_t marked_ = 0;
    std::size_t completed_ = 0;
    std::uint64_t noted_ = 0;
};

}  // namespace pathproof::load
