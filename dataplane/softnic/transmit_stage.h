// The healthy transmitting side: refuses what a driver would refuse, inserts tags, segments, and
// fills in the checksums that were asked for, inner ones first.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "dataplane/softnic/engine.h"
#include "dataplane/softnic/places.h"

namespace pathproof::softnic {

// A frame as the NIC took it in: tags inserted, nothing else done.
struct HandedOver {
    std::vector<std::uint8_t> bytes;
    Places places;
    std::vector<std::uint32_t> buffer_ends;  // offsets; the last is the frame's end
};

// Fills `handed` unless the frame is refused.
Refusal take_over(const TxFrame& frame, const NicLimits& limits, HandedOver& handed) noexcept;

bool is_segmented(const TxRequest& request) noexcept;
// IPPROTO_UDP, _TCP or _SCTP: whose checksum is asked for, by itself or with segmentation; 0: none.
std::uint8_t asked_transport(const TxRequest& request) noexcept;

// Fills `frames` with what leaves: one frame, or the segments of a super-frame. Reuses what it
// holds.
void emit(const HandedOver& handed, const TxRequest& request, const NicLimits& limits,
          std::vector<WireFrameBytes>& frames);

// The checksums of the outer headers that the request asks for, written where `places` says: for
// when the inner packet was changed since.
void fill_requested_outer(std::span<std::uint8_t> frame, const Places& places,
                          const TxRequest& request) noexcept;

}  // namespace pathproof::softnic
