// Changes that a path may make to a frame that it forwards. Everything else has to arrive as it was
// sent. The allowed changes concern the outermost packet alone, and the checksums over it follow.
#pragma once

#include <cstdint>
#include <string>

#include "dataplane/base/result.h"

namespace pathproof::load {

struct Allowance {
    enum Field : std::uint16_t {
        kMac = 1,
        kVlan = 2,  // tags: other ones, none, one more
        kTtl = 4,   // or hop limit: as it was, or `hops` less
        kDscp = 8,
        kEcn = 16,
        kFlowLabel = 32,
        kId = 64,   // IPv4's identification
        kDf = 128,  // the flag not to fragment
        kSource = 256,
        kDestination = 512,
        kSourcePort = 1024,  // and the identifier of ICMP echo
        kDestinationPort = 2048
    };
    std::uint16_t fields = 0;  // none: a wire
    std::uint8_t hops = 1;

    bool has(unsigned field) const noexcept { return (fields & field) != 0; }
    bool operator==(const Allowance&) const = default;
};

// Words and presets, separated by commas: "router,dscp", "mac,ttl=2". Errors (kBadInput) list the
// words.
Result<Allowance> parse_allowance(const std::string& text);
// "nothing", or the words.
std::string text(const Allowance& allowance);

}  // namespace pathproof::load
