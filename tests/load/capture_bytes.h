// Capture files put together byte by byte, for tests of what reads them.
#pragma once

#include <cstdint>
#include <vector>

namespace pathproof::load {

using Octets = std::vector<std::uint8_t>;

inline void put16(Octets& out, std::uint32_t value) {
    out.push_back(static_cast<std::uint8_t>(value));
    out.push_back(static_cast<std::uint8_t>(value >> 8));
}
inline void put32(Octets& out, std::uint32_t value) {
    put16(out, value & 0xffff);
    put16(out, value >> 16);
}
inline void put(Octets& out, const Octets& bytes) {
    out.insert(out.end(), bytes.begin(), bytes.end());
}

constexpr std::uint32_t kMicroseconds = 0xa1b2c3d4;
constexpr std::uint32_t kNanoseconds = 0xa1b23c4d;
constexpr std::uint32_t kEthernet = 1;

// The header of a pcap file (draft-ietf-opsawg-pcap section 4), 24 bytes.
inline Octets pcap_file(std::uint32_t magic = kMicroseconds, std::uint32_t link = kEthernet) {
    Octets out;
    put32(out, magic);
    put16(out, 2);
    put16(out, 4);
    put32(out, 0);
    put32(out, 0);
    put32(out, 65'535);
    put32(out, link);
    return out;
}
// 16 bytes and the frame.
inline void add_frame(Octets& file, std::uint32_t seconds, std::uint32_t fraction,
                      const Octets& frame, std::uint32_t more_on_the_wire = 0) {
    const auto size = static_cast<std::uint32_t>(frame.size());
    put32(file, seconds);
    put32(file, fraction);
    put32(file, size);
    put32(file, size + more_on_the_wire);
    put(file, frame);
}

// Section header and interface description (draft-ietf-opsawg-pcapng sections 4.1 and 4.2), 48
// bytes; times in microseconds.
inline Octets pcapng_file() {
    Octets out;
    put32(out, 0x0a0d0d0a);
    put32(out, 28);
    put32(out, 0x1a2b3c4d);
    put16(out, 1);
    put16(out, 0);
    put32(out, 0xffffffff);
    put32(out, 0xffffffff);
    put32(out, 28);
    put32(out, 1);
    put32(out, 20);
    put16(out, kEthernet);
    put16(out, 0);
    put32(out, 65'535);
    put32(out, 20);
    return out;
}
// An enhanced packet block (section 4.3).
inline void add_block(Octets& file, std::uint64_t microseconds, const Octets& frame) {
    const auto size = static_cast<std::uint32_t>(frame.size());
    const std::uint32_t padded = (size + 3) / 4 * 4;
    put32(file, 6);
    put32(file, 32 + padded);
    put32(file, 0);
    put32(file, static_cast<std::uint32_t>(microseconds >> 32));
    put32(file, static_cast<std::uint32_t>(microseconds));
    put32(file, size);
    put32(file, size);
    put(file, frame);
    file.resize(file.size() + padded - size);
    put32(file, 32 + padded);
}

}  // namespace pathproof::load
