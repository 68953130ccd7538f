#include "dataplane/softnic/engine.h"

#include <rte_mbuf_core.h>

namespace pathproof::softnic {
namespace {

RxClaim claim_of(std::uint64_t flags, std::uint64_t bad, std::uint64_t good) {
    const bool is_bad = (flags & bad) != 0;
    const bool is_good = (flags & good) != 0;
    if (is_bad && is_good) {
        return RxClaim::kNone;
    }
    if (is_bad) {
        return RxClaim::kBad;
    }
    return is_good ? RxClaim::kGood : RxClaim::kUnknown;
}

std::uint64_t flags_of(RxClaim claim, std::uint64_t bad, std::uint64_t good) {
    switch (claim) {
        case RxClaim::kUnknown: return 0;
        case RxClaim::kBad: return bad;
        case RxClaim::kGood: return good;
        case RxClaim::kNone: return bad | good;
    }
    return 0;
}

}  // namespace

const char* sentence(Refusal refusal) {
    switch (refusal) {
        case Refusal::kNone: return "";
        case Refusal::kNoFrame:
            return "no frame: hand over at least 14 bytes, in buffers whose lengths sum to them";
        case Refusal::kTooManyBuffers:
            return "more buffers than the NIC gathers: copy the frame into fewer";
        case Refusal::kTooLong:
            return "longer than the NIC sends: shorten the frame or its segments";
        case Refusal::kFlagsConflict:
            return "the offload flags contradict each other or lack one: name one IP family, one "
                   "transport protocol, one kind of segmentation, at most two tags, and with outer "
                   "flags the outer family and the tunnel type";
        case Refusal::kUnknownTunnel:
            return "a tunnel type that the NIC does not know: use VXLAN, VXLAN_GPE, GENEVE, GRE or "
                   "IPIP";
        case Refusal::kNoNetworkHeader:
            return "the header lengths do not lead to the IP header that the flags name: set "
                   "l2_len, l3_len, outer_l2_len and outer_l3_len as the frame has them";
        case Refusal::kNoTransportHeader:
            return "there is no transport header of the protocol asked for, or l4_len is not its "
                   "length";
        case Refusal::kFragment:
            return "a transport checksum or segmentation was asked for an IP fragment: sum it in "
                   "software before fragmentation";
        case Refusal::kMssMissing:
            return "segmentation with segment_bytes (tso_segsz) below what the NIC can do";
        case Refusal::kIpChecksumMissing:
            return "segmentation over IPv4 changes its header: ask for its checksum (IP_CKSUM, "
                   "OUTER_IP_CKSUM) as well";
        case Refusal::kOuterChecksumMissing:
            return "segmentation in a tunnel with a UDP checksum: ask for OUTER_UDP_CKSUM, or set "
                   "the field to 0";
        case Refusal::kTrailer:
            return "segmentation of a frame with bytes behind the IP packet: cut them off";
        case Refusal::kGreField:
            return "segmentation in GRE with a checksum or a sequence number: segment in software";
    }
    return "";
}

std::uint64_t mbuf_flags(const RxVerdict& verdict) {
    return flags_of(verdict.ip, RTE_MBUF_F_RX_IP_CKSUM_BAD, RTE_MBUF_F_RX_IP_CKSUM_GOOD) |
           flags_of(verdict.l4, RTE_MBUF_F_RX_L4_CKSUM_BAD, RTE_MBUF_F_RX_L4_CKSUM_GOOD) |
           flags_of(verdict.outer_ip, RTE_MBUF_F_RX_OUTER_IP_CKSUM_BAD, 0) |
           flags_of(verdict.outer_l4, RTE_MBUF_F_RX_OUTER_L4_CKSUM_BAD,
                    RTE_MBUF_F_RX_OUTER_L4_CKSUM_GOOD);
}

RxVerdict verdict_of(std::uint64_t flags) {
    return {.ip = claim_of(flags, RTE_MBUF_F_RX_IP_CKSUM_BAD, RTE_MBUF_F_RX_IP_CKSUM_GOOD),
            .l4 = claim_of(flags, RTE_MBUF_F_RX_L4_CKSUM_BAD, RTE_MBUF_F_RX_L4_CKSUM_GOOD),
            .outer_ip = claim_of(flags, RTE_MBUF_F_RX_OUTER_IP_CKSUM_BAD, 0),
            .outer_l4 = claim_of(flags, RTE_MBUF_F_RX_OUTER_L4_CKSUM_BAD,
                                 RTE_MBUF_F_RX_OUTER_L4_CKSUM_GOOD)};
}

}  // namespace pathproof::softnic
