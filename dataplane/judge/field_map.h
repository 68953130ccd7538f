// Every header field of a frame by name and place: what reports, comparisons and audits speak of.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "dataplane/frame/view.h"
#include "dataplane/judge/verifier.h"

namespace pathproof::judge {

enum class FieldKind : std::uint8_t { kHeader, kChecksum, kPayload, kTrailer };

struct Field {
    std::string name;  // "outer.ip.total_length", "tunnel.vni", "inner.tcp.flags", "tcp.flags", ...
    std::uint32_t offset = 0;  // bytes from the start of the frame
    std::uint32_t length = 0;  // bytes
    FieldKind kind = FieldKind::kHeader;
};

// Returns the frame's fields in the order of their offsets; each byte is in at least one. Names
// start with "outer.", "tunnel." and "inner." in a tunnel and have no such word in a plain frame.
std::vector<Field> fields_of(std::span<const std::uint8_t> frame, const frame::FrameView& view);

// The field's value as a number in host order; of fields over 8 bytes the first 8.
std::uint64_t value_of(std::span<const std::uint8_t> frame, const Field& field);

}  // namespace pathproof::judge
