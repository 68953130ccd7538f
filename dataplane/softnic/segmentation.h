// TCP and UDP segmentation (TSO, USO) of plain and tunnelled super-frames: the headers of each
// segment but their checksums.
#pragma once

#include <cstdint>
#include <span>

#include "dataplane/softnic/places.h"

namespace pathproof::softnic {

struct Cut {
    std::uint32_t header = 0;   // bytes before the payload, in each segment again
    std::uint32_t payload = 0;  // of the super-frame
    std::uint32_t mss = 0;
    std::uint32_t segments() const { return payload <= mss ? 1 : (payload + mss - 1) / mss; }
    std::uint32_t offset(std::uint32_t segment) const { return segment * mss; }
    std::uint32_t length(std::uint32_t segment) const {
        return segment + 1 == segments() ? payload - offset(segment) : mss;
    }
};
Cut cut_of(const Places& super, std::uint32_t mss) noexcept;

// Brings the copied headers of segment `segment` up to date: lengths of both IP headers and of both
// UDP headers, IP identifications counted on, TCP sequence number and flags (RFC 9293; CWR only in
// the first, FIN and PSH only in the last). `places` are those of the super-frame.
void edit_headers(std::span<std::uint8_t> frame, const Places& super, const Cut& cut,
                  std::uint32_t segment) noexcept;

}  // namespace pathproof::softnic
