// A frame as text, layer by layer, every field with its value, every checksum with wire value,
// right value and name: the page that lies beside the pcapng.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "dataplane/judge/checksum_names.h"

namespace pathproof::judge {

// One line a field. The verdict is the oracle's.
std::string explain(std::span<const std::uint8_t> frame, const Evidence& evidence);

// "the frame ends within the Ethernet header"; empty for kNone.
const char* words(frame::Malformed malformed);

}  // namespace pathproof::judge
