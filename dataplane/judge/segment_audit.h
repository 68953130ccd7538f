// Holds the segments that a NIC made against the super-frame it was given (TSO, USO; plain or in a
// tunnel): every header field of every segment by the rules of RFC 9293, 3168, 768, 791 and 6864.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "dataplane/base/result.h"
#include "dataplane/judge/checksum_names.h"

namespace pathproof::judge {

// Rule by which segments' IPv4 identifications follow each other (B20).
enum class IpIdRule : std::uint8_t {
    kAdvance,   // by 1 a segment, from the super-frame's; always where DF is not set (RFC 6864)
    kMangleId,  // the inner one may stand still as well where DF is set
                // (tx-tcp-mangleid-segmentation)
};

struct SuperFrame {
    std::span<const std::uint8_t> bytes;  // headers as handed over, and the whole payload
    std::uint16_t mss = 0;                // payload bytes of a full segment
    IpIdRule ip_id = IpIdRule::kAdvance;
    frame::TunnelPorts tunnels = frame::TunnelPorts::well_known();
};

enum class SegmentFault : std::uint8_t {
    kHeader,       // SEG_HDR(field)
    kChecksum,     // bad, named where `checksum` says so
    kSuperPacket,  // a checksum or length field has the super-frame's value
    kPayload,      // other bytes than the super-frame has there
    kSize,         // payload longer or shorter than the MSS makes it
    kMissing,      // no segment has these bytes
    kDuplicate,    // another segment had them before
    kMisordered,   // came before a segment that should precede it
    kForeign,      // no segment of this super-frame: addresses, ports or protocol differ
};
const char* name(SegmentFault fault);  // "SEG_HDR", "CHECKSUM", "SUPERPKT", ...

struct SegmentFinding {
    SegmentFault fault = SegmentFault::kHeader;
    std::size_t segment = 0;  // index into the frames seen; kMissing: index by order
    std::string field;        // "inner.ip.total_length", "inner.tcp.flags", ...
    std::uint64_t wire = 0;
    std::uint64_t right = 0;
    ChecksumName checksum = ChecksumName::kUnknown;  // of kChecksum and kSuperPacket
    bool operator==(const SegmentFinding&) const = default;
};
// "SEG_HDR(inner.ip.total_length)", "SUPERPKT(tcp.checksum)", "MISSING".
std::string title(const SegmentFinding& finding);

struct SegmentAudit {
    std::vector<SegmentFinding> findings;
    bool clean() const { return findings.empty(); }
};

// `segments` in the order in which they came. Errors: a super-frame that is neither TCP nor UDP, is
// shorter than it says, or an MSS of 0.
Result<SegmentAudit> audit_segments(const SuperFrame& super_frame,
                                    std::span<const std::span<const std::uint8_t>> segments);

// The segments that a perfect NIC makes, all checksums right; IP identifications advance.
Result<std::vector<std::vector<std::uint8_t>>> perfect_segments(const SuperFrame& super_frame);

}  // namespace pathproof::judge
