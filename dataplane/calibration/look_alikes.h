// Frames that look wrong and are not (B1 to B22 of the look-alikes): what a path may do to a
// healthy frame. Their sums are updated as RFC 1624 says, or made by the software NIC's engine,
// never by the judge.
#pragma once

#include <cstdint>
#include <optional>

#include "dataplane/calibration/material.h"
#include "dataplane/softnic/word_sum.h"

namespace pathproof::calibration {

enum class LookAlike : std::uint8_t {
    kTcpAllOnes,     // B5: TCP's 0x0000 as 0xffff
    kByChance,       // B12: the right checksum is the one that nobody would have finished
    kDataBehindUdp,  // B8: the IP packet is longer than UDP says
    kIcmpError,      // B11: a quoted packet, cut, with a wrong checksum
    kUdpLite,        // B16: eight bytes covered, the rest not
    kForwarded,      // B17: hop limit and traffic class rewritten
    kTranslated,     // B18: source port changed, checksums updated
    kVniZero,        // B21
    kGroupPolicy,    // B21: VXLAN-GBP
    kCut,            // B22: by a snap length
    // Look-alikes of more than one frame: several frames that a receiver made one of, and its
    // counters.
    kMerged,      // B9: segments merged into one packet with a partial checksum
    kMiscounted,  // B13: a counter of bad checksums that counts good ones
};
inline constexpr std::size_t kFrameLookAlikes = 10;
inline constexpr std::size_t kLookAlikes = 12;
const char* name(LookAlike kind);  // "B5 TCP 0xffff", ...

// Makes the look-alike of a frame; nothing if the frame cannot be made to look so, and for kinds of
// more than one frame.
std::optional<FrameBytes> look_alike(LookAlike kind, const FrameBytes& healthy,
                                     const frame::TunnelPorts& tunnels);

// The pseudo-header's sum, by the software NIC's arithmetic.
softnic::WordSum pseudo_header(const frame::PacketView& packet, std::size_t length);

}  // namespace pathproof::calibration
