// The numbers that a predicate may test, known from a frame's bytes and its request alone.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "dataplane/softnic/engine.h"
#include "dataplane/softnic/places.h"

namespace pathproof::softnic {

enum class Fact : std::uint8_t {
    kEncap,                 // there is a tunnel that the NIC knows
    kPlain,                 // there is none
    kVxlan,                 // a VXLAN tunnel
    kGpe,                   // a VXLAN-GPE tunnel
    kGeneve,                // a GENEVE tunnel
    kGre,                   // a GRE tunnel
    kIpip,                  // IP directly in IP
    kNat,                   // a NAT has changed the outermost source
    kNatPort,               // it changed the port and not the address
    kNatAddress,            // it changed the address
    kOuterV4,               // the outermost packet is IPv4
    kOuterV6,               // the outermost packet is IPv6
    kInnerV4,               // the innermost packet is IPv4
    kInnerV6,               // the innermost packet is IPv6
    kMixed,                 // the two packets are of different families
    kOuterCsum,             // the outermost UDP checksum field
    kVlan,                  // number of VLAN tags outside
    kVlanInserted,          // the NIC inserts a tag
    kInnerVlan,             // number of VLAN tags inside the tunnel
    kFragment,              // the innermost or outermost packet is a fragment
    kLaterFragment,         // and not the first
    kExtension,             // bytes of IPv6 extension headers of the innermost packet
    kIpOptions,             // bytes of IPv4 options of the innermost packet
    kUdp,                   // the innermost transport is UDP
    kTcp,                   // it is TCP
    kSctp,                  // it is SCTP
    kIcmp,                  // it is ICMP or ICMPv6
    kUdpZero,               // a UDP checksum field is 0
    kSegmented,             // segmentation was asked for
    kTso,                   // of TCP
    kUso,                   // of UDP
    kFirstSegment,          // the first of several segments
    kLastSegment,           // the last of several segments
    kFrame,                 // bytes of the frame
    kUsed,                  // bytes up to the end of the outermost IP packet
    kTrailer,               // bytes behind it
    kInnerTrailer,          // bytes behind the inner IP packet, in the tunnel
    kPayload,               // bytes behind the innermost transport header
    kOdd,                   // that number is odd
    kOptions,               // bytes of GENEVE options
    kBuffers,               // buffers in which the frame was handed over
    kMss,                   // payload bytes of a segment, if segmentation was asked for
    kSourcePort,            // outermost source port
    kDestinationPort,       // outermost destination port
    kInnerSourcePort,       // innermost source port
    kInnerDestinationPort,  // innermost destination port
    kVni,                   // of the tunnel
    kTtl,                   // hop limit of the outermost packet
    kQueue,                 // on which it is sent or received
    kFlow,                  // 16-bit hash of the innermost addresses and ports
    kAskedIp,               // the NIC shall fill in the (inner) IPv4 header checksum
    kAskedL4,               // the (inner) transport checksum
    kAskedOuterIp,          // the outer IPv4 header checksum
    kAskedOuterUdp,         // the outer UDP checksum
    kCount,
};
inline constexpr std::size_t kFacts = static_cast<std::size_t>(Fact::kCount);

std::string_view name(Fact fact);  // "nat:port", "dport"
std::optional<Fact> fact_named(std::string_view name);
std::string fact_names();  // all, separated by commas

struct Facts {
    std::array<std::int64_t, kFacts> values{};

    std::int64_t operator[](Fact fact) const { return values[static_cast<std::size_t>(fact)]; }
    std::int64_t& operator[](Fact fact) { return values[static_cast<std::size_t>(fact)]; }
};

// Origin of a frame on the wire.
struct Origin {
    const TxFrame* given = nullptr;  // null: only the bytes are known (the receiving side)
    std::uint32_t segment = 0;       // of `segments` cut from one super-frame
    std::uint32_t segments = 1;
    std::uint16_t queue = 0;
};

// Returns the facts of one frame on the wire.
Facts facts_of(Bytes wire, const Places& places, const Origin& origin) noexcept;

}  // namespace pathproof::softnic
