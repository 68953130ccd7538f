// The software NIC, in memory: transmit gives what is on the wire, receive what a host is told.
//
//   SoftNic nic({}, {*parse_fault("tx.inner.l4.PSEUDO@dport!=4789")});
//   TxResult sent;
//   nic.transmit(frame, sent);
//   RxResult got;
//   for (const WireFrameBytes& wire : sent.frames) nic.receive(wire, got);
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "dataplane/softnic/engine.h"
#include "dataplane/softnic/faults.h"

namespace pathproof::softnic {

class SoftNic {
  public:
    // Without faults it is healthy. The same limits, faults, seed and frames give the same results.
    explicit SoftNic(NicLimits limits = {}, std::vector<Fault> faults = {}, std::uint64_t seed = 1);
    SoftNic(SoftNic&&) noexcept;
    SoftNic& operator=(SoftNic&&) noexcept;
    ~SoftNic();

    // Tx stage, Tx faults, wire faults. `result` is overwritten.
    void transmit(const TxFrame& frame, TxResult& result);
    // Rx stage, Rx faults. `result` is overwritten. `queue` is where the frame is received.
    void receive(Bytes wire, RxResult& result, std::uint16_t queue = 0);

    // What the NIC reports: a counter fault falsifies it.
    const NicCounters& counters() const;
    // How often each fault acted, in the order given.
    std::vector<std::uint64_t> fault_hits() const;

  private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace pathproof::softnic
