#include "dataplane/load/claim_tally.h"

#include <rte_mbuf.h>
#include <rte_mbuf_ptype.h>

namespace pathproof::load {
namespace {

using judge::ChecksumState;
using judge::Depth;
using judge::Layer;
using judge::Protocol;

static_assert((RTE_MBUF_F_RX_L4_CKSUM_MASK | RTE_MBUF_F_RX_IP_CKSUM_MASK) == ClaimTally::kClaims);
static_assert(RTE_PTYPE_TUNNEL_MASK == ClaimTally::kTunnelTypes);

// The NIC's claims about one frame, or about several alike.
struct Descriptor {
    std::uint64_t flags = 0;
    std::uint32_t packet_type = 0;
    std::uint64_t frames = 1;

    bool any(std::uint64_t flag) const { return (flags & flag) != 0; }
    // Returns whether the claims are about the packet at this depth. In a tunnel, a NIC whose
    // packet type names the tunnel speaks of the inner packet, any other NIC of the outer one.
    bool of(Depth depth) const {
        const bool sees_tunnel = (packet_type & RTE_PTYPE_TUNNEL_MASK) != 0;
        return depth == Depth::kPlain || (depth == Depth::kInner) == sees_tunnel;
    }
};

// Counts frames by claim and truth. A claim that is both good and bad means that the NIC knows the
// data to be good but not the field (RTE_MBUF_F_RX_IP_CKSUM_NONE): it is no claim about the field.
void count(RxFlagCounts& counts, bool said_good, bool said_bad, bool bad, std::uint64_t frames) {
    if (said_good == said_bad) {
        counts.unknown += frames;
    } else if (said_good) {
        (bad ? counts.good_on_bad : counts.good_on_good) += frames;
    } else {
        (bad ? counts.bad_on_bad : counts.bad_on_good) += frames;
    }
}

void count(IntakeTotals& totals, Layer layer, ChecksumState state, const Descriptor& descriptor) {
    totals.checksums[judge::index_of(layer)][static_cast<std::size_t>(state)] += descriptor.frames;
    if (!descriptor.of(layer.depth) || state == ChecksumState::kUnverifiable ||
        layer.protocol == Protocol::kGre) {
        return;
    }
    const bool bad = state == ChecksumState::kBad;
    if (layer.protocol == Protocol::kIpv4) {
        count(totals.ip_flags, descriptor.any(RTE_MBUF_F_RX_IP_CKSUM_GOOD),
              descriptor.any(RTE_MBUF_F_RX_IP_CKSUM_BAD), bad, descriptor.frames);
    } else {
        count(totals.l4_flags, descriptor.any(RTE_MBUF_F_RX_L4_CKSUM_GOOD),
              descriptor.any(RTE_MBUF_F_RX_L4_CKSUM_BAD), bad, descriptor.frames);
    }
}

}  // namespace

void ClaimTally::flush(IntakeTotals& totals) noexcept {
    if (frames_ == 0) {
        return;
    }
    const Descriptor descriptor{.flags = run_ & kClaims,
                                .packet_type = static_cast<std::uint32_t>(run_ & kTunnelTypes),
                                .frames = frames_};
    const judge::QuickLayers layers = judge::layers_of(judge::QuickCode(run_ >> 32));
    for (const auto& [layer, state] : layers.all()) {
        count(totals, layer, state, descriptor);
    }
    frames_ = 0;
}

void ClaimTally::add(const judge::FrameVerdict& verdict, std::uint64_t flags,
                     std::uint32_t packet_type, IntakeTotals& totals) noexcept {
    for (const judge::ChecksumFinding& finding : verdict.all()) {
        count(totals, finding.layer, finding.state, {.flags = flags, .packet_type = packet_type});
    }
}

}  // namespace pathproof::load
