// Queries by number, and what their frames look like.
#pragma once

#include <cstdint>

#include "dataplane/base/result.h"
#include "dataplane/frame/frame_spec.h"
#include "dataplane/judge/ledger.h"
#include "dataplane/pairs/pair_plan.h"

namespace pathproof::pairs {

// Knows the queries of a pair plan by number.
class PairBook : public judge::QueryBook {
  public:
    static Result<PairBook> make(const PairPlan& plan);

    std::uint64_t queries() const noexcept override { return 2 * plan_.pairs; }
    judge::QueryFacts query(std::uint64_t number) const noexcept override;
    const frame::DnsName& suffix() const noexcept override { return suffix_; }

  private:
    PairBook(const PairPlan& plan, const frame::DnsName& suffix) : plan_(plan), suffix_(suffix) {}

    PairPlan plan_;
    frame::DnsName suffix_;
};

// Returns the specification of a member's frames, but for what changes from query to query.
frame::FrameSpec frame_spec(const PairMember& member, const frame::Endpoint& service);

}  // namespace pathproof::pairs
