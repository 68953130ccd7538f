// The frames of a pcap or pcapng file in memory, with the times at which they were captured.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "dataplane/base/result.h"
#include "dataplane/frame/view.h"

namespace pathproof::load {

// Treatment of a file that ends in the middle of a frame, as a capture that was killed does.
enum class CutShort : std::uint8_t { kRefused, kUsedUpToTheCut };

struct RecordingLimits {
    std::uint32_t longest_frame = 0;          // bytes without FCS: what the port sends; 0: no limit
    std::string port = "the port";            // whose limit that is, in sentences
    std::uint64_t most_bytes = 1ull << 30;    // of all frames together, as they lie in memory
    const std::atomic<bool>* stop = nullptr;  // ends the waiting for somebody who writes to a FIFO
};

class Recording {
  public:
    // Errors: no such file, not pcap or pcapng, not of Ethernet, no frame in it, more than fits the
    // limits; a frame without an Ethernet header, longer than the limit, or captured in part only
    // (snap length), by its number (from 1, as Wireshark counts); a file cut short, by frame number
    // and byte.
    static Result<Recording> read(const std::string& path, CutShort cut_short,
                                  const RecordingLimits& limits);

    // Frames of one's own, of 65,000 bytes at most, as if captured a microsecond apart.
    static Recording of(std::span<const frame::ByteVector> frames);

    std::size_t frames() const noexcept { return frames_.size(); }
    frame::Bytes bytes(std::size_t frame) const noexcept {
        return {bytes_.data() + frames_[frame].offset, frames_[frame].length};
    }
    // Returns the frame's time since the first one; never earlier than the frame before, whatever
    // the file says.
    std::uint64_t at_ns(std::size_t frame) const noexcept { return frames_[frame].at_ns; }

    std::uint16_t longest_frame() const noexcept { return longest_; }
    double mean_frame_bytes() const noexcept;
    // Returns the reason why nothing behind the last frame was read; empty: the file is whole.
    const std::string& cut() const noexcept { return cut_; }

  private:
    struct Frame {
        std::uint64_t offset = 0;
        std::uint64_t at_ns = 0;
        std::uint16_t length = 0;
    };

    Recording() = default;
    void append(frame::Bytes bytes, std::uint64_t unix_ns);

    std::vector<std::uint8_t> bytes_;
    std::vector<Frame> frames_;
    std::uint64_t first_unix_ns_ = 0;
    std::uint16_t longest_ = 0;
    std::string cut_;
};

}  // namespace pathproof::load
