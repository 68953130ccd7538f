// Compares a frame on the wire with the frame that a perfect sender would have put there, field by
// field, and explains a 16-bit value that was written where no checksum belongs.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "dataplane/judge/checksum_names.h"
#include "dataplane/judge/field_map.h"

namespace pathproof::judge {

enum class DifferenceKind : std::uint8_t {
    kChecksum,  // a checksum field: its name comes from checksum_names.h
    kField,     // a header field other than a checksum: WRONG_FIELD
    kPayload,   // bytes of the payload changed, and no checksum over them is right: damage
    kHealed,    // the payload changed, and the checksum over it is right all the same
    kTrailer,   // bytes behind the IP packet
    kLength,    // bytes are missing or more than intended
};
const char* name(DifferenceKind kind);  // "CHECKSUM", "WRONG_FIELD", "PAYLOAD", "HEALED", ...

// Reason why a checksum that the sender computed stands in the wrong place. kNone: no such
// explanation fits.
enum class Misplaced : std::uint8_t {
    kNone,
    kExthdrStart,     // the transport header was looked for before IPv6's extension headers
    kOptionsStart,    // ... at 20 bytes of IPv4 header, though there are options
    kVlanStart,       // ... one or two VLAN tags off
    kNoOuterLengths,  // ... without the outer headers' lengths: counted from the frame's start
    kOtherProtocol,   // the right place to start, but another protocol's checksum field
    kFragment,        // a transport checksum in a later fragment, which has no transport header
    kPlainAsTunnel,   // the payload of plain UDP was taken for an encapsulated packet
};
const char* name(Misplaced misplaced);  // "", "EXTHDR_START", "IPOPT_START", "VLAN_START", ...

struct FieldDifference {
    DifferenceKind kind = DifferenceKind::kField;
    std::string field;           // "inner.ip.total_length", "outer.udp.length", "tcp.flags", ...
    std::uint32_t offset = 0;    // from the start of the frame
    std::uint32_t length = 0;    // bytes
    std::uint64_t intended = 0;  // as numbers in host order; of long fields the first 8 bytes
    std::uint64_t observed = 0;
    std::string explanation;  // for people; empty if there is none
    // All explanations of a misplaced checksum that fit. It is the cause of the unfinished checksum
    // field that stands beside it.
    std::vector<Misplaced> misplaced_as;
    bool operator==(const FieldDifference&) const = default;
};

struct FrameDifference {
    std::vector<FieldDifference> fields;  // in the order of their offsets

    bool none() const { return fields.empty(); }
};

// `handed_over`: what the NIC was given, if known (partial checksums in it); without it a misplaced
// value is explained from `intended`. Fields are those of `intended`'s layout.
FrameDifference compare_frames(std::span<const std::uint8_t> intended,
                               std::span<const std::uint8_t> observed,
                               const frame::TunnelPorts& tunnels,
                               std::span<const std::uint8_t> handed_over = {});

// "inner.ip.total_length is 0x0040 instead of 0x0054 (...)", one line each.
std::string text(const FrameDifference& difference);

}  // namespace pathproof::judge
