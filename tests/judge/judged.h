// Packets put together byte by byte and given their checksums by DPDK's rte_net: a third
// implementation beside the fast path and the oracle.
#pragma once

#include "dataplane/judge/verifier.h"
#include "tests/frame/raw.h"

namespace pathproof::judged {

using raw::get;
using raw::Octets;
using raw::put;

inline constexpr std::uint16_t kTunnelPorts[] = {4789, 8472};

// Fills the IPv4 header's checksum, then the transport's; nothing in the packet may be filled
// after. `packet` starts with an IPv4 header.
void seal_ipv4(Octets& packet);
// `packet` starts with an IPv6 header without extension headers.
void seal_ipv6(Octets& packet);

// A healthy frame with one packet.
Octets plain4(const raw::Ipv4& header, const Octets& transport);
Octets plain6(std::uint8_t next_header, const Octets& transport);

// Puts what is right into all checksum fields, read as on the well-known tunnel ports.
void mend(Octets& frame);

std::string text(const judge::FrameVerdict& verdict);

}  // namespace pathproof::judged
