// The wrong checksums of a frame, each judged by itself.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "dataplane/judge/verifier.h"

namespace pathproof::judge {

struct BadChecksum {
    ChecksumFinding finding;
    // The frame in which it is wrong, with what is deeper inside made right.
    std::vector<std::uint8_t> frame;
};

// Innermost first. An outer sum over a wrong inner checksum is not blamed for it: neither if it is
// right for the bytes as they are, nor if it is right for the finished inner checksum. Each can be
// handed to matching_names() with its frame.
std::vector<BadChecksum> bad_checksums(std::span<const std::uint8_t> frame,
                                       const frame::TunnelPorts& tunnels);

}  // namespace pathproof::judge
