// Mistakes that nobody has published: who names wrong values must leave these unnamed.
#include <bit>

#include "dataplane/softnic/bytes.h"
#include "dataplane/softnic/mechanisms.h"

namespace pathproof::softnic {
namespace {

std::uint16_t right(Bytes frame, const Target& target) {
    return static_cast<std::uint16_t>(right_value(frame, *target.packet, *target.site));
}

std::uint32_t constant(const TxCase&, Bytes, const Target&) {
    return 0x5a17;
}

std::uint32_t plus_k(const TxCase&, Bytes frame, const Target& target) {
    WordSum sum;
    sum.add_word(right(frame, target));
    sum.add_word(0x0137);
    return sum.folded();
}

std::uint32_t xor_k(const TxCase&, Bytes frame, const Target& target) {
    return right(frame, target) ^ 0x0810u;
}

std::uint32_t random_value(const TxCase& at, Bytes, const Target&) {
    return static_cast<std::uint16_t>(at.draw >> 32);
}

std::uint32_t nibbles(const TxCase&, Bytes frame, const Target& target) {
    return std::rotl(right(frame, target), 4);
}

std::uint32_t bits_reversed(const TxCase&, Bytes frame, const Target& target) {
    std::uint32_t value = right(frame, target);
    std::uint32_t reversed = 0;
    for (int bit = 0; bit < 16; ++bit, value >>= 1) {
        reversed = reversed << 1 | (value & 1);
    }
    return reversed;
}

// The data behind the transport header, or what there is of it.
Bytes data(Bytes frame, const Target& target) {
    return frame.subspan(target.packet->payload, target.site->end - target.packet->payload);
}

std::uint32_t half_of_data(const TxCase&, Bytes frame, const Target& target) {
    const Bytes all = data(frame, target);
    WordSum second_half;
    second_half.add(all.subspan(all.size() / 4 * 2));
    return value_with(frame, target, {~std::uint32_t{second_half.folded()}});
}

std::uint32_t every_second_word(const TxCase&, Bytes frame, const Target& target) {
    const Bytes all = data(frame, target);
    WordSum sum = sum_of(frame, *target.packet, *target.site);
    for (std::size_t at = 2; at + 2 <= all.size(); at += 4) {
        sum.add_word(~static_cast<std::uint32_t>(get16(all, at)));
    }
    return field_value(*target.site, sum);
}

std::uint32_t data_twice(const TxCase&, Bytes frame, const Target& target) {
    WordSum sum = sum_of(frame, *target.packet, *target.site);
    sum.add(data(frame, target));
    return field_value(*target.site, sum);
}

std::uint32_t of_frame_before(const TxCase& at, Bytes, const Target&) {
    return at.memory;
}
std::uint32_t remember_right(const TxCase&, Bytes frame, const Target& target) {
    return right(frame, target);
}

std::uint32_t with_hop_limit(const TxCase&, Bytes frame, const Target& target) {
    return value_with(frame, target, {frame[target.packet->hop_limit_at()] * 256u});
}

std::uint32_t with_length_squared(const TxCase&, Bytes frame, const Target& target) {
    const std::uint32_t length = target.site->length();
    return value_with(frame, target, {length * length});
}

std::uint32_t with_source_mac(const TxCase&, Bytes frame, const Target& target) {
    WordSum sum = sum_of(frame, *target.packet, *target.site);
    sum.add(frame.subspan(6, 6));
    return field_value(*target.site, sum);
}

constexpr Mechanism kOpenWorldMechanisms[] = {
    // Always the same value.
    {.name = "CONSTANT", .value = constant},
    // The right value and 0x137.
    {.name = "PLUS_K", .value = plus_k},
    // Two bits of the right value change.
    {.name = "XOR_K", .value = xor_k},
    // A value drawn for each frame.
    {.name = "RANDOM", .value = random_value},
    // The right value turned by four bits.
    {.name = "NIBBLES", .value = nibbles},
    // The right value, last bit first.
    {.name = "BITS_REVERSED", .value = bits_reversed},
    // The second half of the data is not summed.
    {.name = "HALF_OF_DATA", .value = half_of_data},
    // Every second word of the data is not summed.
    {.name = "SECOND_WORDS", .value = every_second_word},
    // The data is summed twice.
    {.name = "DATA_TWICE", .value = data_twice},
    // The right value of the frame before.
    {.name = "FRAME_BEFORE", .value = of_frame_before, .remember = remember_right},
    // The hop limit is summed as well.
    {.name = "HOP_LIMIT", .value = with_hop_limit},
    // The square of the length is summed as well.
    {.name = "LENGTH_SQUARED", .value = with_length_squared},
    // The frame's source MAC address is summed as well.
    {.name = "SOURCE_MAC", .value = with_source_mac},
};

constexpr FaultModel kModels[] = {
    {"X01", "tx.innermost.l4.CONSTANT", ""},
    {"X02", "tx.innermost.l4.PLUS_K", ""},
    {"X03", "tx.innermost.l4.XOR_K", ""},
    {"X04", "tx.innermost.l4.RANDOM", ""},
    {"X05", "tx.innermost.l4.NIBBLES", ""},
    {"X06", "tx.innermost.l4.BITS_REVERSED", ""},
    {"X07", "tx.innermost.l4.HALF_OF_DATA@payload>=4", ""},
    {"X08", "tx.innermost.l4.SECOND_WORDS@payload>=4", ""},
    {"X09", "tx.innermost.l4.DATA_TWICE@payload>=1", ""},
    {"X10", "tx.innermost.l4.FRAME_BEFORE", ""},
    {"X11", "tx.innermost.l4.HOP_LIMIT", ""},
    {"X12", "tx.innermost.l4.LENGTH_SQUARED", ""},
    {"X13", "tx.innermost.l4.SOURCE_MAC", ""},
    {"X14", "tx.outer.udp.XOR_K", ""},
};

}  // namespace

std::span<const Mechanism> open_world_mechanisms() {
    return kOpenWorldMechanisms;
}

std::span<const FaultModel> open_world_models() {
    return kModels;
}

}  // namespace pathproof::softnic
