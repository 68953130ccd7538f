#include "dataplane/judge/rx_verdict.h"

#include <fmt/format.h>

#include <algorithm>

namespace pathproof::judge {
namespace {

constexpr std::size_t index(RxLayer layer) {
    return static_cast<std::size_t>(layer);
}
constexpr std::size_t index(RxFault fault) {
    return static_cast<std::size_t>(fault);
}

RxClaim claim_of(ChecksumState state) {
    switch (state) {
        case ChecksumState::kGood: return RxClaim::kGood;
        case ChecksumState::kBad: return RxClaim::kBad;
        case ChecksumState::kDisabled: return RxClaim::kNone;
        case ChecksumState::kUnverifiable: break;
    }
    return RxClaim::kUnknown;
}

// An IPv4 header checksum of 0xffff in place of 0: wrong of the sender (RFC 1624 section 3), and
// right for a receiver that sums field and header up.
bool sums_up_all_the_same(const ChecksumFinding& finding) {
    return finding.layer.protocol == Protocol::kIpv4 && finding.right == 0 &&
           finding.wire == 0xffff && finding.state == ChecksumState::kBad;
}

// Checksums of which many receivers say nothing, so that their silence is no sign of anything.
bool often_unchecked(Protocol protocol) {
    return protocol == Protocol::kIcmp || protocol == Protocol::kIcmpv6;
}

// Returns the layer under which a receiver reports the finding. GRE's checksum has no place in a
// claim.
std::optional<RxLayer> place_of(const ChecksumFinding& finding, SeesTunnel sees_tunnel) {
    const Depth depth = finding.layer.depth;
    const bool hidden = depth == Depth::kInner && sees_tunnel == SeesTunnel::kNo;
    if (hidden || finding.layer.protocol == Protocol::kGre) {
        return std::nullopt;
    }
    const bool outer = depth == Depth::kOuter && sees_tunnel == SeesTunnel::kYes;
    if (finding.layer.protocol == Protocol::kIpv4) {
        return outer ? RxLayer::kOuterIp : RxLayer::kIp;
    }
    return outer ? RxLayer::kOuterL4 : RxLayer::kL4;
}

std::array<bool, kRxLayers> unchecked_layers(const FrameVerdict& verdict, SeesTunnel sees_tunnel) {
    std::array<bool, kRxLayers> unchecked{};
    for (const ChecksumFinding& finding : verdict.all()) {
        if (const auto place = place_of(finding, sees_tunnel)) {
            unchecked[index(*place)] = often_unchecked(finding.layer.protocol);
        }
    }
    return unchecked;
}

bool claims_integrity(RxClaim claim) {
    return claim == RxClaim::kGood || claim == RxClaim::kNone;
}

}  // namespace

const char* name(RxFault fault) {
    constexpr const char* kNames[kRxFaults] = {
        "RX_GOOD_ON_BAD", "RX_BAD_ON_GOOD", "RX_UNKNOWN_ALWAYS", "RX_LAYER_SWAP",
        "RX_DROP_BAD",    "DROP",           "RX_HEALED",         "COUNTER_LIES"};
    return kNames[index(fault)];
}

const char* name(RxLayer layer) {
    constexpr const char* kNames[kRxLayers] = {"ip", "l4", "outer.ip", "outer.l4"};
    return kNames[index(layer)];
}

std::array<RxClaim, kRxLayers> by_layer(const RxClaims& claims) {
    return {claims.ip, claims.l4, claims.outer_ip, claims.outer_l4};
}

RxTruth rx_truth(const FrameVerdict& verdict, SeesTunnel sees_tunnel) {
    RxTruth truth{};
    for (const ChecksumFinding& finding : verdict.all()) {
        if (const auto place = place_of(finding, sees_tunnel)) {
            truth[index(*place)] =
                sums_up_all_the_same(finding) ? RxClaim::kNone : claim_of(finding.state);
        }
    }
    return truth;
}

std::vector<RxFinding> judge_claims(const FrameVerdict& verdict, const RxClaims& claims) {
    const RxTruth truth = rx_truth(verdict, claims.sees_tunnel);
    const auto claimed = by_layer(claims);
    const auto unchecked = unchecked_layers(verdict, claims.sees_tunnel);
    std::vector<std::size_t> missed;
    std::vector<std::size_t> invented;
    for (std::size_t i = 0; i < kRxLayers; ++i) {
        // A receiver may well call a layer bad if the frame cannot be read to its end.
        const bool unreadable =
            truth[i] == RxClaim::kUnknown && verdict.malformed != Malformed::kNone;
        const bool bad = truth[i] == RxClaim::kBad;
        const bool called_bad = claimed[i] == RxClaim::kBad;
        const bool silent = unchecked[i] && claimed[i] == RxClaim::kUnknown;
        if (bad && !called_bad && !silent) {
            missed.push_back(i);
        } else if (!bad && called_bad && !unreadable) {
            invented.push_back(i);
        }
    }
    std::vector<RxFinding> findings;
    const auto report = [&](RxFault fault, std::size_t i) {
        findings.push_back({fault, static_cast<RxLayer>(i)});
    };
    const std::size_t swapped = std::min(missed.size(), invented.size());
    for (std::size_t n = 0; n < invented.size(); ++n) {
        report(n < swapped ? RxFault::kLayerSwap : RxFault::kBadOnGood, invented[n]);
    }
    for (std::size_t n = swapped; n < missed.size(); ++n) {
        if (claims_integrity(claimed[missed[n]])) {
            report(RxFault::kGoodOnBad, missed[n]);
        }
    }
    return findings;
}

std::optional<std::string> counter_lie(const std::string& name, std::uint64_t delta,
                                       std::uint64_t counted) {
    return delta == counted
               ? std::nullopt
               : std::optional(fmt::format("{} went up by {} where {} frames were to be counted",
                                           name, delta, counted));
}

}  // namespace pathproof::judge
