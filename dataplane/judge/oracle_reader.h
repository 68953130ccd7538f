// The slow judge's own frame reader. It follows the RFCs and shares nothing with frame/view.h, so
// that a mistake in either shows as a difference.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "dataplane/frame/tunnel_ports.h"
#include "dataplane/judge/verifier.h"

namespace pathproof::judge::oracle {

using Octets = std::span<const std::uint8_t>;

constexpr unsigned kNoProtocol = 256;

// An Ethernet frame and its IP packet, as far as they could be read. Positions count from the start
// of the whole frame.
struct Packet {
    Octets octets;  // up to where its carrier ends
    Malformed malformed = Malformed::kNone;
    bool ipv4 = false;
    bool ipv6 = false;
    std::size_t ip = 0;         // where the IP header starts
    std::size_t transport = 0;  // where the header behind it and its extension headers starts
    std::size_t end = 0;        // where the IP packet ends
    unsigned protocol = kNoProtocol;
    bool first_fragment = false;
    bool later_fragment = false;
    bool destination_known = true;
    std::size_t final_destination = 0;  // where its bytes lie
    // Set by read_transport().
    std::optional<Protocol> judged;  // whose checksum there is to judge
    std::size_t field = 0;           // where it lies; 0 in a later fragment
    std::size_t covered_end = 0;     // of what it covers
    std::size_t length = 0;          // what the pseudo-header says
};

inline unsigned word(Octets octets, std::size_t at) {
    return octets[at] * 256u + octets[at + 1];
}

inline void mark(Packet& packet, Malformed reason) {
    if (packet.malformed == Malformed::kNone) {
        packet.malformed = reason;
    }
}

// Reads the Ethernet frame at `start`, or the IP packet of the family that `ethertype` says.
Packet read_frame(Octets octets, std::size_t start);
Packet read_ip(Octets octets, std::size_t start, unsigned ethertype);

// The contents of a tunnel's outer packet.
struct Inside {
    bool is_tunnel = false;
    Malformed malformed = Malformed::kNone;
    std::optional<Packet> packet;
};
Inside read_inside(const Packet& outer, const frame::TunnelPorts& tunnels);
// UDP to one of the ports is VXLAN, and nothing else is a tunnel.
Inside read_inside(const Packet& outer, std::span<const std::uint16_t> vxlan_ports);

}  // namespace pathproof::judge::oracle
