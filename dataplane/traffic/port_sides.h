// What the lcores do with the ports' receive queues between departures: the clients' side reads
// answers into the ledger, the server's side feeds the responder and sends its answers when they
// are due.
#pragma once

#include <cstdint>
#include <vector>

#include "dataplane/judge/intake.h"
#include "dataplane/judge/ledger.h"
#include "dataplane/port/port.h"
#include "dataplane/traffic/pace.h"
#include "dataplane/traffic/responder.h"

namespace pathproof::traffic {

inline constexpr std::uint16_t kMostInBurst = 32;

// The run's own clock: nanoseconds since its start.
struct RunClock {
    TscClock tsc;
    Tsc start = 0;
    std::int64_t now_ns() const noexcept { return tsc.nanoseconds(start, tsc_now()); }
    std::int64_t at_ns(Tsc instant) const noexcept { return tsc.nanoseconds(start, instant); }
    Tsc at(std::int64_t ns) const noexcept {
        return start + static_cast<Tsc>(tsc.cycles(Nanoseconds(ns)));
    }
};

struct NumberedPort {
    port::Port* port = nullptr;
    std::size_t number = 0;  // among the tester's ports
};

class ClientSide {
  public:
    ClientSide(std::vector<NumberedPort> ports, judge::Ledger& ledger, judge::Intake intake,
               std::uint32_t keep_misdelivered);

    // Reads at most `most` frames of each port; says how many there were.
    std::size_t poll(const RunClock& clock, std::uint16_t most) noexcept;

    judge::Intake& intake() { return intake_; }
    std::uint64_t settled() const { return ledger_.settled(); }
    std::vector<judge::KeptFrame> take_misdelivered() { return misdelivered_.take(); }

  private:
    void take(frame::Bytes frame, std::size_t port, std::int64_t now_ns) noexcept;

    std::vector<NumberedPort> ports_;
    judge::Ledger& ledger_;
    judge::Intake intake_;
    judge::FrameKeeper misdelivered_;
};

class ServerSide {
  public:
    ServerSide(NumberedPort port, Responder responder)
        : port_(port), responder_(std::move(responder)) {}

    // Reads at most `most` frames and sends at most `most` answers that are due; says how many of
    // both.
    std::size_t serve(const RunClock& clock, std::uint16_t most) noexcept;

    Responder& responder() { return responder_; }

  private:
    NumberedPort port_;
    Responder responder_;
};

// Frees what waits in the receive queue, so that a run sees no frame from before it. Says how many.
std::uint64_t empty_queue(port::Port& port) noexcept;

}  // namespace pathproof::traffic
