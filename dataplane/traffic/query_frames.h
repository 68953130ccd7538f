// Queries by number, and their frames: a template, and what changes from one to the next.
#pragma once

#include <cstdint>

#include "dataplane/base/result.h"
#include "dataplane/frame/template.h"
#include "dataplane/judge/ledger.h"
#include "dataplane/traffic/pair_plan.h"

struct rte_mbuf;

namespace pathproof::traffic {

// The DNS id of a query: drawn from the seed, and the same in every run with it.
std::uint16_t query_id(std::uint64_t seed, std::uint64_t number) noexcept;

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

// What a member's frames look like, but for what changes from query to query.
frame::FrameSpec frame_spec(const PairMember& member, const frame::Endpoint& service);

// Writes the frame of query `number` into an empty mbuf, offload requests included. `frame` is its
// member's, made by FrameTemplate::make_dns().
void write_query(rte_mbuf& mbuf, const frame::FrameTemplate& frame, std::uint64_t number,
                 const judge::QueryFacts& query) noexcept;

}  // namespace pathproof::traffic
