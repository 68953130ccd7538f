#include "harness/truth/finish.h"

#include <rte_mbuf_core.h>

#include <algorithm>

#include "dataplane/frame/checksum.h"
#include "dataplane/frame/view.h"
#include "dataplane/softnic/completion.h"
#include "dataplane/softnic/soft_nic.h"

namespace pathproof::truth {
namespace {

using matrix::FrameBytes;
using matrix::HandedFrame;

// RFC 1071, from csum_start to the end; UDP sends 0xffff for a computed 0 (RFC 768).
FrameBytes with_checksum(const HandedFrame& handed) {
    FrameBytes bytes = handed.bytes;
    const std::size_t start = handed.virtio.csum_start;
    const std::size_t field = start + handed.virtio.csum_offset;
    if (field + 2 > bytes.size()) {
        return bytes;
    }
    const frame::PartialSum sum = frame::sum_bytes({bytes.data() + start, bytes.size() - start});
    constexpr std::uint16_t kUdpField = 6;
    const std::uint16_t value = handed.virtio.csum_offset == kUdpField ? frame::udp_checksum_of(sum)
                                                                       : frame::checksum_of(sum);
    bytes[field] = static_cast<std::uint8_t>(value >> 8);
    bytes[field + 1] = static_cast<std::uint8_t>(value);
    return bytes;
}

// Returns the virtio_net_hdr's request in an mbuf's terms. A packet socket's header describes plain
// frames only, whose IPv4 header checksum follows each segment's length.
frame::OffloadRequest request_of(const matrix::Probe& probe, const HandedFrame& handed) {
    const frame::FrameView view = frame::parse_frame(handed.bytes, probe.tunnels);
    const frame::PacketView& packet = view.outer;
    const bool tcp = packet.transport == frame::Transport::kTcp;
    std::uint64_t flags = tcp ? RTE_MBUF_F_TX_TCP_SEG | RTE_MBUF_F_TX_TCP_CKSUM
                              : RTE_MBUF_F_TX_UDP_SEG | RTE_MBUF_F_TX_UDP_CKSUM;
    flags |= packet.network == frame::Network::kIpv4 ? RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_IP_CKSUM
                                                     : RTE_MBUF_F_TX_IPV6;
    return {.mbuf_flags = flags,
            .l2_len = static_cast<std::uint16_t>(packet.network_offset),
            .l3_len = static_cast<std::uint16_t>(packet.network_length),
            .l4_len = static_cast<std::uint16_t>(packet.payload_offset - packet.transport_offset),
            .segment_bytes = handed.virtio.gso_size};
}

std::vector<FrameBytes> as_asked(const matrix::Probe& probe, const HandedFrame& handed) {
    return handed.virtio.gso_type == 0
               ? std::vector<FrameBytes>{with_checksum(handed)}
               : through_healthy_nic(handed.bytes, request_of(probe, handed));
}

bool may_be_left(const HandedFrame& handed, LeftToWire left) {
    return handed.virtio.gso_type != 0 ? left.segmentation : left.checksums && handed.virtio.any();
}

bool completed(const matrix::Probe& probe, FrameBytes& segment) {
    if (probe.segment_bytes == 0) {
        return false;
    }
    judge::FrameVerdict verdict = judge::verify(segment, probe.tunnels);
    return softnic::complete_partial_checksums(segment, {}, verdict) > 0;
}

}  // namespace

std::vector<FrameBytes> through_healthy_nic(const FrameBytes& frame,
                                            const frame::OffloadRequest& request) {
    softnic::SoftNic nic;
    softnic::TxResult made;
    nic.transmit({.bytes = frame, .request = {.offload = request}}, made);
    return made.frames;
}

Finished finish(const matrix::Probe& probe, const std::vector<FrameBytes>& wire, LeftToWire left) {
    Finished finished;
    for (const FrameBytes& bytes : wire) {
        const auto handed = std::ranges::find(probe.handed, bytes, &HandedFrame::bytes);
        if (handed != probe.handed.end() && may_be_left(*handed, left)) {
            ++finished.unfinished;
            finished.super_frames += handed->virtio.gso_type != 0 ? 1 : 0;
            for (FrameBytes& made : as_asked(probe, *handed)) {
                finished.frames.push_back(std::move(made));
            }
            continue;
        }
        finished.frames.push_back(bytes);
        finished.unfinished += left.checksums && completed(probe, finished.frames.back()) ? 1 : 0;
    }
    return finished;
}

}  // namespace pathproof::truth
