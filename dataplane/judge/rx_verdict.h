// Compares a receiver's claims about a frame's checksums with what the checksums are.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "dataplane/judge/verifier.h"

namespace pathproof::judge {

// A receiver's claim, worded like RTE_MBUF_F_RX_*_CKSUM_*. The kernel's TP_STATUS_CSUM_VALID is
// kGood, CSUMNOTREADY is kNone, and neither of them is kUnknown.
enum class RxClaim : std::uint8_t {
    kUnknown,  // no claim is made
    kGood,
    kBad,
    kNone,  // the field is not right, and the data is known to be good (a partial checksum)
};

// Claims by layer. `ip` and `l4` are of the innermost packet if the receiver reads the tunnel, of
// the outer one if it does not: `sees_tunnel` tells which.
enum class SeesTunnel : std::uint8_t { kNo, kYes };
struct RxClaims {
    RxClaim ip = RxClaim::kUnknown;
    RxClaim l4 = RxClaim::kUnknown;
    RxClaim outer_ip = RxClaim::kUnknown;
    RxClaim outer_l4 = RxClaim::kUnknown;
    SeesTunnel sees_tunnel = SeesTunnel::kYes;
};

enum class RxFault : std::uint8_t {
    kGoodOnBad,      // RX_GOOD_ON_BAD
    kBadOnGood,      // RX_BAD_ON_GOOD
    kUnknownAlways,  // RX_UNKNOWN_ALWAYS: no claim in any frame where one was promised
    kLayerSwap,      // RX_LAYER_SWAP: what is wrong with one layer is said of another
    kDropBad,        // RX_DROP_BAD: frames with a bad checksum do not arrive
    kDropGood,       // DROP: healthy frames of one kind do not arrive
    kHealed,         // RX_HEALED: a bad checksum or damaged data was sent, good ones arrived
    kCounterLies,    // COUNTER_LIES
};
inline constexpr std::size_t kRxFaults = 8;
const char* name(RxFault fault);

enum class RxLayer : std::uint8_t { kIp, kL4, kOuterIp, kOuterL4 };
inline constexpr std::size_t kRxLayers = 4;
const char* name(RxLayer layer);  // "ip", "l4", "outer.ip", "outer.l4"

std::array<RxClaim, kRxLayers> by_layer(const RxClaims& claims);

// The truth in the words of a claim: kUnknown where nothing can be said (no such layer, a
// fragment). A UDP checksum of 0 where that is legal is kNone: every claim but kBad is right then;
// so is an IPv4 header checksum of 0xffff in place of 0, which sums up.
using RxTruth = std::array<RxClaim, kRxLayers>;
RxTruth rx_truth(const FrameVerdict& verdict, SeesTunnel sees_tunnel);

struct RxFinding {
    RxFault fault = RxFault::kGoodOnBad;
    RxLayer layer = RxLayer::kL4;  // whose claim is wrong; kHealed and the drops: kL4
    bool operator==(const RxFinding&) const = default;
};

// One frame. `verdict`: of the bytes that were sent. kUnknown claims are no fault of one frame
// (B14).
std::vector<RxFinding> judge_claims(const FrameVerdict& verdict, const RxClaims& claims);
// A counter's delta ("rx_csum_bad") against the judge's own count of the same frames: kCounterLies
// if they differ, as a sentence.
std::optional<std::string> counter_lie(const std::string& name, std::uint64_t delta,
                                       std::uint64_t counted);

}  // namespace pathproof::judge
