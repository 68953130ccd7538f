#include "dataplane/matrix/rx_cell.h"

#include "dataplane/base/contains.h"
#include "dataplane/judge/segment_audit.h"
#include "dataplane/judge/verifier.h"

namespace pathproof::matrix {
namespace {

using judge::RxClaim;
using judge::RxLayer;

constexpr std::size_t kEnough = 3;  // fewer lost frames than that may be loss
constexpr const char* kNotDelivered = "NOT_DELIVERED";

RxClaim claim_of(softnic::RxClaim claim) {
    switch (claim) {
        case softnic::RxClaim::kUnknown: return RxClaim::kUnknown;
        case softnic::RxClaim::kBad: return RxClaim::kBad;
        case softnic::RxClaim::kGood: return RxClaim::kGood;
        case softnic::RxClaim::kNone: break;
    }
    return RxClaim::kNone;
}

RxClaim& claim_at(judge::RxClaims& claims, RxLayer layer) {
    switch (layer) {
        case RxLayer::kIp: return claims.ip;
        case RxLayer::kL4: return claims.l4;
        case RxLayer::kOuterIp: return claims.outer_ip;
        case RxLayer::kOuterL4: break;
    }
    return claims.outer_l4;
}

bool calls_anything_bad(const judge::RxClaims& claims) {
    return contains(by_layer(claims), RxClaim::kBad);
}

// Returns whether the receiver makes any claim about a layer that is bad.
bool checks_what_is_bad(const judge::FrameVerdict& truth, const judge::RxClaims& claims) {
    const auto claimed = by_layer(claims);
    const judge::RxTruth layers = judge::rx_truth(truth, claims.sees_tunnel);
    for (std::size_t i = 0; i < judge::kRxLayers; ++i) {
        if (layers[i] == RxClaim::kBad && claimed[i] != RxClaim::kUnknown) {
            return true;
        }
    }
    return false;
}

// A tunnel whose inside cannot be read is a plain packet for many receivers.
bool readable_inside(const FrameBytes& wire, const frame::TunnelPorts& tunnels) {
    const frame::FrameView view = frame::parse_frame(wire, tunnels);
    return view.has_inner && view.inner.network != frame::Network::kNone;
}
bool says_nothing_of_outer(const judge::RxClaims& claims) {
    return claims.outer_ip == RxClaim::kUnknown && claims.outer_l4 == RxClaim::kUnknown;
}

// The judge knows no inner packet: of the tunnel's end the claims are about the outer one, and who
// reads on behind a broken tunnel header says what nobody can hold against them.
void settle_unreadable(judge::RxClaims& claims) {
    if (says_nothing_of_outer(claims)) {
        claims.sees_tunnel = judge::SeesTunnel::kNo;
        return;
    }
    claims.ip = RxClaim::kUnknown;
    claims.l4 = RxClaim::kUnknown;
}

// Layers whose checksum was wrong on the wire and arrived right.
std::vector<RxLayer> healed_layers(const FrameBytes& wire, const FrameBytes& arrived,
                                   const frame::TunnelPorts& tunnels) {
    const auto before = judge::rx_truth(judge::verify(wire, tunnels), judge::SeesTunnel::kYes);
    const auto after = judge::rx_truth(judge::verify(arrived, tunnels), judge::SeesTunnel::kYes);
    std::vector<RxLayer> healed;
    for (std::size_t i = 0; i < judge::kRxLayers; ++i) {
        if (before[i] == RxClaim::kBad && after[i] == RxClaim::kGood) {
            healed.push_back(static_cast<RxLayer>(i));
        }
    }
    return healed;
}

// Identifications are nobody's business here: who merged them kept the first.
bool cuts_into(const FrameBytes& merged, std::span<const FrameBytes> wire,
               const frame::TunnelPorts& tunnels) {
    const frame::FrameView first = frame::parse_frame(wire.front(), tunnels);
    const judge::SuperFrame super{
        .bytes = merged,
        .mss = static_cast<std::uint16_t>(first.innermost().payload_length),
        .ip_id = judge::IpIdRule::kMangleId,
        .tunnels = tunnels};
    const std::vector<std::span<const std::uint8_t>> segments(wire.begin(), wire.end());
    const Result<judge::SegmentAudit> audit = judge::audit_segments(super, segments);
    return audit && audit->clean();
}

// Returns whether a claim that `layer` is good can be true: something there was checked and is
// right, or is switched off, or is an IP header that has no checksum of its own.
bool may_be_called_good(const judge::RxTruth& truth, RxLayer layer) {
    const RxClaim there = truth[static_cast<std::size_t>(layer)];
    const bool header = layer == RxLayer::kIp || layer == RxLayer::kOuterIp;
    return there == RxClaim::kGood || there == RxClaim::kNone ||
           (header && there == RxClaim::kUnknown);
}

std::string title_of(const Deliveries& deliveries) {
    if (deliveries.drops_bad() && deliveries.bad_lost >= kEnough) {
        return name(judge::RxFault::kDropBad);
    }
    const bool all_good = deliveries.good_lost >= kEnough && deliveries.good == 0;
    return all_good ? name(judge::RxFault::kDropGood) : kNotDelivered;
}

}  // namespace

judge::RxClaims claims_of(const softnic::RxVerdict& verdict) {
    return {.ip = claim_of(verdict.ip),
            .l4 = claim_of(verdict.l4),
            .outer_ip = claim_of(verdict.outer_ip),
            .outer_l4 = claim_of(verdict.outer_l4)};
}

bool Deliveries::drops_bad() const {
    return bad_lost > 0 && bad == 0 && good > 0 && good_lost == 0;
}

RxFinding& RxCell::tally(RxFindingKind kind, const std::string& title, const std::string& place,
                         const Label& label, const FrameBytes& wire) {
    const auto [at, added] = tallies_.try_emplace(title + " " + place);
    if (added) {
        at->second = {.kind = kind,
                      .title = title,
                      .place = place,
                      .frames = 0,
                      .note = {},
                      .label = label,
                      .specimen = wire};
    }
    ++at->second.frames;
    return at->second;
}

void RxCell::judge_claims(const Label& label, const FrameBytes& wire,
                          const judge::FrameVerdict& truth, judge::RxClaims claims) {
    const auto claimed = by_layer(claims);
    const judge::RxTruth layers = judge::rx_truth(truth, claims.sees_tunnel);
    for (const judge::RxFinding& found : judge::judge_claims(truth, claims)) {
        std::string title = name(found.fault);
        // The receiver may have reported the other layer's verdict for this one.
        const std::size_t other = (static_cast<std::size_t>(found.layer) + 2) % judge::kRxLayers;
        if (found.fault == judge::RxFault::kGoodOnBad && layers[other] == RxClaim::kGood &&
            claimed[other] == RxClaim::kUnknown) {
            title += std::string(" or ") + name(judge::RxFault::kLayerSwap);
        }
        tally(RxFindingKind::kClaim, title, name(found.layer), label, wire);
    }
    for (std::size_t i = 0; i < judge::kRxLayers; ++i) {
        const auto layer = static_cast<RxLayer>(i);
        const bool unchecked = layers[i] == RxClaim::kUnknown && claimed[i] == RxClaim::kGood &&
                               !may_be_called_good(layers, layer);
        if (!unchecked) {
            continue;
        }
        // The truth of one layer, said of the other.
        const std::size_t other = (i + 2) % judge::kRxLayers;
        const bool swapped = layers[other] == RxClaim::kGood && claimed[other] == RxClaim::kUnknown;
        tally(swapped ? RxFindingKind::kClaim : RxFindingKind::kUnchecked,
              swapped ? name(judge::RxFault::kLayerSwap) : "RX_GOOD_UNCHECKED", name(layer), label,
              wire);
    }
}

void RxCell::add(const Label& label, const FrameBytes& wire, const frame::TunnelPorts& tunnels,
                 const Arrival& arrival) {
    const judge::FrameVerdict truth = judge::verify(wire, tunnels);
    const bool bad = truth.any_bad();
    ++counts_.frames;
    counts_.bad += bad ? 1 : 0;
    if (!arrival.bytes) {
        ++(bad ? counts_.deliveries.bad_lost : counts_.deliveries.good_lost);
        tally(RxFindingKind::kNotDelivered, kNotDelivered, "", label, wire);
        return;
    }
    counts_.deliveries.good += bad ? 0 : 1;
    counts_.deliveries.bad += bad && checks_what_is_bad(truth, arrival.claims) ? 1 : 0;
    called_bad_ += calls_anything_bad(arrival.claims) ? 1 : 0;
    judge::RxClaims claims = arrival.claims;
    if (!readable_inside(wire, tunnels)) {
        settle_unreadable(claims);
    }
    if (*arrival.bytes != wire) {
        const std::vector<RxLayer> healed = healed_layers(wire, *arrival.bytes, tunnels);
        for (const RxLayer layer : healed) {
            tally(RxFindingKind::kHealed, name(judge::RxFault::kHealed), name(layer), label, wire);
            claim_at(claims, layer) = RxClaim::kUnknown;  // true of what arrived
        }
        if (healed.empty()) {
            tally(RxFindingKind::kChanged, "RX_CHANGED", "", label, wire);
        }
    }
    judge_claims(label, wire, truth, claims);
}

void RxCell::add_merged(const Label& label, std::span<const FrameBytes> wire,
                        const frame::TunnelPorts& tunnels, const Arrival& arrival) {
    if (wire.empty()) {
        return;
    }
    for (const FrameBytes& frame : wire) {
        add(label, frame, tunnels, {arrival.bytes ? std::optional(frame) : std::nullopt, {}});
        judge_claims(label, frame, judge::verify(frame, tunnels), arrival.claims);
    }
    called_bad_ += calls_anything_bad(arrival.claims) ? 1 : 0;
    if (arrival.bytes && !cuts_into(*arrival.bytes, wire, tunnels)) {
        tally(RxFindingKind::kChanged, "RX_CHANGED", "", label, wire.front());
    }
}

void RxCell::counter(const std::string& name, std::uint64_t delta) {
    if (delta == called_bad_) {
        return;
    }
    if (const auto lie = judge::counter_lie(name, delta, counts_.bad)) {
        RxFinding& finding =
            tally(RxFindingKind::kCounter, judge::name(judge::RxFault::kCounterLies), name, {}, {});
        finding.note = *lie;
    }
}

RxCellResult RxCell::result() const {
    RxCellResult result = counts_;
    for (const auto& [key, finding] : tallies_) {
        result.findings.push_back(finding);
        if (finding.kind == RxFindingKind::kNotDelivered) {
            result.findings.back().title = title_of(counts_.deliveries);
        }
    }
    return result;
}

}  // namespace pathproof::matrix
