// The software NIC's own parser: where the headers of a frame lie. It goes one tunnel deep.
#pragma once

#include <cstdint>
#include <optional>

#include "dataplane/softnic/engine.h"

namespace pathproof::softnic {

enum class TunnelKind : std::uint8_t { kNone, kVxlan, kVxlanGpe, kGeneve, kGre, kIpip };
enum class FragmentKind : std::uint8_t { kWhole, kFirst, kLater };

// One packet; offsets count from the start of the frame.
struct PacketPlace {
    std::uint8_t family = 0;     // 4 or 6; 0: no IP packet, or one cut short
    std::uint8_t protocol = 0;   // IPPROTO_*, behind extension headers
    std::uint8_t transport = 0;  // the same if its header is there whole and with a fitting length
    std::uint8_t vlans = 0;
    FragmentKind fragment = FragmentKind::kWhole;
    bool destination_known = false;  // false: an IPv6 routing header of an unknown type
    std::uint16_t source_port = 0;   // UDP, TCP, SCTP; host order
    std::uint16_t destination_port = 0;
    std::uint32_t l3 = 0;
    std::uint32_t l3_base = 0;      // 20 or 40: the IP header without options or extension headers
    std::uint32_t l4 = 0;           // behind options or extension headers
    std::uint32_t l4_length = 0;    // header and data: UDP by its length field, else up to `end`
    std::uint32_t payload = 0;      // behind the transport header
    std::uint32_t end = 0;          // of the IP packet by its own length
    std::uint32_t carrier_end = 0;  // of what carries it: the frame, or the outer payload
    std::uint32_t source_at = 0;
    std::uint32_t destination_at = 0;  // of the address in the pseudo-header (RFC 8200 section 8.1)

    bool ip() const { return family != 0; }
    std::uint32_t address_length() const { return family == 4 ? 4 : 16; }
    std::uint32_t payload_length() const { return l4 + l4_length - payload; }
    std::uint32_t trailer() const { return carrier_end - end; }
    std::uint32_t extension() const { return l4 - l3 - l3_base; }
    // Offsets of the IP packet's length field and of its hop limit.
    std::uint32_t length_at() const { return l3 + (family == 4 ? 2 : 4); }
    std::uint32_t hop_limit_at() const { return l3 + (family == 4 ? 8 : 7); }
};

struct Places {
    PacketPlace outer;  // or the only one
    PacketPlace inner;
    TunnelKind tunnel = TunnelKind::kNone;  // not kNone: `inner` holds a packet
    std::uint32_t tunnel_at = 0;            // the VXLAN, GENEVE or GRE header; kIpip: the inner IP
    std::uint32_t tunnel_options = 0;       // bytes of GENEVE options
    std::uint32_t vni = 0;

    const PacketPlace& innermost() const { return tunnel == TunnelKind::kNone ? outer : inner; }
};

// The parser's instruction for finding a tunnel. Nothing: it goes by the UDP port and the IP
// protocol; else by exactly what it was told, kNone included.
using ToldTunnel = std::optional<TunnelKind>;

Places find_places(Bytes frame, const NicLimits& limits, ToldTunnel told = {}) noexcept;

// The tunnel that a request names; nothing if it names none that this NIC knows.
std::optional<TunnelKind> tunnel_of(const TxRequest& request) noexcept;
// Returns the transmitting side's instruction to its parser: by port if the request asks for
// nothing.
ToldTunnel told_by(const TxRequest& request) noexcept;

}  // namespace pathproof::softnic
