#include "dataplane/judge/suspect.h"

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
    for (const ChecksumFinding& finding : verdict.all()) {
        if (finding.layer == Layer{suspect.depth, suspect.protocol}) {
            return finding;
        }
    }
    return std::nullopt;
}

}  // namespace pathproof::judge
