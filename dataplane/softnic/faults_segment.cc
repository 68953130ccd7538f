// Segments with headers, or checksums, that are not their own.
#include <netinet/in.h>

#include "dataplane/softnic/bytes.h"
#include "dataplane/softnic/mechanisms.h"

namespace pathproof::softnic {
namespace {

constexpr std::uint8_t kFin = 0x01;
constexpr std::uint8_t kPush = 0x08;
constexpr std::uint8_t kCwr = 0x80;

bool one_of_several(const TxCase& at, Bytes, const Target&) {
    return at.segments > 1;
}

const PacketPlace& super_packet(const TxCase& at, const Target& target) {
    return target.depth == Depth::kInner ? at.handed.places.inner : at.handed.places.outer;
}

std::uint32_t sum_of_super_frame(const TxCase& at, Bytes, const Target& target) {
    const PacketPlace& packet = super_packet(at, target);
    const auto site = transport_site(packet);
    return site ? right_value(at.handed.bytes, packet, *site) : 0;
}

// A field of 16 bits leaves as the super-frame has it.
void keep_field(const TxCase& at, Span frame, std::uint32_t field) {
    put16(frame, field, get16(at.handed.bytes, field));
}

void keep_total_length(const TxCase& at, Span frame, const Target& target) {
    keep_field(at, frame, target.packet->length_at());
}

bool has_udp_length(const TxCase& at, Bytes, const Target& target) {
    return at.segments > 1 && target.packet->transport == IPPROTO_UDP;
}
void keep_udp_length(const TxCase& at, Span frame, const Target& target) {
    keep_field(at, frame, target.packet->l4 + 4);
}

bool has_identification(const TxCase& at, Bytes, const Target& target) {
    return at.segments > 1 && target.packet->family == 4;
}
void keep_identification(const TxCase& at, Span frame, const Target& target) {
    keep_field(at, frame, target.packet->l3 + 4);
}

bool is_tcp_segment(const TxCase& at, Bytes, const Target& target) {
    return at.segments > 1 && target.packet->transport == IPPROTO_TCP;
}

template <std::uint8_t flag>
void keep_flag(const TxCase& at, Span frame, const Target& target) {
    const std::uint32_t flags = target.packet->l4 + 13;
    frame[flags] = static_cast<std::uint8_t>(frame[flags] | (at.handed.bytes[flags] & flag));
}

void keep_sequence(const TxCase& at, Span frame, const Target& target) {
    const std::uint32_t field = target.packet->l4 + 4;
    put32(frame, field, get32(at.handed.bytes, field));
}

bool is_last(const TxCase& at, Bytes, const Target& target) {
    return at.segments > 1 && at.segment + 1 == at.segments && target.depth != Depth::kOuter;
}

// The pseudo-header's length as if the last segment were a full one.
std::uint32_t length_of_full_segment(const TxCase& at, Bytes frame, const Target& target) {
    const PacketPlace& packet = *target.packet;
    const std::uint32_t header = packet.payload - packet.l4;
    return value_with(frame, target,
                      {~target.site->length(), header + at.given.request.offload.segment_bytes});
}

constexpr Mechanism header_kept(std::string_view name, Redo redo,
                                bool (*applies)(const TxCase&, Bytes, const Target&),
                                void (*act)(const TxCase&, Span, const Target&)) {
    return {.name = name,
            .fields = kSegmentOnly,
            .needs = Needs::kPacket,
            .redo = redo,
            .applies = applies,
            .act = act};
}

constexpr Mechanism kSegmentMechanisms[] = {
    // Every segment has the super-frame's checksum.
    {.name = "SUPERPKT", .applies = one_of_several, .value = sum_of_super_frame},
    // The last segment is summed with the length of a full one.
    {.name = "SEG_MSS_LEN", .applies = is_last, .value = length_of_full_segment},
    // Every segment has the super-frame's length of IP or UDP, identification, flag or sequence
    // number.
    header_kept("SEG_TOT_LEN", Redo::kIp, one_of_several, keep_total_length),
    header_kept("SEG_UDP_LEN", Redo::kNone, has_udp_length, keep_udp_length),
    header_kept("SEG_ID_STUCK", Redo::kIp, has_identification, keep_identification),
    header_kept("SEG_PSH", Redo::kAll, is_tcp_segment, keep_flag<kPush>),
    header_kept("SEG_FIN", Redo::kAll, is_tcp_segment, keep_flag<kFin>),
    header_kept("SEG_CWR", Redo::kAll, is_tcp_segment, keep_flag<kCwr>),
    header_kept("SEG_SEQ", Redo::kAll, is_tcp_segment, keep_sequence),
};

}  // namespace

std::span<const Mechanism> segment_mechanisms() {
    return kSegmentMechanisms;
}

}  // namespace pathproof::softnic
