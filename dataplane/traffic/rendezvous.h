// Lets two lcores leave at one instant: neither goes before both stand ready, and both go at the
// same count of the time-stamp counter. A pair that one of them is late for leaves late, but
// together.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

#include "dataplane/traffic/pace.h"

namespace pathproof::traffic {

class Rendezvous {
  public:
    // The leader's side: waits until the follower is ready for `pair`, then names the instant: the
    // deadline, or `notice` from now if that is later.
    Tsc lead(std::uint64_t pair, Tsc deadline, Tsc notice) noexcept;
    // No pair after the last named one: a follower that waits or will wait for another is sent
    // home.
    void call_off() noexcept;

    // The follower's side: says that it is ready, and waits for the instant. Nothing: called off.
    std::optional<Tsc> follow(std::uint64_t pair) noexcept;

  private:
    alignas(64) std::atomic<std::uint64_t> ready_{0};  // pairs that the follower is ready for
    alignas(64) std::atomic<std::uint64_t> named_{0};  // pairs whose instant is named
    std::atomic<bool> called_off_{false};
    Tsc instant_ = 0;  // of the last named pair
};

}  // namespace pathproof::traffic
