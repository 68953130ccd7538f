#include "dataplane/calibration/marker.h"

#include <algorithm>
#include <span>
#include <utility>

#include "dataplane/base/contains.h"
#include "dataplane/judge/checksum_names.h"
#include "dataplane/judge/verifier.h"

namespace pathproof::calibration {
namespace {

using judge::ChecksumFinding;
using matrix::FrameBytes;

constexpr std::uint8_t kMarkers[] = {0xbe, 0xa5, 0x6d, 0xc7};

struct Field {
    judge::Layer layer;
    std::size_t at = 0;
    std::size_t size = 0;
};

bool same_bytes(const FrameBytes& one, const FrameBytes& other, const Field& field) {
    const auto begin = static_cast<std::ptrdiff_t>(field.at);
    const auto end = static_cast<std::ptrdiff_t>(field.at + field.size);
    return std::cmp_less_equal(end, one.size()) && std::cmp_less_equal(end, other.size()) &&
           std::equal(one.begin() + begin, one.begin() + end, other.begin() + begin);
}

// A frame with the headers where they are in what was handed over: a tag that the NIC inserts moves
// them.
FrameBytes without_inserted_tag(const matrix::HandedFrame& handed, const FrameBytes& intended) {
    return handed.vlan_tci != 0 ? matrix::without_tag(intended) : intended;
}

// Returns the intended frames of one handed frame, with their headers at its places: all segments
// if it is a super-frame, which is then the only one handed over.
std::vector<FrameBytes> intended_for(const matrix::Probe& probe, std::size_t number) {
    std::vector<FrameBytes> intended;
    const std::size_t end = probe.segment_bytes > 0 ? probe.intended.size() : number + 1;
    for (std::size_t i = number; i < end; ++i) {
        intended.push_back(without_inserted_tag(probe.handed[number], probe.intended[i]));
    }
    return intended;
}

// Finds the fields that are left to the NIC. Those that software filled in are as intended in every
// frame; one that the NIC fills in can be so by chance, but not in all segments.
std::vector<Field> fields_of_the_nic(const FrameBytes& handed, std::span<const FrameBytes> intended,
                                     const frame::TunnelPorts& tunnels) {
    std::vector<Field> fields;
    const judge::FrameVerdict verdict = judge::verify(intended.front(), tunnels);
    for (const ChecksumFinding& finding : verdict.all()) {
        const Field field{finding.layer, finding.field_offset,
                          judge::field_size(finding.layer.protocol)};
        const bool left_to_nic = std::ranges::any_of(
            intended, [&](const FrameBytes& frame) { return !same_bytes(handed, frame, field); });
        if (field.at != 0 && field.at + field.size <= handed.size() && left_to_nic) {
            fields.push_back(field);
        }
    }
    return fields;
}

void write(FrameBytes& frame, const std::vector<Field>& fields, std::uint8_t marker) {
    for (const Field& field : fields) {
        std::fill_n(frame.begin() + static_cast<std::ptrdiff_t>(field.at),
                    std::min(field.size, frame.size() - std::min(field.at, frame.size())), marker);
    }
}

// Returns whether the marker, left in the field, can be told from the right value and from a
// partial sum.
bool tells(const FrameBytes& intended, const Field& field, const FrameBytes& marked,
           const frame::TunnelPorts& tunnels) {
    if (same_bytes(intended, marked, field)) {
        return false;
    }
    const judge::Evidence evidence{.tunnels = tunnels, .handed_over = marked};
    const judge::FrameVerdict verdict = judge::verify(marked, tunnels);
    const ChecksumFinding* finding = verdict.find(field.layer);
    if (finding == nullptr || finding->state == judge::ChecksumState::kUnverifiable) {
        return true;
    }
    return contains(judge::matching_names(marked, *finding, evidence),
                    judge::ChecksumName::kFieldKeep);
}

std::uint8_t marker_for(std::span<const FrameBytes> intended, const std::vector<Field>& fields,
                        const frame::TunnelPorts& tunnels) {
    for (const std::uint8_t marker : kMarkers) {
        const bool good = std::ranges::all_of(intended, [&](const FrameBytes& frame) {
            FrameBytes marked = frame;
            write(marked, fields, marker);
            return std::ranges::all_of(
                fields, [&](const Field& field) { return tells(frame, field, marked, tunnels); });
        });
        if (good) {
            return marker;
        }
    }
    return kMarkers[0];
}

}  // namespace

void mark_fields(matrix::Probe& probe) {
    for (std::size_t i = 0; i < probe.handed.size(); ++i) {
        FrameBytes& handed = probe.handed[i].bytes;
        const std::vector<FrameBytes> intended = intended_for(probe, i);
        const std::vector<Field> fields = fields_of_the_nic(handed, intended, probe.tunnels);
        write(handed, fields, marker_for(intended, fields, probe.tunnels));
    }
}

}  // namespace pathproof::calibration
