// Specification of a generated frame: plain values, from which template.h makes bytes.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "dataplane/base/result.h"
#include "dataplane/frame/address.h"
#include "dataplane/frame/tunnel_ports.h"
#include "dataplane/frame/view.h"

namespace pathproof::frame {

// Content of one checksum field.
enum class ChecksumMode : std::uint8_t {
    kSoftware,         // the right value
    kOffload,          // what a NIC wants to find there, and a request for it to finish the work
    kZero,             // 0; under UDP that is no mistake but "no checksum"
    kPseudo,           // the pseudo-header's sum, as if the NIC had been asked and did nothing
    kComplement,       // the right value not inverted
    kPlusOne,          // the right value and 1, carry added in
    kStaleSourcePort,  // right for FrameSpec::stale_source_port: what NAT after the checksum leaves
                       // behind
    kSwapped,          // the bytes of the right value swapped
    kRandom,           // drawn from the seed, and never a legal value
};
inline constexpr std::size_t kChecksumModes = 9;
// A wrong value can by chance be a legal one (0x1212 swapped, a complement of 0xffff under UDP),
// once in some ten thousand frames: who counts wrong frames must count what the verifier says of
// them.
const char* name(ChecksumMode mode);  // "software", "offload", "zero", ...
std::optional<ChecksumMode> checksum_mode(std::string_view name);

struct VlanTag {
    std::uint16_t type = 0x8100;  // TPID: 0x8100 or 0x88a8
    std::uint16_t control = 0;    // PCP, DEI, VID
    bool operator==(const VlanTag&) const = default;
};

// IPv6 extension headers that a packet may carry in front of its transport, each written with what
// its neighbours must skip to find the transport.
enum class Extension : std::uint8_t {
    kHopByHop,     // PadN only (RFC 8200 section 4.3)
    kDestination,  // PadN only (RFC 8200 section 4.6)
    kRouting,  // type 2 (RFC 6275 section 6.4) with one segment left: the pseudo-header then has
               // PacketSpec::final_destination (RFC 8200 section 8.1)
};

// One piece of a datagram that was cut; its transport is kOther, its payload the piece.
struct FragmentSpec {
    std::uint16_t offset = 0;          // bytes from the start of what was cut, a multiple of 8
    bool more = false;                 // pieces follow
    std::uint32_t identification = 0;  // IPv6; an IPv4 packet has its own
    bool operator==(const FragmentSpec&) const = default;
};

// The headers of one Ethernet frame.
struct PacketSpec {
    MacAddress source_mac;
    MacAddress destination_mac;
    std::array<VlanTag, 2> vlan{};  // outermost first
    std::uint8_t vlans = 0;
    Endpoint source;       // ICMP echo: the port is the identifier
    Endpoint destination;  // ICMP echo: the port is the sequence number
    // kIcmp and kIcmpv6: an echo request. kOther: no header, the payload is all that the IP packet
    // carries, and `protocol` says what it is.
    Transport transport = Transport::kUdp;
    std::uint8_t hop_limit = 64;
    std::uint8_t traffic_class = 0;
    std::uint16_t identification = 0;  // IPv4; DF is set unless it is a fragment
    std::uint32_t tcp_sequence = 1;
    std::uint32_t tcp_acknowledgement = 1;
    std::uint8_t tcp_flags = 0x18;                       // PSH, ACK
    ChecksumMode ip_checksum = ChecksumMode::kSoftware;  // IPv4 only
    ChecksumMode transport_checksum = ChecksumMode::kSoftware;
    std::uint8_t protocol = 253;         // of kOther; 253 is for experiments (RFC 3692)
    std::uint8_t ipv4_option_bytes = 0;  // NOPs (RFC 791); a multiple of 4 up to 40
    std::uint8_t tcp_option_bytes = 0;   // timestamps if 12 or more, the rest NOPs; as above
    std::vector<Extension> extensions;   // IPv6 only, in the order given
    IpAddress final_destination;         // with Extension::kRouting only
    std::uint32_t flow_label = 0;        // IPv6, 20 bits
    std::optional<FragmentSpec> fragment;
    std::vector<std::uint8_t> trailer;  // behind the IP packet: Ethernet padding
    bool operator==(const PacketSpec&) const = default;
};

enum class Carries : std::uint8_t { kEthernet, kIp };

// An envelope. `outer` is UDP to the tunnel's end point for VXLAN, VXLAN-GPE and GENEVE; its
// transport_checksum is kZero for a tunnel without one. GRE and IP in IP have no transport of their
// own: `outer` says kOther and its ports, protocol and transport_checksum do not matter.
struct TunnelSpec {
    PacketSpec outer;
    std::uint32_t vni = 0;  // VXLAN, VXLAN-GPE, GENEVE: 24 bits
    Tunnel kind = Tunnel::kVxlan;
    Carries carries = Carries::kEthernet;  // VXLAN: only Ethernet. IP in IP: only IP
    std::uint8_t geneve_option_bytes = 0;  // one option (RFC 8926 section 3.5); a multiple of 4
    std::optional<std::uint32_t> gre_key;  // RFC 2890
    std::optional<std::uint16_t> group_policy;  // VXLAN: G flag and policy id (VXLAN-GBP draft)
    bool operator==(const TunnelSpec&) const = default;
};

struct FrameSpec {
    PacketSpec packet;
    std::optional<TunnelSpec> tunnel;  // around the packet
    std::vector<std::uint8_t> payload;
    std::uint16_t stale_source_port = 44'246;
    std::uint64_t seed = 1;
    // Largest payload, in bytes, of the segments into which a NIC shall cut the frame, a
    // super-frame of TCP or UDP (TSO, USO); 0: no super-frame. Its transport checksum mode is
    // kOffload, or kPseudo for receivers that want the pseudo-header's sum with the length in it,
    // as Linux does.
    std::uint16_t segment_bytes = 0;
    bool operator==(const FrameSpec&) const = default;
};

// Places of one packet's headers in the frame; all offsets but `end` are even.
struct PacketLayout {
    std::uint16_t ethernet = 0;  // without Ethernet header: where the IP header starts
    std::uint16_t network = 0;
    std::uint16_t transport = 0;
    std::uint16_t payload = 0;
    std::uint16_t end = 0;  // of the IP packet: a trailer follows
};

struct FrameLayout {
    PacketLayout packet;       // the inner one, if there is a tunnel
    PacketLayout outer;        // meaningful in a tunnel only
    std::uint16_t tunnel = 0;  // the VXLAN, GENEVE or GRE header; IP in IP: the inner IP header
    std::uint16_t end = 0;     // the frame's length
};

FrameLayout layout_of(const FrameSpec& spec) noexcept;

// Says what cannot be made: addresses of two families, a checksum mode that its protocol does not
// know, a frame over 9234 bytes (64 KiB if it is to be cut), a VNI over 24 bits.
Status check(const FrameSpec& spec);

// Writes all of the frame but checksums (their fields are 0) into layout_of(spec).end bytes at
// `out`.
void write_without_checksums(std::span<std::uint8_t> out, const FrameSpec& spec,
                             const FrameLayout& layout) noexcept;

}  // namespace pathproof::frame
