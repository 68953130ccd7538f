// Fault models: what a broken NIC, driver or NAT does to a frame, each a pure function of frame,
// metadata, state and seed, at a place in the software NIC, under a predicate, at a rate.
//
// A fault is written
//
//   direction.layer.field.MECHANISM[@condition[,condition...]][!rate[,after=N]]
//
//   tx.outer.udp.STALE_SPORT@nat:port!1     tx.inner.tcp.PSEUDO@dport!=4789
//   rx.inner.l4.GOOD_ON_BAD@encap           tx.innermost.l4.CARRY@queue==1!0.001,after=1000
//
// direction: tx (what leaves), wire (bytes on the way), rx (what the receiver says and hands on).
// layer: outer, inner (of a tunnel), plain (no tunnel), innermost (inner or plain), outermost
//        (outer or plain), any.
// field: ip, l4, udp, tcp, sctp, seg (headers of segments), payload, frame, counter.
// condition: a variable of facts.h alone (it is not 0), or compared: dport!=4789|8472, used<60,
//        flow%8==3. All conditions must hold.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "dataplane/base/result.h"
#include "dataplane/softnic/engine.h"
#include "dataplane/softnic/predicate.h"

namespace pathproof::softnic {

struct Mechanism;  // mechanisms.h

enum class FaultDirection : std::uint8_t { kTx, kWire, kRx };
enum class FaultLayer : std::uint8_t { kOuter, kInner, kPlain, kInnermost, kOutermost, kAny };
enum class FaultField : std::uint8_t {
    kIp,
    kL4,  // whichever of the next three is there
    kUdp,
    kTcp,
    kSctp,
    kSegment,
    kPayload,
    kFrame,
    kCounter,
};

struct Fault {
    FaultDirection direction = FaultDirection::kTx;
    FaultLayer layer = FaultLayer::kInnermost;
    FaultField field = FaultField::kL4;
    const Mechanism* mechanism = nullptr;  // never null in a fault that parse_fault gave
    Predicate predicate;
    double rate = 1;          // share of the frames that it could hit
    std::uint64_t after = 0;  // frames that it could hit and leaves alone at first
    bool operator==(const Fault&) const = default;
};

// Errors: the part that is not understood, and what is allowed in its place.
Result<Fault> parse_fault(std::string_view text);
// The shortest text that parse_fault reads as this fault.
std::string to_string(const Fault& fault);
std::string_view mechanism_name(const Fault& fault);  // "STALE_SPORT"

// One row of the fault list; what a mechanism does stands where it is made.
struct FaultModel {
    std::string_view id;      // "F02"; variants of one row share it
    std::string_view text;    // parse_fault reads it
    std::string_view errata;  // ids of the errata catalogue that it stands for: "E02", "E34,E37"
};
std::span<const FaultModel> fault_models();       // F01 to F48, every variant
std::span<const FaultModel> open_world_models();  // X01 ...: no published defect behaves so
Fault fault_of(const FaultModel& model);          // the models' texts are all valid

// Returns the fault acting on each frame that it could hit.
Fault at_full_rate(const Fault& fault);

// Effect of a fault at rate 1 on one frame.
enum class FaultEffect : std::uint8_t {
    kNotHit,      // its predicate or its mechanism does not apply
    kEquivalent,  // it applies, and bytes, metadata and counters are those of a healthy NIC
    kDifferent,
};
// Returns the effect of a tx or wire fault on a frame handed over for sending.
FaultEffect effect_on(const Fault& fault, const TxFrame& frame, const NicLimits& limits = {});
// Returns the effect of an rx fault on bytes from the wire.
FaultEffect effect_on(const Fault& fault, Bytes wire, const NicLimits& limits = {});

}  // namespace pathproof::softnic
