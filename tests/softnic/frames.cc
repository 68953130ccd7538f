#include "tests/softnic/frames.h"

namespace pathproof::softnic {
namespace {

constexpr std::uint8_t kUdp = 17;
constexpr std::uint8_t kTcp = 6;

std::uint16_t ones_sum(const std::uint8_t* data, std::size_t size, std::uint32_t start) {
    std::uint32_t sum = start;
    for (std::size_t at = 0; at < size; ++at) {
        sum += at % 2 == 0 ? static_cast<std::uint32_t>(data[at] << 8) : data[at];
    }
    while (sum > 0xffff) {
        sum = (sum >> 16) + (sum & 0xffff);
    }
    return static_cast<std::uint16_t>(sum);
}

raw::Ipv4 header_of(std::uint8_t protocol, unsigned header_words) {
    return {.protocol = protocol,
            .fragment = 0x4000,
            .options = Frame(4u * (header_words - 5), 1),  // 1: no operation
            .destination = 0xc6120002};
}

std::uint16_t pseudo_sum(int family, std::uint8_t protocol, std::size_t length) {
    const Frame header = family == 4 ? raw::ipv4(header_of(protocol, 5), {}) : ipv6(protocol, {});
    const std::size_t addresses = family == 4 ? 12 : 8;
    return ones_sum(header.data() + addresses, header.size() - addresses,
                    static_cast<std::uint32_t>(protocol + length));
}

void fill(Frame& segment, std::size_t at, int family, std::uint8_t protocol, Field field) {
    const std::uint16_t pseudo = pseudo_sum(family, protocol, segment.size());
    raw::put(segment, at, 0);
    auto right = static_cast<std::uint16_t>(~ones_sum(segment.data(), segment.size(), pseudo));
    right = right == 0 && protocol == kUdp ? 0xffff : right;
    switch (field) {
        case Field::kRight: raw::put(segment, at, right); break;
        case Field::kPartial: raw::put(segment, at, pseudo); break;
        case Field::kWrong:
            raw::put(segment, at,
                     static_cast<std::uint16_t>(right + 1 == pseudo ? right + 2 : right + 1));
            break;
    }
}

}  // namespace

Frame ipv4(std::uint8_t protocol, const Frame& payload, unsigned header_words) {
    Frame packet = raw::ipv4(header_of(protocol, header_words), payload);
    raw::put(packet, 10,
             static_cast<std::uint16_t>(~ones_sum(packet.data(), 4u * header_words, 0)));
    return packet;
}

Frame bytes(std::size_t count) {
    Frame payload(count);
    for (std::size_t at = 0; at < count; ++at) {
        payload[at] = static_cast<std::uint8_t>(1 + at % 255);
    }
    return payload;
}

Frame udp(int family, std::uint16_t source, std::uint16_t destination, const Frame& payload,
          Field field) {
    Frame segment = raw::udp(source, destination, payload);
    fill(segment, 6, family, kUdp, field);
    return segment;
}

Frame tcp(int family, std::uint16_t source, std::uint16_t destination, const Frame& payload,
          Field field) {
    Frame segment = raw::tcp(source, destination, payload);
    fill(segment, 16, family, kTcp, field);
    return segment;
}

Frame icmp_echo(const Frame& payload) {
    Frame segment = raw::icmp(8, 1, payload);
    raw::put(segment, 2, static_cast<std::uint16_t>(~ones_sum(segment.data(), segment.size(), 0)));
    return segment;
}

Frame vxlan(const Frame& inner) {
    return raw::vxlan(42, inner);
}

void finish_udp(Frame& segment) {
    fill(segment, 6, 4, kUdp, Field::kRight);
}

}  // namespace pathproof::softnic
