#include <array>

#include "dataplane/judge/verifier.h"

namespace pathproof::judge {
namespace {

constexpr std::array<const char*, kLayerCount> kNames = {
    "IPv4",           "UDP",       "TCP",       "ICMP",       "ICMPv6",  //
    "SCTP",           "UDP-Lite",  "GRE",                                //
    "outer IPv4",     "outer UDP", "outer TCP", "outer ICMP", "outer ICMPv6", "outer SCTP",
    "outer UDP-Lite", "outer GRE",  //
    "inner IPv4",     "inner UDP", "inner TCP", "inner ICMP", "inner ICMPv6", "inner SCTP",
    "inner UDP-Lite", "inner GRE",
};
constexpr std::array<const char*, kLayerCount> kWords = {
    "plain.ipv4",   "plain.udp",  "plain.tcp",     "plain.icmp",
    "plain.icmpv6", "plain.sctp", "plain.udplite", "plain.gre",  //
    "outer.ipv4",   "outer.udp",  "outer.tcp",     "outer.icmp",
    "outer.icmpv6", "outer.sctp", "outer.udplite", "outer.gre",  //
    "inner.ipv4",   "inner.udp",  "inner.tcp",     "inner.icmp",
    "inner.icmpv6", "inner.sctp", "inner.udplite", "inner.gre",
};

}  // namespace

Layer layer_at(std::size_t index) {
    return {static_cast<Depth>(index / kProtocolCount),
            static_cast<Protocol>(index % kProtocolCount)};
}

const char* name(Layer layer) {
    return kNames[index_of(layer)];
}

const char* word(Layer layer) {
    return kWords[index_of(layer)];
}

const char* name(OracleMistake mistake) {
    constexpr std::array<const char*, kOracleMistakes> kMistakes = {
        "none",       "padding-summed",   "odd-byte-lost",     "extension-header",   "zero-rule",
        "carry-lost", "options-left-out", "fragment-verified", "tunnel-zero-refused"};
    return kMistakes[static_cast<std::size_t>(mistake)];
}

void write_right(std::span<std::uint8_t> frame, const ChecksumFinding& finding) noexcept {
    const std::size_t size = field_size(finding.layer.protocol);
    const bool there = finding.field_offset != 0 && finding.field_offset + size <= frame.size();
    if (!there || finding.state == ChecksumState::kUnverifiable) {
        return;
    }
    for (std::size_t i = 0; i < size; ++i) {
        frame[finding.field_offset + i] =
            static_cast<std::uint8_t>(finding.right >> 8 * (size - 1 - i));
    }
}

const ChecksumFinding* FrameVerdict::find(Layer layer) const& {
    for (std::size_t i = 0; i < count; ++i) {
        if (findings[i].layer == layer) {
            return &findings[i];
        }
    }
    return nullptr;
}

}  // namespace pathproof::judge
