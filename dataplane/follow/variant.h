// Frames made of a frame: the same but for one trait, to see on which a fault hangs.
#pragma once

#include <optional>

#include "dataplane/follow/traits.h"

namespace pathproof::follow {

// The frame with another value of the trait; lengths and checksums of all its layers follow, unless it
// came without. Nothing: such a frame cannot be made of it (addresses, protocols, fragments and more are
// not touched, nor are frames whose headers cannot be read).
std::optional<frame::ByteVector> with_trait(frame::Bytes frame, Trait trait, std::uint32_t value);

// The frame with marks by which it is told from others made of the same: IPv4 identification, the last bytes
// of the payload, TCP's place in its stream. Frames without IP have no room for marks.
frame::ByteVector with_number(frame::Bytes frame, std::uint32_t number);

// Returns the traits of a made frame's innermost packet.
Traits traits_of(frame::Bytes frame);

}  // namespace pathproof::follow
