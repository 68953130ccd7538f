// What an lcore does with the client ports' receive queues between departures: it reads answers into
// the ledger.
#pragma once

#include <cstdint>
#include <vector>

#include "dataplane/judge/intake.h"
#include "dataplane/judge/ledger.h"
#include "dataplane/port/port.h"
#include "dataplane/traffic/pace.h"

namespace pathproof::traffic {

inline constexpr std::uint16_t kMostInBurst = 32;

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

}  // namespace pathproof::traffic
