#include "dataplane/calibration/effects.h"

#include <algorithm>
#include <array>

#include "dataplane/base/contains.h"
#include "dataplane/base/counts.h"
#include "dataplane/judge/rx_verdict.h"
#include "dataplane/judge/verifier.h"

namespace pathproof::calibration {
namespace {

using softnic::FaultEffect;
using softnic::RxClaim;

void put_back(FrameBytes& frame, const FrameBytes& healthy, std::size_t at, std::size_t size) {
    std::copy_n(healthy.begin() + static_cast<std::ptrdiff_t>(at), size,
                frame.begin() + static_cast<std::ptrdiff_t>(at));
}

// Returns whether nothing but identifications of IPv4 headers differs, their checksums being right.
bool differs_in_identification(const FrameBytes& spoilt, const FrameBytes& healthy,
                               const frame::TunnelPorts& tunnels) {
    if (spoilt.size() != healthy.size() || judge::verify_slowly(spoilt, tunnels).any_bad()) {
        return false;
    }
    FrameBytes restored = spoilt;
    const judge::FrameVerdict verdict = judge::verify_slowly(healthy, tunnels);
    for (const judge::ChecksumFinding& finding : verdict.all()) {
        const std::size_t field = finding.field_offset;
        if (finding.layer.protocol == judge::Protocol::kIpv4) {
            put_back(restored, healthy, field - 6, 2);  // the header begins 10 bytes before it
            put_back(restored, healthy, field, 2);
        }
    }
    return restored == healthy;
}

bool is_allowed(const softnic::Fault& fault, const SendRow& row, const SentProbe& probe,
                std::size_t frame) {
    if (row.row.segmentation != matrix::Segmentation::kTcpMangledId) {
        return false;
    }
    softnic::SoftNic nic(row.nic, {softnic::at_full_rate(fault)});
    softnic::TxResult sent;
    nic.transmit(probe.frames[frame], sent);
    const std::vector<FrameBytes>& healthy = probe.healthy[frame];
    for (std::size_t i = 0; i < healthy.size(); ++i) {
        if (sent.frames.size() != healthy.size() ||
            !differs_in_identification(sent.frames[i], healthy[i], probe.probe.tunnels)) {
            return false;
        }
    }
    return true;
}

// Claims that no receiver can be blamed for; the truth is the byte-wise oracle's.
bool is_true(RxClaim claim, judge::RxClaim truth, bool header) {
    switch (claim) {
        case RxClaim::kUnknown: return true;
        case RxClaim::kBad: return truth == judge::RxClaim::kBad;
        case RxClaim::kGood:
        case RxClaim::kNone: break;
    }
    return truth == judge::RxClaim::kGood || truth == judge::RxClaim::kNone ||
           (header && truth == judge::RxClaim::kUnknown);
}

bool is_harmless(const softnic::Fault& fault, const FrameBytes& wire,
                 const softnic::NicLimits& limits, const frame::TunnelPorts& tunnels) {
    softnic::SoftNic nic(limits, {softnic::at_full_rate(fault)});
    softnic::RxResult result;
    nic.receive(wire, result);
    if (result.delivery != softnic::RxResult::Delivery::kDelivered || result.bytes != wire) {
        return false;
    }
    const judge::FrameVerdict verdict = judge::verify_slowly(wire, tunnels);
    const judge::RxTruth truth = judge::rx_truth(verdict, judge::SeesTunnel::kYes);
    const std::array<RxClaim, judge::kRxLayers> claims = {
        result.verdict.ip, result.verdict.l4, result.verdict.outer_ip, result.verdict.outer_l4};
    for (std::size_t i = 0; i < judge::kRxLayers; ++i) {
        if (!is_true(claims[i], truth[i], i % 2 == 0)) {
            return false;
        }
    }
    const std::uint64_t called_bad = contains(claims, RxClaim::kBad) ? 1 : 0;
    const std::uint64_t counted = nic.counters().rx_csum_bad;
    return counted == called_bad || counted == (verdict.any_bad() ? 1u : 0u);
}

template <typename Harmless>
void count(FaultEffect effect, Effect& sum, const Harmless& harmless) {
    switch (effect) {
        case FaultEffect::kNotHit: return;
        case FaultEffect::kEquivalent:
            ++sum.hit;
            ++sum.equivalent;
            return;
        case FaultEffect::kDifferent:
            ++sum.hit;
            ++(harmless() ? sum.harmless : sum.wrong);
            return;
    }
}

}  // namespace

Effect effect_on_row(const softnic::Fault& fault, const SendRow& row) {
    Effect sum;
    for (const SentProbe& probe : row.probes) {
        for (std::size_t i = 0; i < probe.frames.size(); ++i) {
            count(softnic::effect_on(fault, probe.frames[i], row.nic), sum,
                  [&] { return is_allowed(fault, row, probe, i); });
        }
    }
    return sum;
}

Effect effect_on_row(const softnic::Fault& fault, const ReceiveRow& row) {
    Effect sum;
    for (const matrix::Probe& probe : row.probes) {
        for (const matrix::HandedFrame& frame : probe.handed) {
            add_counts(sum, effect_on_wire(fault, frame.bytes, row.nic, probe.tunnels));
        }
    }
    return sum;
}

Effect effect_on_wire(const softnic::Fault& fault, const FrameBytes& wire,
                      const softnic::NicLimits& limits, const frame::TunnelPorts& tunnels) {
    Effect effect;
    count(softnic::effect_on(fault, wire, limits), effect,
          [&] { return is_harmless(fault, wire, limits, tunnels); });
    return effect;
}

bool same_on_wire(const softnic::Fault& one, const softnic::Fault& other, const SendRow& row) {
    softnic::SoftNic first(row.nic, {one});
    softnic::SoftNic second(row.nic, {other});
    softnic::TxResult a;
    softnic::TxResult b;
    for (const SentProbe& probe : row.probes) {
        for (const softnic::TxFrame& frame : probe.frames) {
            first.transmit(frame, a);
            second.transmit(frame, b);
            if (a.frames != b.frames) {
                return false;
            }
        }
    }
    return true;
}

}  // namespace pathproof::calibration
