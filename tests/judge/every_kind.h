// Healthy frames of every encapsulation, network and transport that the judge reads, with sums from
// DPDK's rte_net and CRC32c from rte_hash: a third implementation beside the judge's two.
#pragma once

#include <string>

#include "dataplane/frame/tunnel_ports.h"
#include "tests/frame/raw.h"

namespace pathproof::judged {

using raw::get;
using raw::Octets;
using raw::put;

enum class Envelope : std::uint8_t {
    kNone,
    kVlan,  // no tunnel
    kQinq,
    kVxlan,
    kVxlanOverIpv6,
    kVxlanGpe,  // Ethernet or bare IP inside
    kGeneve,    // options of 0 to 124 bytes; Ethernet or bare IP inside
    kGre,       // with and without checksum, key, sequence number; Ethernet or bare IP inside
    kIpInIp,    // IPv4 or IPv6 in either
};
inline constexpr std::size_t kEnvelopes = 9;
inline constexpr std::size_t kCommonEnvelopes = 5;  // the first of them

enum class Upper : std::uint8_t { kUdp, kUdpZero, kTcp, kIcmp, kSctp, kUdpLite };
inline constexpr std::size_t kUppers = 6;

enum class Net : std::uint8_t { kIpv4, kIpv4Options, kIpv6, kIpv6Extensions };
inline constexpr std::size_t kNets = 4;

enum class Trailer : std::uint8_t { kNone, kZero, kRandom };

// kUdpZero over IPv6 has a checksum: without one it would be wrong.
struct Kind {
    Envelope envelope = Envelope::kNone;
    Upper upper = Upper::kUdp;
    Net net = Net::kIpv4;
    Trailer trailer = Trailer::kNone;        // of the outermost frame
    Trailer inner_trailer = Trailer::kNone;  // within the tunnel, where it carries Ethernet
    std::size_t payload = 20;
    bool all_sums = false;  // an outer UDP checksum, too, which some lack otherwise
};
std::string text(const Kind& kind);

Kind any_kind(raw::Random& random);
Octets frame_of(const Kind& kind, raw::Random& random);
// As above, with a payload of given bytes instead of random ones; `kind.payload` does not count.
Octets frame_of(const Kind& kind, raw::Random& random, const Octets& payload);
// UDP, TCP or ICMP with all checksums in a common envelope, each in its `turn`, a trailer of other
// bytes than 0 now and then, and a payload of 0 to 199 bytes: `fill` everywhere if that is not
// negative.
Octets common_frame(raw::Random& random, std::size_t turn, int fill = -1);

}  // namespace pathproof::judged
