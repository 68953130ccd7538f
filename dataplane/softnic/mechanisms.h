// The mechanisms of fault models: each defines what goes wrong with one packet of one frame. The
// families stand in faults_*.cc, one a file.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string_view>

#include "dataplane/softnic/faults.h"
#include "dataplane/softnic/receive_stage.h"
#include "dataplane/softnic/sites.h"
#include "dataplane/softnic/transmit_stage.h"

namespace pathproof::softnic {

enum class Depth : std::uint8_t { kPlain, kOuter, kInner };

// A packet of a frame and, if the fault is about a checksum field, the field.
struct Target {
    const PacketPlace* packet = nullptr;
    Depth depth = Depth::kPlain;
    FaultField field = FaultField::kL4;
    std::optional<Site> site;
};

// The case in hand: one frame on the wire and the way it came there.
struct TxCase {
    const TxFrame& given;
    const HandedOver& handed;  // its header offsets are the wire frame's
    const Places& places;      // of the wire frame as a healthy NIC sends it
    const NicLimits& limits;
    std::uint32_t segment = 0;
    std::uint32_t segments = 1;
    std::uint64_t draw = 0;    // random for this fault and frame, from the seed
    std::uint32_t memory = 0;  // what `remember` gave for the frame that this fault hit before

    // The 16 or 32 bits of the field as software handed them over.
    std::uint32_t kept(const Site& site) const { return value_at(handed.bytes, site); }
    bool asked_for(const Target& target) const;  // of the NIC, by the request
};

struct RxCase {
    Bytes wire;
    const Places& places;
    RxResult& result;        // as a healthy NIC gives it, or a fault before this one left it
    NicCounters& counters;   // as they are to be reported
    const RxVerdict& truth;  // of a healthy NIC
};

// The target that a mechanism must find in order to spoil it.
enum class Needs : std::uint8_t {
    kAsked,    // a checksum that the NIC was asked for
    kUnasked,  // one that software has filled in, or left out
    kField,    // one, whoever fills it in
    kPacket,   // an IP packet of that layer
    kFrame,    // any frame
};

// The checksums that are computed anew after `act`, as the NIC's later stages would, where they
// were requested.
enum class Redo : std::uint8_t {
    kOuter,  // the tunnel's outer checksums, if the inner packet was spoilt
    kIp,     // the packet's IP header checksum, and those
    kAll,    // its transport checksum, and those
    kNone,
};

using FieldSet = std::uint16_t;
constexpr FieldSet field_bit(FaultField field) {
    return static_cast<FieldSet>(1u << static_cast<unsigned>(field));
}
inline constexpr FieldSet kUdpTcp =
    field_bit(FaultField::kL4) | field_bit(FaultField::kUdp) | field_bit(FaultField::kTcp);
inline constexpr FieldSet kTransports = kUdpTcp | field_bit(FaultField::kSctp);
inline constexpr FieldSet kUdpOnly = field_bit(FaultField::kL4) | field_bit(FaultField::kUdp);
inline constexpr FieldSet kIpOnly = field_bit(FaultField::kIp);
inline constexpr FieldSet kSegmentOnly = field_bit(FaultField::kSegment);
inline constexpr FieldSet kPayloadOnly = field_bit(FaultField::kPayload);
inline constexpr FieldSet kFrameOnly = field_bit(FaultField::kFrame);
inline constexpr FieldSet kCounterOnly = field_bit(FaultField::kCounter);

using Span = std::span<std::uint8_t>;

// Change to the frame as a whole, on the wire.
enum class FrameMove : std::uint8_t { kNone, kLose, kDuplicate, kSwapWithNext };

// Exactly one of value, act, move, act_on_verdict is given.
struct Mechanism {
    std::string_view name;
    FaultDirection direction = FaultDirection::kTx;
    FieldSet fields = kUdpTcp;
    Needs needs = Needs::kAsked;
    Redo redo = Redo::kOuter;
    // A further condition besides `needs`; null: none.
    bool (*applies)(const TxCase&, Bytes frame, const Target&) = nullptr;
    // The value that the field gets.
    std::uint32_t (*value)(const TxCase&, Bytes frame, const Target&) = nullptr;
    // Any other change of the frame.
    void (*act)(const TxCase&, Span frame, const Target&) = nullptr;
    // Kept for the next frame that the fault hits.
    std::uint32_t (*remember)(const TxCase&, Bytes frame, const Target&) = nullptr;
    FrameMove move = FrameMove::kNone;
    bool (*applies_rx)(const RxCase&, const Target&) = nullptr;
    void (*act_on_verdict)(RxCase&, const Target&) = nullptr;
};

// Makes a mechanism of the receiver: a false claim, or a change to what it delivers or counts.
constexpr Mechanism on_receipt(std::string_view name, FieldSet fields,
                               bool (*applies)(const RxCase&, const Target&),
                               void (*act)(RxCase&, const Target&)) {
    return {.name = name,
            .direction = FaultDirection::kRx,
            .fields = fields,
            .applies_rx = applies,
            .act_on_verdict = act};
}

// The families.
std::span<const Mechanism> checksum_mechanisms();  // wrong values for right bytes
std::span<const Mechanism> nat_mechanisms();      // what a NAT leaves behind, and sums in bad order
std::span<const Mechanism> length_mechanisms();   // padding, odd bytes, buffers, fragments
std::span<const Mechanism> offset_mechanisms();   // sums begun or written at the wrong place
std::span<const Mechanism> segment_mechanisms();  // headers of segments
std::span<const Mechanism> receive_mechanisms();  // verdicts
std::span<const Mechanism> path_mechanisms();     // bytes and frames lost or changed, counters
std::span<const Mechanism> open_world_mechanisms();

// Returns the direction's mechanism of that name; null: there is none.
const Mechanism* mechanism_named(std::string_view name, FaultDirection direction);
std::string mechanism_names(FaultDirection direction);

// The packets of a frame that `fault` speaks of: none, one, or with kAny two.
struct Targets {
    std::array<Target, 2> list{};
    std::size_t count = 0;
    std::span<const Target> all() const& { return {list.data(), count}; }
};
Targets targets_of(const Fault& fault, const Places& places) noexcept;

// Returns whether the fault's mechanism, its predicate aside, has anything to spoil here.
bool applies(const Fault& fault, const TxCase& at, Bytes frame, const Target& target) noexcept;

// Returns the value of a field as if these words were summed as well; `~word`: as if that word were
// not.
std::uint32_t value_with(Bytes frame, const Target& target,
                         std::initializer_list<std::uint32_t> words) noexcept;

// Spoils the frame, and redoes what later stages do.
void act(const Mechanism& mechanism, const TxCase& at, WireFrameBytes& frame, const Target& target);

}  // namespace pathproof::softnic
