// Makes frames of a row of the matrix: those handed to the device under test, with their requests,
// and those that a perfect sender would put on the wire.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "dataplane/base/result.h"
#include "dataplane/frame/frame_spec.h"
#include "dataplane/frame/offload.h"
#include "dataplane/frame/tunnel_ports.h"
#include "dataplane/frame/virtio_request.h"
#include "dataplane/matrix/feasibility.h"
#include "dataplane/softnic/engine.h"

namespace pathproof::matrix {

using FrameBytes = std::vector<std::uint8_t>;

// Identity of a frame within a run: its row, counted from 0, and its number within the row.
struct Label {
    std::uint32_t row = 0;
    std::uint32_t index = 0;
    bool operator==(const Label&) const = default;
};

// Addresses of both ends. The innermost ones are these plus the row (source) and the frame's number
// (destination): they identify a frame whatever became of its payload.
struct Addresses {
    frame::MacAddress source_mac{{2, 0, 0, 0, 0, 1}};
    frame::MacAddress destination_mac{{2, 0, 0, 0, 0, 2}};
    frame::IpAddress source4 = frame::IpAddress::v4(0xc6120000);       // 198.18.0.0
    frame::IpAddress destination4 = frame::IpAddress::v4(0xc6130000);  // 198.19.0.0
    frame::IpAddress source6 = {frame::Family::kIpv6, {0x20, 1, 0x0d, 0xb8, 0, 0x18}};
    frame::IpAddress destination6 = {frame::Family::kIpv6, {0x20, 1, 0x0d, 0xb8, 0, 0x19}};
    frame::IpAddress outer_source4 = frame::IpAddress::v4(0xc6336401);       // 198.51.100.1
    frame::IpAddress outer_destination4 = frame::IpAddress::v4(0xc6336402);  // 198.51.100.2
    frame::IpAddress outer_source6 = {frame::Family::kIpv6,
                                      {0x20, 1, 0x0d, 0xb8, 0, 0x51, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}};
    frame::IpAddress outer_destination6 = {
        frame::Family::kIpv6, {0x20, 1, 0x0d, 0xb8, 0, 0x51, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2}};
};

// One frame as it is handed over, with the same request in three languages.
struct HandedFrame {
    FrameBytes bytes;
    frame::OffloadRequest request;       // of an mbuf; RTE_MBUF_F_TX_VLAN included
    std::uint16_t vlan_tci = 0;          // to be inserted
    std::vector<std::uint32_t> buffers;  // lengths; empty: one buffer
    frame::VirtioRequest virtio;         // of a packet socket
};

struct Probe {
    Label label;
    std::vector<HandedFrame> handed;   // one; a fragmented datagram is three
    std::vector<FrameBytes> intended;  // on the wire: one for each handed, or the segments of one
    std::uint16_t segment_bytes = 0;   // of a super-frame
    frame::TunnelPorts tunnels{frame::IpTunnels::kIgnored};  // how these frames are to be read
    // The outermost source before NAT; the frames are those behind it.
    std::optional<frame::Endpoint> source_before_nat;
    // The frame that was cut into fragments; empty where there are none.
    FrameBytes whole;
};

class ProbeMaker {
  public:
    // Equal arguments give equal frames. With `direction` kReceive the handed frames are
    // those that shall arrive, with the row's mistakes in them.
    ProbeMaker(const DutLimits& limits, Direction direction, const Addresses& addresses,
               std::uint64_t seed)
        : limits_(limits), direction_(direction), addresses_(addresses), seed_(seed) {}

    // Frame `label.index` of row number `label.row`. Rows and numbers wrap at 65536 in addresses.
    // `payload_bytes`: in place of the row's own length; of a super-frame, whose segments stay as
    // long, all of them. Errors: a row that is not feasible gives a sentence of frame::check().
    Result<Probe> make(const Row& row, const Label& label,
                       std::optional<std::size_t> payload_bytes = std::nullopt) const;

    const DutLimits& limits() const { return limits_; }
    const Addresses& addresses() const { return addresses_; }

    // Returns the row and number that a frame's innermost addresses stand for; nothing if they are
    // not ours.
    std::optional<Label> label_of(const frame::PacketView& innermost) const;

  private:
    DutLimits limits_;
    Direction direction_;
    Addresses addresses_;
    std::uint64_t seed_;
};

// Returns a probe that hands over a perfect sender's frames as they are, with no offload requested.
Probe as_plain(Probe probe);

// The frame with a tag of this control information in front of its type, as a NIC inserts it (IEEE
// 802.1Q), and one with a tag without its first. Both have an Ethernet header at least.
FrameBytes with_tag(FrameBytes frame, std::uint16_t control);
FrameBytes without_tag(FrameBytes frame);

// The way such frames are read: where their tunnel listens, if they have one.
frame::TunnelPorts tunnels_of(const Row& row);

// Translates a handed frame for the software NIC.
softnic::TxFrame to_tx_frame(const HandedFrame& frame, const Probe& probe);

}  // namespace pathproof::matrix
