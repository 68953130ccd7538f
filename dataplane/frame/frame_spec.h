// What a generated frame shall be: plain values, from which template.h makes bytes.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "dataplane/base/result.h"
#include "dataplane/frame/address.h"
#include "dataplane/frame/view.h"

namespace pathproof::frame {

// How one checksum field is filled.
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

// The headers of one Ethernet frame.
struct PacketSpec {
    MacAddress source_mac;
    MacAddress destination_mac;
    std::array<VlanTag, 2> vlan{};  // outermost first
    std::uint8_t vlans = 0;
    Endpoint source;                        // ICMP echo: the port is the identifier
    Endpoint destination;                   // ICMP echo: the port is the sequence number
    Transport transport = Transport::kUdp;  // kIcmp and kIcmpv6: an echo request
    std::uint8_t hop_limit = 64;
    std::uint8_t traffic_class = 0;
    std::uint16_t identification = 0;  // IPv4; DF is set
    std::uint32_t tcp_sequence = 1;
    std::uint32_t tcp_acknowledgement = 1;
    std::uint8_t tcp_flags = 0x18;                       // PSH, ACK
    ChecksumMode ip_checksum = ChecksumMode::kSoftware;  // IPv4 only
    ChecksumMode transport_checksum = ChecksumMode::kSoftware;
    bool operator==(const PacketSpec&) const = default;
};

// A VXLAN envelope: `outer` is UDP to the VTEP; its transport_checksum is kZero for a tunnel
// without one.
struct TunnelSpec {
    PacketSpec outer;
    std::uint32_t vni = 0;
    bool operator==(const TunnelSpec&) const = default;
};

struct FrameSpec {
    PacketSpec packet;
    std::optional<TunnelSpec> tunnel;  // around the packet
    std::vector<std::uint8_t> payload;
    std::uint16_t stale_source_port = 44'246;
    std::uint64_t seed = 1;
    bool operator==(const FrameSpec&) const = default;
};

// Where the headers of one packet lie in the frame; all offsets are even.
struct PacketLayout {
    std::uint16_t ethernet = 0;
    std::uint16_t network = 0;
    std::uint16_t transport = 0;
    std::uint16_t payload = 0;
};

struct FrameLayout {
    PacketLayout packet;  // the inner one, if there is a tunnel
    PacketLayout outer;   // meaningful in a tunnel only
    std::uint16_t vxlan = 0;
    std::uint16_t end = 0;  // the frame's length
};

FrameLayout layout_of(const FrameSpec& spec) noexcept;

// Says what cannot be made: addresses of two families, a checksum mode that its protocol does not
// know, a frame over 9000 bytes, a VNI over 24 bits.
Status check(const FrameSpec& spec);

// Writes all of the frame but checksums (their fields are 0) into layout_of(spec).end bytes at
// `out`.
void write_without_checksums(std::span<std::uint8_t> out, const FrameSpec& spec,
                             const FrameLayout& layout) noexcept;

}  // namespace pathproof::frame
