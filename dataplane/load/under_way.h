// A closed loop: it limits the frames of a stream that are under way at one time. A frame is under
// way until it has come back or its time is over.
//
// No record of single frames is kept. Time is cut into slots. A sender counts the frames that left
// in each slot; a receiver, which knows from the stamps when a frame left, counts those that came
// back. When the time of a slot is over, its missing frames are given up.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "dataplane/load/load_plan.h"

namespace pathproof::load {

inline constexpr std::size_t kSlots = 64;

// Frames of one stream that came back at one receiving lcore, which alone writes it. Counts go on
// from trial to trial.
struct alignas(64) ReturnTally {
    std::atomic<std::uint64_t> all = 0;
    std::array<std::atomic<std::uint64_t>, kSlots> of_slot{};  // by departure
};

// Division of time into slots: half of kSlots make up the time that a frame may be under way.
class Slots {
  public:
    explicit Slots(Nanoseconds timeout) noexcept
        : timeout_ns_(static_cast<std::uint64_t>(timeout.count())),
          slot_ns_(timeout_ns_ / (kSlots / 2) + 1) {}

    std::uint64_t number(std::uint64_t at_ns) const noexcept { return at_ns / slot_ns_; }
    std::uint64_t timeout_ns() const noexcept { return timeout_ns_; }
    // Everything of a slot is too late by then, with a slot to spare for a receiver whose clock was
    // read some time before.
    std::uint64_t over_ns(std::uint64_t slot) const noexcept {
        return (slot + 2) * slot_ns_ + timeout_ns_;
    }

  private:
    std::uint64_t timeout_ns_;
    std::uint64_t slot_ns_;
};

// One receiving lcore's tallies.
class Returns {
  public:
    Returns(unsigned streams, Nanoseconds timeout);

    // Frames that came for the first time, `age_ns` after they had left.
    void note(std::uint8_t stream, std::uint64_t now_ns, std::uint64_t age_ns,
              std::uint64_t frames) noexcept;
    const ReturnTally& of_stream(unsigned stream) const noexcept { return tallies_[stream]; }

  private:
    Slots slots_;
    std::unique_ptr<ReturnTally[]> tallies_;
};

// One sender's side. Times are those of the stamps.
class Window {
  public:
    using Tallies = std::vector<const ReturnTally*>;  // of the sender's stream, by receiving lcore

    // Allows at most `frames` under way.
    Window(std::uint64_t frames, Nanoseconds timeout, const Tallies& tallies,
           std::uint64_t now_ns) noexcept;

    void note_sent(std::uint64_t stamp_ns, std::uint64_t frames) noexcept;
    // Returns how many frames may leave now.
    std::uint64_t room(std::uint64_t now_ns) noexcept;

  private:
    struct Slot {
        std::uint64_t sent = 0;
        std::uint64_t came_before = 0;  // the tallies when the slot was begun
    };

    std::uint64_t came_back() const noexcept;
    std::uint64_t came_back(std::uint64_t slot) const noexcept;
    void begin_slots(std::uint64_t last) noexcept;
    void give_up_slots(std::uint64_t now_ns) noexcept;

    std::uint64_t frames_;
    Slots cut_;
    const Tallies* tallies_;
    std::array<Slot, kSlots> slots_{};
    std::uint64_t oldest_;  // slot that is not given up
    std::uint64_t newest_;
    std::uint64_t came_before_ = 0;
    std::uint64_t sent_ = 0;
    std::int64_t given_up_ = 0;  // frames whose time was over
};

}  // namespace pathproof::load
