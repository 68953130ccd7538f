// The software NIC's terms: what is handed over for sending, what comes out on the wire, what a
// receiver is told of a frame. It stands in for hardware; every output of it says "software NIC".
//
// The engine (places.h, word_sum.h, transmit_stage.h, segmentation.h, receive_stage.h) shares no
// code with dataplane/judge nor with the sums of dataplane/frame, so that each can judge the other.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "dataplane/frame/address.h"
#include "dataplane/frame/offload.h"

namespace pathproof::softnic {

using Bytes = std::span<const std::uint8_t>;
using WireFrameBytes = std::vector<std::uint8_t>;

inline constexpr const char* kSoftwareNicName = "software NIC";

// Abilities of this NIC, as a data sheet would list them.
struct NicLimits {
    // UDP destination ports (host order) that its parser takes for a tunnel.
    std::vector<std::uint16_t> vxlan_ports = {4789, 8472};
    std::vector<std::uint16_t> vxlan_gpe_ports = {4790};
    std::vector<std::uint16_t> geneve_ports = {6081};
    std::uint16_t most_buffers = 40;            // mbufs of one frame handed over
    std::uint32_t longest_frame = 9728;         // bytes on the wire, without FCS
    std::uint32_t longest_super_frame = 65535;  // bytes handed over to be segmented
    std::uint16_t smallest_mss = 64;            // shorter segments are refused
    bool operator==(const NicLimits&) const = default;
};

// A request to the NIC, in the terms of rte_mbuf. The lengths describe the frame as handed over;
// offload.segment_bytes is looked at with RTE_MBUF_F_TX_{TCP,UDP}_SEG only.
struct TxRequest {
    frame::OffloadRequest offload;
    std::uint16_t vlan_tci = 0;        // RTE_MBUF_F_TX_VLAN and _QINQ: the (inner) tag to insert
    std::uint16_t vlan_tci_outer = 0;  // RTE_MBUF_F_TX_QINQ only
    bool operator==(const TxRequest&) const = default;
};

struct TxFrame {
    std::vector<std::uint8_t> bytes;
    TxRequest request;
    // Lengths of the buffers that hold it, in order; their sum is bytes.size(). Empty: one buffer.
    std::vector<std::uint32_t> buffers;
    std::uint16_t queue = 0;
    // The outermost packet's source before NAT, if a NAT above the NIC has rewritten it: what the
    // NAT fault models need. The frame's bytes are those after NAT.
    std::optional<frame::Endpoint> source_before_nat;
};

// Reason why a frame is not sent: a driver's tx_prepare would refuse it.
enum class Refusal : std::uint8_t {
    kNone,
    kNoFrame,               // shorter than an Ethernet header, or buffers that do not sum to it
    kTooManyBuffers,        // more than most_buffers
    kTooLong,               // longer than longest_frame, or longest_super_frame if it is segmented
    kFlagsConflict,         // IPv4 and IPv6 both, TSO and USO both, TSO with a UDP checksum, ...
    kUnknownTunnel,         // a tunnel type that this NIC does not know
    kNoNetworkHeader,       // the lengths do not lead to the IP header that the flags name
    kNoTransportHeader,     // nor to the UDP, TCP or SCTP header
    kFragment,              // a transport checksum or segmentation of an IP fragment
    kMssMissing,            // segmentation with segment_bytes below smallest_mss
    kIpChecksumMissing,     // segmentation over IPv4 without IP_CKSUM or OUTER_IP_CKSUM
    kOuterChecksumMissing,  // segmentation in a tunnel whose UDP checksum is on, not
                            // OUTER_UDP_CKSUM
    kTrailer,               // segmentation of a frame with bytes behind the IP packet
    kGreField,              // segmentation in GRE with a checksum or a sequence number
};
inline constexpr std::size_t kRefusals = 14;
const char* sentence(Refusal refusal);  // says what to do; empty for kNone

// Result of a transmit call; reused from call to call without allocating anew.
struct TxResult {
    Refusal refusal = Refusal::kNone;
    // Fresh bytes, nothing else: the wire knows no metadata. Empty if refused or dropped.
    std::vector<WireFrameBytes> frames;
};

// A receiver's claim about one checksum, as RTE_MBUF_F_RX_*_CKSUM_* words it.
enum class RxClaim : std::uint8_t {
    kUnknown,  // nothing was checked
    kBad,
    kGood,
    kNone,  // not right in the bytes, and right all the same (a partial checksum in one machine)
};

struct RxVerdict {
    RxClaim ip = RxClaim::kUnknown;  // of the inner packet if the receiver knows the tunnel
    RxClaim l4 = RxClaim::kUnknown;
    RxClaim outer_ip = RxClaim::kUnknown;  // tunnels only; an mbuf can say kBad and nothing else
    RxClaim outer_l4 = RxClaim::kUnknown;
    bool operator==(const RxVerdict&) const = default;
};
std::uint64_t mbuf_flags(const RxVerdict& verdict);  // RTE_MBUF_F_RX_*
RxVerdict verdict_of(std::uint64_t mbuf_flags);

struct RxResult {
    enum class Delivery : std::uint8_t { kDelivered, kDropped };
    Delivery delivery = Delivery::kDelivered;
    std::vector<std::uint8_t> bytes;
    RxVerdict verdict;
    bool operator==(const RxResult&) const = default;
};

// xstats-like. Each received frame counts once under rx_csum_bad however many layers are bad.
struct NicCounters {
    std::uint64_t tx_handed_over = 0;
    std::uint64_t tx_refused = 0;
    std::uint64_t tx_frames = 0;  // on the wire: segments of super-frames each
    std::uint64_t tx_super_frames = 0;
    std::uint64_t wire_dropped = 0;  // between transmitter and receiver, by a fault model
    std::uint64_t rx_frames = 0;     // delivered ones
    std::uint64_t rx_dropped = 0;
    std::uint64_t rx_csum_bad = 0;
    std::uint64_t rx_ip_csum_bad = 0;
    std::uint64_t rx_l4_csum_bad = 0;
    std::uint64_t rx_outer_ip_csum_bad = 0;
    std::uint64_t rx_outer_l4_csum_bad = 0;
    std::array<std::uint64_t, kRefusals> refused_by{};  // by Refusal
    bool operator==(const NicCounters&) const = default;
};

}  // namespace pathproof::softnic
