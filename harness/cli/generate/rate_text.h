// Rates as people type them: per second, as a share of the line, in bits, or as fast as it goes.
#pragma once

#include <cstdint>
#include <string>

#include "dataplane/base/result.h"

namespace pathproof::cli {

struct Rate {
    enum class Kind : std::uint8_t {
        kMost,       // "max"
        kPerSecond,  // "1000", "20k", "1.5M": of what is counted, frames or pairs
        kLineShare,  // "10%": of what the port's link carries
        kBits        // "1Gbit", "500Mbit", "64kbit": per second on the wire
    } kind = Kind::kPerSecond;
    double value = 0;  // a share is 0 to 1
};

// Errors name the text: no number, not above 0, not finite, above 100 %.
Result<Rate> parse_rate(const std::string& text);

// Returns the bits that a frame of `frame_bytes` (without FCS) occupies on an Ethernet link: with
// its preamble, FCS and the gap behind it.
double bits_on_wire(double frame_bytes);

// Frames per second; 0: as fast as it goes. `per_unit` frames count as one for kPerSecond.
// `link_mbps`: of the sending port, 0 when nobody knows. Errors: a share of an unknown speed.
Result<double> frames_per_second(const Rate& rate, unsigned per_unit, double frame_bytes,
                                 std::uint32_t link_mbps, const std::string& port);

}  // namespace pathproof::cli
