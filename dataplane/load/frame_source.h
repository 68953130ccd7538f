// Makes the frames of one sending lcore: unique queries with valid checksums at a few cycles each.
// What is the same for a burst (the time, the upper digits of the sequence, the source address) is
// written once into a prepared frame; per frame it is copied, and the fields that differ and their
// checksums are put in by RFC 1624 arithmetic.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "dataplane/base/result.h"
#include "dataplane/load/load_plan.h"
#include "dataplane/load/source.h"

struct rte_mbuf;

namespace pathproof::load {

class FrameSource final : public Source {
  public:
    // Errors (kBadInput): what cannot be made, named: a frame size too small for its class or above
    // what the specification allows, more flows than addresses and ports give, a suffix too long.
    static Result<FrameSource> make(const SourcePlan& plan);
    FrameSource(FrameSource&&) noexcept;
    FrameSource& operator=(FrameSource&&) noexcept;
    ~FrameSource() override;

    // Always makes as many as asked for. Sequence numbers are 0, 1, 2 ... without a gap, over all
    // classes of the stream together. What take_back() and restamp() must know of a frame is kept
    // in the mbuf's hash.usr, which no driver reads on the way out.
    std::size_t fill(std::span<rte_mbuf*> burst, std::uint64_t sent_ns) noexcept override;
    void restamp(std::span<rte_mbuf*> burst, std::uint64_t sent_ns) noexcept override;
    std::optional<std::uint64_t> next_due_ns() const noexcept override { return std::nullopt; }

    const ClassCounts& made() const noexcept override;
    void take_back(std::span<rte_mbuf* const> burst) noexcept override;

    std::uint16_t longest_frame() const noexcept override;
    double mean_frame_bytes() const noexcept override;
    std::uint64_t port_offloads() const noexcept override;

  private:
    struct Impl;
    explicit FrameSource(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

}  // namespace pathproof::load
