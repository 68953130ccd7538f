// The software NIC between two DPDK ports: what comes in at one is sent by it (with the offload
// request of the mbuf), crosses a wire as bytes, is received by it and goes out at the other, with
// Rx flags. Stands in for hardware; every output of it says so.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "dataplane/base/result.h"
#include "dataplane/port/eal.h"
#include "dataplane/port/port.h"
#include "dataplane/softnic/soft_nic.h"

namespace pathproof::softnic {

struct NicLinkPlan {
    // Faults of the NIC at the first port: tx and wire faults act on what it sends, rx faults on
    // what it receives. The NIC at the second port is healthy.
    std::vector<Fault> faults;
    std::uint64_t seed = 1;
};

// One direction.
struct NicLinkTally {
    std::uint64_t taken = 0;      // frames that came in at the port
    std::uint64_t delivered = 0;  // frames that the far port took
    std::uint64_t not_taken = 0;  // that it would not take
    std::uint64_t no_buffer = 0;  // for which its pool had no mbuf: the link's own loss
    NicCounters nic;              // as the NIC reports them: a counter fault falsifies these
    std::vector<std::uint64_t> fault_hits;  // by fault, in the order of the plan
};

struct NicLinkReport {
    std::array<NicLinkTally, 2> directions{};  // from the first port, from the second
    // Not empty: why this is no faithful account.
    std::vector<std::string> objections;
};

// The link works on one worker lcore; it sleeps up to 50 us at a time when no frame comes.
class NicLink {
  public:
    // Errors: a worker that is busy. The two `ports` must outlive it.
    static Result<std::unique_ptr<NicLink>> start(port::Eal& eal, unsigned worker,
                                                  std::span<port::Port, 2> ports,
                                                  const NicLinkPlan& plan);
    virtual ~NicLink() = default;  // ends the forwarding

    // Ends the forwarding and reports; what has come in is still forwarded. Once only.
    virtual NicLinkReport stop() = 0;
};

}  // namespace pathproof::softnic
