// Keeps the first frames of a kind, byte by byte, in memory that was set aside before the run.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "dataplane/judge/pair_report.h"

namespace pathproof::judge {

class FrameKeeper {
  public:
    // Longer frames are kept cut to `kMostBytes`: their headers are what is looked at.
    static constexpr std::size_t kMostBytes = 2048;

    explicit FrameKeeper(std::size_t frames);

    bool full() const noexcept { return kept_ == frames_.size(); }
    // Keeps a copy while there is room; allocates nothing.
    void keep(std::span<const std::uint8_t> frame, std::size_t port, std::int64_t time_ns,
              const ChecksumFinding& finding) noexcept;

    // Gives away what was kept, oldest first.
    std::vector<KeptFrame> take();

  private:
    std::vector<KeptFrame> frames_;
    std::size_t kept_ = 0;
};

}  // namespace pathproof::judge
