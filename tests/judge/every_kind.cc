#include "tests/judge/every_kind.h"

#include <fmt/format.h>
#include <rte_hash_crc.h>
#include <rte_ip.h>

namespace pathproof::judged {
namespace {

using raw::append;
using raw::joined;
using raw::put16;
using raw::put32;
using raw::Random;

constexpr std::uint8_t kUdp = 17;
constexpr std::uint8_t kTcp = 6;
constexpr std::uint8_t kSctp = 132;
constexpr std::uint8_t kUdpLite = 136;
constexpr std::uint8_t kGre = 47;

// The one's complement of rte_net's sum over everything given.
std::uint16_t checksum(const Octets& bytes) {
    const std::uint16_t raw = rte_raw_cksum(bytes.data(), bytes.size());
    return static_cast<std::uint16_t>(~__builtin_bswap16(raw));
}

struct Addresses {
    Octets source;
    Octets destination;  // the final one
};

Octets pseudo_header(const Addresses& addresses, std::uint8_t protocol, std::size_t length) {
    Octets out = joined({addresses.source, addresses.destination});
    put32(out, length);
    put32(out, protocol);
    return out;
}

bool is_udp(std::uint8_t protocol) {
    return protocol == kUdp || protocol == kUdpLite;
}

std::size_t field_of(std::uint8_t protocol) {
    switch (protocol) {
        case kUdp:
        case kUdpLite: return 6;
        case kTcp: return 16;
        case kSctp: return 8;
        default: return 2;
    }
}

std::size_t covered(const Octets& transport, std::uint8_t protocol) {
    const std::size_t coverage = transport[4] * 256u + transport[5];
    return protocol == kUdpLite && coverage != 0 ? coverage : transport.size();
}

void seal_sctp(Octets& transport) {
    const std::uint32_t crc =
        ~rte_hash_crc(transport.data(), static_cast<std::uint32_t>(transport.size()), 0xffffffff);
    for (unsigned i = 0; i < 4; ++i) {
        transport[8 + i] = static_cast<std::uint8_t>(crc >> 8 * i);
    }
}

void seal(Octets& transport, std::uint8_t protocol, const Addresses& addresses) {
    if (protocol == kSctp) {
        return seal_sctp(transport);
    }
    Octets all;
    if (protocol != 1) {
        all = pseudo_header(addresses, protocol, transport.size());
    }
    append(all, Octets(transport.begin(), transport.begin() + static_cast<std::ptrdiff_t>(
                                                                  covered(transport, protocol))));
    const std::uint16_t value = checksum(all);
    put(transport, field_of(protocol), value == 0 && is_udp(protocol) ? 0xffff : value);
}

Octets sctp(Random& random, const Octets& data) {
    Octets out;
    put16(out, 5000 + random.below(1000));
    put16(out, 3868);
    put32(out, random());
    put32(out, 0);
    put16(out, 0x0003);  // a DATA chunk, whole
    put16(out, 16 + data.size());
    put32(out, random());
    put32(out, 1);
    put32(out, 0);
    append(out, data);
    out.resize(out.size() + (4 - data.size() % 4) % 4);
    return out;
}

Octets udp_lite(Random& random, const Octets& data) {
    Octets out = raw::udp(1000, 2000, data);
    const std::size_t choices[] = {0, 8, 8 + data.size(), 8 + random.below(data.size() + 1)};
    put(out, 4, static_cast<std::uint16_t>(choices[random.below(4)]));
    return out;
}

struct Transport {
    std::uint8_t protocol;
    Octets bytes;
};

Transport transport_of(Upper upper, bool ipv6, Random& random, const Octets& data) {
    const auto port = static_cast<std::uint16_t>(10'000 + random.below(50'000));
    switch (upper) {
        case Upper::kUdp:
        case Upper::kUdpZero: return {kUdp, raw::udp(port, 53, data)};
        case Upper::kTcp: return {kTcp, raw::tcp(port, 80, data, Octets(random.below(4) * 4, 1))};
        case Upper::kIcmp:
            return {static_cast<std::uint8_t>(ipv6 ? 58 : 1),
                    raw::icmp(ipv6 ? 128 : 8, port, data)};
        case Upper::kSctp: return {kSctp, sctp(random, data)};
        case Upper::kUdpLite: break;
    }
    return {kUdpLite, udp_lite(random, data)};
}

Octets ipv4_packet(Transport transport, Random& random, bool options, bool zero) {
    raw::Ipv4 header{.protocol = transport.protocol,
                     .options = Octets(options ? 4 + random.below(10) * 4 : 0, 1),
                     .source = 0xc6120000 + random.below(0xffff),
                     .destination = 0xc6130000 + random.below(0xffff)};
    Addresses addresses;
    put32(addresses.source, header.source);
    put32(addresses.destination, header.destination);
    if (!zero) {
        seal(transport.bytes, transport.protocol, addresses);
    }
    Octets packet = raw::ipv4(header, transport.bytes);
    const auto length = static_cast<std::ptrdiff_t>(20 + header.options.size());
    put(packet, 10, checksum(Octets(packet.begin(), packet.begin() + length)));
    return packet;
}

// Hop-by-hop options, a routing header with a hop left, destination options: some of them.
Octets ipv6_packet(Transport transport, Random& random, bool extensions) {
    Addresses addresses{raw::ipv6_host(1), raw::ipv6_host(2)};
    const unsigned which = extensions ? 1 + random.below(7) : 0;
    const std::vector<std::uint8_t> hops{9};  // RFC 6275 section 6.4: exactly one
    if ((which & 2) != 0) {
        addresses.destination = raw::ipv6_host(hops.back());
    }
    seal(transport.bytes, transport.protocol, addresses);
    Octets data = transport.bytes;
    std::uint8_t next = transport.protocol;
    if ((which & 4) != 0) {
        data =
            joined({raw::ipv6_options(next, static_cast<std::uint8_t>(1 + random.below(3))), data});
        next = 60;
    }
    if ((which & 2) != 0) {
        data = joined({raw::ipv6_route(next, 2, 1, hops), data});
        next = 43;
    }
    if ((which & 1) != 0) {
        data = joined({raw::ipv6_options(next), data});
        next = 0;
    }
    return raw::ipv6(next, data);
}

Octets ip_packet(const Kind& kind, Random& random, const Octets& payload) {
    const bool ipv6 = kind.net == Net::kIpv6 || kind.net == Net::kIpv6Extensions;
    Transport transport = transport_of(kind.upper, ipv6, random, payload);
    return ipv6 ? ipv6_packet(std::move(transport), random, kind.net == Net::kIpv6Extensions)
                : ipv4_packet(std::move(transport), random, kind.net == Net::kIpv4Options,
                              kind.upper == Upper::kUdpZero);
}

bool is_ipv6(const Octets& ip) {
    return ip[0] >> 4 == 6;
}

Octets ethernet(const Octets& ip, Random& random, Trailer trailer, const Octets& tags = {}) {
    Octets frame = raw::ethernet(is_ipv6(ip) ? 0x86dd : 0x0800, ip, tags);
    if (trailer != Trailer::kNone) {
        const std::size_t size = 1 + random.below(20);
        append(frame, trailer == Trailer::kZero ? Octets(size) : random.octets(size));
    }
    return frame;
}

// An outer packet of one of the families; UDP with or without a checksum.
Octets outer_packet(std::uint8_t protocol, const Octets& data, Random& random, bool ipv6,
                    bool all_sums) {
    const bool zero = protocol == kUdp && !all_sums && random.below(4) == 0;
    if (protocol != kUdp) {
        if (ipv6) {
            return raw::ipv6(protocol, data);
        }
        Octets packet = raw::ipv4({.protocol = protocol}, data);
        put(packet, 10, checksum(Octets(packet.begin(), packet.begin() + 20)));
        return packet;
    }
    Transport transport{protocol, data};
    if (!ipv6) {
        return ipv4_packet(std::move(transport), random, false, zero);
    }
    if (zero) {
        return raw::ipv6(protocol, data);
    }
    return ipv6_packet(std::move(transport), random, false);
}

Octets udp_to(std::uint16_t port, const Octets& data, Random& random) {
    return raw::udp(static_cast<std::uint16_t>(32'768 + random.below(20'000)), port, data);
}

struct Carried {
    Octets bytes;
    std::uint16_t type;  // 0x6558: Ethernet
};
Carried carried(const Kind& kind, const Octets& ip, Random& random) {
    if (random.below(2) == 0) {
        return {ip, static_cast<std::uint16_t>(is_ipv6(ip) ? 0x86dd : 0x0800)};
    }
    return {ethernet(ip, random, kind.inner_trailer), 0x6558};
}

std::uint8_t gpe_protocol(std::uint16_t type) {
    switch (type) {
        case 0x6558: return 3;
        case 0x0800: return 1;
        default: return 2;
    }
}

Octets vxlan_gpe(const Carried& inner, Random& random) {
    Octets out{0x0c, 0, 0, gpe_protocol(inner.type)};
    put32(out, (random() & 0xffffff) << 8);
    append(out, inner.bytes);
    return out;
}

Octets geneve(const Carried& inner, Random& random) {
    const std::size_t sizes[] = {0, 4, 40, 124};
    const std::size_t size = sizes[random.below(4)];
    Octets out{static_cast<std::uint8_t>(size / 4), 0};
    put16(out, inner.type);
    put32(out, (random() & 0xffffff) << 8);
    if (size > 0) {
        put16(out, 0x0102);
        out.push_back(0x80);
        out.push_back(static_cast<std::uint8_t>((size - 4) / 4));
        append(out, random.octets(size - 4));
    }
    append(out, inner.bytes);
    return out;
}

Octets gre(const Carried& inner, Random& random) {
    const unsigned which = random.below(8);
    Octets out;
    put16(out, ((which & 4) != 0 ? 0x8000u : 0u) | ((which & 2) != 0 ? 0x2000u : 0u) |
                   ((which & 1) != 0 ? 0x1000u : 0u));
    put16(out, inner.type);
    for (const unsigned field : {4u, 2u, 1u}) {
        if ((which & field) != 0) {
            put32(out, field == 4 ? 0 : random());
        }
    }
    append(out, inner.bytes);
    if ((which & 4) != 0) {
        put(out, 4, checksum(out));
    }
    return out;
}

}  // namespace

std::string text(const Kind& kind) {
    return fmt::format("envelope {} upper {} net {} trailer {} inner trailer {} payload {}",
                       static_cast<int>(kind.envelope), static_cast<int>(kind.upper),
                       static_cast<int>(kind.net), static_cast<int>(kind.trailer),
                       static_cast<int>(kind.inner_trailer), kind.payload);
}

Kind any_kind(Random& random) {
    const std::size_t lengths[] = {0, 1, 2, 17, 18, 19, 100, 1'001};
    return {.envelope = static_cast<Envelope>(random.below(kEnvelopes)),
            .upper = static_cast<Upper>(random.below(kUppers)),
            .net = static_cast<Net>(random.below(kNets)),
            .trailer = static_cast<Trailer>(random.below(3)),
            .inner_trailer = static_cast<Trailer>(random.below(3)),
            .payload = lengths[random.below(std::size(lengths))]};
}

Octets frame_of(const Kind& kind, Random& random) {
    return frame_of(kind, random, random.octets(kind.payload));
}

Octets frame_of(const Kind& kind, Random& random, const Octets& payload) {
    const Octets ip = ip_packet(kind, random, payload);
    const auto outermost = [&](const Octets& packet, const Octets& tags = {}) {
        return ethernet(packet, random, kind.trailer, tags);
    };
    const bool over_ipv6 = random.below(2) == 1;
    switch (kind.envelope) {
        case Envelope::kNone: return outermost(ip);
        case Envelope::kVlan: return outermost(ip, raw::vlan(0x8100, 7));
        case Envelope::kQinq:
            return outermost(ip, joined({raw::vlan(0x88a8, 9), raw::vlan(0x8100, 7)}));
        case Envelope::kVxlan:
        case Envelope::kVxlanOverIpv6: {
            const Octets inner =
                raw::vxlan(random() & 0xffffff, ethernet(ip, random, kind.inner_trailer));
            const std::uint16_t port = random.below(2) == 0 ? 4789 : 8472;
            return outermost(outer_packet(kUdp, udp_to(port, inner, random), random,
                                          kind.envelope == Envelope::kVxlanOverIpv6,
                                          kind.all_sums));
        }
        case Envelope::kVxlanGpe:
            return outermost(outer_packet(
                kUdp, udp_to(4790, vxlan_gpe(carried(kind, ip, random), random), random), random,
                over_ipv6, kind.all_sums));
        case Envelope::kGeneve:
            return outermost(
                outer_packet(kUdp, udp_to(6081, geneve(carried(kind, ip, random), random), random),
                             random, over_ipv6, kind.all_sums));
        case Envelope::kGre:
            return outermost(outer_packet(kGre, gre(carried(kind, ip, random), random), random,
                                          over_ipv6, kind.all_sums));
        case Envelope::kIpInIp: break;
    }
    return outermost(outer_packet(is_ipv6(ip) ? 41 : 4, ip, random, over_ipv6, kind.all_sums));
}

Octets common_frame(Random& random, std::size_t turn, int fill) {
    constexpr Upper kCommonUppers[] = {Upper::kUdp, Upper::kTcp, Upper::kIcmp};
    constexpr Net kCommonNets[] = {Net::kIpv4, Net::kIpv4Options, Net::kIpv6};
    const auto trailer = [&] { return random.below(3) == 0 ? Trailer::kRandom : Trailer::kNone; };
    const Kind kind{.envelope = static_cast<Envelope>(turn % kCommonEnvelopes),
                    .upper = kCommonUppers[random.below(3)],
                    .net = kCommonNets[random.below(3)],
                    .trailer = trailer(),
                    .inner_trailer = trailer(),
                    .payload = random.below(200),
                    .all_sums = true};
    return fill < 0 ? frame_of(kind, random)
                    : frame_of(kind, random, Octets(kind.payload, static_cast<std::uint8_t>(fill)));
}

}  // namespace pathproof::judged
