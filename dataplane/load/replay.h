// Sends the frames of a capture file again: byte for byte, in their order, as often as asked for.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "dataplane/base/result.h"
#include "dataplane/load/recording.h"
#include "dataplane/load/source.h"

namespace pathproof::load {

struct ReplayPlan {
    std::uint64_t times = 1;  // 0: over and over, until the run ends
    // Gaps between frames: by the run's rate (or as fast as it goes), or as in the file.
    enum class Gaps : std::uint8_t { kOfTheRun, kOfTheFile } gaps = Gaps::kOfTheRun;
    double gap_scale = 1;  // 2: twice the file's gaps, half its speed
    // Senders share the frames out: this one sends frames first, first + step ... of the file.
    std::uint64_t first = 0;
    std::uint64_t step = 1;
    // Takes the time at which each frame left, in their order, as far as its capacity goes; null: nobody
    // asks. It outlives the source.
    std::vector<std::uint64_t>* departures = nullptr;
};

// Frames are as they were captured: they carry no stamp of this run, and nothing in them is
// changed, checksums included.
class ReplaySource final : public Source {
  public:
    // Errors (kBadInput): a scale that is no positive number or makes times that no clock can
    // count to; a share without a frame. Several senders may hold one recording.
    static Result<ReplaySource> make(std::shared_ptr<const Recording> recording,
                                     const ReplayPlan& plan);

    std::size_t fill(std::span<rte_mbuf*> burst, std::uint64_t sent_ns) noexcept override;
    void left(std::size_t frames, std::uint64_t at_ns) noexcept override;
    void restamp(std::span<rte_mbuf*>, std::uint64_t) noexcept override {}
    // Returns the next time by the file's gaps, if they are used; nothing once all frames were
    // given out. Between the last frame of a pass and the first of the next lies the mean gap of
    // the file.
    std::optional<std::uint64_t> next_due_ns() const noexcept override;

    // All of class kReplay.
    const ClassCounts& made() const noexcept override { return made_; }
    void take_back(std::span<rte_mbuf* const> burst) noexcept override;

    std::uint16_t longest_frame() const noexcept override { return recording_->longest_frame(); }
    double mean_frame_bytes() const noexcept override { return recording_->mean_frame_bytes(); }
    std::uint64_t port_offloads() const noexcept override { return 0; }

  private:
    ReplaySource(std::shared_ptr<const Recording> recording, const ReplayPlan& plan);
    bool ended() const noexcept { return plan_.times != 0 && pass_ == plan_.times; }
    void step_on() noexcept;

    std::shared_ptr<const Recording> recording_;
    ReplayPlan plan_;
    // Time from the first frame of a pass to the first of the next, unscaled.
    std::uint64_t pass_ns_ = 0;
    std::uint64_t next_ = 0;
    std::uint64_t pass_ = 0;
    ClassCounts made_{};
};

}  // namespace pathproof::load
