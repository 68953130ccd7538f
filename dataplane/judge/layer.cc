#include <array>

#include "dataplane/judge/verifier.h"

namespace pathproof::judge {
namespace {

constexpr std::array<const char*, kLayerCount> kNames = {
    "IPv4",       "UDP",       "TCP",       "ICMP",       "ICMPv6",        //
    "outer IPv4", "outer UDP", "outer TCP", "outer ICMP", "outer ICMPv6",  //
    "inner IPv4", "inner UDP", "inner TCP", "inner ICMP", "inner ICMPv6",
};
constexpr std::array<const char*, kLayerCount> kWords = {
    "plain.ipv4", "plain.udp", "plain.tcp", "plain.icmp", "plain.icmpv6",  //
    "outer.ipv4", "outer.udp", "outer.tcp", "outer.icmp", "outer.icmpv6",  //
    "inner.ipv4", "inner.udp", "inner.tcp", "inner.icmp", "inner.icmpv6",
};

}  // namespace

Layer layer_at(std::size_t index) {
    return {static_cast<Depth>(index / 5), static_cast<Protocol>(index % 5)};
}

const char* name(Layer layer) {
    return kNames[index_of(layer)];
}

const char* word(Layer layer) {
    return kWords[index_of(layer)];
}

bool FrameVerdict::any_bad() const {
    for (const ChecksumFinding& finding : all()) {
        if (finding.state == ChecksumState::kBad) {
            return true;
        }
    }
    return false;
}

}  // namespace pathproof::judge
