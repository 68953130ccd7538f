// Destination of a receiving lcore's frames: it follows them by their stamps
// (tracked_intake.h) or by other means of the run's own (LoadPlan::intake_instead). It costs one
// virtual call a burst, none a frame.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "dataplane/judge/pair_report.h"

struct rte_mbuf;

namespace pathproof::load {

class Intake {
  public:
    virtual ~Intake() = default;

    // Takes a burst that port `port` received at `now_ns` of the run's clock; the caller frees it.
    virtual void take(std::span<rte_mbuf* const> burst, std::size_t port,
                      std::uint64_t now_ns) noexcept = 0;
    // All that was taken, each frame under one name.
    virtual const judge::ReceiveTally& received() const noexcept = 0;
    // Returns the number of sent frames that need not be waited for any more.
    virtual std::uint64_t arrived() const noexcept = 0;
};

}  // namespace pathproof::load
