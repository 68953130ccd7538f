#include "dataplane/judge/frame_keeper.h"

#include <algorithm>
#include <utility>

namespace pathproof::judge {

FrameKeeper::FrameKeeper(std::size_t frames) : frames_(frames) {
    for (KeptFrame& frame : frames_) {
        frame.bytes.reserve(kMostBytes);
    }
}

void FrameKeeper::keep(std::span<const std::uint8_t> frame, std::size_t port, std::int64_t time_ns,
                       const ChecksumFinding& finding) noexcept {
    if (full()) {
        return;
    }
    KeptFrame& kept = frames_[kept_++];
    const auto cut = frame.first(std::min(frame.size(), kMostBytes));
    kept.bytes.assign(cut.begin(), cut.end());  // within the reserved memory
    kept.port = port;
    kept.time_ns = time_ns;
    kept.finding = finding;
}

std::vector<KeptFrame> FrameKeeper::take() {
    frames_.resize(kept_);
    kept_ = 0;
    return std::exchange(frames_, {});
}

}  // namespace pathproof::judge
