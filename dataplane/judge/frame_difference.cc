#include "dataplane/judge/frame_difference.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "dataplane/base/contains.h"
#include "dataplane/base/join_each.h"
#include "dataplane/judge/misplaced.h"
#include "dataplane/judge/suspect.h"

namespace pathproof::judge {
namespace {

constexpr std::size_t kShortestOnTheWire = 60;  // IEEE 802.3, without FCS
using frame::ByteVector;

// The frame before a NIC's work: what was handed over or, without it, the intended frame with
// pseudo-header sums in its transport fields.
ByteVector base_of(Bytes intended, Bytes handed_over, const frame::TunnelPorts& tunnels) {
    if (handed_over.size() == intended.size()) {
        return {handed_over.begin(), handed_over.end()};
    }
    ByteVector base(intended.begin(), intended.end());
    const Evidence evidence{.tunnels = tunnels};
    const FrameVerdict verdict = verify(intended, tunnels);
    for (const ChecksumFinding& finding : verdict.all()) {
        const auto suspect = locate(intended, finding, evidence);
        if (suspect && suspect->has_pseudo_header()) {
            put_word(base, finding.field_offset,
                     pseudo_of(suspect->packet, suspect->packet.transport_length));
        }
    }
    return base;
}

// A transport's; an IPv4 header's can be hit by one that was looked for in the wrong place.
bool is_transport_checksum(const std::vector<Field>& fields, std::uint32_t offset) {
    return std::ranges::any_of(fields, [&](const Field& field) {
        return field.kind == FieldKind::kChecksum && field.offset == offset &&
               !field.name.ends_with("ip.checksum");
    });
}

// A trailer's bytes that a length field counts, the commonest wrong length.
std::string explain_value(const Field& field, std::uint64_t intended, std::uint64_t observed,
                          const frame::FrameView& view) {
    const std::uint32_t outer = view.outer.trailer_length;
    const std::uint32_t inner = view.has_inner ? view.inner.trailer_length : 0;
    const bool is_length = field.name.ends_with("length");
    for (const std::uint32_t padding : {outer, inner}) {
        if (is_length && padding != 0 && observed == intended + padding) {
            return fmt::format("the {} bytes of padding were added", padding);
        }
    }
    return "";
}

class Comparison {
  public:
    Comparison(Bytes intended, Bytes observed, const frame::TunnelPorts& tunnels, Bytes handed_over)
        : intended_(intended),
          observed_(observed),
          tunnels_(tunnels),
          view_(frame::parse_frame(intended, tunnels)),
          fields_(fields_of(intended, view_)),
          base_(base_of(intended, handed_over, tunnels)),
          expected_(intended.begin(), intended.end()) {}

    FrameDifference make() && {
        find_misplaced();
        for (const Field& field : fields_) {
            compare(field);
        }
        compare_ends();
        std::ranges::stable_sort(result_.fields, {}, &FieldDifference::offset);
        return std::move(result_);
    }

  private:
    // Words that a misplaced checksum explains; they are taken for explained from then on.
    void find_misplaced() {
        std::vector<MisplacedWrite> writes = misplaced_writes(base_, tunnels_);
        const std::vector<MisplacedWrite> late = misplaced_writes(last_step(), tunnels_);
        writes.insert(writes.end(), late.begin(), late.end());
        for (const MisplacedWrite& write : writes) {
            const std::size_t at = write.offset;
            const bool there = at + 2 <= observed_.size() && at + 2 <= expected_.size();
            if (!there ||
                (is_transport_checksum(fields_, write.offset) && !is_overwritten(write.offset)) ||
                word_at(observed_, at) == word_at(expected_, at) ||
                !same(word_at(observed_, at), write.value)) {
                continue;
            }
            add_misplaced(write, writes);
            expected_[at] = observed_[at];
            expected_[at + 1] = observed_[at + 1];
        }
    }

    // Returns whether the innermost checksum may have overwritten one that the sender was to leave
    // alone, while its own field stayed unfilled: lengths of headers may add up so.
    bool is_overwritten(std::uint32_t offset) const {
        const FrameVerdict verdict = verify(intended_, tunnels_);
        if (verdict.count == 0) {
            return false;
        }
        const std::size_t own = verdict.all().back().field_offset;
        const bool there = own != 0 && own != offset && own + 2 <= base_.size() &&
                           own + 2 <= observed_.size() && base_.size() == intended_.size();
        return there && word_at(base_, offset) == word_at(intended_, offset) &&
               word_at(base_, own) != word_at(intended_, own) &&
               word_at(observed_, own) == word_at(base_, own);
    }

    // Everything finished but the innermost transport checksum: it was filled in last.
    ByteVector last_step() const {
        ByteVector bytes(intended_.begin(), intended_.end());
        const FrameVerdict verdict = verify(intended_, tunnels_);
        for (const ChecksumFinding& finding : verdict.all()) {
            const bool innermost =
                finding.layer.depth != Depth::kOuter && finding.layer.protocol != Protocol::kIpv4;
            const std::size_t at = finding.field_offset;
            if (innermost && at != 0 && at + 2 <= base_.size()) {
                bytes[at] = base_[at];
                bytes[at + 1] = base_[at + 1];
            }
        }
        return bytes;
    }

    void add_misplaced(const MisplacedWrite& write, const std::vector<MisplacedWrite>& writes) {
        FieldDifference found{.kind = DifferenceKind::kField,
                              .field = name_at(write.offset),
                              .offset = write.offset,
                              .length = 2,
                              .intended = word_at(intended_, write.offset),
                              .observed = word_at(observed_, write.offset),
                              .explanation = ""};
        found.misplaced_as = {write.misplaced};
        for (const MisplacedWrite& other : writes) {
            const bool fits =
                other.offset == write.offset && same(other.value, word_at(observed_, write.offset));
            const bool listed = contains(found.misplaced_as, other.misplaced);
            if (fits && !listed) {
                found.misplaced_as.push_back(other.misplaced);
            }
        }
        const auto name_of = [](Misplaced misplaced) { return name(misplaced); };
        found.explanation = "a checksum written in the wrong place: " +
                            join_each(found.misplaced_as, name_of, " or ");
        result_.fields.push_back(std::move(found));
    }

    std::string name_at(std::uint32_t offset) const {
        for (const Field& field : fields_) {
            if (offset >= field.offset && offset < field.offset + field.length) {
                return offset == field.offset && field.length == 2
                           ? field.name
                           : fmt::format("{}[{}]", field.name, offset - field.offset);
            }
        }
        return "behind the frame";
    }

    // Returns the part of the field from its first to its last differing byte.
    std::optional<Field> differing(const Field& field) const {
        std::optional<Field> part;
        for (std::uint32_t i = field.offset; i < field.offset + field.length; ++i) {
            if (i < observed_.size() && observed_[i] != expected_[i]) {
                if (!part) {
                    part = Field{field.name, i, 0, field.kind};
                }
                part->length = i - part->offset + 1;
            }
        }
        return part;
    }

    void compare(const Field& field) {
        const std::optional<Field> part = differing(field);
        if (!part) {
            return;
        }
        const bool narrowed =
            field.kind == FieldKind::kPayload || field.length > sizeof FieldDifference::intended;
        const Field& shown = narrowed ? *part : field;
        FieldDifference found{.kind = kind_of(field),
                              .field = field.name,
                              .offset = shown.offset,
                              .length = shown.length,
                              .intended = value_of(intended_, shown),
                              .observed = value_of(observed_, shown),
                              .explanation = ""};
        if (found.kind == DifferenceKind::kField) {
            found.explanation = explain_value(field, found.intended, found.observed, view_);
        }
        result_.fields.push_back(std::move(found));
    }

    DifferenceKind kind_of(const Field& field) const {
        switch (field.kind) {
            case FieldKind::kChecksum: return DifferenceKind::kChecksum;
            case FieldKind::kTrailer: return DifferenceKind::kTrailer;
            case FieldKind::kPayload:
                return is_sealed() ? DifferenceKind::kHealed : DifferenceKind::kPayload;
            case FieldKind::kHeader: break;
        }
        return DifferenceKind::kField;
    }

    // Returns whether the innermost transport checksum of the observed frame is right.
    bool is_sealed() const {
        const FrameVerdict verdict = verify(observed_, tunnels_);
        const ChecksumFinding* innermost = nullptr;
        for (const ChecksumFinding& finding : verdict.all()) {
            if (finding.layer.protocol != Protocol::kIpv4) {
                innermost = &finding;
            }
        }
        return innermost != nullptr && innermost->state == ChecksumState::kGood;
    }

    // A MAC fills short frames up; other lengths than that are a difference.
    void compare_ends() {
        const std::size_t filled = std::max(intended_.size(), kShortestOnTheWire);
        if (observed_.size() == intended_.size() || observed_.size() == filled) {
            return;
        }
        result_.fields.push_back(
            {.kind = DifferenceKind::kLength,
             .field = "frame",
             .offset = static_cast<std::uint32_t>(std::min(intended_.size(), observed_.size())),
             .length = static_cast<std::uint32_t>(std::max(intended_.size(), observed_.size()) -
                                                  std::min(intended_.size(), observed_.size())),
             .intended = intended_.size(),
             .observed = observed_.size(),
             .explanation = "bytes of the frame"});
    }

    Bytes intended_;
    Bytes observed_;
    const frame::TunnelPorts& tunnels_;
    frame::FrameView view_;
    std::vector<Field> fields_;
    ByteVector base_;
    ByteVector
        expected_;  // the intended frame, with what is explained taken over from the observed
    FrameDifference result_;
};

}  // namespace

const char* name(DifferenceKind kind) {
    constexpr const char* kNames[] = {"CHECKSUM", "WRONG_FIELD", "PAYLOAD",
                                      "HEALED",   "TRAILER",     "LENGTH"};
    return kNames[static_cast<std::size_t>(kind)];
}

const char* name(Misplaced misplaced) {
    constexpr const char* kNames[] = {"",           "EXTHDR_START",     "IPOPT_START",
                                      "VLAN_START", "NO_OUTER_LENGTHS", "OTHER_PROTOCOL",
                                      "FRAG_L4",    "PORT_SPECIAL"};
    return kNames[static_cast<std::size_t>(misplaced)];
}

FrameDifference compare_frames(std::span<const std::uint8_t> intended,
                               std::span<const std::uint8_t> observed,
                               const frame::TunnelPorts& tunnels,
                               std::span<const std::uint8_t> handed_over) {
    return Comparison(intended, observed, tunnels, handed_over).make();
}

std::string text(const FrameDifference& difference) {
    std::string out;
    for (const FieldDifference& field : difference.fields) {
        const int digits = static_cast<int>(std::min<std::uint32_t>(field.length, 8)) * 2;
        out += fmt::format("{} {} at {}: 0x{:0{}x} instead of 0x{:0{}x}{}\n", name(field.kind),
                           field.field, field.offset, field.observed, digits, field.intended,
                           digits, field.explanation.empty() ? "" : " (" + field.explanation + ")");
    }
    return out;
}

}  // namespace pathproof::judge
