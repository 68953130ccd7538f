// Frames in which every fault model of the list finds something to spoil, and those that none
// should touch.
#pragma once

#include <vector>

#include "dataplane/softnic/engine.h"

namespace pathproof::softnic {

// Handed over for sending: random ones of all kinds, with NAT notes, tags to insert and buffers,
// and crafted ones (sums of 0, carries, short padded frames, fragments, plain UDP on tunnel ports).
const std::vector<TxFrame>& sending_corpus();
// Frames on the wire: right in all layers, bad in one, bad in two.
const std::vector<WireFrameBytes>& wire_corpus();

}  // namespace pathproof::softnic
