// Frames of many probes in one exchange, and which of the frames that came belongs to which probe.
#pragma once

#include <span>
#include <vector>

#include "dataplane/matrix/probe.h"
#include "harness/tester/client.h"

namespace pathproof::offload {

// What came of one probe, and which of its frames the driver refused.
struct ProbeOutcome {
    std::vector<traffic::ArrivedFrame> arrived;
    std::string refusal;  // empty: every frame was taken
};

struct BatchOutcome {
    std::vector<ProbeOutcome> probes;  // in the order given
    std::uint64_t foreign = 0;
    std::vector<std::string> objections;
};

// Sends all frames of the probes from one port of the tester to another. A frame is known by its
// innermost addresses, wherever its checksums went; one that bears our source MAC and no readable
// address goes to the first probe that still lacks a frame.
Result<BatchOutcome> exchange_batch(tester::Client& tester, std::size_t from, std::size_t to,
                                    const matrix::ProbeMaker& maker,
                                    std::span<const matrix::Probe> probes);

// Ethernet's zeros up to 60 bytes, where less was intended; and a tag that the driver took out is
// put back.
matrix::FrameBytes as_on_the_wire(const traffic::ArrivedFrame& arrived, std::size_t intended_bytes);

}  // namespace pathproof::offload
