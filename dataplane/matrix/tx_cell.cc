#include "dataplane/matrix/tx_cell.h"

#include <algorithm>
#include <array>
#include <optional>

#include "dataplane/base/contains.h"
#include "dataplane/base/join_each.h"
#include "dataplane/judge/reassembly.h"
#include "dataplane/judge/verifier.h"

namespace pathproof::matrix {
namespace {

constexpr std::array<const char*, 11> kKindNames = {"checksum", "field",   "payload",  "healed",
                                                    "trailer",  "length",  "segment",  "missing",
                                                    "surplus",  "refused", "malformed"};

// The kinds of differences come first, in the same order.
FindingKind kind_of(judge::DifferenceKind kind) {
    static_assert(static_cast<int>(FindingKind::kLength) ==
                  static_cast<int>(judge::DifferenceKind::kLength));
    return static_cast<FindingKind>(kind);
}

constexpr std::uint32_t kTagBytes = 4;
constexpr std::uint32_t kAddressBytes = 12;  // of Ethernet, before a tag

// Returns the places in the wire frame where the buffers after the first begin. A tag that the NIC
// inserts moves them.
std::vector<std::uint32_t> starts_of(const HandedFrame& handed) {
    std::vector<std::uint32_t> starts;
    std::uint32_t at = handed.vlan_tci != 0 ? kTagBytes : 0;
    for (const std::uint32_t bytes : handed.buffers) {
        at += bytes;
        starts.push_back(at);
    }
    if (!starts.empty()) {
        starts.pop_back();
    }
    return starts;
}

// NAT rewrote the outer header only.
std::optional<judge::OriginalTuple> before_nat(const Probe& probe, const FrameBytes& frame,
                                               const judge::ChecksumFinding& finding) {
    if (!probe.source_before_nat || finding.layer.depth != judge::Depth::kOuter) {
        return std::nullopt;
    }
    const frame::FrameView view = frame::parse_frame(frame, probe.tunnels);
    return judge::OriginalTuple{*probe.source_before_nat, view.outer.destination_endpoint()};
}

// A wrong value, or a checksum that is off though the sender meant it to be on, which becomes
// evidence.
bool is_wrong(const judge::ChecksumFinding& finding, const judge::FrameVerdict& intended,
              judge::Evidence& evidence) {
    const judge::ChecksumFinding* meant = intended.find(finding.layer);
    const bool lost = finding.state == judge::ChecksumState::kDisabled && meant != nullptr &&
                      meant->state == judge::ChecksumState::kGood;
    evidence.zero_udp = lost ? judge::ZeroUdp::kNotAgreed : judge::ZeroUdp::kAgreed;
    return lost || finding.state == judge::ChecksumState::kBad;
}

// A field that holds what was intended is not itself wrong: something that it covers is, and that
// is a finding of its own. (A software checksum around an inner one that the NIC got wrong.)
bool follows_from_another(const judge::ChecksumFinding& finding, const FrameBytes& wire,
                          const FrameBytes& intended) {
    const std::size_t end = finding.field_offset + judge::field_size(finding.layer.protocol);
    return wire != intended && wire.size() == intended.size() && end <= wire.size() &&
           std::equal(wire.begin() + finding.field_offset,
                      wire.begin() + static_cast<std::ptrdiff_t>(end),
                      intended.begin() + finding.field_offset);
}

// As handed over, with the tag that the NIC was to insert.
FrameBytes tagged(const HandedFrame& handed) {
    return handed.vlan_tci != 0 ? with_tag(handed.bytes, handed.vlan_tci) : handed.bytes;
}

// The intended frame without the tag that the NIC was to insert, if that is what came; a MAC fills short
// frames up.
std::optional<FrameBytes> without_its_tag(const HandedFrame& handed, const FrameBytes& intended,
                                          const FrameBytes& wire) {
    constexpr std::size_t kShortest = 60;
    if (handed.vlan_tci == 0 || intended.size() < kAddressBytes + kTagBytes + 2) {
        return std::nullopt;
    }
    FrameBytes bare = without_tag(intended);
    const bool begins = wire.size() >= kAddressBytes + 2 &&
                        std::equal(bare.begin(), bare.begin() + kAddressBytes + 2, wire.begin());
    const bool fits = wire.size() == bare.size() || wire.size() == std::max(bare.size(), kShortest);
    return begins && fits ? std::optional(std::move(bare)) : std::nullopt;
}

// A segment as the super-frame was handed over: its checksum fields hold what the headers held.
FrameBytes as_handed(const FrameBytes& intended, const FrameBytes& whole,
                     const frame::TunnelPorts& tunnels) {
    FrameBytes bytes = intended;
    const judge::FrameVerdict verdict = judge::verify(intended, tunnels);
    for (const judge::ChecksumFinding& finding : verdict.all()) {
        const std::size_t end = finding.field_offset + judge::field_size(finding.layer.protocol);
        if (finding.field_offset != 0 && end <= bytes.size() && end <= whole.size()) {
            std::copy(whole.begin() + finding.field_offset,
                      whole.begin() + static_cast<std::ptrdiff_t>(end),
                      bytes.begin() + finding.field_offset);
        }
    }
    return bytes;
}

// Wrong place, wrong value: why a field differs. Several explanations that fit alike are all given.
std::string title_of(const judge::FieldDifference& field) {
    const auto name_of = [](judge::Misplaced misplaced) { return judge::name(misplaced); };
    return field.misplaced_as.empty() ? judge::name(field.kind)
                                      : join_each(field.misplaced_as, name_of, " or ");
}

// Finds the intended frame that each frame on the wire is: the one with its bytes, even if others
// were lost or came in another order; the rest are matched in order. A frame that is none of them
// gets a place behind the last.
std::vector<std::size_t> places_of(std::span<const FrameBytes> wire,
                                   const std::vector<FrameBytes>& intended) {
    std::vector<std::size_t> places(wire.size(), intended.size());
    std::vector<bool> taken(intended.size());
    for (std::size_t i = 0; i < wire.size(); ++i) {
        for (std::size_t n = 0; n < intended.size(); ++n) {
            const std::size_t place = (i + n) % intended.size();
            if (!taken[place] && wire[i] == intended[place]) {
                places[i] = place;
                taken[place] = true;
                break;
            }
        }
    }
    std::size_t next = 0;
    for (std::size_t i = 0; i < wire.size(); ++i) {
        next =
            static_cast<std::size_t>(std::find(taken.begin(), taken.end(), false) - taken.begin());
        if (places[i] == intended.size() && next < intended.size() &&
            !contains(intended, wire[i])) {
            places[i] = next;
            taken[next] = true;
        }
    }
    return places;
}

std::vector<std::span<const std::uint8_t>> spans_of(std::span<const FrameBytes> frames) {
    return {frames.begin(), frames.end()};
}

}  // namespace

const char* name(FindingKind kind) {
    return kKindNames[static_cast<std::size_t>(kind)];
}

TxCell::Tally& TxCell::tally(FindingKind kind, const std::string& place, const std::string& title,
                             const Specimen& specimen) {
    // A checksum gets its title from the vote over all frames.
    const std::string key =
        std::string(name(kind)) + " " + place + " " + (kind == FindingKind::kChecksum ? "" : title);
    const auto [at, added] = tallies_.try_emplace(key);
    TxFinding& finding = at->second.finding;
    if (added) {
        finding.kind = kind;
        finding.place = place;
        finding.title = title;
        finding.specimen = specimen;
    }
    ++finding.frames;
    return at->second;
}

bool TxCell::is_free(const std::string& field) const {
    return std::ranges::any_of(free_fields_, [&](const std::string& free) {
        return free == field || (free.ends_with('.') && field.starts_with(free));
    });
}

void TxCell::count_healthy(const judge::FrameVerdict& verdict) {
    for (const judge::ChecksumFinding& finding : verdict.all()) {
        if (finding.state == judge::ChecksumState::kGood) {
            ++healthy_[judge::word(finding.layer)];
        }
    }
}

void TxCell::vote(const judge::ChecksumFinding& finding, judge::Layer layer,
                  const Specimen& specimen, const judge::Evidence& evidence) {
    tally(FindingKind::kChecksum, judge::word(layer), "", specimen)
        .vote.add(specimen.wire, finding, evidence);
}

void TxCell::judge_checksums(const Probe& probe, const Specimen& specimen,
                             judge::Evidence evidence) {
    const judge::FrameVerdict verdict = judge::verify(specimen.wire, probe.tunnels);
    const judge::FrameVerdict meant = judge::verify(specimen.intended, probe.tunnels);
    for (const judge::ChecksumFinding& finding : verdict.all()) {
        if (is_wrong(finding, meant, evidence) &&
            !follows_from_another(finding, specimen.wire, specimen.intended)) {
            evidence.original = before_nat(probe, specimen.wire, finding);
            vote(finding, finding.layer, specimen, evidence);
        }
    }
}

void TxCell::report(const judge::FrameDifference& difference, const Specimen& specimen) {
    for (const judge::FieldDifference& field : difference.fields) {
        if (field.kind == judge::DifferenceKind::kChecksum || is_free(field.field)) {
            continue;  // checksums are judged by what they cover, as it stands on the wire
        }
        TxFinding& finding =
            tally(kind_of(field.kind), field.field, title_of(field), specimen).finding;
        finding.wire_value = static_cast<std::uint32_t>(field.observed);
        finding.right_value = static_cast<std::uint32_t>(field.intended);
    }
}

void TxCell::judge_frame(const Seen& seen) {
    if (const auto bare = without_its_tag(seen.handed, seen.intended, seen.wire)) {
        TxFinding& finding =
            tally(FindingKind::kField, "vlan", "NOT_INSERTED", seen.specimen()).finding;
        finding.right_value = seen.handed.vlan_tci;
        HandedFrame untagged = seen.handed;
        untagged.vlan_tci = 0;
        const std::uint64_t exact = counts_.exact;
        judge_rest({seen.probe, seen.wire, *bare, untagged});
        counts_.exact = exact;
    } else {
        judge_rest(seen);
    }
}

// But for a tag.
void TxCell::judge_rest(const Seen& seen) {
    const judge::FrameVerdict verdict = judge::verify(seen.wire, seen.probe.tunnels);
    const bool exact = seen.wire == seen.intended;
    count_healthy(verdict);
    if (exact && !verdict.any_bad() && verdict.malformed == judge::Malformed::kNone) {
        ++counts_.exact;
        return;
    }
    const Specimen specimen = seen.specimen();
    const FrameBytes handed = tagged(seen.handed);
    const std::vector<std::uint32_t> starts = starts_of(seen.handed);
    judge_checksums(
        seen.probe, specimen,
        {.tunnels = seen.probe.tunnels, .handed_over = handed, .buffer_starts = starts});
    if (!exact) {
        report(judge::compare_frames(seen.intended, seen.wire, seen.probe.tunnels, handed),
               specimen);
    }
    if (verdict.malformed != judge::Malformed::kNone) {
        tally(FindingKind::kMalformed, "", "MALFORMED", specimen);
    }
}

// A checksum that was written into a header, or data that changed: what a segment's audit sees as a
// header or a payload that is not the segment's. True if that is the explanation.
bool TxCell::explain_segment(const Probe& probe, const FrameBytes& whole, const Specimen& segment) {
    if (segment.intended.empty() || segment.wire.size() != segment.intended.size()) {
        return false;
    }
    const FrameBytes handed = as_handed(segment.intended, whole, probe.tunnels);
    judge::FrameDifference difference =
        judge::compare_frames(segment.intended, segment.wire, probe.tunnels, handed);
    std::erase_if(difference.fields, [](const judge::FieldDifference& field) {
        return field.misplaced_as.empty() && field.kind != judge::DifferenceKind::kPayload &&
               field.kind != judge::DifferenceKind::kHealed;
    });
    report(difference, segment);
    return !difference.none();
}

void TxCell::judge_segments(const Probe& probe, std::span<const FrameBytes> wire) {
    const FrameBytes whole = tagged(probe.handed.front());
    const judge::SuperFrame super{.bytes = whole,
                                  .mss = probe.segment_bytes,
                                  .ip_id = row_.segmentation == Segmentation::kTcpMangledId
                                               ? judge::IpIdRule::kMangleId
                                               : judge::IpIdRule::kAdvance,
                                  .tunnels = probe.tunnels};
    const auto spans = spans_of(wire);
    const Result<judge::SegmentAudit> audit = judge::audit_segments(super, spans);
    const auto specimen = [&](std::size_t segment) -> Specimen {
        return {probe.label, segment < wire.size() ? wire[segment] : FrameBytes(),
                segment < probe.intended.size() ? probe.intended[segment] : FrameBytes(), whole};
    };
    if (!audit) {
        tally(FindingKind::kMalformed, "", audit.error().message, specimen(0));
        return;
    }
    if (audit->clean()) {
        counts_.exact += wire.size();
        return;
    }
    // Wrong segments, and those of them that are explained: whatever else the audit finds in an
    // explained segment follows from its cause. A segment that was not recognised is missing as
    // well.
    std::vector<bool> wrong(std::max(wire.size(), probe.intended.size()));
    std::vector<bool> explained(wrong.size());
    for (const judge::SegmentFinding& found : audit->findings) {
        if (found.segment < wrong.size()) {
            wrong[found.segment] = true;
        }
        const bool own = found.fault == judge::SegmentFault::kHeader ||
                         found.fault == judge::SegmentFault::kPayload ||
                         found.fault == judge::SegmentFault::kForeign ||
                         found.fault == judge::SegmentFault::kChecksum;
        if (own && wire.size() == probe.intended.size() && !explained[found.segment]) {
            explained[found.segment] = explain_segment(probe, whole, specimen(found.segment));
        }
    }
    for (const judge::SegmentFinding& found : audit->findings) {
        const bool sum = found.fault == judge::SegmentFault::kChecksum ||
                         found.fault == judge::SegmentFault::kSuperPacket;
        if (sum || (found.segment < explained.size() && explained[found.segment]) ||
            is_free(found.field)) {
            continue;  // a checksum's name needs several payloads: judge_checksums()
        }
        TxFinding& finding = tally(FindingKind::kSegment, found.field, judge::name(found.fault),
                                   specimen(found.segment))
                                 .finding;
        finding.wire_value = static_cast<std::uint32_t>(found.wire);
        finding.right_value = static_cast<std::uint32_t>(found.right);
    }
    for (std::size_t segment = 0; segment < wire.size(); ++segment) {
        counts_.exact += wrong[segment] ? 0 : 1;
        const Specimen shown = specimen(segment);
        const FrameBytes handed = as_handed(shown.intended, whole, probe.tunnels);
        judge_checksums(probe, shown,
                        {.tunnels = probe.tunnels, .handed_over = handed, .super_frame = whole});
    }
}

// The transport checksum over all fragments, which none of them shows alone.
void TxCell::judge_datagram(const Probe& probe, std::span<const FrameBytes> wire) {
    const auto spans = spans_of(wire);
    const Result<judge::Reassembled> whole = judge::reassemble(spans, probe.tunnels);
    if (!whole) {
        return;  // what is missing or changed was counted frame by frame
    }
    const judge::FrameVerdict verdict = judge::verify(whole->frame, probe.tunnels);
    const judge::FrameVerdict meant = judge::verify(probe.whole, probe.tunnels);
    if (meant.count == 0) {
        return;  // no protocol with a checksum
    }
    count_healthy(verdict);
    for (const judge::ChecksumFinding& finding : verdict.all()) {
        // The reassembled frame has no tunnel around it any more.
        judge::ChecksumFinding in_place = finding;
        in_place.layer.depth = meant.all().back().layer.depth;
        const bool transport = finding.layer.protocol != judge::Protocol::kIpv4;
        const bool innermost = finding.layer.depth != judge::Depth::kOuter;
        judge::Evidence evidence{.tunnels = probe.tunnels,
                                 .first_fragment_end = whole->first_fragment_end};
        if (is_wrong(in_place, meant, evidence) && transport && innermost) {
            vote(finding, in_place.layer,
                 {probe.label, whole->frame, probe.whole, probe.handed[0].bytes}, evidence);
        }
    }
}

void TxCell::add(const Probe& probe, std::span<const FrameBytes> wire) {
    ++counts_.probes;
    counts_.intended += probe.intended.size();
    counts_.seen += wire.size();
    if (probe.segment_bytes > 0) {
        if (wire.empty()) {
            tally(FindingKind::kMissing, "", "MISSING",
                  {probe.label, {}, probe.intended[0], probe.handed[0].bytes});
            return;
        }
        judge_segments(probe, wire);
        return;
    }
    const std::vector<std::size_t> places = places_of(wire, probe.intended);
    for (std::size_t i = 0; i < wire.size(); ++i) {
        if (places[i] < probe.intended.size()) {
            judge_frame({probe, wire[i], probe.intended[places[i]], probe.handed[places[i]]});
        } else {
            tally(FindingKind::kSurplus, "", "SURPLUS", {probe.label, wire[i], {}, {}});
        }
    }
    for (std::size_t i = 0; i < probe.intended.size(); ++i) {
        if (!contains(places, i)) {
            tally(FindingKind::kMissing, "", "MISSING",
                  {probe.label, {}, probe.intended[i], probe.handed[i].bytes});
        }
    }
    if (!probe.whole.empty()) {
        judge_datagram(probe, wire);
    }
}

void TxCell::refused(const Probe& probe, std::string reason) {
    ++counts_.probes;
    counts_.intended += probe.intended.size();
    tally(FindingKind::kRefused, "", reason,
          {probe.label, {}, probe.intended[0], probe.handed[0].bytes});
}

TxCellResult TxCell::result() const {
    TxCellResult result = counts_;
    for (const auto& [key, tally] : tallies_) {
        TxFinding finding = tally.finding;
        if (finding.kind == FindingKind::kChecksum) {
            judge::NameVote vote = tally.vote;
            const auto healthy = healthy_.find(finding.place);
            for (std::uint64_t i = 0; healthy != healthy_.end() && i < healthy->second; ++i) {
                vote.add_healthy();
            }
            finding.checksum = vote.verdict();
            finding.candidates = vote.candidates();
            finding.title = judge::name(finding.checksum);
            finding.wire_value = tally.vote.last().wire;
            finding.right_value = tally.vote.last().right;
        }
        result.findings.push_back(std::move(finding));
    }
    return result;
}

}  // namespace pathproof::matrix
