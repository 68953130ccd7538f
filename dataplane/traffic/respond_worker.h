// One lcore of the responder: reads bursts from its queues, sends at once what could be answered in
// place, and later what waits for its time.
#pragma once

#include <cstdint>
#include <vector>

#include "dataplane/port/port.h"
#include "dataplane/traffic/pace.h"
#include "dataplane/traffic/responder.h"

struct rte_mbuf;

namespace pathproof::traffic {

class RespondWorker {
  public:
    static constexpr std::uint16_t kBurst = 64;

    // Reads the receive queues and writes to one transmit queue of its own.
    RespondWorker(port::Port& port, std::vector<std::uint16_t> receive_queues,
                  std::uint16_t transmit_queue, Responder responder);

    // Reads one burst of each queue and sends what is due, at most `most` frames of each; says how
    // many either way.
    std::size_t serve(const RunClock& clock, std::uint16_t most = kBurst) noexcept;
    // Returns when the next waiting answer is to leave; `otherwise` if none waits.
    Tsc next_due(const RunClock& clock, Tsc otherwise) const noexcept;

    Responder& responder() { return responder_; }

  private:
    std::size_t receive(std::uint16_t queue, std::uint16_t most, std::int64_t now_ns) noexcept;
    void take(rte_mbuf* mbuf, std::int64_t now_ns) noexcept;
    void send_turned() noexcept;
    std::size_t send_due(std::int64_t now_ns, std::size_t most) noexcept;
    bool send(frame::Bytes answer) noexcept;

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
