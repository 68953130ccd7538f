#include "dataplane/judge/checksum_names.h"

#include <rte_ip.h>

#include <algorithm>
#include <array>
#include <cstddef>

#include "dataplane/base/be.h"
#include "dataplane/frame/checksum.h"

namespace pathproof::judge {
namespace {

// Different right values that a name must explain: one packet fits a wrong hypothesis once in
// 65535.
constexpr std::size_t kEnough = 3;

using frame::Bytes;
using frame::PacketView;
using frame::PartialSum;

// One wrong checksum and all that a hypothesis may look at.
struct Suspect {
    Bytes frame;
    PacketView packet;  // whose checksum it is
    std::optional<PacketView> inner;
    Protocol protocol = Protocol::kUdp;
    std::uint16_t wire = 0;
    std::uint16_t right = 0;
    std::optional<OriginalTuple> original;

    // The sum whose complement is the right value.
    PartialSum sum() const { return frame::sum_word(static_cast<std::uint16_t>(~right)); }
    bool has_pseudo_header() const {
        return protocol != Protocol::kIpv4 && protocol != Protocol::kIcmp;
    }
    bool has_ports() const { return protocol == Protocol::kUdp || protocol == Protocol::kTcp; }
};

// 0 and 0xffff are one number in one's complement.
bool same(std::uint16_t a, std::uint16_t b) {
    return a % 0xffff == b % 0xffff;
}

std::optional<Suspect> locate(Bytes frame, const ChecksumFinding& finding,
                              const std::optional<OriginalTuple>& original) {
    frame::FrameView view = frame::parse_frame(frame, {});
    if (finding.layer.depth != Depth::kPlain) {
        const std::uint16_t tunnel_port = view.outer.destination_port;
        view = frame::parse_frame(frame, {&tunnel_port, 1});
    }
    const bool inside = finding.layer.depth == Depth::kInner;
    if (inside && !view.has_inner) {
        return std::nullopt;
    }
    Suspect suspect{.frame = frame,
                    .packet = inside ? view.inner : view.outer,
                    .inner = std::nullopt,
                    .protocol = finding.layer.protocol,
                    .wire = static_cast<std::uint16_t>(finding.wire),
                    .right = static_cast<std::uint16_t>(finding.right),
                    .original = original};
    if (!inside && view.has_inner) {
        suspect.inner = view.inner;
    }
    const auto field = frame::view<Be16>(frame, finding.field_offset);
    const bool is_there =
        field && field->value() == finding.wire && suspect.packet.network != frame::Network::kNone;
    return is_there ? std::optional(suspect) : std::nullopt;
}

PartialSum address_sum(const frame::IpAddress& address) {
    return frame::sum_bytes({address.bytes.data(), address.size()});
}
PartialSum without(PartialSum sum) {
    return frame::without_word(frame::folded(sum));
}

// new - old of what NAT changed, in one's complement.
PartialSum address_change(const Suspect& suspect) {
    return address_sum(suspect.packet.source) + address_sum(suspect.packet.final_destination) +
           without(address_sum(suspect.original->source.address)) +
           without(address_sum(suspect.original->destination.address));
}
PartialSum port_change(const Suspect& suspect) {
    return frame::sum_word(suspect.packet.source_port) +
           frame::sum_word(suspect.packet.destination_port) +
           frame::without_word(suspect.original->source.port) +
           frame::without_word(suspect.original->destination.port);
}

bool address_changed(const Suspect& suspect) {
    return suspect.packet.source != suspect.original->source.address ||
           suspect.packet.final_destination != suspect.original->destination.address;
}
bool tuple_changed(const Suspect& suspect) {
    return address_changed(suspect) ||
           suspect.packet.source_port != suspect.original->source.port ||
           suspect.packet.destination_port != suspect.original->destination.port;
}

std::uint16_t pseudo_of(const PacketView& packet, std::uint32_t length) {
    return frame::folded(
        frame::pseudo_header_sum(packet.source, packet.final_destination, packet.protocol, length));
}

using Prediction = std::optional<std::uint16_t>;

std::uint16_t sent_as(Protocol protocol, PartialSum sum) {
    return protocol == Protocol::kUdp ? frame::udp_checksum_of(sum) : frame::checksum_of(sum);
}

Prediction stale_tuple(const Suspect& suspect) {
    if (!suspect.original || suspect.protocol == Protocol::kIcmp || !tuple_changed(suspect)) {
        return std::nullopt;
    }
    PartialSum sum = suspect.sum() + without(address_change(suspect));
    if (suspect.has_ports()) {
        sum += without(port_change(suspect));
    }
    return sent_as(suspect.protocol, sum);
}

// Kernel: inet_proto_csum_replace4() under CHECKSUM_PARTIAL subtracts where it should add, and
// inet_proto_csum_replace2() with pseudohdr false does nothing. The value is the checksum before
// NAT, moved on by the address change.
Prediction nat_lco(const Suspect& suspect) {
    if (!suspect.original || !suspect.has_ports() || !address_changed(suspect)) {
        return std::nullopt;
    }
    const PartialSum change = address_change(suspect);
    return frame::folded(frame::sum_word(suspect.right) + port_change(suspect) + change + change);
}

// Kernels before ea64d8d6c675: a field that was 0 on purpose is "updated". Without the original
// tuple only the case of a port change is known.
Prediction nat0(const Suspect& suspect) {
    if (suspect.protocol != Protocol::kUdp) {
        return std::nullopt;
    }
    if (!suspect.original || !address_changed(suspect)) {
        return std::uint16_t{0xffff};
    }
    return frame::folded(address_change(suspect));
}

bool outer_before_inner(const Suspect& suspect) {
    if (suspect.protocol != Protocol::kUdp || !suspect.inner) {
        return false;
    }
    const PacketView& inner = *suspect.inner;
    const bool udp = inner.transport == frame::Transport::kUdp;
    if (!udp && inner.transport != frame::Transport::kTcp) {
        return false;
    }
    const auto field = frame::view<Be16>(suspect.frame, inner.transport_offset + (udp ? 6u : 16u));
    const std::uint16_t partial = pseudo_of(inner, inner.transport_length);
    for (const std::uint16_t held : {std::uint16_t{0}, partial}) {
        const PartialSum sum =
            suspect.sum() + frame::without_word(field->value()) + frame::sum_word(held);
        if (held != field->value() && same(frame::udp_checksum_of(sum), suspect.wire)) {
            return true;
        }
    }
    return false;
}

// Sums on from the end of the transport data to the end of the frame; an odd end puts the first
// byte into the low half of a word.
Prediction padding_summed(const Suspect& suspect) {
    const PacketView& packet = suspect.packet;
    const std::size_t end = packet.network_end + packet.trailer_length;
    const std::size_t data_end = packet.transport_offset + packet.transport_length;
    if (suspect.protocol == Protocol::kIpv4 || data_end >= end) {
        return std::nullopt;
    }
    PartialSum sum = suspect.sum();
    std::size_t from = data_end;
    if (packet.transport_length % 2 != 0) {
        sum += frame::sum_word(suspect.frame[from++]);
    }
    return sent_as(suspect.protocol,
                   frame::sum_bytes(suspect.frame.subspan(from, end - from), sum));
}

Prediction odd_byte_dropped(const Suspect& suspect) {
    const PacketView& packet = suspect.packet;
    if (suspect.protocol == Protocol::kIpv4 || packet.transport_length % 2 == 0) {
        return std::nullopt;
    }
    const std::uint8_t last = suspect.frame[packet.transport_offset + packet.transport_length - 1];
    const auto word = static_cast<std::uint16_t>(last << 8);
    return sent_as(suspect.protocol, suspect.sum() + frame::without_word(word));
}

Prediction pseudo(const Suspect& suspect, std::uint32_t length) {
    return suspect.has_pseudo_header() ? Prediction(pseudo_of(suspect.packet, length))
                                       : std::nullopt;
}

Prediction inverted(Prediction value) {
    return value ? Prediction(static_cast<std::uint16_t>(~*value)) : std::nullopt;
}

bool predicts(Prediction predicted, const Suspect& suspect) {
    return predicted && same(*predicted, suspect.wire) && !same(*predicted, suspect.right);
}

bool off_by_one(const Suspect& suspect) {
    if (suspect.protocol == Protocol::kIpv4 && suspect.right == 0 && suspect.wire == 0xffff) {
        return true;  // RFC 1624 section 3: what equation 2 of RFC 1141 leads to
    }
    const PartialSum right = frame::sum_word(suspect.right);
    return predicts(frame::folded(right + frame::sum_word(1)), suspect) ||
           predicts(frame::folded(right + frame::without_word(1)), suspect);
}

bool fits(ChecksumName name, const Suspect& suspect) {
    const std::uint32_t length = suspect.packet.transport_length;
    // Of UDP with 0 and a computed 0, which arithmetic cannot tell apart, only one thing can be
    // said.
    const bool not_mangled =
        suspect.protocol == Protocol::kUdp && suspect.wire == 0 && suspect.right == 0xffff;
    if (not_mangled || name == ChecksumName::kZeroNotMangled) {
        return not_mangled && name == ChecksumName::kZeroNotMangled;
    }
    switch (name) {
        case ChecksumName::kPseudo:
            return predicts(pseudo(suspect, length), suspect);
        case ChecksumName::kPseudoNoLength:
            return predicts(pseudo(suspect, 0), suspect);
        case ChecksumName::kPseudoInverted:
            return predicts(inverted(pseudo(suspect, length)), suspect);
        case ChecksumName::kFieldZero:
            return suspect.wire == 0;
        case ChecksumName::kComplement:
            return predicts(inverted(suspect.right), suspect);
        case ChecksumName::kStaleTuple:
            return predicts(stale_tuple(suspect), suspect);
        case ChecksumName::kNatLco:
            return predicts(nat_lco(suspect), suspect);
        case ChecksumName::kNat0:
            return suspect.wire != 0 && predicts(nat0(suspect), suspect);
        case ChecksumName::kOuterBeforeInner:
            return outer_before_inner(suspect);
        case ChecksumName::kPadData:
            return predicts(padding_summed(suspect), suspect);
        case ChecksumName::kOddLastDropped:
            return predicts(odd_byte_dropped(suspect), suspect);
        case ChecksumName::kSwapped:
            return predicts(static_cast<std::uint16_t>(__builtin_bswap16(suspect.right)), suspect);
        case ChecksumName::kCarry:
            return off_by_one(suspect);
        case ChecksumName::kZeroNotMangled:
        case ChecksumName::kUnknown:
            break;
    }
    return false;
}

struct Words {
    const char* name;
    const char* meaning;
};

constexpr std::array<Words, static_cast<std::size_t>(ChecksumName::kUnknown) + 1> kWords = {{
    {"PSEUDO", "only the pseudo-header was summed: nobody completed a partial checksum"},
    {"PSEUDO_NOLEN",
     "only the pseudo-header was summed, without the length: a preset for segmentation"},
    {"PSEUDO_INV", "the complement of the pseudo-header's sum: the data was left out"},
    {"FIELD_ZERO", "the field was left 0"},
    {"ZERO_NOT_MANGLED", "the sum came out as 0 and was sent so, which UDP reads as 'no checksum'"},
    {"COMPLEMENT", "the right value, but not inverted"},
    {"STALE", "right for the packet before NAT changed its addresses or ports"},
    {"NAT_LCO", "NAT did not apply its port change, and its address change with the wrong sign"},
    {"NAT0", "NAT 'updated' a checksum that was switched off"},
    {"OUTER_BEFORE_INNER", "the outer sum was made before the inner checksum was filled in"},
    {"PAD_DATA", "padding behind the packet was summed as data"},
    {"ODD_LAST_DROPPED", "the last byte of an odd length was left out"},
    {"SWAP", "the bytes of the right value are swapped"},
    {"CARRY", "off by one: a carry was lost or added twice"},
    {"UNKNOWN", "no known mistake gives this value"},
}};

}  // namespace

const char* name(ChecksumName name) {
    return kWords[static_cast<std::size_t>(name)].name;
}

const char* meaning(ChecksumName name) {
    return kWords[static_cast<std::size_t>(name)].meaning;
}

std::vector<ChecksumName> matching_names(std::span<const std::uint8_t> frame,
                                         const ChecksumFinding& finding,
                                         const std::optional<OriginalTuple>& original) {
    std::vector<ChecksumName> names;
    const std::optional<Suspect> suspect = locate(frame, finding, original);
    if (!suspect || finding.state != ChecksumState::kBad) {
        return names;
    }
    for (std::size_t i = 0; i < static_cast<std::size_t>(ChecksumName::kUnknown); ++i) {
        const auto name = static_cast<ChecksumName>(i);
        if (fits(name, *suspect)) {
            names.push_back(name);
        }
    }
    return names;
}

std::uint16_t checksum_for_tuple(std::span<const std::uint8_t> frame,
                                 const ChecksumFinding& finding, const OriginalTuple& original) {
    const std::optional<Suspect> suspect = locate(frame, finding, original);
    if (!suspect) {
        return static_cast<std::uint16_t>(finding.right);
    }
    return stale_tuple(*suspect).value_or(suspect->right);
}

void NameVote::add(const ChecksumFinding& finding, const std::vector<ChecksumName>& matching) {
    candidates_ = frames_ == 0 ? matching : candidates_;
    std::erase_if(candidates_, [&](ChecksumName candidate) {
        return std::ranges::find(matching, candidate) == matching.end();
    });
    ++frames_;
    const bool known = std::ranges::find(right_values_, finding.right) != right_values_.end();
    if (!known && right_values_.size() < kEnough) {
        right_values_.push_back(finding.right);
    }
}

ChecksumName NameVote::verdict() const {
    const bool one = candidates_.size() == 1 && right_values_.size() >= kEnough;
    return one ? candidates_.front() : ChecksumName::kUnknown;
}

}  // namespace pathproof::judge
