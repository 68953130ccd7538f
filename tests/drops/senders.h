// Packets that a test sends inside a namespace.
#pragma once

#include <cstdint>
#include <string>

namespace pathproof::drops::lab {

// Sends UDP packets to an address, all from one socket; errors that ICMP reports are no matter.
void send_udp(const std::string& netns, const std::string& address, std::uint16_t port, int count);

// Two threads, each on a CPU of its own where there are two, send UDP packets at the same moments
// from one source address each, both with the source port of the round; gives how many packets the
// kernel refused with EPERM, as it answers a local sender whose packet netfilter drops.
std::uint64_t send_at_once(const std::string& netns, const std::string& source,
                           const std::string& other_source, const std::string& destination,
                           std::uint16_t first_port, int rounds);

}  // namespace pathproof::drops::lab
