// One receive queue: what comes in is read, judged and freed.
#pragma once

#include <cstddef>
#include <cstdint>

#include "dataplane/load/intake.h"
#include "dataplane/port/port.h"
#include "dataplane/traffic/pace.h"

namespace pathproof::load {

class Receiver {
  public:
    static constexpr std::uint16_t kBurst = 64;

    // `number`: of the port, for what is kept of bad frames.
    Receiver(port::Port& port, std::uint16_t queue, std::size_t number,
             const traffic::RunClock& clock)
        : port_(&port), queue_(queue), number_(number), clock_(clock) {}

    // Frees what waits in the queue, so that a trial sees no frame from before it. Says how many.
    std::uint64_t empty() noexcept { return port_->empty(queue_); }
    // One look at the queue, at most kBurst frames; says how many there were. The time that counts
    // for them is read right after they were.
    std::uint16_t turn(Intake& intake, std::uint16_t most) noexcept;

  private:
    port::Port* port_;
    std::uint16_t queue_;
    std::size_t number_;
    traffic::RunClock clock_;
};

}  // namespace pathproof::load
