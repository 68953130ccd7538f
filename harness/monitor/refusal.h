// Packets that say no: ICMP errors and TCP resets. Conntrack relates an ICMP error to its flow but
// leaves no trace of it in the entry (nf_conntrack_icmpv4_error), and it deletes a TCP entry whose
// only reply is a reset (nf_conntrack_tcp_packet): to tell a refusal from silence one has to look
// at the packets.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "harness/netfilter/entry.h"

namespace pathproof::monitor {

struct Refusal {
    // Tuple of the packet that was refused, in the direction in which it went, as it looked where
    // the refusal was seen: before or after translation.
    netfilter::Tuple packet;
    frame::IpAddress by;  // who says no
    std::string what;     // "port unreachable", "reset"
};
// "port unreachable from 10.1.0.3", or "reset" when the destination itself said so.
std::string describe(const Refusal& refusal);

// Reads an IP packet, which may be cut short behind the quoted ports. Nothing for any other packet,
// for a fragment, for an error that is no refusal (fragmentation needed, time exceeded) and for one
// whose quote is too short.
std::optional<Refusal> parse_refusal(std::span<const std::byte> packet);

}  // namespace pathproof::monitor
