// Plain frames, which leave nothing to a device, that the path between it and the tester changes or
// never carries: which they are, and what becomes of them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "dataplane/matrix/probe.h"
#include "dataplane/matrix/tx_cell.h"
#include "harness/truth/exchange.h"

namespace pathproof::truth {

struct PathFault {
    Way way = Way::kFromDevice;
    bool lost = false;         // it never came; else with other bytes
    std::string what;          // "the last 4 bytes are missing"
    std::string where;         // which frames
    std::uint64_t frames = 0;  // that show it
    std::uint64_t sent = 0;    // plain frames of all kinds
    std::uint64_t looks = 0;   // times that each of them was sent
    bool always =
        true;  // each of them shows it each time; else now and then, of all that were sent
    // The first few, before and after (none where they are lost).
    std::vector<matrix::Specimen> specimens;
};

// "the last 4 bytes are missing", "ip.ttl is 0x3f instead of 0x40", "never comes".
std::string change_of(const matrix::FrameBytes& sent, const matrix::FrameBytes& came,
                      const frame::TunnelPorts& tunnels);

// A plain frame in the looks at it: what came of it in each, empty for nothing. All have as many.
struct PathSample {
    const matrix::Row* row = nullptr;
    const matrix::Probe* probe = nullptr;
    std::size_t part = 0;                  // of the probe
    std::vector<matrix::FrameBytes> came;  // one a look
};

// Faults among them: frames that shared one fate in each look, two looks at least; and frames that
// came changed now and then, three in two looks at least, for nobody changes bytes by chance. What is
// lost now and then may be anybody's loss. `samples`: all plain frames that were sent.
std::vector<PathFault> path_faults(Way way, std::span<const PathSample> samples);

// "1 of 210 plain frames from nic0 to wire0 come with other bytes, each of 3 times: ..."
std::string fault_sentence(const PathFault& fault, const std::string& from, const std::string& to);

}  // namespace pathproof::truth
