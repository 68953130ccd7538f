// The bytes of a frame whose change its checksums always show.
#pragma once

#include <array>
#include <cstddef>

#include "dataplane/frame/view.h"

namespace pathproof::load {

// Left out are: what no checksum covers (MAC addresses, most of an IPv6 header, all under a UDP
// checksum of 0); IPv4's version and header length and UDP's length, which say what is covered; and
// UDP's checksum, which could become 0, and so none.
class CoveredBytes {
  public:
    CoveredBytes(frame::Bytes frame, const frame::FrameView& view) noexcept;

    std::size_t count() const noexcept { return count_; }
    // The place of the nth such byte, from the start of the frame; n < count(). A byte that two
    // checksums cover may occur twice.
    std::size_t at(std::size_t n) const noexcept;

  private:
    struct Range {
        std::size_t begin = 0;
        std::size_t end = 0;
    };
    void add(std::size_t begin, std::size_t end) noexcept;
    void add_packet(frame::Bytes frame, const frame::PacketView& packet) noexcept;
    void add_udp(frame::Bytes frame, const frame::PacketView& packet) noexcept;

    std::array<Range, 8> ranges_{};
    std::size_t ranges_used_ = 0;
    std::size_t count_ = 0;
};

}  // namespace pathproof::load
