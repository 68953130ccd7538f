// Lets two lcores leave at one instant: neither goes before both stand ready, and both go at the
// same count of the time-stamp counter. What one of them is late for leaves late, but together.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

#include "dataplane/traffic/pace.h"

namespace pathproof::load {

class Rendezvous {
  public:
    // Prepares for a trial: units are counted from 0 again.
    void reset() noexcept;

    // The leader's side: waits until the follower is ready for `unit`, then names the instant: the
    // deadline, or `notice` from now if that is later. Nothing: the follower called it off.
    std::optional<traffic::Tsc> lead(std::uint64_t unit, traffic::Tsc deadline,
                                     traffic::Tsc notice) noexcept;
    // The follower's side: says that it is ready, and waits for the instant. Nothing: called off.
    std::optional<traffic::Tsc> follow(std::uint64_t unit) noexcept;

    // Either side: nothing leaves after the last unit that was named. Who waits for another, or
    // will, is sent home.
    void call_off() noexcept { called_off_.store(true, std::memory_order_release); }

  private:
    alignas(64) std::atomic<std::uint64_t> ready_{0};  // units that the follower is ready for
    alignas(64) std::atomic<std::uint64_t> named_{0};  // units whose instant is named
    std::atomic<bool> called_off_{false};
    traffic::Tsc instant_ = 0;  // of the last named unit
};

}  // namespace pathproof::load
