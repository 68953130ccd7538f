// Sizes of the TCP frames that cross a port: how many segments a kernel or NIC gathered in each.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "dataplane/frame/view.h"

namespace pathproof::cli {

struct GatheredSizes {
    // Frames with so many segments: 1, 2 to 3, 4 to 7, 8 to 15, 16 to 31, 32 and more.
    static constexpr std::array<std::uint32_t, 6> kFrom = {1, 2, 4, 8, 16, 32};
    std::array<std::uint64_t, kFrom.size()> frames{};
    std::uint32_t most_segments = 0;
    std::uint32_t longest = 0;  // frame, bytes

    std::uint64_t all() const;
    std::uint64_t super_frames() const { return all() - frames[0]; }
};

class Gathering {
  public:
    Gathering() : by_payload_(0x10000) {}

    // `length`: of the whole frame, of which the headers are there.
    void add(frame::Bytes frame, std::uint32_t length);
    // `segment_bytes`: of payload in a full segment; not 0.
    GatheredSizes sizes(std::uint32_t segment_bytes) const;

  private:
    std::vector<std::uint32_t> by_payload_;  // frames with so many bytes of payload
    std::uint32_t longest_ = 0;
};

// "1 segment: 12 frames, 2 to 3: 40, 32 and more: 900".
std::string gathered_text(const GatheredSizes& sizes);

}  // namespace pathproof::cli
