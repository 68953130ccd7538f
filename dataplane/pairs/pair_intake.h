// Takes the frames that the client ports of a pair run receive: judges each, and enters answers in
// the ledger under their query's number.
#pragma once

#include <cstdint>
#include <vector>

#include "dataplane/judge/intake.h"
#include "dataplane/judge/ledger.h"
#include "dataplane/load/intake.h"

namespace pathproof::pairs {

class PairIntake final : public load::Intake {
  public:
    // `ports`: for each port of the run its number among the tester's, for what is kept.
    PairIntake(std::vector<std::size_t> ports, judge::Ledger& ledger, judge::Intake intake,
               std::uint32_t keep_misdelivered);

    void take(std::span<rte_mbuf* const> burst, std::size_t port,
              std::uint64_t now_ns) noexcept override;
    const judge::ReceiveTally& received() const noexcept override { return intake_.tally(); }
    // Queries that had their right answer.
    std::uint64_t arrived() const noexcept override { return ledger_.settled(); }

    judge::Intake& intake() { return intake_; }
    std::vector<judge::KeptFrame> take_misdelivered() { return misdelivered_.take(); }

  private:
    void take(frame::Bytes frame, std::size_t port, std::int64_t now_ns) noexcept;

    std::vector<std::size_t> ports_;
    judge::Ledger& ledger_;
    judge::Intake intake_;
    judge::FrameKeeper misdelivered_;
};

}  // namespace pathproof::pairs
