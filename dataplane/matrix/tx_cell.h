// One row of the matrix as the wire showed it: every frame held against the intended one and
// judged, what differs counted by field and named.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "dataplane/judge/checksum_names.h"
#include "dataplane/judge/frame_difference.h"
#include "dataplane/judge/segment_audit.h"
#include "dataplane/matrix/probe.h"

namespace pathproof::matrix {

enum class FindingKind : std::uint8_t {
    kChecksum,   // a checksum is wrong, or absent where it was asked for
    kField,      // another header field differs
    kPayload,    // data changed
    kHealed,     // data changed under a right checksum
    kTrailer,    // bytes behind the packet changed
    kLength,     // bytes missing or more than intended
    kSegment,    // a segment's header, size or place
    kMissing,    // nothing came of what was handed over
    kSurplus,    // more frames came than were intended
    kRefused,    // the device refused what it was asked
    kMalformed,  // a frame that could not be read to its end
};
const char* name(FindingKind kind);

// The first frame that showed it, whole: the evidence.
struct Specimen {
    Label label;
    FrameBytes wire;
    FrameBytes intended;
    FrameBytes handed;
};

struct TxFinding {
    FindingKind kind = FindingKind::kChecksum;
    std::string place;  // "inner.tcp", "outer.udp.length", "plain.ipv4"; empty for kMissing, ...
    // "PSEUDO", "WRONG_FIELD", "NOT_INSERTED", "SEG_HDR", "UNKNOWN", "MISSING", a refusal; "EXTHDR_START or
    // VLAN_START" where a misplaced checksum is explained by either.
    std::string title;
    std::uint64_t frames = 0;
    judge::ChecksumName checksum = judge::ChecksumName::kUnknown;  // of kChecksum
    std::vector<judge::ChecksumName> candidates;  // where several names fit all frames alike
    std::uint32_t wire_value = 0;                 // of the last such frame
    std::uint32_t right_value = 0;
    Specimen specimen;
};

struct TxCellResult {
    std::uint64_t probes = 0;
    std::uint64_t intended = 0;  // frames
    std::uint64_t seen = 0;
    std::uint64_t exact = 0;  // seen exactly as intended and judged good
    std::vector<TxFinding> findings;

    bool clean() const { return findings.empty() && probes > 0; }
};

// Fields of intended frames that the path may choose: "outer.ip.identification". Where a name ends
// in a dot, all fields that start so.
using FreeFields = std::vector<std::string>;

class TxCell {
  public:
    explicit TxCell(Row row, FreeFields free_fields = {})
        : row_(row), free_fields_(std::move(free_fields)) {}

    // Judges the frames of one probe that came on the wire, in the order in which they came.
    void add(const Probe& probe, std::span<const FrameBytes> wire);
    // The device said no, with a reason.
    void refused(const Probe& probe, std::string reason);

    TxCellResult result() const;
    // Returns the counts so far, without the findings.
    const TxCellResult& counts() const { return counts_; }

  private:
    struct Tally {
        TxFinding finding;
        judge::NameVote vote;
    };
    struct Seen {
        const Probe& probe;
        const FrameBytes& wire;
        const FrameBytes& intended;
        const HandedFrame& handed;

        Specimen specimen() const { return {probe.label, wire, intended, handed.bytes}; }
    };

    void judge_frame(const Seen& seen);
    void judge_rest(const Seen& seen);
    // `evidence`: what is known of the frame besides NAT.
    void judge_checksums(const Probe& probe, const Specimen& specimen, judge::Evidence evidence);
    void vote(const judge::ChecksumFinding& finding, judge::Layer layer, const Specimen& specimen,
              const judge::Evidence& evidence);
    void judge_segments(const Probe& probe, std::span<const FrameBytes> wire);
    bool explain_segment(const Probe& probe, const FrameBytes& whole, const Specimen& segment);
    void report(const judge::FrameDifference& difference, const Specimen& specimen);
    void judge_datagram(const Probe& probe, std::span<const FrameBytes> wire);
    void count_healthy(const judge::FrameVerdict& verdict);
    bool is_free(const std::string& field) const;
    Tally& tally(FindingKind kind, const std::string& place, const std::string& title,
                 const Specimen& specimen);

    Row row_;
    FreeFields free_fields_;
    TxCellResult counts_;
    std::map<std::string, Tally> tallies_;
    // Number of frames, by layer, that have a checksum there and whose checksum is right.
    std::map<std::string, std::uint64_t> healthy_;
};

}  // namespace pathproof::matrix
