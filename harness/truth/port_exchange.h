// Two cabled DPDK ports of one tester.
#pragma once

#include "harness/tester/client.h"
#include "harness/truth/exchange.h"

namespace pathproof::truth {

// The tester's first port is under test; its second is at the other end of the cable.
class PortExchange final : public Exchange {
  public:
    explicit PortExchange(tester::Client& tester) : tester_(tester) {}

    Result<Exchanged> send(Way way, std::span<const matrix::Probe> probes) override;
    Path path() { return {tester_.ports().at(0), tester_.ports().at(1), *this}; }

  private:
    tester::Client& tester_;
};

}  // namespace pathproof::truth
