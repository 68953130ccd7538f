#include "dataplane/judge/quick_verifier.h"

namespace pathproof::judge {
namespace {

using Upper = QuickCode::Upper;
using Envelope = QuickCode::Envelope;

ChecksumState state_of(QuickCode code, unsigned bad_bit) {
    return (code.bad() & bad_bit) != 0 ? ChecksumState::kBad : ChecksumState::kGood;
}

Protocol protocol_of(QuickCode code) {
    switch (code.upper()) {
        case Upper::kUdp:
        case Upper::kUdpZero: return Protocol::kUdp;
        case Upper::kTcp: return Protocol::kTcp;
        case Upper::kIcmp: break;
    }
    return code.ipv6() ? Protocol::kIcmpv6 : Protocol::kIcmp;
}

void add(QuickLayers& layers, Layer layer, ChecksumState state) {
    layers.layers[layers.count++] = {layer, state};
}

void add_envelope(QuickLayers& layers, QuickCode code) {
    const Envelope envelope = code.envelope();
    if (envelope == Envelope::kNone) {
        return;
    }
    if (envelope == Envelope::kIpv4 || envelope == Envelope::kIpv4Zero) {
        add(layers, {Depth::kOuter, Protocol::kIpv4}, state_of(code, QuickCode::kBadOuterIp));
    }
    const bool zero = envelope == Envelope::kIpv4Zero || envelope == Envelope::kIpv6Zero;
    add(layers, {Depth::kOuter, Protocol::kUdp},
        zero ? ChecksumState::kDisabled : state_of(code, QuickCode::kBadOuterUdp));
}

}  // namespace

QuickLayers layers_of(QuickCode code) {
    QuickLayers layers;
    add_envelope(layers, code);
    const Depth depth = code.envelope() == Envelope::kNone ? Depth::kPlain : Depth::kInner;
    if (!code.ipv6()) {
        add(layers, {depth, Protocol::kIpv4}, state_of(code, QuickCode::kBadIp));
    }
    const ChecksumState upper = state_of(code, QuickCode::kBadUpper);
    const bool disabled = code.upper() == Upper::kUdpZero && upper == ChecksumState::kGood;
    add(layers, {depth, protocol_of(code)}, disabled ? ChecksumState::kDisabled : upper);
    return layers;
}

QuickVerifier::QuickVerifier(std::span<const std::uint16_t> vxlan_ports)
    : too_many_ports_(vxlan_ports.size() > 4) {
    for (std::size_t i = 0; i < vxlan_ports.size() && i < 4; ++i) {
        ports_ |= std::uint64_t{__builtin_bswap16(vxlan_ports[i])} << 16 * i;
        used_ |= std::uint64_t{0x8000} << 16 * i;
    }
}

}  // namespace pathproof::judge
