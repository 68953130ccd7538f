#include <array>

#include "dataplane/judge/verifier.h"

namespace pathproof::judge {

Layer layer_at(std::size_t index) {
    return {static_cast<Depth>(index / kProtocolCount),
            static_cast<Protocol>(index % kProtocolCount)};
}

std::string name(Layer layer) {
    constexpr const char* kDepths[] = {"", "outer ", "inner "};
    constexpr const char* kProtocols[kProtocolCount] = {"IPv4",   "UDP",  "TCP",      "ICMP",
                                                        "ICMPv6", "SCTP", "UDP-Lite", "GRE"};
    return std::string(kDepths[static_cast<std::size_t>(layer.depth)]) +
           kProtocols[static_cast<std::size_t>(layer.protocol)];
}

std::string word(Layer layer) {
    constexpr const char* kDepths[] = {"plain.", "outer.", "inner."};
    constexpr const char* kProtocols[kProtocolCount] = {"ipv4",   "udp",  "tcp",     "icmp",
                                                        "icmpv6", "sctp", "udplite", "gre"};
    return std::string(kDepths[static_cast<std::size_t>(layer.depth)]) +
           kProtocols[static_cast<std::size_t>(layer.protocol)];
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
