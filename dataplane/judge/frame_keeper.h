// Keeps the first frames of a kind, byte by byte, in memory that was set aside before the run.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "dataplane/judge/pair_report.h"

namespace pathproof::judge {

// `Kept` has the bytes of a frame, and what else is told of it. Longer frames are kept cut to
// `kMostBytes`: their headers are what is looked at.
template <typename Kept, std::size_t kMostBytes>
class FirstFrames {
  public:
    explicit FirstFrames(std::size_t frames) : frames_(frames) {
        for (Kept& frame : frames_) {
            frame.bytes.reserve(kMostBytes);
        }
    }

    bool full() const noexcept { return kept_ == frames_.size(); }
    std::size_t count() const noexcept { return kept_; }
    void forget_after(std::size_t count) noexcept { kept_ = std::min(kept_, count); }
    // Keeps a copy, and gives it for the rest to be filled in; null: there is no room. Allocates
    // nothing.
    Kept* add(std::span<const std::uint8_t> frame) noexcept {
        if (full()) {
            return nullptr;
        }
        Kept& kept = frames_[kept_++];
        const auto cut = frame.first(std::min(frame.size(), kMostBytes));
        kept.bytes.assign(cut.begin(), cut.end());  // within the reserved memory
        return &kept;
    }

    // Gives away what was kept, oldest first.
    std::vector<Kept> take() {
        frames_.resize(kept_);
        kept_ = 0;
        return std::exchange(frames_, {});
    }

  protected:
    std::vector<Kept> frames_;

  private:
    std::size_t kept_ = 0;
};

class FrameKeeper : public FirstFrames<KeptFrame, 2048> {
  public:
    using FirstFrames::FirstFrames;

    void keep(std::span<const std::uint8_t> frame, std::size_t port, std::int64_t time_ns,
              const ChecksumFinding& finding) noexcept {
        if (KeptFrame* const kept = add(frame)) {
            kept->port = port;
            kept->time_ns = time_ns;
            kept->finding = finding;
        }
    }
};

}  // namespace pathproof::judge
