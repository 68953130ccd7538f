// trafgen of netsniff-ng as a lane.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "dataplane/base/result.h"

namespace pathproof::bench {

// One process, which does not touch the machine's socket memory or interrupts as it would by
// itself. It ties itself to the first CPU.
std::vector<std::string> trafgen_command(const std::string& device, const std::string& packets);

// Its language for packets: each frame as it is, one after the other.
std::string trafgen_packets(std::span<const std::vector<std::uint8_t>> frames);

struct TrafgenReport {
    std::uint64_t packets = 0;
};

// kFailed without its line of totals.
Result<TrafgenReport> parse_trafgen(const std::string& text);

}  // namespace pathproof::bench
