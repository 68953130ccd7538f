// Two ends of a cable and the way frames go between them: two DPDK ports of a tester, or a device
// of the kernel and the tester's port at the other end. Whoever judges an offload sends the
// matrix's probes through an Exchange and does not know which of the two it is.
#pragma once

#include <cstdint>
#include <span>

#include "dataplane/base/result.h"
#include "dataplane/matrix/probe.h"
#include "dataplane/port/port.h"
#include "dataplane/traffic/exchange.h"

namespace pathproof::truth {

enum class Way : std::uint8_t { kFromDevice, kToDevice };

// The outcome of one exchange.
struct Exchanged {
    // Refusals by number of the handed-over frame, over all probes.
    traffic::ExchangeReport report;
    // Counts of the tester's own port. A pair of DPDK ports has none: its losses are objections.
    std::uint64_t received = 0;  // ours or not
    std::uint64_t lost = 0;      // or cut to its buffers: none of these is judged
};

class Exchange {
  public:
    Exchange() = default;
    Exchange(const Exchange&) = delete;
    Exchange& operator=(const Exchange&) = delete;
    virtual ~Exchange() = default;

    // Hands the frames of all probes over at one end, with their offload requests, and returns what
    // came at the other. Errors: an end that cannot send or receive at all.
    virtual Result<Exchanged> send(Way way, std::span<const matrix::Probe> probes) = 0;
};

struct Path {
    port::PortInfo device;  // under test
    port::PortInfo far;     // at the other end of its cable
    Exchange& exchange;

    const port::PortInfo& receiver(Way way) const { return way == Way::kFromDevice ? far : device; }
};

}  // namespace pathproof::truth
