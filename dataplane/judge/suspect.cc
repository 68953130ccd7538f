#include "dataplane/judge/suspect.h"

#include <algorithm>

#include "dataplane/base/be.h"

namespace pathproof::judge {
namespace {

std::uint32_t value_at(Bytes frame, const ChecksumFinding& finding) {
    const std::uint32_t first = word_at(frame, finding.field_offset);
    return finding.layer.protocol == Protocol::kSctp
               ? first << 16 | word_at(frame, finding.field_offset + 2u)
               : first;
}

}  // namespace

std::uint16_t word_at(Bytes bytes, std::size_t offset) {
    const auto word = frame::view<Be16>(bytes, offset);
    return word ? word->value() : std::uint16_t{0};
}

void put_word(std::span<std::uint8_t> bytes, std::size_t offset, std::size_t value) {
    bytes[offset] = static_cast<std::uint8_t>(value >> 8);
    bytes[offset + 1] = static_cast<std::uint8_t>(value);
}

PartialSum address_sum(const frame::IpAddress& address) {
    return frame::sum_bytes({address.bytes.data(), address.size()});
}

PartialSum without(PartialSum sum) {
    return frame::without_word(frame::folded(sum));
}

std::uint16_t pseudo_of(const PacketView& packet, std::uint32_t length) {
    return frame::folded(
        frame::pseudo_header_sum(packet.source, packet.final_destination, packet.protocol, length));
}

std::uint16_t sent_as(Protocol protocol, PartialSum sum) {
    const bool no_zero = protocol == Protocol::kUdp || protocol == Protocol::kUdpLite;
    return no_zero ? frame::udp_checksum_of(sum) : frame::checksum_of(sum);
}

std::vector<std::uint8_t> without_field(const Suspect& suspect, std::size_t from, std::size_t to) {
    const Bytes piece = suspect.frame.subspan(from, to - from);
    std::vector<std::uint8_t> bytes(piece.begin(), piece.end());
    for (std::size_t i = 0; i < field_size(suspect.protocol); ++i) {
        if (suspect.field + i >= from && suspect.field + i < to) {
            bytes[suspect.field + i - from] = 0;
        }
    }
    return bytes;
}

std::vector<std::size_t> buffer_starts(const Suspect& suspect) {
    std::vector<std::size_t> found;
    for (const std::uint32_t start : suspect.evidence->buffer_starts) {
        if (start > suspect.start() && start < suspect.end()) {
            found.push_back(start);
        }
    }
    std::ranges::sort(found);
    return found;
}

void add(const Suspect& suspect, ChecksumName name, PartialSum sum, Predictions& out) {
    out.push_back({name, sent_as(suspect.protocol, sum)});
}

std::optional<Suspect> locate(Bytes frame, const ChecksumFinding& finding,
                              const Evidence& evidence) {
    const frame::FrameView view = frame::parse_frame(frame, evidence.tunnels);
    const bool inside = finding.layer.depth == Depth::kInner;
    if (inside && !view.has_inner) {
        return std::nullopt;
    }
    Suspect suspect{.frame = frame,
                    .view = view,
                    .packet = inside ? view.inner : view.outer,
                    .depth = finding.layer.depth,
                    .protocol = finding.layer.protocol,
                    .field = finding.field_offset,
                    .wire = finding.wire,
                    .right = finding.right,
                    .evidence = &evidence};
    const std::size_t size = field_size(finding.layer.protocol);
    const bool there = suspect.packet.network != frame::Network::kNone &&
                       suspect.field >= suspect.start() && suspect.field + size <= suspect.end() &&
                       suspect.end() <= frame.size() && value_at(frame, finding) == finding.wire;
    return there ? std::optional(suspect) : std::nullopt;
}

std::optional<PacketView> same_packet(const Suspect& suspect, Bytes other) {
    if (other.empty()) {
        return std::nullopt;
    }
    const frame::FrameView view = frame::parse_frame(other, suspect.evidence->tunnels);
    const bool inside = suspect.depth == Depth::kInner;
    if ((inside && !view.has_inner) || view.to_tunnel != suspect.view.to_tunnel) {
        return std::nullopt;
    }
    const PacketView& packet = inside ? view.inner : view.outer;
    const bool alike =
        packet.network == suspect.packet.network && packet.transport == suspect.packet.transport;
    return alike ? std::optional(packet) : std::nullopt;
}

std::optional<ChecksumFinding> same_checksum(const Suspect& suspect, Bytes other) {
    if (other.empty()) {
        return std::nullopt;
    }
    const FrameVerdict verdict = verify(other, suspect.evidence->tunnels);
    const ChecksumFinding* found = verdict.find({suspect.depth, suspect.protocol});
    return found != nullptr ? std::optional(*found) : std::nullopt;
}

}  // namespace pathproof::judge
