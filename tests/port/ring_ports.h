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
    void arrive(const std::vector<std::uint8_t>& frame, std::size_t queue = 0);
    // Returns whether the port has taken every frame that arrived.
    bool all_taken(std::size_t queue = 0) const;
    // The frames that left the port's queue since the last call.
    std::vector<std::vector<std::uint8_t>> left(std::size_t queue = 0);

  private:
    friend struct RingPort;
    std::vector<rte_ring*> in_;  // by queue
    std::vector<rte_ring*> out_;
    rte_mempool* pool_ = nullptr;
};

struct RingPort {
    static RingPort make(const std::string& name, unsigned ring_size = 2048, unsigned queues = 1);

    Port port;
    RingEnd end;
};

}  // namespace pathproof::port
