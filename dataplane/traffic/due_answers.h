// Putting the responder's waiting answers on a port when their time has come.
#pragma once

#include <cstddef>
#include <cstdint>

#include "dataplane/port/port.h"
#include "dataplane/traffic/port_sides.h"

namespace pathproof::traffic {

// Takes at most `most` answers that are due off the responder and sends them on one transmit queue;
// says how many. One that finds no buffer, or no room in the queue, is counted as refused.
std::size_t send_due(Responder& responder, port::Port& port, std::uint16_t queue,
                     std::int64_t now_ns, std::size_t most) noexcept;

// When the next waiting answer is to leave; `otherwise` if none waits.
Tsc next_due(const Responder& responder, const RunClock& clock, Tsc otherwise) noexcept;

}  // namespace pathproof::traffic
