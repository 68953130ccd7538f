// Two faults at once, one of the sender and one of the receiver: both must be named, or the one
// that hides the other must be said.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "dataplane/calibration/score.h"

namespace pathproof::calibration {

struct PairScore {
    std::string sender;  // ids and texts: "F42 wire.innermost.payload.HEALED"
    std::string receiver;
    bool sender_named = false;
    bool receiver_named = false;
    // Computed, frame by frame: all that could be seen is what the other fault alone gives, or the
    // receiver's fault meets nothing on the wire that it gets wrong.
    bool sender_masked = false;
    bool receiver_masked = false;
    std::string given;

    bool both_named() const { return sender_named && receiver_named; }
    bool masked() const {
        return !both_named() && (sender_named || sender_masked) &&
               (receiver_named || receiver_masked);
    }
};

// The first variant of each row F01 to F42 that acts on what is sent with each variant that acts on
// what is received, in rows that are sent and received: those in which either shows, and some in
// which neither does. The judges see the wire between the two, and what the receiver says.
// `step`: every so-manieth sender (1: all).
std::vector<PairScore> score_pairs(const Material& material, std::uint64_t seed, unsigned workers,
                                   std::size_t step);

}  // namespace pathproof::calibration
