// One lcore of the responder: reads bursts from its queues, sends at once what could be answered in
// place, and later what waits for its time.
#pragma once

#include <cstdint>
#include <vector>

#include "dataplane/port/port.h"
#include "dataplane/traffic/port_sides.h"
#include "dataplane/traffic/responder.h"

struct rte_mbuf;

namespace pathproof::traffic {

class RespondWorker {
  public:
    // Reads the receive queues and writes to one transmit queue of its own.
    RespondWorker(port::Port& port, std::vector<std::uint16_t> receive_queues,
                  std::uint16_t transmit_queue, Responder responder);

    // Reads one burst of each queue and sends what is due; says how many frames either way.
    std::size_t serve(const RunClock& clock) noexcept;

    Responder& responder() { return responder_; }

  private:
    static constexpr std::uint16_t kBurst = 64;

    std::size_t receive(std::uint16_t queue, std::int64_t now_ns) noexcept;
    void take(rte_mbuf* mbuf, std::int64_t now_ns) noexcept;
    void send_turned() noexcept;

    port::Port& port_;
    std::vector<std::uint16_t> receive_queues_;
    std::uint16_t transmit_queue_;
    Responder responder_;
    // Frames of one burst that are to be sent; none between calls.
    std::array<rte_mbuf*, kBurst> turned_{};
    std::array<Turned::Kind, kBurst> kinds_{};
    std::uint16_t turned_count_ = 0;
};

}  // namespace pathproof::traffic
