// A second look into the receive ring of an af_packet port: what the kernel says there of each
// frame that waits, and the driver keeps to itself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "dataplane/port/port.h"

namespace pathproof::softnic {

class PacketRing {
  public:
    // Makes the ring of a port with one queue, whose frames nobody else receives meanwhile. Returns
    // nothing for ports of another kind, which cannot tell of partial checksums.
    static std::optional<PacketRing> of(const port::Port& port);

    PacketRing(PacketRing&& other) noexcept;
    PacketRing& operator=(PacketRing&&) = delete;
    ~PacketRing();

    // Returns how many frames wait, at most 64. Bit n of `partial`: the sender of frame n left a
    // checksum to its NIC (TP_STATUS_CSUMNOTREADY, which is the packet's CHECKSUM_PARTIAL).
    std::uint16_t waiting(std::uint64_t& partial) const noexcept;
    // Steps over frames that have been received through the port.
    void took(std::uint16_t frames) noexcept { next_ = (next_ + frames) % slots_; }

  private:
    PacketRing() = default;
    std::uint8_t* memory_ = nullptr;
    std::size_t bytes_ = 0;
    std::uint32_t slot_ = 0;  // bytes
    std::uint32_t slots_ = 0;
    std::uint64_t next_ = 0;  // slot
};

}  // namespace pathproof::softnic
