// Frames put together byte by byte for tests: nothing of the code under test is used, and checksum
// fields stay 0 unless a test fills them. Each function wraps what it is given in one more header.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <random>
#include <string_view>
#include <vector>

namespace pathproof::raw {

using Octets = std::vector<std::uint8_t>;

// Seeded numbers of 32 bits; conversions to smaller types are what a test means.
class Random {
  public:
    explicit Random(std::uint32_t seed) : engine_(seed) {}
    std::uint32_t operator()() { return static_cast<std::uint32_t>(engine_()); }
    std::uint32_t below(std::size_t end) { return (*this)() % static_cast<std::uint32_t>(end); }
    std::uint8_t octet() { return static_cast<std::uint8_t>((*this)()); }
    std::uint16_t word() { return static_cast<std::uint16_t>((*this)()); }
    Octets octets(std::size_t size) {
        Octets all(size);
        for (std::uint8_t& one : all) {
            one = octet();
        }
        return all;
    }

  private:
    std::mt19937 engine_;
};

// The word at a place.
inline void put(Octets& to, std::size_t at, std::uint16_t value) {
    to[at] = static_cast<std::uint8_t>(value >> 8);
    to[at + 1] = static_cast<std::uint8_t>(value);
}
inline std::uint16_t get(const Octets& from, std::size_t at) {
    return static_cast<std::uint16_t>(from[at] << 8 | from[at + 1]);
}

inline void put16(Octets& to, std::size_t value) {
    to.push_back(static_cast<std::uint8_t>(value >> 8));
    to.push_back(static_cast<std::uint8_t>(value));
}
inline void put32(Octets& to, std::size_t value) {
    put16(to, value >> 16 & 0xffff);
    put16(to, value & 0xffff);
}
inline void append(Octets& to, const Octets& more) {
    for (const std::uint8_t octet :
         more) {  // g++ 12 warns of std::vector::insert here without reason
        to.push_back(octet);
    }
}
inline Octets joined(std::initializer_list<Octets> parts) {
    Octets all;
    for (const Octets& part : parts) {
        append(all, part);
    }
    return all;
}
inline Octets text(std::string_view characters) {
    return {characters.begin(), characters.end()};
}

inline Octets udp(std::uint16_t source, std::uint16_t destination, const Octets& data) {
    Octets out;
    put16(out, source);
    put16(out, destination);
    put16(out, 8 + data.size());
    put16(out, 0);
    append(out, data);
    return out;
}

inline Octets tcp(std::uint16_t source, std::uint16_t destination, const Octets& data,
                  const Octets& options = {}) {
    Octets out;
    put16(out, source);
    put16(out, destination);
    put32(out, 0x01020304);
    put32(out, 0x05060708);
    put16(out, (5 + options.size() / 4) << 12 | 0x18);
    put16(out, 0x2000);
    put32(out, 0);
    append(out, options);
    append(out, data);
    return out;
}

inline Octets icmp(std::uint8_t type, std::uint16_t identifier, const Octets& data) {
    Octets out{type, 0, 0, 0};
    put16(out, identifier);
    put16(out, 1);
    append(out, data);
    return out;
}

struct Ipv4 {
    std::uint8_t protocol = 17;
    std::uint16_t fragment = 0;  // flags and offset
    Octets options;
    std::uint32_t source = 0xc6120001;       // 198.18.0.1
    std::uint32_t destination = 0xc6120102;  // 198.18.1.2
};
inline Octets ipv4(const Ipv4& header, const Octets& data) {
    Octets out;
    const std::size_t length = 20 + header.options.size();
    put16(out, (0x40 | length / 4) << 8);
    put16(out, length + data.size());
    put16(out, 0x1234);
    put16(out, header.fragment);
    put16(out, 64u << 8 | header.protocol);
    put16(out, 0);
    put32(out, header.source);
    put32(out, header.destination);
    append(out, header.options);
    append(out, data);
    return out;
}

inline Octets ipv6_host(std::uint8_t last) {
    return {0x20, 1, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, last};
}
inline Octets ipv6(std::uint8_t next_header, const Octets& data, std::uint8_t destination = 2) {
    Octets out;
    put32(out, 0x60000000);
    put16(out, data.size());
    out.push_back(next_header);
    out.push_back(64);
    append(out, ipv6_host(1));
    append(out, ipv6_host(destination));
    append(out, data);
    return out;
}
// Hop-by-hop or destination options: one PadN of `units` * 8 bytes in all.
inline Octets ipv6_options(std::uint8_t next_header, std::uint8_t units = 1) {
    Octets out{next_header, static_cast<std::uint8_t>(units - 1), 1,
               static_cast<std::uint8_t>(units * 8 - 4)};
    out.resize(units * 8u);
    return out;
}
inline Octets ipv6_fragment(std::uint8_t next_header, std::uint16_t offset_and_more) {
    Octets out{next_header, 0};
    put16(out, offset_and_more);
    put32(out, 0xabcdef01);
    return out;
}
inline Octets ipv6_route(std::uint8_t next_header, std::uint8_t type, std::uint8_t segments_left,
                         const std::vector<std::uint8_t>& hosts) {
    Octets out{
        next_header, static_cast<std::uint8_t>(2 * hosts.size()), type, segments_left, 0, 0, 0, 0};
    for (const std::uint8_t host : hosts) {
        append(out, ipv6_host(host));
    }
    return out;
}

inline Octets vxlan(std::uint32_t vni, const Octets& frame) {
    Octets out{8, 0, 0, 0};
    put32(out, vni << 8);
    append(out, frame);
    return out;
}

inline Octets ethernet(std::uint16_t type, const Octets& data, const Octets& tags = {}) {
    Octets out{2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1};
    append(out, tags);
    put16(out, type);
    append(out, data);
    return out;
}
inline Octets vlan(std::uint16_t tpid, std::uint16_t tci) {
    Octets out;
    put16(out, tpid);
    put16(out, tci);
    return out;
}

}  // namespace pathproof::raw
