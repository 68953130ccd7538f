#include "dataplane/judge/segment_audit.h"

#include <fmt/format.h>

#include <algorithm>

#include "dataplane/judge/field_map.h"
#include "dataplane/judge/suspect.h"

namespace pathproof::judge {
namespace {

using frame::ByteVector;
using frame::FrameView;
using frame::Network;
using frame::Transport;

constexpr std::uint8_t kFin = 0x01;
constexpr std::uint8_t kPsh = 0x08;
constexpr std::uint8_t kCwr = 0x80;
constexpr std::size_t kShortestOnTheWire = 60;
constexpr std::uint16_t kDontFragment = 0x4000;

std::uint32_t long_at(Bytes bytes, std::size_t at) {
    return static_cast<std::uint32_t>(word_at(bytes, at)) << 16 | word_at(bytes, at + 2);
}
void put32(ByteVector& bytes, std::size_t at, std::uint32_t value) {
    put_word(bytes, at, value >> 16);
    put_word(bytes, at + 2, value & 0xffff);
}

Status check(const SuperFrame& super, const FrameView& view) {
    const PacketView& packet = view.innermost();
    if (super.mss == 0) {
        return fail(ErrorCode::kBadInput, "an MSS of 0 cuts nothing: give the segments' size");
    }
    if (view.malformed != Malformed::kNone) {
        return fail(
            ErrorCode::kBadInput,
            "the super-frame of {} bytes is shorter than its headers say, or cannot be read",
            super.bytes.size());
    }
    const bool known = packet.transport == Transport::kTcp || packet.transport == Transport::kUdp;
    if (!known || packet.fragment != frame::Fragment::kWhole) {
        return fail(ErrorCode::kBadInput, "the super-frame is neither TCP nor UDP");
    }
    return {};
}

// One segment: the super-frame's headers with what RFC 9293, 768 and 791 want changed.
class Segment {
  public:
    Segment(const SuperFrame& super, const FrameView& view, std::size_t index, std::size_t count)
        : super_(super), view_(view), index_(index), count_(count) {}

    ByteVector make() {
        const PacketView& packet = view_.innermost();
        const std::size_t at = index_ * super_.mss;
        const std::size_t length = std::min<std::size_t>(super_.mss, packet.payload_length - at);
        const Bytes headers = super_.bytes.first(packet.payload_offset);
        const Bytes data = super_.bytes.subspan(packet.payload_offset + at, length);
        bytes_.assign(headers.begin(), headers.end());
        bytes_.insert(bytes_.end(), data.begin(), data.end());
        set_lengths(view_.outer);
        if (view_.has_inner) {
            set_lengths(view_.inner);
        }
        if (packet.transport == Transport::kTcp) {
            set_tcp(packet);
        }
        seal();
        return std::move(bytes_);
    }

  private:
    void set_lengths(const PacketView& packet) {
        const std::size_t ip = packet.network_offset;
        if (packet.network == Network::kIpv4) {
            put_word(bytes_, ip + 2, bytes_.size() - ip);
            put_word(bytes_, ip + 4, word_at(bytes_, ip + 4) + index_);
        } else if (packet.network == Network::kIpv6) {
            put_word(bytes_, ip + 4, bytes_.size() - ip - 40);
        }
        if (packet.transport == Transport::kUdp) {
            put_word(bytes_, packet.transport_offset + 4, bytes_.size() - packet.transport_offset);
        }
    }

    // RFC 3168 section 6.1.2: CWR goes with the first new data; PSH and FIN with the last.
    void set_tcp(const PacketView& packet) {
        const std::size_t sequence = packet.transport_offset + 4;
        std::uint8_t& flags = bytes_[packet.transport_offset + 13];
        put32(bytes_, sequence,
              long_at(bytes_, sequence) + static_cast<std::uint32_t>(index_ * super_.mss));
        if (index_ + 1 < count_) {
            flags = static_cast<std::uint8_t>(flags & ~(kFin | kPsh));
        }
        if (index_ > 0) {
            flags = static_cast<std::uint8_t>(flags & ~kCwr);
        }
    }

    // Innermost first: the outer sum covers what is inside. An outer UDP field of 0 stays: the
    // tunnel has no checksum.
    void seal() {
        for (const Depth depth : {Depth::kInner, Depth::kOuter, Depth::kPlain}) {
            const FrameVerdict verdict = verify(bytes_, super_.tunnels);
            for (const ChecksumFinding& finding : verdict.all()) {
                const bool wanted =
                    finding.state != ChecksumState::kDisabled || depth != Depth::kOuter;
                if (finding.layer.depth == depth && wanted) {
                    write_right(bytes_, finding);
                }
            }
        }
    }

    const SuperFrame& super_;
    const FrameView& view_;
    std::size_t index_;
    std::size_t count_;
    ByteVector bytes_;
};

std::size_t count_of(const SuperFrame& super, const FrameView& view) {
    const std::size_t payload = view.innermost().payload_length;
    return std::max<std::size_t>(1, (payload + super.mss - 1) / super.mss);
}

std::vector<ByteVector> make_segments(const SuperFrame& super, const FrameView& view) {
    std::vector<ByteVector> segments;
    const std::size_t count = count_of(super, view);
    for (std::size_t i = 0; i < count; ++i) {
        segments.push_back(Segment(super, view, i, count).make());
    }
    return segments;
}

class Audit {
  public:
    Audit(const SuperFrame& super, const FrameView& view)
        : super_(super),
          view_(view),
          packet_(view.innermost()),
          expected_(make_segments(super, view)),
          taken_(expected_.size()) {}

    SegmentAudit make(std::span<const Bytes> seen) && {
        seen_ = seen.size();
        for (std::size_t i = 0; i < seen.size(); ++i) {
            const bool copy = std::ranges::any_of(
                seen.first(i), [&](Bytes earlier) { return std::ranges::equal(earlier, seen[i]); });
            take(i, seen[i], copy ? Copy::kYes : Copy::kNo);
        }
        for (std::size_t i = 0; i < expected_.size(); ++i) {
            if (!taken_[i]) {
                report({.fault = SegmentFault::kMissing, .segment = i, .field = ""});
            }
        }
        return std::move(result_);
    }

  private:
    // Says whether the very same frame was seen before.
    enum class Copy : std::uint8_t { kNo, kYes };

    void report(SegmentFinding finding) { result_.findings.push_back(std::move(finding)); }

    std::size_t headers() const { return packet_.payload_offset; }

    // A frame of this connection: kinds of headers, addresses and ports.
    bool is_ours(Bytes seen) const {
        const FrameView view = frame::parse_frame(seen, super_.tunnels);
        const PacketView& packet = view.innermost();
        return seen.size() >= headers() && view.tunnel == view_.tunnel &&
               view.has_inner == view_.has_inner && packet.network == packet_.network &&
               packet.protocol == packet_.protocol &&
               packet.transport_offset == packet_.transport_offset &&
               packet.source == packet_.source && packet.destination == packet_.destination &&
               word_at(seen, packet_.transport_offset) == packet_.source_port &&
               word_at(seen, packet_.transport_offset + 2) == packet_.destination_port;
    }

    static bool same_size(const ByteVector& expected, Bytes seen) {
        return seen.size() == expected.size() ||
               seen.size() == std::max(expected.size(), kShortestOnTheWire);
    }
    bool same_payload(const ByteVector& expected, Bytes seen) const {
        return seen.size() >= expected.size() &&
               std::equal(expected.begin() + static_cast<std::ptrdiff_t>(headers()), expected.end(),
                          seen.begin() + static_cast<std::ptrdiff_t>(headers()));
    }
    bool same_place(const ByteVector& expected, Bytes seen) const {
        const std::size_t sequence = packet_.transport_offset + 4;
        return packet_.transport == Transport::kTcp &&
               long_at(expected, sequence) == long_at(seen, sequence);
    }
    // IPv4 identifications tell apart two segments with the same data and no sequence number.
    bool same_identification(const ByteVector& expected, Bytes seen) const {
        const auto same = [&](const PacketView& packet) {
            return packet.network != Network::kIpv4 ||
                   word_at(expected, packet.network_offset + 4u) ==
                       word_at(seen, packet.network_offset + 4u);
        };
        return same(view_.outer) && (!view_.has_inner || same(view_.inner));
    }

    static constexpr unsigned kDataFits = 4;
    // Rates how well a frame fits a segment: by its bytes first, then by its sequence number.
    unsigned fit(std::size_t i, Bytes seen) const {
        const bool data = same_size(expected_[i], seen) && same_payload(expected_[i], seen);
        return (data ? kDataFits : 0u) + (same_place(expected_[i], seen) ? 2u : 0u) +
               (same_identification(expected_[i], seen) ? 1u : 0u);
    }

    // The segment that the frame is: of several that fit alike, the next one in order.
    std::optional<std::size_t> match(Bytes seen, Copy copy, unsigned& best_taken) const {
        std::optional<std::size_t> best;
        unsigned best_fit = 0;
        best_taken = 0;
        for (std::size_t n = 0; n < expected_.size(); ++n) {
            const std::size_t i = (next_ + n) % expected_.size();
            const unsigned fits = fit(i, seen);
            if (taken_[i]) {
                best_taken = std::max(best_taken, fits);
            } else if (!best || fits > best_fit) {
                best = i;
                best_fit = fits;
            }
        }
        // If as many frames came as there are segments, and this frame carries the data of a
        // segment still to come, it is that segment with another one's headers.
        const bool complete =
            copy == Copy::kNo && seen_ == expected_.size() && best_fit >= kDataFits;
        return best_taken > best_fit && !complete ? std::nullopt : best;
    }

    void take(std::size_t index, Bytes seen, Copy copy) {
        if (!is_ours(seen)) {
            return report({.fault = SegmentFault::kForeign, .segment = index, .field = ""});
        }
        unsigned best_taken = 0;
        const auto place = match(seen, copy, best_taken);
        if (!place) {
            return report({.fault = SegmentFault::kDuplicate, .segment = index, .field = ""});
        }
        taken_[*place] = true;
        if (*place < next_) {
            report({.fault = SegmentFault::kMisordered, .segment = index, .field = ""});
        }
        next_ = std::max(next_, *place + 1);
        audit_headers(index, *place, seen);
        audit_payload(index, *place, seen);
        audit_checksums(index, *place, seen);
    }

    // RFC 6864 section 4: where DF is set the identification means nothing.
    bool may_stand_still(Bytes seen, const Field& field) const {
        const std::uint16_t flags = word_at(seen, field.offset + 2);
        return super_.ip_id == IpIdRule::kMangleId && field.name.ends_with("ip.id") &&
               (flags & kDontFragment) != 0 &&
               word_at(seen, field.offset) == word_at(super_.bytes, field.offset);
    }

    void audit_headers(std::size_t index, std::size_t place, Bytes seen) {
        const ByteVector& expected = expected_[place];
        const FrameView view = frame::parse_frame(expected, super_.tunnels);
        for (const Field& field : fields_of(expected, view)) {
            const Bytes right = Bytes(expected).subspan(field.offset, field.length);
            if (field.kind != FieldKind::kHeader ||
                std::ranges::equal(right, seen.subspan(field.offset, field.length)) ||
                may_stand_still(seen, field)) {
                continue;
            }
            report({.fault = SegmentFault::kHeader,
                    .segment = index,
                    .field = field.name,
                    .wire = value_of(seen, field),
                    .right = value_of(expected, field)});
        }
    }

    void audit_payload(std::size_t index, std::size_t place, Bytes seen) {
        const ByteVector& expected = expected_[place];
        if (!same_size(expected, seen)) {
            return report({.fault = SegmentFault::kSize,
                           .segment = index,
                           .field = "payload",
                           .wire = seen.size() - headers(),
                           .right = expected.size() - headers()});
        }
        if (!same_payload(expected, seen)) {
            report({.fault = SegmentFault::kPayload, .segment = index, .field = "payload"});
        }
    }

    bool wants_checksum(const ChecksumFinding& finding) const {
        const FrameVerdict handed = verify(super_.bytes, super_.tunnels);
        const ChecksumFinding* meant = handed.find(finding.layer);
        return meant == nullptr || meant->state != ChecksumState::kDisabled;
    }

    void audit_checksums(std::size_t index, std::size_t place, Bytes seen) {
        Evidence evidence{.tunnels = super_.tunnels, .super_frame = super_.bytes};
        const FrameVerdict verdict = verify(seen, super_.tunnels);
        for (const ChecksumFinding& finding : verdict.all()) {
            const bool lost = finding.state == ChecksumState::kDisabled && wants_checksum(finding);
            if (finding.state != ChecksumState::kBad && !lost) {
                continue;
            }
            evidence.zero_udp = lost ? ZeroUdp::kNotAgreed : ZeroUdp::kAgreed;
            report_checksum(index, expected_[place], finding,
                            matching_names(seen, finding, evidence));
        }
    }

    void report_checksum(std::size_t index, const ByteVector& expected,
                         const ChecksumFinding& finding, const std::vector<ChecksumName>& names) {
        const ChecksumName one = names.size() == 1 ? names.front() : ChecksumName::kUnknown;
        const bool super = one == ChecksumName::kSuperPacket;
        report({.fault = super ? SegmentFault::kSuperPacket : SegmentFault::kChecksum,
                .segment = index,
                .field = field_name(expected, finding),
                .wire = finding.wire,
                .right = finding.right,
                .checksum = one});
    }
    std::string field_name(const ByteVector& expected, const ChecksumFinding& finding) const {
        const FrameView view = frame::parse_frame(expected, super_.tunnels);
        for (const Field& field : fields_of(expected, view)) {
            if (field.offset == finding.field_offset) {
                return field.name;
            }
        }
        return word(finding.layer);
    }

    const SuperFrame& super_;
    const FrameView& view_;
    const PacketView& packet_;
    std::vector<ByteVector> expected_;
    std::vector<bool> taken_;
    std::size_t next_ = 0;
    std::size_t seen_ = 0;  // frames
    SegmentAudit result_;
};

}  // namespace

const char* name(SegmentFault fault) {
    constexpr const char* kNames[] = {"SEG_HDR", "CHECKSUM",  "SUPERPKT",   "PAYLOAD", "SIZE",
                                      "MISSING", "DUPLICATE", "MISORDERED", "FOREIGN"};
    return kNames[static_cast<std::size_t>(fault)];
}

std::string title(const SegmentFinding& finding) {
    if (finding.field.empty()) {
        return name(finding.fault);
    }
    const bool named = finding.fault == SegmentFault::kChecksum;
    return fmt::format("{}({})", named ? name(finding.checksum) : name(finding.fault),
                       finding.field);
}

Result<SegmentAudit> audit_segments(const SuperFrame& super_frame,
                                    std::span<const std::span<const std::uint8_t>> segments) {
    const FrameView view = frame::parse_frame(super_frame.bytes, super_frame.tunnels);
    TRY(check(super_frame, view));
    return Audit(super_frame, view).make(segments);
}

Result<std::vector<std::vector<std::uint8_t>>> perfect_segments(const SuperFrame& super_frame) {
    const FrameView view = frame::parse_frame(super_frame.bytes, super_frame.tunnels);
    TRY(check(super_frame, view));
    return make_segments(super_frame, view);
}

}  // namespace pathproof::judge
