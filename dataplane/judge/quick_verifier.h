// Judges every checksum of the frames that make up most traffic, in one pass and without a record
// of each layer: Ethernet with up to two VLAN tags, IPv4 without options or IPv6 without extension
// headers, unfragmented, with UDP, TCP or ICMP, and the same in VXLAN. It says what verify() says
// of them, and of all others that they are not its own.
//
// A checksum is right if all that it covers, itself among it, sums up to 0xffff; its right value
// need not be known. What an outer UDP checksum covers is summed once for both.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "dataplane/frame/view.h"
#include "dataplane/judge/quick_sum.h"
#include "dataplane/judge/verifier.h"

namespace pathproof::judge {

// A frame's layers and their faults as one number: an index for counters.
class QuickCode {
  public:
    enum class Upper : std::uint8_t { kUdp, kUdpZero, kTcp, kIcmp };
    // Families of the outer IP header, and whether its UDP has a checksum.
    enum class Envelope : std::uint8_t { kNone, kIpv4, kIpv4Zero, kIpv6, kIpv6Zero };
    static constexpr unsigned kBadUpper = 1;
    static constexpr unsigned kBadIp = 2;
    static constexpr unsigned kBadOuterUdp = 4;
    static constexpr unsigned kBadOuterIp = 8;
    static constexpr unsigned kBad = 15;

    QuickCode() = default;
    explicit constexpr QuickCode(std::size_t index) : bits_(static_cast<std::uint16_t>(index)) {}
    constexpr QuickCode(Upper upper, bool ipv6, Envelope envelope, unsigned bad)
        : bits_(static_cast<std::uint16_t>(bad | static_cast<unsigned>(upper) << 4 |
                                           (ipv6 ? 1u : 0u) << 6 |
                                           static_cast<unsigned>(envelope) << 7)) {}

    constexpr bool operator==(const QuickCode&) const = default;
    constexpr std::size_t index() const { return bits_; }
    constexpr unsigned bad() const { return bits_ & kBad; }
    constexpr Upper upper() const { return static_cast<Upper>(bits_ >> 4 & 3); }
    constexpr bool ipv6() const { return (bits_ >> 6 & 1) != 0; }
    constexpr Envelope envelope() const { return static_cast<Envelope>(bits_ >> 7); }

  private:
    std::uint16_t bits_ = 0;
};

// The layers that a code stands for, outermost first, each with its state.
struct QuickLayers {
    struct One {
        Layer layer;
        ChecksumState state = ChecksumState::kGood;
    };
    std::array<One, FrameVerdict::kMost> layers{};
    std::size_t count = 0;
    std::span<const One> all() const& { return {layers.data(), count}; }
};
QuickLayers layers_of(QuickCode code);

// The innermost packet. Offsets count from the start of the frame.
struct QuickFrame {
    QuickCode code;
    std::uint32_t network = 0;
    std::uint32_t transport = 0;
    std::uint32_t end = 0;  // of the IP packet
};

class QuickVerifier {
  public:
    // UDP to a port in `vxlan_ports` (host order) is VXLAN. With more than four of them no frame of
    // UDP is of common shape.
    explicit QuickVerifier(std::span<const std::uint16_t> vxlan_ports);

    // False: not of a common shape, and nothing is said of it.
    bool judge(frame::Bytes frame, QuickFrame& out) const noexcept;

    // Returns whether the port, in the frame's byte order, is one of those that carry VXLAN.
    bool to_tunnel(std::uint16_t raw_port) const noexcept {
        constexpr std::uint64_t kOnes = 0x0001'0001'0001'0001;
        const std::uint64_t zero_where_equal = ports_ ^ raw_port * kOnes;
        return ((zero_where_equal - kOnes) & ~zero_where_equal & used_) != 0;
    }

  private:
    struct Headers {
        std::uint32_t network = 0;
        std::uint32_t transport = 0;
        std::uint32_t end = 0;
        std::uint8_t protocol = 0;
        bool ipv6 = false;
        std::uint32_t room() const { return end - transport; }
    };

    static constexpr std::uint32_t kEthernet = 14;
    static constexpr std::uint32_t kUdp = 8;
    static constexpr std::uint32_t kVxlan = 8;
    static constexpr std::uint8_t kIcmpProtocol = 1;
    static constexpr std::uint8_t kTcpProtocol = 6;
    static constexpr std::uint8_t kUdpProtocol = 17;
    static constexpr std::uint8_t kIcmpv6Protocol = 58;
    // EtherTypes as they lie in memory as words of the frame.
    static constexpr std::uint16_t kIpv4Type = 0x0008;
    static constexpr std::uint16_t kIpv6Type = 0xdd86;

    static std::uint32_t host16(const std::uint8_t* at) noexcept {
        return __builtin_bswap16(load<std::uint16_t>(at));
    }
    static bool is_vlan(std::uint16_t type) noexcept {
        return type == 0x0081 || type == 0xa888 || type == 0x0091;
    }

    static bool read_headers(const std::uint8_t* frame, std::uint32_t at, std::uint32_t limit,
                             Headers& headers) noexcept;
    static bool read_ipv4(const std::uint8_t* frame, std::uint32_t limit,
                          Headers& headers) noexcept;
    static bool read_ipv6(const std::uint8_t* frame, std::uint32_t limit,
                          Headers& headers) noexcept;
    static bool read_transport(const std::uint8_t* frame, const Headers& headers) noexcept;
    // Sums an IPv4 header.
    static std::uint64_t header_sum(const std::uint8_t* frame, const Headers& headers) noexcept;
    static unsigned bad_ip(const std::uint8_t* frame, const Headers& headers) noexcept;
    static std::uint64_t pseudo_header(const std::uint8_t* frame, const Headers& headers) noexcept;
    static QuickCode::Upper upper_of(const std::uint8_t* frame, const Headers& headers) noexcept;
    // The transport checksum of a packet whose bytes from the transport header on add up to `sum`.
    static unsigned bad_upper(const std::uint8_t* frame, const Headers& headers,
                              QuickCode::Upper upper, std::uint64_t sum) noexcept;

    static bool judge_plain(const std::uint8_t* frame, const Headers& packet,
                            QuickFrame& out) noexcept;
    static std::uint64_t sum_between(const std::uint8_t* frame, const Headers& outer,
                                     const Headers& inner) noexcept;
    static bool judge_tunnel(const std::uint8_t* frame, const Headers& outer,
                             QuickFrame& out) noexcept;

    std::uint64_t ports_ = 0;  // four, each in the frame's byte order
    std::uint64_t used_ = 0;   // the top bit of each that is one
    bool too_many_ports_ = false;
};

inline bool QuickVerifier::read_headers(const std::uint8_t* frame, std::uint32_t at,
                                        std::uint32_t limit, Headers& headers) noexcept {
    if (limit < at + kEthernet + 8) [[unlikely]] {
        return false;
    }
    auto type = load<std::uint16_t>(frame + at + kEthernet - 2);
    at += kEthernet;
    headers.network = at;
    if (type == kIpv4Type) [[likely]] {
        return read_ipv4(frame, limit, headers);
    }
    for (int tags = 0; is_vlan(type) && tags < 2; ++tags) {
        type = load<std::uint16_t>(frame + at + 2);
        at += 4;
        if (limit < at + 4) [[unlikely]] {
            return false;
        }
    }
    headers.network = at;
    if (type == kIpv4Type) {
        return read_ipv4(frame, limit, headers);
    }
    return type == kIpv6Type && read_ipv6(frame, limit, headers);
}

inline bool QuickVerifier::read_ipv4(const std::uint8_t* frame, std::uint32_t limit,
                                     Headers& headers) noexcept {
    constexpr std::uint32_t kHeader = 20;
    // Version, header length, fragment offset and the flag for more of them: without options,
    // whole.
    constexpr std::uint64_t kShape = 0xff3f'0000'0000'00ff;
    constexpr std::uint64_t kCommon = 0x45;
    const std::uint32_t there = limit - headers.network;
    if (there < kHeader + kUdp) [[unlikely]] {
        return false;
    }
    const std::uint8_t* const ip = frame + headers.network;
    const auto start = load<std::uint64_t>(ip);
    const std::uint32_t length = __builtin_bswap16(static_cast<std::uint16_t>(start >> 16));
    if ((start & kShape) != kCommon || length < kHeader + kUdp || length > there) [[unlikely]] {
        return false;
    }
    headers.ipv6 = false;
    headers.protocol = ip[9];
    headers.transport = headers.network + kHeader;
    headers.end = headers.network + length;
    return read_transport(frame, headers);
}

inline bool QuickVerifier::read_ipv6(const std::uint8_t* frame, std::uint32_t limit,
                                     Headers& headers) noexcept {
    constexpr std::uint32_t kHeader = 40;
    const std::uint32_t there = limit - headers.network;
    if (there < kHeader + kUdp) [[unlikely]] {
        return false;
    }
    const std::uint8_t* const ip = frame + headers.network;
    const std::uint32_t length = host16(ip + 4);
    if (ip[0] >> 4 != 6 || length < kUdp || length > there - kHeader) [[unlikely]] {
        return false;
    }
    headers.ipv6 = true;
    headers.protocol = ip[6];
    headers.transport = headers.network + kHeader;
    headers.end = headers.transport + length;
    return read_transport(frame, headers);
}

inline bool QuickVerifier::read_transport(const std::uint8_t* frame,
                                          const Headers& headers) noexcept {
    const std::uint8_t* const transport = frame + headers.transport;
    if (headers.protocol == kUdpProtocol) [[likely]] {
        return host16(transport + 4) == headers.room();
    }
    if (headers.protocol == kTcpProtocol) {
        constexpr std::uint32_t kTcp = 20;
        if (headers.room() < kTcp) {
            return false;
        }
        const std::uint32_t header = (transport[12] >> 4) * 4u;
        return header >= kTcp && header <= headers.room();
    }
    return headers.protocol == (headers.ipv6 ? kIcmpv6Protocol : kIcmpProtocol);
}

inline std::uint64_t QuickVerifier::header_sum(const std::uint8_t* frame,
                                               const Headers& headers) noexcept {
    const std::uint8_t* const ip = frame + headers.network;
    return add_around(add_around(load<std::uint64_t>(ip), load<std::uint64_t>(ip + 8)),
                      load<std::uint32_t>(ip + 16));
}

inline unsigned QuickVerifier::bad_ip(const std::uint8_t* frame, const Headers& headers) noexcept {
    if (headers.ipv6) {
        return 0;
    }
    // 0xffff sums up where 0 is meant, and is wrong all the same: see verifier.cc.
    const bool good = sums_up(header_sum(frame, headers)) &&
                      load<std::uint16_t>(frame + headers.network + 10) != 0xffff;
    return good ? 0 : QuickCode::kBadIp;
}

// RFC 768, RFC 9293, RFC 8200 section 8.1; ICMP over IPv4 has none.
inline std::uint64_t QuickVerifier::pseudo_header(const std::uint8_t* frame,
                                                  const Headers& headers) noexcept {
    const std::uint8_t* const ip = frame + headers.network;
    const std::uint64_t words =
        std::uint64_t{__builtin_bswap16(static_cast<std::uint16_t>(headers.room()))} +
        (std::uint64_t{headers.protocol} << 8);
    if (!headers.ipv6) [[likely]] {
        return headers.protocol == kIcmpProtocol ? 0
                                                 : add_around(words, load<std::uint64_t>(ip + 12));
    }
    return add_around(
        add_around(words, add_around(load<std::uint64_t>(ip + 8), load<std::uint64_t>(ip + 16))),
        add_around(load<std::uint64_t>(ip + 24), load<std::uint64_t>(ip + 32)));
}

inline QuickCode::Upper QuickVerifier::upper_of(const std::uint8_t* frame,
                                                const Headers& headers) noexcept {
    if (headers.protocol == kUdpProtocol) [[likely]] {
        return load<std::uint16_t>(frame + headers.transport + 6) == 0 ? QuickCode::Upper::kUdpZero
                                                                       : QuickCode::Upper::kUdp;
    }
    return headers.protocol == kTcpProtocol ? QuickCode::Upper::kTcp : QuickCode::Upper::kIcmp;
}

inline unsigned QuickVerifier::bad_upper(const std::uint8_t* frame, const Headers& headers,
                                         QuickCode::Upper upper, std::uint64_t sum) noexcept {
    if (upper == QuickCode::Upper::kUdpZero) {
        // RFC 768 allows it over IPv4, RFC 8200 section 8.1 forbids it over IPv6.
        return headers.ipv6 ? QuickCode::kBadUpper : 0;
    }
    return sums_up(add_around(sum, pseudo_header(frame, headers))) ? 0 : QuickCode::kBadUpper;
}

inline bool QuickVerifier::judge_plain(const std::uint8_t* frame, const Headers& packet,
                                       QuickFrame& out) noexcept {
    const QuickCode::Upper upper = upper_of(frame, packet);
    const std::uint64_t sum = upper == QuickCode::Upper::kUdpZero
                                  ? 0
                                  : quick_sum(frame + packet.transport, packet.room());
    const unsigned bad = bad_ip(frame, packet) | bad_upper(frame, packet, upper, sum);
    out = {.code = QuickCode(upper, packet.ipv6, QuickCode::Envelope::kNone, bad),
           .network = packet.network,
           .transport = packet.transport,
           .end = packet.end};
    return true;
}

// From the outer UDP header to the inner transport header. Most inner packets are IPv4 without VLAN
// tag: a length known beforehand, and a header that was summed for its own checksum already.
inline std::uint64_t QuickVerifier::sum_between(const std::uint8_t* frame, const Headers& outer,
                                                const Headers& inner) noexcept {
    constexpr std::uint32_t kUsual = kUdp + kVxlan + kEthernet;
    const std::uint8_t* const from = frame + outer.transport;
    if (!inner.ipv6 && inner.network - outer.transport == kUsual) [[likely]] {
        return add_around(short_sum(from, kUsual), header_sum(frame, inner));
    }
    return short_sum(from, inner.transport - outer.transport);
}

inline bool QuickVerifier::judge_tunnel(const std::uint8_t* frame, const Headers& outer,
                                        QuickFrame& out) noexcept {
    constexpr std::uint8_t kVniPresent = 0x08;  // RFC 7348 section 5
    const std::uint32_t vxlan = outer.transport + kUdp;
    Headers inner;
    if (outer.end < vxlan + kVxlan || (frame[vxlan] & kVniPresent) == 0 ||
        !read_headers(frame, vxlan + kVxlan, outer.end, inner)) [[unlikely]] {
        return false;
    }
    using Envelope = QuickCode::Envelope;
    const QuickCode::Upper upper = upper_of(frame, inner);
    const std::uint64_t sum = quick_sum(frame + inner.transport, inner.room());
    unsigned bad = bad_ip(frame, inner) | bad_upper(frame, inner, upper, sum);
    bad |= bad_ip(frame, outer) != 0 ? QuickCode::kBadOuterIp : 0;
    Envelope envelope = outer.ipv6 ? Envelope::kIpv6Zero : Envelope::kIpv4Zero;
    if (load<std::uint16_t>(frame + outer.transport + 6) != 0) {
        // A trailer behind the inner packet may start at an odd place.
        if (inner.end != outer.end) [[unlikely]] {
            return false;
        }
        envelope = outer.ipv6 ? Envelope::kIpv6 : Envelope::kIpv4;
        const std::uint64_t covered = add_around(sum, sum_between(frame, outer, inner));
        const bool good = sums_up(add_around(covered, pseudo_header(frame, outer)));
        bad |= good ? 0 : QuickCode::kBadOuterUdp;
    }
    out = {.code = QuickCode(upper, inner.ipv6, envelope, bad),
           .network = inner.network,
           .transport = inner.transport,
           .end = inner.end};
    return true;
}

inline bool QuickVerifier::judge(frame::Bytes frame, QuickFrame& out) const noexcept {
    Headers outer;
    if (!read_headers(frame.data(), 0, static_cast<std::uint32_t>(frame.size()), outer))
        [[unlikely]] {
        return false;
    }
    if (outer.protocol != kUdpProtocol) {
        return judge_plain(frame.data(), outer, out);
    }
    if (too_many_ports_) [[unlikely]] {
        return false;
    }
    if (to_tunnel(load<std::uint16_t>(frame.data() + outer.transport + 2))) {
        return judge_tunnel(frame.data(), outer, out);
    }
    return judge_plain(frame.data(), outer, out);
}

}  // namespace pathproof::judge
