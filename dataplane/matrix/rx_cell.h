// One row of the matrix as a receiver told of it: every claim, every delivery and the counters held
// against what was on the wire.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "dataplane/judge/rx_verdict.h"
#include "dataplane/matrix/probe.h"
#include "dataplane/softnic/engine.h"

namespace pathproof::matrix {

// Translates a software NIC's claims about a frame into the judge's terms. The two rooms know
// nothing of each other: each judges the other.
judge::RxClaims claims_of(const softnic::RxVerdict& verdict);

// One frame of the wire as it arrived at the receiver.
struct Arrival {
    std::optional<FrameBytes> bytes;  // nothing: it was not delivered
    judge::RxClaims claims;
};

enum class RxFindingKind : std::uint8_t {
    kClaim,         // a layer was called what it is not: RX_GOOD_ON_BAD, ...
    kUnchecked,     // a transport was called good where there is nothing that could be checked
    kHealed,        // a wrong checksum arrived right
    kChanged,       // other bytes arrived than were on the wire, and no checksum was mended
    kNotDelivered,  // RX_DROP_BAD, DROP, or NOT_DELIVERED where one row alone cannot tell
    kCounter,       // COUNTER_LIES
};

struct RxFinding {
    RxFindingKind kind = RxFindingKind::kClaim;
    std::string title;  // "RX_GOOD_ON_BAD", "RX_GOOD_UNCHECKED", "DROP", ...
    std::string place;  // "l4", "outer.ip", ...; of kCounter the counter's name
    std::uint64_t frames = 0;
    std::string note;     // of kCounter: a sentence
    Label label;          // of the first such frame
    FrameBytes specimen;  // as it was on the wire
};

// Deliveries, by what was on the wire.
struct Deliveries {
    std::uint64_t good = 0;
    std::uint64_t good_lost = 0;
    // Frames with a wrong checksum about which the receiver makes a claim. Frames that it does not
    // check cannot be dropped for their checksum.
    std::uint64_t bad = 0;
    std::uint64_t bad_lost = 0;

    // Bad frames were lost, and nothing else was.
    bool drops_bad() const;
};

struct RxCellResult {
    std::uint64_t frames = 0;  // on the wire
    std::uint64_t bad = 0;     // of them with a wrong checksum
    Deliveries deliveries;
    std::vector<RxFinding> findings;

    bool clean() const { return findings.empty(); }
};

class RxCell {
  public:
    void add(const Label& label, const FrameBytes& wire, const frame::TunnelPorts& tunnels,
             const Arrival& arrival);
    // Several frames that arrived as one packet (GRO, LRO): what they were merged into has to be
    // cut into them again, and claims are held against all of them.
    void add_merged(const Label& label, std::span<const FrameBytes> wire,
                    const frame::TunnelPorts& tunnels, const Arrival& arrival);
    // Judges by how much a counter of frames with bad checksums rose. It is right if it agrees with
    // the wire, and also if it agrees with the receiver's own claims frame by frame: a wrong claim
    // is a finding of its own.
    void counter(const std::string& name, std::uint64_t delta);

    RxCellResult result() const;

  private:
    void judge_claims(const Label& label, const FrameBytes& wire, const judge::FrameVerdict& truth,
                      judge::RxClaims claims);
    RxFinding& tally(RxFindingKind kind, const std::string& title, const std::string& place,
                     const Label& label, const FrameBytes& wire);

    RxCellResult counts_;
    std::uint64_t called_bad_ = 0;  // delivered frames of which a layer was called bad
    std::map<std::string, RxFinding> tallies_;
};

}  // namespace pathproof::matrix
