// Partial checksums, completed as a NIC with checksum offload does it: Linux leaves the
// pseudo-header sum in the field and hands the rest of the work to the NIC (CHECKSUM_PARTIAL); veth
// passes such frames on unfinished.
#pragma once

#include <cstdint>
#include <span>

#include "dataplane/judge/verifier.h"

namespace pathproof::softnic {

// Completes in place each UDP, TCP or ICMPv6 field that is wrong and holds exactly its
// pseudo-header's sum, not inverted: inner layers first, for the outer sum of local checksum
// offload is right only then. Any other wrong value stays as it is. `verdict` is that of the frame
// as it came and becomes that of the frame as it leaves. Gives the number of fields filled in.
unsigned complete_partial_checksums(std::span<std::uint8_t> frame,
                                    std::span<const std::uint16_t> tunnel_ports,
                                    judge::FrameVerdict& verdict) noexcept;

}  // namespace pathproof::softnic
