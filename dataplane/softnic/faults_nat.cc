// Outer checksums that do not follow what happened after they were computed: a NAT that rewrote the
// source, or the inner checksum filled in later.
#include "dataplane/softnic/bytes.h"
#include "dataplane/softnic/mechanisms.h"

namespace pathproof::softnic {
namespace {

Bytes old_address(const TxCase& at, const Target& target) {
    const frame::IpAddress& address = at.given.source_before_nat->address;
    return {address.bytes.data(), target.packet->address_length()};
}

Bytes new_address(Bytes frame, const Target& target) {
    return frame.subspan(target.packet->source_at, target.packet->address_length());
}

// Words of the inverse: what takes them out of a sum (RFC 1624).
void add_inverted(WordSum& sum, Bytes words) {
    for (std::size_t at = 0; at < words.size(); at += 2) {
        sum.add_word(~static_cast<std::uint32_t>(get16(words, at)));
    }
}

std::uint16_t old_port(const TxCase& at) {
    return at.given.source_before_nat->port;
}

// inet_proto_csum_replace4() before Linux 5.7 took a checksum of 0 for a partial one:
// ~csum_fold(0 - old + new), which is all ones where the address stays.
std::uint32_t updated_zero(const TxCase& at, Bytes frame, const Target& target) {
    WordSum sum;
    add_inverted(sum, old_address(at, target));
    sum.add(new_address(frame, target));
    return sum.folded();
}

std::uint32_t stale_port(const TxCase& at, Bytes frame, const Target& target) {
    return value_with(frame, target, {~std::uint32_t{target.packet->source_port}, old_port(at)});
}

std::uint32_t stale_address(const TxCase& at, Bytes frame, const Target& target) {
    WordSum sum = sum_of(frame, *target.packet, *target.site);
    add_inverted(sum, new_address(frame, target));
    sum.add(old_address(at, target));
    return field_value(*target.site, sum);
}

// Takes the outer field for a partial checksum, as with local checksum offload: the port change is
// skipped, the address change applied with the wrong sign.
std::uint32_t nat_of_lco(const TxCase& at, Bytes frame, const Target& target) {
    WordSum sum;
    sum.add_word(right_value(frame, *target.packet, *target.site));
    sum.add_word(target.packet->source_port);
    sum.add_word(~static_cast<std::uint32_t>(old_port(at)));
    for (int twice = 0; twice < 2; ++twice) {
        sum.add(new_address(frame, target));
        add_inverted(sum, old_address(at, target));
    }
    return mangled(*target.site, sum.folded());
}

bool translated(const TxCase& at, const Target& target) {
    const auto& before = at.given.source_before_nat;
    return target.depth != Depth::kInner && before &&
           before->address.size() == target.packet->address_length();
}

bool translated_without_sum(const TxCase& at, Bytes frame, const Target& target) {
    return translated(at, target) && is_off(frame, *target.site);
}

bool translated_with_sum(const TxCase& at, Bytes frame, const Target& target) {
    return translated(at, target) && !is_off(frame, *target.site);
}

Target inner_transport(const TxCase& at) {
    return {.packet = &at.places.inner,
            .depth = Depth::kInner,
            .field = FaultField::kL4,
            .site = transport_site(at.places.inner)};
}

bool outer_on_and_inner_asked(const TxCase& at, Bytes frame, const Target& target) {
    const Target inner = inner_transport(at);
    return target.depth == Depth::kOuter && target.site->kind == SiteKind::kUdp &&
           value_at(frame, *target.site) != 0 && inner.site &&
           inner.site->kind != SiteKind::kSctp && at.asked_for(inner);
}

// The outer checksum of the frame as if the inner field held `value`.
std::uint32_t outer_with_inner(const TxCase& at, Bytes frame, const Target& target,
                               std::uint32_t value) {
    const Site inner = *inner_transport(at).site;
    return value_with(frame, target, {~value_at(frame, inner), value});
}

std::uint32_t before_inner_zero(const TxCase& at, Bytes frame, const Target& target) {
    return outer_with_inner(at, frame, target, 0);
}

std::uint32_t before_inner_pseudo(const TxCase& at, Bytes frame, const Target& target) {
    const PacketPlace& inner = at.places.inner;
    WordSum pseudo;
    add_pseudo_header(pseudo, frame, inner, inner.l4_length);
    return outer_with_inner(at, frame, target, pseudo.folded());
}

std::uint32_t before_inner_old(const TxCase& at, Bytes frame, const Target& target) {
    return outer_with_inner(at, frame, target, at.kept(*inner_transport(at).site));
}

constexpr Mechanism kNatMechanisms[] = {
    // A NAT updates a checksum of 0, which means none.
    {.name = "NAT0",
     .fields = kUdpOnly,
     .needs = Needs::kUnasked,
     .applies = translated_without_sum,
     .value = updated_zero},
    // Right for the source port before NAT.
    {.name = "STALE_SPORT",
     .needs = Needs::kUnasked,
     .applies = translated_with_sum,
     .value = stale_port},
    // Right for the source address before NAT.
    {.name = "STALE_SADDR",
     .needs = Needs::kUnasked,
     .applies = translated_with_sum,
     .value = stale_address},
    // A NAT skips the port and applies the address with the wrong sign.
    {.name = "NAT_LCO",
     .needs = Needs::kUnasked,
     .applies = translated_with_sum,
     .value = nat_of_lco},
    // The outer sum was made while the inner field held 0.
    {.name = "OUTER_BEFORE_INNER_ZERO",
     .fields = kUdpOnly,
     .needs = Needs::kField,
     .applies = outer_on_and_inner_asked,
     .value = before_inner_zero},
    // The outer sum was made while the inner field held the pseudo-header's sum.
    {.name = "OUTER_BEFORE_INNER_PSEUDO",
     .fields = kUdpOnly,
     .needs = Needs::kField,
     .applies = outer_on_and_inner_asked,
     .value = before_inner_pseudo},
    // The outer sum was made while the inner field held what software left there.
    {.name = "OUTER_BEFORE_INNER_OLD",
     .fields = kUdpOnly,
     .needs = Needs::kField,
     .applies = outer_on_and_inner_asked,
     .value = before_inner_old},
};

}  // namespace

std::span<const Mechanism> nat_mechanisms() {
    return kNatMechanisms;
}

}  // namespace pathproof::softnic
