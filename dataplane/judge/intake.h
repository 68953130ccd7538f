// The first look at a received frame: every checksum judged, every frame counted under exactly one
// name, the first bad ones kept. What it admits is whole and right.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "dataplane/frame/view.h"
#include "dataplane/judge/frame_keeper.h"
#include "dataplane/judge/pair_report.h"

namespace pathproof::judge {

// A UDP datagram that is no fragment: what may carry a DNS message.
bool is_whole_udp(const frame::PacketView& packet) noexcept;

// RFC 792 and RFC 4443 section 2.1: a message that says what became of another packet.
bool is_icmp_error(frame::Network network, std::uint8_t type) noexcept;

class Intake {
  public:
    // `tunnel_ports`: UDP ports whose payload is VXLAN.
    Intake(std::vector<std::uint16_t> tunnel_ports, std::uint32_t keep_bad_frames);

    // Counts a frame that `port` received. Gives it read into layers if all its checksums are right
    // (or unverifiable, or legally absent) and it is not malformed; the caller must then count it
    // once more, as an answer or as other traffic.
    std::optional<frame::FrameView> admit(frame::Bytes frame, std::size_t port,
                                          std::int64_t now_ns) noexcept;
    void count_answer() noexcept { ++tally_.answers; }
    void count_other(frame::Bytes frame, const frame::FrameView& view) noexcept;

    const ReceiveTally& tally() const { return tally_; }
    const ChecksumCounts& checksums() const { return checksums_; }
    std::vector<KeptFrame> take_bad_frames() { return keeper_.take(); }

  private:
    std::vector<std::uint16_t> tunnel_ports_;
    ReceiveTally tally_;
    ChecksumCounts checksums_{};
    FrameKeeper keeper_;
};

}  // namespace pathproof::judge
