// Wrong values of one checksum over right bytes: what a NIC leaves, forgets or gets wrong in the
// arithmetic.
#include "dataplane/softnic/bytes.h"
#include "dataplane/softnic/mechanisms.h"

namespace pathproof::softnic {
namespace {

std::uint32_t pseudo(const TxCase&, Bytes frame, const Target& target) {
    WordSum sum;
    add_pseudo_header(sum, frame, *target.packet, target.site->length());
    return sum.folded();
}

std::uint32_t pseudo_without_length(const TxCase&, Bytes frame, const Target& target) {
    WordSum sum;
    add_addresses(sum, frame, *target.packet);
    return sum.folded();
}

std::uint32_t pseudo_inverted(const TxCase& at, Bytes frame, const Target& target) {
    return ~pseudo(at, frame, target) & 0xffff;
}

std::uint32_t kept(const TxCase& at, Bytes, const Target& target) {
    return at.kept(*target.site);
}

std::uint32_t zero(const TxCase&, Bytes, const Target&) {
    return 0;
}

std::uint32_t not_inverted(const TxCase&, Bytes frame, const Target& target) {
    return sum_of(frame, *target.packet, *target.site).folded();
}

std::uint32_t twice_counted(const TxCase& at, Bytes frame, const Target& target) {
    return value_with(frame, target, {at.kept(*target.site)});
}

std::uint32_t swapped(const TxCase&, Bytes frame, const Target& target) {
    const auto right = static_cast<std::uint16_t>(right_value(frame, *target.packet, *target.site));
    return static_cast<std::uint16_t>(right << 8 | right >> 8);
}

// A word as its checksum sums it: the field itself counts as 0, a last odd byte is the upper one.
std::uint32_t summed_word(Bytes frame, const Site& site, std::uint32_t at) {
    if (at == site.at) {
        return 0;
    }
    const bool last_odd = at + 1 == site.end;
    return last_odd ? frame[at] * 256u : get16(frame, at);
}

// Words are added as numbers and the carries folded in once: where that gives a carry again, it is
// lost (RFC 1071 section 1 adds it).
std::uint32_t carry_lost(const TxCase&, Bytes frame, const Target& target) {
    const Site& site = *target.site;
    std::uint64_t sum = 0;
    if (site.has_pseudo_header()) {
        for (std::uint32_t at = 0; at < target.packet->address_length(); at += 2) {
            sum += get16(frame, target.packet->source_at + at);
            sum += get16(frame, target.packet->destination_at + at);
        }
        sum += target.packet->protocol + site.length();
    }
    for (std::uint32_t at = site.start; at < site.end; at += 2) {
        sum += summed_word(frame, site, at);
    }
    const std::uint64_t once = (sum & 0xffff) + (sum >> 16);
    return mangled(site, static_cast<std::uint16_t>(~once));
}

bool is_udp(const Target& target) {
    return target.site->kind == SiteKind::kUdp;
}

bool udp_on(const TxCase&, Bytes frame, const Target& target) {
    return is_udp(target) && value_at(frame, *target.site) != 0;
}

// Right and mangled: 0xffff. A field of another value, a disabled one too, is none of ours.
bool udp_all_ones(const TxCase&, Bytes frame, const Target& target) {
    return is_udp(target) && value_at(frame, *target.site) == 0xffff;
}

bool holds_zero(const TxCase&, Bytes frame, const Target& target) {
    return value_at(frame, *target.site) == 0;
}

std::uint32_t all_ones(const TxCase&, Bytes, const Target&) {
    return 0xffff;
}

constexpr FieldSet kAnySum = kTransports | kIpOnly;

constexpr Mechanism kMechanisms[] = {
    // The field holds the pseudo-header's sum: nobody summed the data.
    {.name = "PSEUDO", .value = pseudo},
    // The field holds the pseudo-header's sum without the length: the preset of TSO.
    {.name = "PSEUDO_NOLEN", .value = pseudo_without_length},
    // The pseudo-header's sum, inverted.
    {.name = "PSEUDO_INV", .value = pseudo_inverted},
    // The field leaves as software handed it over.
    {.name = "FIELD_KEEP", .fields = kAnySum, .value = kept},
    // The field leaves as 0.
    {.name = "FIELD_ZERO", .fields = kAnySum, .value = zero},
    // The sum is not inverted.
    {.name = "COMPLEMENT", .fields = kUdpTcp | kIpOnly, .value = not_inverted},
    // The field's old value is summed with the data.
    {.name = "DOUBLE", .fields = kUdpTcp | kIpOnly, .value = twice_counted},
    // The bytes of the right value are swapped.
    {.name = "SWAP", .fields = kUdpTcp | kIpOnly, .value = swapped},
    // The second end-around carry is lost.
    {.name = "CARRY", .fields = kUdpTcp | kIpOnly, .value = carry_lost},
    // A UDP checksum that was on leaves as 0, disabled.
    {.name = "CLEARED",
     .fields = kUdpOnly,
     .needs = Needs::kField,
     .applies = udp_on,
     .value = zero},
    // A UDP checksum computed as 0 leaves as 0 and not as 0xffff.
    {.name = "ZERO_NOT_MANGLED",
     .fields = kUdpOnly,
     .needs = Needs::kField,
     .applies = udp_all_ones,
     .value = zero},
    // An IPv4 header checksum of 0 leaves as 0xffff.
    {.name = "ZERO_AS_FFFF", .fields = kIpOnly, .applies = holds_zero, .value = all_ones},
};

}  // namespace

std::span<const Mechanism> checksum_mechanisms() {
    return kMechanisms;
}

}  // namespace pathproof::softnic
