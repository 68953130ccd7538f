// Mechanisms of receivers: their false claims.
#include <utility>

#include "dataplane/softnic/mechanisms.h"

namespace pathproof::softnic {
namespace {

RxClaim claim(const RxVerdict& verdict, const Target& target) {
    const bool ip = target.field == FaultField::kIp;
    if (target.depth == Depth::kOuter) {
        return ip ? verdict.outer_ip : verdict.outer_l4;
    }
    return ip ? verdict.ip : verdict.l4;
}

void set_claim(RxVerdict& verdict, const Target& target, RxClaim claim) {
    const bool ip = target.field == FaultField::kIp;
    if (target.depth == Depth::kOuter) {
        (ip ? verdict.outer_ip : verdict.outer_l4) = claim;
    } else {
        (ip ? verdict.ip : verdict.l4) = claim;
    }
}

// Returns whether the receiver makes a claim about the target: for `l4` about any IP packet, ICMP
// and fragments as well; for the others only where the packet has the field.
bool speaks_of(const Target& target) {
    return target.field == FaultField::kL4 ? target.packet->ip() : target.site.has_value();
}

template <RxClaim what>
bool claims(const RxCase& at, const Target& target) {
    return speaks_of(target) && claim(at.result.verdict, target) == what;
}

bool claims_anything(const RxCase& at, const Target& target) {
    return speaks_of(target) && claim(at.result.verdict, target) != RxClaim::kUnknown;
}

bool not_bad(const RxCase& at, const Target& target) {
    return speaks_of(target) && claim(at.result.verdict, target) != RxClaim::kBad;
}

template <RxClaim what>
void say(RxCase& at, const Target& target) {
    set_claim(at.result.verdict, target, what);
}

bool in_tunnel(const RxCase& at, const Target& target) {
    return at.places.tunnel != TunnelKind::kNone && target.packet->ip();
}

void swap_layers(RxCase& at, const Target& target) {
    RxVerdict& verdict = at.result.verdict;
    if (target.field == FaultField::kIp) {
        std::swap(verdict.ip, verdict.outer_ip);
    } else {
        std::swap(verdict.l4, verdict.outer_l4);
    }
}

// The packet's own IP header is bad as well.
bool behind_bad_ip(const RxCase& at, const Target& target) {
    Target header = target;
    header.field = FaultField::kIp;
    return claims<RxClaim::kBad>(at, target) && claim(at.result.verdict, header) == RxClaim::kBad;
}

bool bad_transport(const RxCase& at, const Target& target) {
    const bool known = transport_site(*target.packet).has_value();
    Target transport = target;
    transport.field = FaultField::kL4;
    return known && claim(at.result.verdict, transport) == RxClaim::kBad;
}

// The receiver mends the checksum of a wrong payload and passes it on as good.
void heal(RxCase& at, const Target& target) {
    const Site site = *transport_site(*target.packet);
    set_value(at.result.bytes, site, right_value(at.wire, *target.packet, site));
    Target transport = target;
    transport.field = FaultField::kL4;
    set_claim(at.result.verdict, transport, RxClaim::kGood);
}

constexpr FieldSet kClaims = kTransports | kIpOnly;

constexpr Mechanism kReceiveMechanisms[] = {
    // A bad checksum is reported good.
    on_receipt("GOOD_ON_BAD", kClaims, claims<RxClaim::kBad>, say<RxClaim::kGood>),
    // A checksum that is good, or cannot be checked, is reported bad.
    on_receipt("BAD_ON_GOOD", kClaims, not_bad, say<RxClaim::kBad>),
    // No verdict is ever reported.
    on_receipt("UNKNOWN_ALWAYS", kClaims, claims_anything, say<RxClaim::kUnknown>),
    // A checksum that was not checked is reported good.
    on_receipt("DEFAULT_GOOD", kClaims, claims<RxClaim::kUnknown>, say<RxClaim::kGood>),
    // The outer verdict is reported for the inner packet and the other way round.
    on_receipt("LAYER_SWAP", field_bit(FaultField::kL4) | kIpOnly, in_tunnel, swap_layers),
    // A bad transport checksum behind a bad IP header is reported good.
    on_receipt("L4_LOST", field_bit(FaultField::kL4), behind_bad_ip, say<RxClaim::kGood>),
    // The checksum of a wrong payload is mended, and reported good.
    on_receipt("HEALED", kPayloadOnly, bad_transport, heal),
};

}  // namespace

std::span<const Mechanism> receive_mechanisms() {
    return kReceiveMechanisms;
}

}  // namespace pathproof::softnic
