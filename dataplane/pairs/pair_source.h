// The queries of a pair plan as a source of the load engine, and when each of them left.
#pragma once

#include <algorithm>
#include <array>
#include <span>
#include <vector>

#include "dataplane/base/result.h"
#include "dataplane/frame/template.h"
#include "dataplane/load/source.h"
#include "dataplane/pairs/query_frames.h"

namespace pathproof::pairs {

class PairSource final : public load::Source {
  public:
    // Queries in their order, or with kTwoPorts those of one member. `book` outlives it, and so does
    // `sent_ns`, which has a place for each query: departures go there, in the run's clock.
    static Result<PairSource> make(const PairPlan& plan, std::size_t member, const PairBook& book,
                                   std::span<std::int64_t> sent_ns);

    std::size_t fill(std::span<rte_mbuf*> burst, std::uint64_t sent_ns) noexcept override;
    void left(std::size_t frames, std::uint64_t at_ns) noexcept override;
    // Queries carry no stamp.
    void restamp(std::span<rte_mbuf*>, std::uint64_t) noexcept override {}
    std::optional<std::uint64_t> next_due_ns() const noexcept override { return std::nullopt; }

    // All of class kDnsA, as the load engine counts pairs.
    const load::ClassCounts& made() const noexcept override { return made_; }
    void take_back(std::span<rte_mbuf* const> burst) noexcept override;

    std::uint16_t longest_frame() const noexcept override {
        return static_cast<std::uint16_t>(std::max(frames_[0].size(), frames_[1].size()));
    }
    double mean_frame_bytes() const noexcept override {
        return static_cast<double>(frames_[0].size() + frames_[1].size()) / 2;
    }
    std::uint64_t port_offloads() const noexcept override { return 0; }

  private:
    PairSource(const PairPlan& plan, std::size_t member, const PairBook& book,
               std::span<std::int64_t> sent_ns, std::array<frame::FrameTemplate, 2> frames);

    const PairBook* book_;
    std::span<std::int64_t> sent_ns_;
    std::array<frame::FrameTemplate, 2> frames_;  // by member
    std::uint64_t step_;
    std::uint64_t next_;       // to be made
    std::uint64_t next_left_;  // to leave
    load::ClassCounts made_{};
};

}  // namespace pathproof::pairs
