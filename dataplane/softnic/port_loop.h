// Parts that the loops share which carry frames from port to port.
#pragma once

#include <cstdint>
#include <span>

#include "dataplane/port/port.h"

namespace pathproof::softnic {

// Gives the CPU away between polls that found nothing: at once for 20 us, after 5 ms without a
// frame for 50 us.
class IdleWait {
  public:
    void busy() noexcept { polls_ = 0; }
    void idle() noexcept;

  private:
    unsigned polls_ = 0;
};

// Sends in order, for a millisecond at most if the port does not take all at once: a full ring
// empties within microseconds. Gives how many it took; the rest still belongs to the caller.
std::uint16_t send_patiently(port::Port& port, std::span<rte_mbuf*> frames) noexcept;

}  // namespace pathproof::softnic
