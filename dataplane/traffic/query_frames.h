// The frames of one member's queries: headers and message that stay, and what changes from query to
// query.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "dataplane/base/result.h"
#include "dataplane/judge/ledger.h"
#include "dataplane/traffic/envelope.h"
#include "dataplane/traffic/pair_plan.h"

namespace pathproof::traffic {

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

// Used by one lcore: the message is patched in place before it is copied out.
class QueryFrames {
  public:
    // Error: a suffix that leaves no room for the sequence in a name.
    static Result<QueryFrames> make(const PairMember& member, const frame::Endpoint& service,
                                    const std::string& suffix);

    // All frames of one member are of one length.
    std::size_t bytes() const noexcept;
    // Writes the frame of query `number`; `frame` is of bytes() bytes.
    void write(std::span<std::uint8_t> frame, std::uint64_t number,
               const judge::QueryFacts& query) noexcept;

  private:
    QueryFrames() = default;

    Envelope packet_;
    std::optional<Envelope> carrier_;
    std::uint32_t vni_ = 0;
    std::array<std::uint8_t, 512> message_{};
    std::size_t message_bytes_ = 0;
};

}  // namespace pathproof::traffic
