// Names a wrong checksum: which mistake of a sender, NIC or NAT gives exactly this value.
// The algebra is ones' complement (RFC 1071, RFC 1624); a name is a hypothesis that predicts the
// wire value.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "dataplane/frame/address.h"
#include "dataplane/judge/verifier.h"

namespace pathproof::judge {

enum class ChecksumName : std::uint8_t {
    kPseudo,           // pseudo-header sum, not inverted: a partial checksum that nobody completed
    kPseudoNoLength,   // the same without the length (TSO preset)
    kPseudoInverted,   // complement of kPseudo
    kFieldZero,        // TCP, ICMP or IPv4 field left 0; UDP over IPv6, where 0 is not allowed
    kFieldKeep,        // the field as it was handed over, where that is none of the above
    kZeroNotMangled,   // UDP computed 0 and sent as 0 instead of 0xffff (RFC 768)
    kDisabled,         // UDP without a checksum where one was asked for, or where none was agreed
    kComplement,       // the right value not inverted
    kStaleTuple,       // right for the packet before NAT: its original addresses and ports
    kStaleSourcePort,  // right but for one field, of which it has the value before: these seven
    kStaleDestinationPort,
    kStaleSource,
    kStaleDestination,
    kStaleVni,
    kStaleTtl,
    kStaleLength,  // of the IP packet
    kNatLco,  // port change never applied, address change applied with the wrong sign; where no
              // address changed that is kStaleTuple, and called so
    kNat0,    // a disabled (0) outer checksum "updated" by NAT: ~old + new, or 0xffff
    kOuterBeforeInner,  // outer sum computed while the inner field held its pseudo-header sum, 0 or
                        // what was there before
    kPadData,           // trailing bytes after the IP packet summed as data
    kPadLength,         // their number added to the pseudo-header's length
    kPadDataAndLength,  // both
    kOddLastDropped,    // the last odd byte left out
    kOddLastLane,       // the last odd byte summed as the low half of its word
    kOddBoundary,       // behind a buffer of odd length the halves of words change places
    kExthdrPseudo,      // pseudo-header from IPv6's own length, next header or first destination
    kExthdrStart,       // sum begun before the IPv6 extension headers
    kOptionsStart,      // sum begun before the IPv4 options
    kVlanStart,         // sum begun one or two VLAN tags too early or too late
    kDouble,            // what the field held was summed as well
    kSwapped,           // bytes of the right value swapped
    kCarry,             // end-around carries lost, or one added twice
    kFirstBufferOnly,   // the sum ends with the first buffer of the transport packet
    kLastBufferOnly,    // only the last buffer was summed
    kSuperPacket,       // the value, or the length in it, of the super-frame before segmentation
    kFragmentOnly,      // the sum over the first fragment, where the datagram was cut
    kUnknown,           // no hypothesis, or more than one, fits
};
inline constexpr std::size_t kChecksumNames = static_cast<std::size_t>(ChecksumName::kUnknown) + 1;

const char* name(
    ChecksumName name);  // "PSEUDO", "STALE", "NAT_LCO", ...: the errata catalogue's words
const char* meaning(
    ChecksumName name);  // one clause for people: "only the pseudo-header was summed"

// The packet's addresses and ports before NAT, from conntrack's original tuple.
struct OriginalTuple {
    frame::Endpoint source;
    frame::Endpoint destination;
};

// Says whether a UDP checksum of 0 is in order, where the protocol leaves that to agreement.
enum class ZeroUdp : std::uint8_t { kAgreed, kNotAgreed };

// Evidence beyond the frame on the wire. All of it is optional: a hypothesis whose evidence is
// missing is not put up. Spans must outlive the call.
struct Evidence {
    frame::TunnelPorts tunnels = frame::TunnelPorts::well_known();
    std::optional<OriginalTuple> original;  // names kStaleTuple, kNatLco, kNat0
    // The frame before a field of it changed (before NAT, before a VNI was rewritten): names the
    // single stale fields, and kStaleTuple where several are stale together.
    std::span<const std::uint8_t> before;
    // The frame as it was handed to the NIC: names kFieldKeep, kDouble and what an inner field
    // held.
    std::span<const std::uint8_t> handed_over;
    // Offset from the frame's start at which each buffer but the first began.
    std::span<const std::uint32_t> buffer_starts;
    std::span<const std::uint8_t> super_frame;  // of which this frame is a segment
    std::uint32_t first_fragment_end = 0;  // of a reassembled frame, from its start; 0: not one
    ZeroUdp zero_udp = ZeroUdp::kAgreed;
};

// The names that predict the wire value of `finding`. Empty when none fits, and unless the finding
// is kBad, or kDisabled with ZeroUdp::kNotAgreed.
// SCTP's CRC32c is no sum: of it only kFieldZero, kFieldKeep, kPadData, kOddLastDropped, kSwapped,
// kComplement, kExthdrStart, kOptionsStart, kFirstBufferOnly, kLastBufferOnly, kSuperPacket and
// kFragmentOnly can be said.
std::vector<ChecksumName> matching_names(std::span<const std::uint8_t> frame,
                                         const ChecksumFinding& finding, const Evidence& evidence);
// Does the same with conntrack's tuple alone. The frame's own outer destination port is read as a
// VXLAN port if the finding is of a tunnel and no well-known port tells.
std::vector<ChecksumName> matching_names(std::span<const std::uint8_t> frame,
                                         const ChecksumFinding& finding,
                                         const std::optional<OriginalTuple>& original);

// The value that one hypothesis says the wire must hold.
struct Prediction {
    ChecksumName name = ChecksumName::kUnknown;
    std::uint32_t value = 0;
    bool operator==(const Prediction&) const = default;
};
// Every hypothesis that can be put up for this checksum, right or wrong; one name may stand with
// several values. For reports, and to see which hypotheses this frame can tell apart.
std::vector<Prediction> predictions(std::span<const std::uint8_t> frame,
                                    const ChecksumFinding& finding, const Evidence& evidence);

// The value that `frame` would carry at `finding` had its source and destination been `original`.
std::uint16_t checksum_for_tuple(std::span<const std::uint8_t> frame,
                                 const ChecksumFinding& finding, const OriginalTuple& original);

// Collects frames of one kind and gives a name only when exactly one hypothesis fits all of them
// over at least three different payloads; until then kUnknown.
class NameVote {
  public:
    // Payloads differ where the right values do.
    void add(const ChecksumFinding& finding, const std::vector<ChecksumName>& matching);
    // Payloads differ where what follows the checksum field does, of IPv4 headers all else: for
    // mistakes that show at one right value only (ZERO_NOT_MANGLED).
    void add(std::span<const std::uint8_t> frame, const ChecksumFinding& finding,
             const std::vector<ChecksumName>& matching);
    // The names that match are asked for here. Payloads differ where what the checksum covers does;
    // of trailers only a mistake about trailers learns anything.
    void add(std::span<const std::uint8_t> frame, const ChecksumFinding& finding,
             const Evidence& evidence);
    // A frame of the same kind whose checksum is there and right. It shows that checksums are not
    // switched off: what alone tells ZERO_NOT_MANGLED from DISABLED over IPv4.
    void add_healthy() { ++healthy_; }

    ChecksumName verdict() const;
    // The hypotheses that fit all frames so far: more than one where they cannot be told apart.
    std::vector<ChecksumName> candidates() const;
    // The last frame's finding (wire value, right value), for a report on kUnknown.
    const ChecksumFinding& last() const { return last_; }

  private:
    struct Keys {
        std::uint64_t payload = 0;
        std::uint64_t with_trailer = 0;
    };
    void add_payload(const Keys& keys, const ChecksumFinding& finding,
                     const std::vector<ChecksumName>& matching);

    std::uint64_t frames_ = 0;
    std::uint64_t healthy_ = 0;
    // A few different ones, as many as a name needs.
    std::vector<std::uint64_t> payloads_;
    std::vector<std::uint64_t> with_trailers_;
    std::vector<ChecksumName> candidates_;
    ChecksumFinding last_;
};

// Returns wire - right, which is reported beside an UNKNOWN: in ones' complement for 16-bit
// checksums, exclusive or for SCTP's CRC32c.
std::uint32_t difference(const ChecksumFinding& finding);

}  // namespace pathproof::judge
