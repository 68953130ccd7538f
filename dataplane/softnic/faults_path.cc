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

constexpr Mechanism moved(std::string_view name, FrameMove move) {
    return {.name = name,
            .direction = kWire,
            .fields = kFrameOnly,
            .needs = Needs::kFrame,
            .redo = Redo::kNone,
            .move = move};
}

constexpr Mechanism kPathMechanisms[] = {
    // One bit of the payload changes on the wire.
    {.name = "FLIP",
     .direction = kWire,
     .fields = kPayloadOnly,
     .needs = Needs::kPacket,
     .redo = Redo::kNone,
     .applies = has_payload,
     .act = flip_bit},
    // One bit of the payload changes, and the checksums are right for it.
    {.name = "HEALED",
     .direction = kWire,
     .fields = kPayloadOnly,
     .needs = Needs::kPacket,
     .redo = Redo::kNone,
     .applies = has_mendable_payload,
     .act = flip_and_mend},
    // The frame is lost, or comes twice; a segment comes after the next one.
    moved("LOSE", FrameMove::kLose),
    moved("DUPLICATE", FrameMove::kDuplicate),
    moved("REORDER", FrameMove::kSwapWithNext),
    // The receiver drops the frame.
    on_receipt("DROP", kFrameOnly, always, drop),
    // The receiver drops a frame with a bad checksum.
    on_receipt("DROP_BAD", kFrameOnly, bad_somewhere, drop),
    // rx_csum_bad counts frames that are good.
    on_receipt("COUNT_HEALTHY", kCounterOnly, healthy, count_one_bad),
    // rx_csum_bad stays 0.
    on_receipt("STUCK_ZERO", kCounterOnly, bad_somewhere, count_none_bad),
};

}  // namespace

std::span<const Mechanism> path_mechanisms() {
    return kPathMechanisms;
}

}  // namespace pathproof::softnic
