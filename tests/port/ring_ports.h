// Ports of the test's own making: a net_ring port whose two rings the test holds, so that it can
// put frames in at one side and take out what the code under test sent.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "dataplane/port/port.h"

struct rte_ring;

namespace pathproof::port {

class RingPort {
  public:
    // The EAL must run. `name` is unique in the process.
    static RingPort make(const std::string& name);

    Port& port() { return port_; }
    // A frame comes in at the port.
    void arrive(const std::vector<std::uint8_t>& frame);
    // The frames that left the port since the last call.
    std::vector<std::vector<std::uint8_t>> left();

  private:
    RingPort(Port port, rte_ring* in, rte_ring* out) : port_(std::move(port)), in_(in), out_(out) {}
    Port port_;
    rte_ring* in_;
    rte_ring* out_;
};

}  // namespace pathproof::port
