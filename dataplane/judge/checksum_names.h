// Names a wrong checksum: which mistake of a sender, NIC or NAT gives exactly this value.
// The algebra is ones' complement (RFC 1071, RFC 1624); a name is a hypothesis that predicts the
// wire value.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "dataplane/frame/address.h"
#include "dataplane/judge/verifier.h"

namespace pathproof::judge {

enum class ChecksumName : std::uint8_t {
    kPseudo,          // pseudo-header sum, not inverted: a partial checksum that nobody completed
    kPseudoNoLength,  // the same without the length (TSO preset)
    kPseudoInverted,  // complement of kPseudo
    kFieldZero,       // TCP, ICMP or IPv4 field left 0; UDP over IPv6, where 0 is not allowed
    kZeroNotMangled,  // UDP computed 0 and sent as 0 instead of 0xffff (RFC 768)
    kComplement,      // the right value not inverted
    kStaleTuple,      // right for the packet before NAT: its original addresses and ports
    kNatLco,  // port change never applied, address change applied with the wrong sign; where no
              // address changed that is kStaleTuple, and called so
    kNat0,    // a disabled (0) outer checksum "updated" by NAT: ~old + new, or 0xffff
    kOuterBeforeInner,  // outer sum computed while the inner field held its pseudo-header sum or 0
    kPadData,           // trailing bytes after the IP packet summed as data
    kOddLastDropped,    // the last odd byte left out
    kSwapped,           // bytes of the right value swapped
    kCarry,    // one more or less than the right value: an end-around carry lost or added twice
    kUnknown,  // no hypothesis, or more than one, fits
};

const char* name(
    ChecksumName name);  // "PSEUDO", "STALE", "NAT_LCO", ...: the errata catalogue's words
const char* meaning(
    ChecksumName name);  // one clause for people: "only the pseudo-header was summed"

// What the packet's addresses and ports were before NAT, from conntrack's original tuple.
struct OriginalTuple {
    frame::Endpoint source;
    frame::Endpoint destination;
};

// Every hypothesis whose predicted value is the wire's for this layer of this frame. `original`
// adds the NAT hypotheses; it speaks of the layer's own addresses. Empty when none fits, and unless
// the finding is kBad.
std::vector<ChecksumName> matching_names(std::span<const std::uint8_t> frame,
                                         const ChecksumFinding& finding,
                                         const std::optional<OriginalTuple>& original);

// The value that `frame` would carry at `finding` had its source and destination been `original`.
std::uint16_t checksum_for_tuple(std::span<const std::uint8_t> frame,
                                 const ChecksumFinding& finding, const OriginalTuple& original);

// Collects frames of one kind and gives a name only when exactly one hypothesis fits all of them
// over at least three different right values; until then kUnknown.
class NameVote {
  public:
    void add(const ChecksumFinding& finding, const std::vector<ChecksumName>& matching);
    ChecksumName verdict() const;
    std::uint64_t frames() const { return frames_; }

  private:
    std::uint64_t frames_ = 0;
    std::vector<std::uint32_t> right_values_;
    std::vector<ChecksumName> candidates_;
};

}  // namespace pathproof::judge
