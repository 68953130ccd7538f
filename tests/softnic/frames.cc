#include "tests/softnic/frames.h"

#include <algorithm>

namespace pathproof::softnic {
namespace {

constexpr std::uint8_t kUdp = 17;
constexpr std::uint8_t kTcp = 6;

void put16(Frame& frame, std::size_t at, std::uint16_t value) {
    frame[at] = static_cast<std::uint8_t>(value >> 8);
    frame[at + 1] = static_cast<std::uint8_t>(value);
}

Frame join(Frame head, const Frame& tail) {
    head.insert(head.end(), tail.begin(), tail.end());
    return head;
}

Frame addresses(int family) {
    if (family == 4) {
        return {198, 18, 0, 1, 198, 18, 0, 2};
    }
    Frame both(32, 0);
    for (const std::size_t at : {0u, 16u}) {
        both[at] = 0x20;
        both[at + 1] = 0x01;
        both[at + 2] = 0x0d;
        both[at + 3] = 0xb8;
        both[at + 15] = at == 0 ? 1 : 2;
    }
    return both;
}

std::uint16_t pseudo_sum(int family, std::uint8_t protocol, std::size_t length) {
    const Frame both = addresses(family);
    return ones_sum(both.data(), both.size(), static_cast<std::uint32_t>(protocol + length));
}

void fill(Frame& segment, std::size_t at, int family, std::uint8_t protocol, Field field) {
    const std::uint16_t pseudo = pseudo_sum(family, protocol, segment.size());
    put16(segment, at, 0);
    auto right = static_cast<std::uint16_t>(~ones_sum(segment.data(), segment.size(), pseudo));
    right = right == 0 && protocol == kUdp ? 0xffff : right;
    switch (field) {
        case Field::kRight: put16(segment, at, right); break;
        case Field::kPartial: put16(segment, at, pseudo); break;
        case Field::kWrong:
            put16(segment, at,
                  static_cast<std::uint16_t>(right + 1 == pseudo ? right + 2 : right + 1));
            break;
    }
}

}  // namespace

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

Frame ethernet(std::uint16_t ethertype, const Frame& payload) {
    Frame head = {2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0, 0};
    put16(head, 12, ethertype);
    return join(head, payload);
}

Frame ipv4(std::uint8_t protocol, const Frame& payload, unsigned header_words) {
    Frame head(4u * header_words, 1);  // 1: no-operation options
    const Frame both = addresses(4);
    head[0] = static_cast<std::uint8_t>(0x40 | header_words);
    head[1] = 0;
    put16(head, 2, static_cast<std::uint16_t>(head.size() + payload.size()));
    put16(head, 4, 0x1234);
    put16(head, 6, 0x4000);
    head[8] = 64;
    head[9] = protocol;
    put16(head, 10, 0);
    std::copy(both.begin(), both.end(), head.begin() + 12);
    put16(head, 10, static_cast<std::uint16_t>(~ones_sum(head.data(), head.size(), 0)));
    return join(head, payload);
}

Frame ipv6(std::uint8_t next_header, const Frame& payload) {
    Frame head = {0x60, 0, 0, 0, 0, 0, next_header, 64};
    put16(head, 4, static_cast<std::uint16_t>(payload.size()));
    return join(join(head, addresses(6)), payload);
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
    Frame segment(8, 0);
    put16(segment, 0, source);
    put16(segment, 2, destination);
    put16(segment, 4, static_cast<std::uint16_t>(8 + payload.size()));
    segment = join(segment, payload);
    fill(segment, 6, family, kUdp, field);
    return segment;
}

Frame tcp(int family, std::uint16_t source, std::uint16_t destination, const Frame& payload,
          Field field) {
    Frame segment(20, 0);
    put16(segment, 0, source);
    put16(segment, 2, destination);
    segment[7] = 9;  // sequence number
    segment[12] = 0x50;
    segment[13] = 0x18;  // PSH, ACK
    put16(segment, 14, 4096);
    segment = join(segment, payload);
    fill(segment, 16, family, kTcp, field);
    return segment;
}

Frame icmp_echo(const Frame& payload) {
    Frame segment = join({8, 0, 0, 0, 0, 1, 0, 1}, payload);
    put16(segment, 2, static_cast<std::uint16_t>(~ones_sum(segment.data(), segment.size(), 0)));
    return segment;
}

Frame vxlan(const Frame& inner) {
    return join({8, 0, 0, 0, 0, 0, 42, 0}, inner);
}

void finish_udp(Frame& segment) {
    fill(segment, 6, 4, kUdp, Field::kRight);
}

std::uint16_t field_at(const Frame& frame, std::size_t offset) {
    return static_cast<std::uint16_t>(frame[offset] << 8 | frame[offset + 1]);
}

}  // namespace pathproof::softnic
