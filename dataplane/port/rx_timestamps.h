// When the NIC itself saw a frame come in, on the scale of this machine's time-stamp counter.
#pragma once

#include <cstdint>
#include <optional>

#include "dataplane/base/result.h"
#include "dataplane/port/port.h"

struct rte_mbuf;

namespace pathproof::port {

// Both clocks read at one moment.
struct ClockPair {
    std::uint64_t device = 0;  // ticks of the NIC's clock
    std::uint64_t tsc = 0;
};

// The NIC's clock told in TSC cycles: two moments give its pace, and the later one its place. Over
// the second in which it is made anew two oscillators part by some microseconds at most.
class ClockScale {
  public:
    // Nothing if either clock stood still in between.
    static std::optional<ClockScale> between(const ClockPair& first, const ClockPair& second);

    std::uint64_t tsc_of(std::uint64_t device) const noexcept {
        const auto ahead = static_cast<double>(static_cast<std::int64_t>(device - at_.device));
        return at_.tsc + static_cast<std::uint64_t>(static_cast<std::int64_t>(ahead * pace_));
    }

  private:
    ClockScale(const ClockPair& at, double pace) : at_(at), pace_(pace) {}
    ClockPair at_;
    double pace_;  // TSC cycles a device tick
};

class RxTimestamps {
  public:
    // The port must have been opened with RTE_ETH_RX_OFFLOAD_TIMESTAMP. Takes a tenth of a second,
    // in which it compares the clocks. Errors (kNotSupported), as what a report prints under "not
    // available": the driver has none; the port was opened without; its clock cannot be read.
    static Result<RxTimestamps> of(const Port& port);

    // The TSC at which the NIC took the frame in; nothing if it did not say.
    std::optional<std::uint64_t> arrival_tsc(const rte_mbuf& frame) const noexcept;
    // Compares the clocks again, since the last time; between runs, or once a second.
    void follow_clock();

  private:
    RxTimestamps(std::uint16_t id, int offset, std::uint64_t flag, const ClockPair& first,
                 const ClockScale& scale)
        : id_(id), offset_(offset), flag_(flag), last_(first), scale_(scale) {}

    std::uint16_t id_;
    int offset_;
    std::uint64_t flag_;
    ClockPair last_;
    ClockScale scale_;
};

}  // namespace pathproof::port
