// The dimensions of the qualification matrix: what is varied when a NIC or a driver is judged.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace pathproof::matrix {

enum class Encap : std::uint8_t {
    kNone,
    kVxlanOverIpv4,
    kVxlanOverIpv6,
    kGeneve,    // without options; over IPv4, as all that follow
    kGeneve40,  // with so many bytes of options
    kGeneve124,
    kIpInIp,
    kGre,
    kVxlanGpe,  // around bare IP
};

// Checksum of the outer UDP header.
enum class OuterChecksum : std::uint8_t {
    kNone,      // no outer UDP
    kDisabled,  // 0; over IPv6 by agreement (RFC 6935)
    kComputed,
};

// UDP port on which tunnels listen; kPlainTo...: plain UDP goes there all the same.
enum class TunnelPort : std::uint8_t {
    kNone,
    k4789,
    k8472,
    k4790,
    k6081,
    k8223,
    kTwo,  // two tunnels at once, the frames taking turns
    kPlainTo4789,
    kPlainTo4790,
    kPlainTo6081,
};

// NAT of the outer header, behind the encapsulation.
enum class Nat : std::uint8_t { kNone, kSourcePort, kSource };

enum class Vlan : std::uint8_t { kNone, kOne, kOneInserted, kTwo, kInner };  // inserted: by the NIC

// The innermost IP header. Mixed families come about with the encapsulation.
enum class InnerNetwork : std::uint8_t {
    kIpv4,
    kIpv4Options,
    kIpv6,
    kIpv6HopByHop,
    kIpv6Destination,
    kIpv6Routing,
};

enum class InnerTransport : std::uint8_t {
    kUdp,
    kUdpZero,  // checksum 0
    kTcp,
    kTcpOptions,
    kSctp,
    kIcmp,  // ICMPv6 over IPv6
    kUnknown,
};

// Payload length of the innermost packet; in a super-frame, of each segment.
enum class Length : std::uint8_t {
    k0,
    k1,
    k2,
    k17,
    k18,   // with UDP over IPv4: 60 bytes, the shortest Ethernet frame
    k171,  // odd
    k256,  // even
    kMtu,  // the outermost IP packet has 1500 bytes, or the MTU if that is less
    k2501,
    k9000,  // the outermost IP packet has 9000 bytes
};

// Bytes behind the IP packet; short frames get them up to 60 bytes, others six.
enum class Trailer : std::uint8_t { kNone, kZero, kNonZero, kInnerZero, kInnerNonZero };

enum class PayloadValues : std::uint8_t {
    kRandom,
    kSumsToZero,  // in every other frame the innermost transport checksum and all IPv4 header
                  // checksums compute to 0
    kAllZero,
    kAllOnes,     // every word 0xffff; in whole frames of one buffer but one word, chosen so that
                  // adding the carries in carries again
    kTunnelLike,  // a plain datagram that looks like a tunnel's
};

enum class Fragmentation : std::uint8_t { kNone, kThree };  // first, middle and last piece

enum class Segmentation : std::uint8_t {
    kNone,
    kTcpTwo,        // two segments, the second half as long
    kTcpExact,      // three full ones
    kTcpOddRest,    // three, and an odd remainder
    kTcpOneByte,    // three, and one byte
    kTcpMangledId,  // two, whose IPv4 identification may stand still (RFC 6864)
    kUdp,           // three datagrams and a remainder
};

// The buffers in which a frame is handed over.
enum class Buffers : std::uint8_t { kOne, kHeaderSplit, kOddBoundary, kMany };

// Checksums that are left to the NIC. A super-frame's are always the NIC's.
enum class Handover : std::uint8_t { kSoftware, kInner, kOuter, kBoth };

// Wrong checksums of the frame that arrives at a receiver.
enum class RxInput : std::uint8_t {
    kGood,
    kBadInnerTransport,  // of the only packet, if there is no tunnel
    kBadInnerIp,
    kBadInnerBoth,
    kBadOuterTransport,
    kBadOuterIp,
    kBadBothTransports,
};
// Kind of error in those checksums.
enum class RxMistake : std::uint8_t { kNone, kComplement, kPlusOne, kZero, kPseudo };

enum class Dimension : std::uint8_t {
    kEncap,
    kOuterChecksum,
    kTunnelPort,
    kNat,
    kVlan,
    kInnerNetwork,
    kInnerTransport,
    kLength,
    kTrailer,
    kPayloadValues,
    kFragmentation,
    kSegmentation,
    kBuffers,
    kHandover,
    kRxInput,
    kRxMistake,
};
inline constexpr std::size_t kDimensions = 16;

const char* name(Dimension dimension);                          // "tunnel port"
std::span<const char* const> value_names(Dimension dimension);  // "none", "4789", ...
inline std::size_t index_of(Dimension dimension) {
    return static_cast<std::size_t>(dimension);
}

// One point of the matrix.
struct Row {
    Encap encap = Encap::kNone;
    OuterChecksum outer_checksum = OuterChecksum::kNone;
    TunnelPort tunnel_port = TunnelPort::kNone;
    Nat nat = Nat::kNone;
    Vlan vlan = Vlan::kNone;
    InnerNetwork network = InnerNetwork::kIpv4;
    InnerTransport transport = InnerTransport::kUdp;
    Length length = Length::k256;
    Trailer trailer = Trailer::kNone;
    PayloadValues values = PayloadValues::kRandom;
    Fragmentation fragmentation = Fragmentation::kNone;
    Segmentation segmentation = Segmentation::kNone;
    Buffers buffers = Buffers::kOne;
    Handover handover = Handover::kSoftware;
    RxInput rx_input = RxInput::kGood;
    RxMistake rx_mistake = RxMistake::kNone;
    bool operator==(const Row&) const = default;
};

// Returns whether the innermost packet is IPv4.
constexpr bool is_ipv4(const Row& row) {
    return row.network == InnerNetwork::kIpv4 || row.network == InnerNetwork::kIpv4Options;
}

// The row as one number for each dimension, and back. The numbers are the enums' own.
std::array<std::uint8_t, kDimensions> values_of(const Row& row);
Row row_of(std::span<const std::uint8_t, kDimensions> values);

// "vxlan-v4, outer checksum computed, ...": the values that differ from a plain Row{}; "plain UDP"
// if none does.
std::string describe(const Row& row);

}  // namespace pathproof::matrix
