// Sums over too much or too little: padding, the odd last byte, one buffer of several, a fragment;
// and the IP length that grows by the padding.
#include <netinet/in.h>

#include <algorithm>

#include "dataplane/softnic/bytes.h"
#include "dataplane/softnic/mechanisms.h"

namespace pathproof::softnic {
namespace {

// Bytes behind the packet that its carrier still has: Ethernet padding, or padding in the tunnel.
Bytes trailer(Bytes frame, const Target& target) {
    return frame.subspan(target.packet->end, target.packet->trailer());
}

bool padded(const TxCase&, Bytes, const Target& target) {
    return target.packet->trailer() != 0 &&
           target.packet->end == target.packet->l4 + target.packet->l4_length;
}

std::uint32_t with_padding(const TxCase&, Bytes frame, const Target& target) {
    WordSum sum = sum_of(frame, *target.packet, *target.site);
    sum.add(trailer(frame, target));  // goes on in the middle of a word if the data is odd
    return field_value(*target.site, sum);
}

std::uint32_t with_padded_length(const TxCase&, Bytes frame, const Target& target) {
    return value_with(frame, target, {target.packet->trailer()});
}

void grow_total_length(const TxCase&, Span frame, const Target& target) {
    const std::uint32_t at = target.packet->length_at();
    put16(frame, at, get16(frame, at) + target.packet->trailer());
}

bool odd(const TxCase&, Bytes, const Target& target) {
    return target.site->length() % 2 != 0;
}

std::uint32_t last_byte_dropped(const TxCase&, Bytes frame, const Target& target) {
    return value_with(frame, target, {~(frame[target.site->end - 1] * 256u)});
}

std::uint32_t last_byte_low(const TxCase&, Bytes frame, const Target& target) {
    const std::uint32_t last = frame[target.site->end - 1];
    return value_with(frame, target, {~(last * 256u), last});
}

// The parts of [from, to) that lie in one buffer each.
template <typename Use>
void for_each_buffer(const TxCase& at, std::uint32_t from, std::uint32_t to, Use use) {
    std::uint32_t begin = from;
    for (const std::uint32_t buffer_end : at.handed.buffer_ends) {
        const std::uint32_t end = std::min(buffer_end, to);
        if (end > begin) {
            use(begin, end);
            begin = end;
        }
    }
    if (begin < to) {
        use(begin, to);  // what the NIC itself has added
    }
}

bool odd_boundary(const TxCase& at, Bytes, const Target& target) {
    const Site& site = *target.site;
    return at.segments == 1 && std::any_of(at.handed.buffer_ends.begin(),
                                           at.handed.buffer_ends.end(), [&](std::uint32_t end) {
                                               return end > site.start && end < site.end &&
                                                      (end - site.start) % 2 != 0;
                                           });
}

// A copy with the field cleared, as the sum sees it.
std::vector<std::uint8_t> cleared(Bytes frame, const Site& site) {
    std::vector<std::uint8_t> copy(frame.begin(), frame.end());
    put16(copy, site.at, 0);
    return copy;
}

std::uint32_t each_buffer_from_even(const TxCase& at, Bytes frame, const Target& target) {
    const Site& site = *target.site;
    const std::vector<std::uint8_t> copy = cleared(frame, site);
    WordSum sum;
    add_pseudo_header(sum, frame, *target.packet, site.length());
    for_each_buffer(at, site.start, site.end, [&](std::uint32_t begin, std::uint32_t end) {
        sum.add(Bytes(copy).subspan(begin, end - begin));
        sum.align();
    });
    return field_value(site, sum);
}

bool several_buffers(const TxCase& at, Bytes, const Target& target) {
    const Site& site = *target.site;
    std::size_t parts = 0;
    for_each_buffer(at, site.start, site.end, [&](std::uint32_t, std::uint32_t) { ++parts; });
    return at.segments == 1 && parts > 1;
}

// The sum over [from, to) of the covered bytes alone, in their true lanes.
std::uint32_t sum_over(const TxCase&, Bytes frame, const Target& target, std::uint32_t from,
                       std::uint32_t to) {
    const Site& site = *target.site;
    std::vector<std::uint8_t> copy = cleared(frame, site);
    std::fill(copy.begin() + site.start, copy.begin() + from, std::uint8_t{0});
    WordSum sum;
    add_pseudo_header(sum, frame, *target.packet, site.length());
    sum.add(Bytes(copy).subspan(site.start, to - site.start));
    return field_value(site, sum);
}

std::uint32_t first_buffer(const TxCase& at, Bytes frame, const Target& target) {
    std::uint32_t first_end = 0;
    for_each_buffer(
        at, target.site->start, target.site->end,
        [&](std::uint32_t, std::uint32_t end) { first_end = first_end == 0 ? end : first_end; });
    return sum_over(at, frame, target, target.site->start, first_end);
}

std::uint32_t last_buffer(const TxCase& at, Bytes frame, const Target& target) {
    std::uint32_t last_begin = target.site->start;
    for_each_buffer(at, target.site->start, target.site->end,
                    [&](std::uint32_t begin, std::uint32_t) { last_begin = begin; });
    return sum_over(at, frame, target, last_begin, target.site->end);
}

std::uint32_t fragment_field(const PacketPlace& packet) {
    return packet.l4 + (packet.protocol == IPPROTO_UDP ? 6u : 16u);
}

bool is_fragment(const TxCase&, Bytes, const Target& target) {
    const PacketPlace& packet = *target.packet;
    const bool known = packet.protocol == IPPROTO_UDP || packet.protocol == IPPROTO_TCP;
    return packet.fragment != FragmentKind::kWhole && known && packet.destination_known &&
           fragment_field(packet) + 2 <= packet.end;
}

// The sum of this fragment alone, at the place where a whole packet has its checksum.
void sum_fragment(const TxCase&, Span frame, const Target& target) {
    const PacketPlace& packet = *target.packet;
    const Site site{.kind = packet.protocol == IPPROTO_UDP ? SiteKind::kUdp : SiteKind::kTcp,
                    .at = fragment_field(packet),
                    .start = packet.l4,
                    .end = packet.end};
    set_value(frame, site, right_value(frame, packet, site));
}

constexpr Mechanism kLengthMechanisms[] = {
    // Bytes behind the IP packet are summed as data.
    {.name = "PAD_DATA", .applies = padded, .value = with_padding},
    // The pseudo-header's length has the padding in it.
    {.name = "PAD_LEN", .applies = padded, .value = with_padded_length},
    // The IP length grows by the padding.
    {.name = "TOT_LEN_PAD",
     .fields = kIpOnly,
     .needs = Needs::kPacket,
     .redo = Redo::kIp,
     .applies = padded,
     .act = grow_total_length},
    // The last odd byte is not summed.
    {.name = "ODD_LAST_DROPPED", .applies = odd, .value = last_byte_dropped},
    // The last odd byte is summed as the low half of its word.
    {.name = "ODD_LANE", .applies = odd, .value = last_byte_low},
    // Each buffer is summed as if it began a word.
    {.name = "ODD_BUFFER", .applies = odd_boundary, .value = each_buffer_from_even},
    // Only the part in the first buffer is summed.
    {.name = "FIRST_SEG_ONLY", .applies = several_buffers, .value = first_buffer},
    // Only the part in the last buffer is summed.
    {.name = "LAST_SEG_ONLY", .applies = several_buffers, .value = last_buffer},
    // A checksum of the fragment alone is written into it.
    {.name = "FRAG_L4",
     .fields = field_bit(FaultField::kL4),
     .needs = Needs::kPacket,
     .applies = is_fragment,
     .act = sum_fragment},
};

}  // namespace

std::span<const Mechanism> length_mechanisms() {
    return kLengthMechanisms;
}

}  // namespace pathproof::softnic
