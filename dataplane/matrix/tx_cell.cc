#include "dataplane/matrix/tx_cell.h"

#include <algorithm>
#include <array>

#include "dataplane/judge/reassembly.h"
#include "dataplane/judge/verifier.h"

namespace pathproof::matrix {
namespace {

constexpr std::array<const char*, 11> kKindNames = {"checksum", "field",   "payload",  "healed",
                                                    "trailer",  "length",  "segment",  "missing",
                                                    "surplus",  "refused", "malformed"};

FindingKind kind_of(judge::DifferenceKind kind) {
    switch (kind) {
        case judge::DifferenceKind::kChecksum:
            return FindingKind::kChecksum;
        case judge::DifferenceKind::kField:
            return FindingKind::kField;
        case judge::DifferenceKind::kPayload:
            return FindingKind::kPayload;
        case judge::DifferenceKind::kHealed:
            return FindingKind::kHealed;
        case judge::DifferenceKind::kTrailer:
            return FindingKind::kTrailer;
        case judge::DifferenceKind::kLength:
            break;
    }
    return FindingKind::kLength;
}

std::vector<std::uint32_t> starts_of(const std::vector<std::uint32_t>& buffers) {
    std::vector<std::uint32_t> starts;
    std::uint32_t at = 0;
    for (const std::uint32_t bytes : buffers) {
        at += bytes;
        starts.push_back(at);
    }
    if (!starts.empty()) {
        starts.pop_back();
    }
    return starts;
}

judge::Evidence evidence_of(const Probe& probe, const HandedFrame& handed,
                            const std::vector<std::uint32_t>& buffer_starts) {
    judge::Evidence evidence{.tunnels = probe.tunnels, .buffer_starts = buffer_starts};
    evidence.handed_over = handed.bytes;
    return evidence;
}

// NAT rewrote the outer header only.
void add_nat(judge::Evidence& evidence, const Probe& probe, const FrameBytes& frame,
             const judge::ChecksumFinding& finding) {
    if (!probe.source_before_nat || finding.layer.depth != judge::Depth::kOuter) {
        return;
    }
    const frame::FrameView view = frame::parse_frame(frame, probe.tunnels);
    evidence.original =
        judge::OriginalTuple{*probe.source_before_nat, view.outer.destination_endpoint()};
}

const judge::ChecksumFinding* same_layer(const judge::FrameVerdict& verdict, judge::Layer layer) {
    for (const judge::ChecksumFinding& finding : verdict.all()) {
        if (finding.layer == layer) {
            return &finding;
        }
    }
    return nullptr;
}

// A checksum that is off though the sender meant it to be on.
bool lost(const judge::ChecksumFinding& finding, const judge::FrameVerdict& intended) {
    const judge::ChecksumFinding* meant = same_layer(intended, finding.layer);
    return finding.state == judge::ChecksumState::kDisabled && meant != nullptr &&
           meant->state == judge::ChecksumState::kGood;
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

// With the tag that the NIC was to insert.
FrameBytes super_frame_of(const Probe& probe) {
    const HandedFrame& handed = probe.handed.front();
    FrameBytes bytes = handed.bytes;
    if (handed.vlan_tci != 0) {
        constexpr std::ptrdiff_t kAddresses = 12;
        const FrameBytes tag = {0x81, 0x00, static_cast<std::uint8_t>(handed.vlan_tci >> 8),
                                static_cast<std::uint8_t>(handed.vlan_tci)};
        bytes.insert(bytes.begin() + kAddresses, tag.begin(), tag.end());
    }
    return bytes;
}

std::vector<std::span<const std::uint8_t>> spans_of(std::span<const FrameBytes> frames) {
    return {frames.begin(), frames.end()};
}

}  // namespace

const char* name(FindingKind kind) {
    return kKindNames[static_cast<std::size_t>(kind)];
}

double TxCellResult::excludes() const {
    return intended <= 3 ? 1 : 3 / static_cast<double>(intended);
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

void TxCell::judge_checksums(const Seen& seen, const judge::FrameVerdict& verdict) {
    const judge::FrameVerdict meant = judge::verify(seen.intended, seen.probe.tunnels);
    const std::vector<std::uint32_t> starts = starts_of(seen.handed.buffers);
    for (const judge::ChecksumFinding& finding : verdict.all()) {
        const bool is_lost = lost(finding, meant);
        if ((finding.state != judge::ChecksumState::kBad && !is_lost) ||
            follows_from_another(finding, seen.wire, seen.intended)) {
            continue;
        }
        judge::Evidence evidence = evidence_of(seen.probe, seen.handed, starts);
        evidence.zero_udp = is_lost ? judge::ZeroUdp::kNotAgreed : judge::ZeroUdp::kAgreed;
        add_nat(evidence, seen.probe, seen.wire, finding);
        Tally& wrong = tally(FindingKind::kChecksum, judge::word(finding.layer), "",
                             {seen.probe.label, seen.wire, seen.intended, seen.handed.bytes});
        wrong.vote.add(seen.wire, finding, judge::matching_names(seen.wire, finding, evidence));
    }
}

void TxCell::compare(const Seen& seen) {
    const judge::FrameDifference difference =
        judge::compare_frames(seen.intended, seen.wire, seen.probe.tunnels, seen.handed.bytes);
    for (const judge::FieldDifference& field : difference.fields) {
        if (field.kind == judge::DifferenceKind::kChecksum || is_free(field.field)) {
            continue;  // checksums are judged by what they cover, as it stands on the wire
        }
        const std::string title = field.misplaced == judge::Misplaced::kNone
                                      ? judge::name(field.kind)
                                      : judge::name(field.misplaced);
        TxFinding& finding = tally(kind_of(field.kind), field.field, title,
                                   {seen.probe.label, seen.wire, seen.intended, seen.handed.bytes})
                                 .finding;
        finding.wire_value = static_cast<std::uint32_t>(field.observed);
        finding.right_value = static_cast<std::uint32_t>(field.intended);
    }
}

void TxCell::judge_frame(const Seen& seen) {
    const judge::FrameVerdict verdict = judge::verify(seen.wire, seen.probe.tunnels);
    const bool exact = seen.wire == seen.intended;
    count_healthy(verdict);
    if (exact && !verdict.any_bad() && verdict.malformed == judge::Malformed::kNone) {
        ++counts_.exact;
        return;
    }
    judge_checksums(seen, verdict);
    if (!exact) {
        compare(seen);
    }
    if (verdict.malformed != judge::Malformed::kNone) {
        tally(FindingKind::kMalformed, "", "MALFORMED",
              {seen.probe.label, seen.wire, seen.intended, seen.handed.bytes});
    }
}

void TxCell::judge_segments(const Probe& probe, std::span<const FrameBytes> wire) {
    const FrameBytes whole = super_frame_of(probe);
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
    std::uint64_t wrong = 0;
    std::vector<bool> counted(wire.size());
    for (const judge::SegmentFinding& found : audit->findings) {
        if (found.segment < wire.size() && !counted[found.segment]) {
            counted[found.segment] = true;
            ++wrong;
        }
        const bool sum = found.fault == judge::SegmentFault::kChecksum ||
                         found.fault == judge::SegmentFault::kSuperPacket;
        if (sum) {
            continue;  // a name needs several payloads: judge_segment_checksums()
        }
        TxFinding& finding = tally(FindingKind::kSegment, found.field, judge::name(found.fault),
                                   specimen(found.segment))
                                 .finding;
        finding.wire_value = static_cast<std::uint32_t>(found.wire);
        finding.right_value = static_cast<std::uint32_t>(found.right);
    }
    counts_.exact += wire.size() - wrong;
    for (std::size_t segment = 0; segment < wire.size(); ++segment) {
        judge_segment_checksums(probe.tunnels, whole, specimen(segment));
    }
}

void TxCell::judge_segment_checksums(const frame::TunnelPorts& tunnels, const FrameBytes& whole,
                                     const Specimen& segment) {
    const judge::FrameVerdict verdict = judge::verify(segment.wire, tunnels);
    const judge::FrameVerdict meant = judge::verify(segment.intended, tunnels);
    for (const judge::ChecksumFinding& finding : verdict.all()) {
        const bool is_lost = lost(finding, meant);
        if ((finding.state != judge::ChecksumState::kBad && !is_lost) ||
            follows_from_another(finding, segment.wire, segment.intended)) {
            continue;
        }
        judge::Evidence evidence{.tunnels = tunnels, .super_frame = whole};
        evidence.zero_udp = is_lost ? judge::ZeroUdp::kNotAgreed : judge::ZeroUdp::kAgreed;
        Tally& wrong = tally(FindingKind::kChecksum, judge::word(finding.layer), "", segment);
        wrong.vote.add(segment.wire, finding,
                       judge::matching_names(segment.wire, finding, evidence));
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
    count_healthy(verdict);
    for (const judge::ChecksumFinding& finding : verdict.all()) {
        const bool is_lost = lost(finding, meant);
        const bool transport = finding.layer.protocol != judge::Protocol::kIpv4;
        const bool innermost = finding.layer.depth != judge::Depth::kOuter;
        if ((finding.state != judge::ChecksumState::kBad && !is_lost) || !transport || !innermost) {
            continue;
        }
        judge::Evidence evidence{.tunnels = probe.tunnels};
        evidence.zero_udp = is_lost ? judge::ZeroUdp::kNotAgreed : judge::ZeroUdp::kAgreed;
        evidence.first_fragment_end = whole->first_fragment_end;
        Tally& wrong = tally(FindingKind::kChecksum, judge::word(finding.layer), "",
                             {probe.label, whole->frame, probe.whole, probe.handed[0].bytes});
        wrong.vote.add(whole->frame, finding,
                       judge::matching_names(whole->frame, finding, evidence));
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
    const std::size_t both = std::min(wire.size(), probe.intended.size());
    for (std::size_t i = 0; i < both; ++i) {
        judge_frame({probe, wire[i], probe.intended[i], probe.handed[i]});
    }
    for (std::size_t i = both; i < probe.intended.size(); ++i) {
        tally(FindingKind::kMissing, "", "MISSING",
              {probe.label, {}, probe.intended[i], probe.handed[i].bytes});
    }
    for (std::size_t i = both; i < wire.size(); ++i) {
        tally(FindingKind::kSurplus, "", "SURPLUS", {probe.label, wire[i], {}, {}});
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
