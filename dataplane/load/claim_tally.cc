#include "dataplane/load/claim_tally.h"

#include <rte_mbuf.h>
#include <rte_mbuf_ptype.h>

namespace pathproof::load {
namespace {

using judge::ChecksumState;
using judge::Depth;
using judge::Layer;
using judge::Protocol;

constexpr unsigned kL4Bad = 1;
constexpr unsigned kIpBad = 2;
constexpr unsigned kIpGood = 4;
constexpr unsigned kL4Good = 8;

static_assert(RTE_MBUF_F_RX_L4_CKSUM_BAD == 1u << 3 && RTE_MBUF_F_RX_IP_CKSUM_BAD == 1u << 4);
static_assert(RTE_MBUF_F_RX_IP_CKSUM_GOOD == 1u << 7 && RTE_MBUF_F_RX_L4_CKSUM_GOOD == 1u << 8);
static_assert(RTE_PTYPE_TUNNEL_MASK == ClaimTally::kTunnelTypes);

// Both bits: the NIC knows the data to be good but not the field (RTE_MBUF_F_RX_IP_CKSUM_NONE),
// which is no claim about the field.
void count(RxFlagCounts& counts, bool said_good, bool said_bad, bool bad, std::uint64_t frames) {
    if (said_good == said_bad) {
        counts.unknown += frames;
    } else if (said_good) {
        (bad ? counts.good_on_bad : counts.good_on_good) += frames;
    } else {
        (bad ? counts.bad_on_bad : counts.bad_on_good) += frames;
    }
}

}  // namespace

// Of a tunnel, a NIC that tells by the packet type that it read it speaks of the inner packet, any
// other of the outer one.
void ClaimTally::count_claims(Layer layer, ChecksumState state, const Run& run,
                              std::uint64_t frames, IntakeTotals& totals) noexcept {
    const bool meant =
        layer.depth == Depth::kPlain || (layer.depth == Depth::kInner) == run.sees_tunnel;
    if (!meant || state == ChecksumState::kUnverifiable || layer.protocol == Protocol::kGre) {
        return;
    }
    const bool bad = state == ChecksumState::kBad;
    if (layer.protocol == Protocol::kIpv4) {
        count(totals.ip_flags, (run.claims & kIpGood) != 0, (run.claims & kIpBad) != 0, bad,
              frames);
    } else {
        count(totals.l4_flags, (run.claims & kL4Good) != 0, (run.claims & kL4Bad) != 0, bad,
              frames);
    }
}

void ClaimTally::flush(IntakeTotals& totals) noexcept {
    if (frames_ == 0) {
        return;
    }
    const judge::QuickLayers layers = judge::layers_of(run_.code);
    for (const auto& [layer, state] : layers.all()) {
        totals.checksums[judge::index_of(layer)][static_cast<std::size_t>(state)] += frames_;
        count_claims(layer, state, run_, frames_, totals);
    }
    frames_ = 0;
}

void ClaimTally::add(const judge::FrameVerdict& verdict, std::uint64_t flags,
                     std::uint32_t packet_type, IntakeTotals& totals) noexcept {
    const Run run{{}, claims_of(flags), sees_tunnel(packet_type)};
    for (const judge::ChecksumFinding& finding : verdict.all()) {
        ++totals.checksums[judge::index_of(finding.layer)][static_cast<std::size_t>(finding.state)];
        count_claims(finding.layer, finding.state, run, 1, totals);
    }
}

}  // namespace pathproof::load
