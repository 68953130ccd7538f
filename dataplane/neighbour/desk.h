// Answers ARP and neighbour discovery of one port on an lcore of the data path: a burst is looked at
// when its receiver has seen frames in it that are none of the run's. An answer leaves by a transmit
// queue of that lcore, or through a relay to the lcore that owns one.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <variant>

#include "dataplane/neighbour/station.h"
#include "dataplane/port/port.h"

struct rte_mbuf;
struct rte_ring;

namespace pathproof::neighbour {

// A port and the station that it is.
struct Place {
    port::Port* port = nullptr;
    Station station;
};

struct AnswerCounts {
    std::uint64_t answered = 0;
    std::uint64_t not_sent = 0;  // no buffer, no room in the relay, or refused by the driver
};

// Answers on their way to the lcore that owns the transmit queue.
class Relay {
  public:
    // Errors: no memory for its ring.
    static Result<std::unique_ptr<Relay>> make(port::Port& port, std::uint16_t queue);
    ~Relay();
    Relay(const Relay&) = delete;
    Relay& operator=(const Relay&) = delete;

    const port::Port& port() const noexcept { return port_; }
    // From any lcore. False: no room, and the frame is still the caller's.
    bool give(rte_mbuf* frame) noexcept;
    // The owner of the queue: sends what waits and gives their number.
    unsigned pass_on() noexcept;
    const AnswerCounts& counts() const noexcept { return counts_; }
    void clear() noexcept { counts_ = {}; }

  private:
    Relay(port::Port& port, std::uint16_t queue, rte_ring* ring)
        : port_(port), queue_(queue), ring_(ring) {}

    port::Port& port_;
    const std::uint16_t queue_;
    rte_ring* ring_;
    AnswerCounts counts_;
};

// The way of answers: a transmit queue that is the desk's alone or its lcore's, or a relay.
using Outlet = std::variant<std::uint16_t, Relay*>;

class Desk {
  public:
    Desk(port::Port& port, Station station, Outlet outlet)
        : port_(port), station_(std::move(station)), outlet_(outlet) {}

    const port::Port& port() const noexcept { return port_; }
    // Answers what is asked in a burst that the port received; the frames stay the caller's. No
    // allocation but of a buffer for each answer.
    void look(std::span<rte_mbuf* const> burst) noexcept;
    // The desk's own counts: what a relay sent for it is in the relay's.
    const AnswerCounts& counts() const noexcept { return counts_; }
    void clear() noexcept { counts_ = {}; }

  private:
    void answer(frame::Bytes frame) noexcept;
    bool send(rte_mbuf* frame) noexcept;

    port::Port& port_;
    Station station_;
    Outlet outlet_;
    AnswerCounts counts_;
};

}  // namespace pathproof::neighbour
