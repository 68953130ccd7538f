// The effect that a fault must have on a row, computed from both engines and never from the judge's
// verdict on it.
#pragma once

#include <cstdint>

#include "dataplane/calibration/material.h"
#include "dataplane/softnic/faults.h"

namespace pathproof::calibration {

struct Effect {
    std::uint64_t hit = 0;         // frames to which the fault applied
    std::uint64_t equivalent = 0;  // of them: bytes, metadata and counters are a healthy NIC's
    // Frames of those hit that differ and are in order all the same: a claim that is true although
    // a healthy NIC makes none; a counter that is right; an identification that stands still where
    // the row allows it (B20).
    std::uint64_t harmless = 0;
    std::uint64_t wrong = 0;  // the others

    // The row has to fail.
    bool shows() const { return wrong > 0; }
};

Effect effect_on_row(const softnic::Fault& fault, const SendRow& row);
Effect effect_on_row(const softnic::Fault& fault, const ReceiveRow& row);
// Returns the effect of a receiver's fault on one frame.
Effect effect_on_wire(const softnic::Fault& fault, const FrameBytes& wire,
                      const softnic::NicLimits& limits, const frame::TunnelPorts& tunnels);

// Returns whether two faults put the same bytes on the wire for every frame of the row: then nobody
// who sees the wire can tell them apart there.
bool same_on_wire(const softnic::Fault& one, const softnic::Fault& other, const SendRow& row);

}  // namespace pathproof::calibration
