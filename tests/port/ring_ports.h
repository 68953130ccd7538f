// Ports of the test's own making: a net_ring port whose two rings the test holds, so that it can
// put frames in at one side and take out what the code under test sent.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "dataplane/port/port.h"

struct rte_mempool;
struct rte_ring;

namespace pathproof::port {

// The test's end of a port's rings. Rings and buffers live as long as the EAL: names are unique in
// the process.
class RingEnd {
  public:
    // A frame comes in at the port.
    void arrive(const std::vector<std::uint8_t>& frame);
    // The frames that left the port since the last call.
    std::vector<std::vector<std::uint8_t>> left();

  private:
    friend struct RingPort;
    rte_ring* in_ = nullptr;
    rte_ring* out_ = nullptr;
    rte_mempool* pool_ = nullptr;
};

struct RingPort {
    static RingPort make(const std::string& name, unsigned ring_size = 2048);

    Port port;
    RingEnd end;
};

}  // namespace pathproof::port
