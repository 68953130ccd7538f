// Bytes and frames that change or vanish on the way, and counters that do not count what they say.
#include "dataplane/softnic/mechanisms.h"

namespace pathproof::softnic {
namespace {

constexpr FaultDirection kWire = FaultDirection::kWire;

bool has_payload(const TxCase&, Bytes, const Target& target) {
    return target.packet->ip() && target.packet->payload_length() != 0;
}

void flip_bit(const TxCase& at, Span frame, const Target& target) {
    const PacketPlace& packet = *target.packet;
    const auto bits = std::uint64_t{packet.payload_length()} * 8;
    const std::uint64_t bit = at.draw % bits;
    frame[packet.payload + bit / 8] ^= static_cast<std::uint8_t>(1u << bit % 8);
}

void mend(Span frame, const PacketPlace& packet) {
    const auto site = transport_site(packet);
    if (site && !is_off(frame, *site) && packet.fragment == FragmentKind::kWhole) {
        fill(frame, packet, site);
    }
}

bool has_mendable_payload(const TxCase& at, Bytes frame, const Target& target) {
    return has_payload(at, frame, target) && transport_site(*target.packet).has_value() &&
           target.packet->fragment == FragmentKind::kWhole;
}

// A payload that went wrong inside the NIC, before its checksums were made.
void flip_and_mend(const TxCase& at, Span frame, const Target& target) {
    flip_bit(at, frame, target);
    if (at.places.tunnel != TunnelKind::kNone) {
        mend(frame, at.places.inner);
    }
    mend(frame, at.places.outer);
}

bool any_bad(const RxVerdict& verdict) {
    return verdict.ip == RxClaim::kBad || verdict.l4 == RxClaim::kBad ||
           verdict.outer_ip == RxClaim::kBad || verdict.outer_l4 == RxClaim::kBad;
}

bool always(const RxCase&, const Target&) {
    return true;
}
bool bad_somewhere(const RxCase& at, const Target&) {
    return any_bad(at.result.verdict);
}
bool healthy(const RxCase& at, const Target&) {
    return !any_bad(at.truth);
}

void drop(RxCase& at, const Target&) {
    at.result.delivery = RxResult::Delivery::kDropped;
}

void count_one_bad(RxCase& at, const Target&) {
    ++at.counters.rx_csum_bad;
    ++at.counters.rx_l4_csum_bad;
}

void count_none_bad(RxCase& at, const Target&) {
    NicCounters& counters = at.counters;
    counters.rx_csum_bad = 0;
    counters.rx_ip_csum_bad = 0;
    counters.rx_l4_csum_bad = 0;
    counters.rx_outer_ip_csum_bad = 0;
    counters.rx_outer_l4_csum_bad = 0;
}

constexpr Mechanism kPathMechanisms[] = {
    {.name = "FLIP",
     .direction = kWire,
     .fields = kPayloadOnly,
     .meaning = "one bit of the payload changes on the wire",
     .needs = Needs::kPacket,
     .redo = Redo::kNone,
     .applies = has_payload,
     .act = flip_bit},
    {.name = "HEALED",
     .direction = kWire,
     .fields = kPayloadOnly,
     .meaning = "one bit of the payload changes, and the checksums are right for it",
     .needs = Needs::kPacket,
     .redo = Redo::kNone,
     .applies = has_mendable_payload,
     .act = flip_and_mend},
    {.name = "LOSE",
     .direction = kWire,
     .fields = kFrameOnly,
     .meaning = "the frame is lost",
     .needs = Needs::kFrame,
     .redo = Redo::kNone,
     .move = FrameMove::kLose},
    {.name = "DUPLICATE",
     .direction = kWire,
     .fields = kFrameOnly,
     .meaning = "the frame comes twice",
     .needs = Needs::kFrame,
     .redo = Redo::kNone,
     .move = FrameMove::kDuplicate},
    {.name = "REORDER",
     .direction = kWire,
     .fields = kFrameOnly,
     .meaning = "a segment comes after the next one",
     .needs = Needs::kFrame,
     .redo = Redo::kNone,
     .move = FrameMove::kSwapWithNext},
    on_receipt("DROP", kFrameOnly, "the receiver drops the frame", always, drop),
    on_receipt("DROP_BAD", kFrameOnly, "the receiver drops a frame with a bad checksum",
               bad_somewhere, drop),
    on_receipt("COUNT_HEALTHY", kCounterOnly, "rx_csum_bad counts frames that are good", healthy,
               count_one_bad),
    on_receipt("STUCK_ZERO", kCounterOnly, "rx_csum_bad stays 0", bad_somewhere, count_none_bad),
};

}  // namespace

std::span<const Mechanism> path_mechanisms() {
    return kPathMechanisms;
}

}  // namespace pathproof::softnic
