// Frames of many probes in one exchange, and which of the frames that came belongs to which probe.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "dataplane/matrix/probe.h"
#include "harness/truth/exchange.h"
#include "harness/truth/stall.h"

namespace pathproof::truth {

// The frames that came of one probe, and why the driver refused it.
struct ProbeOutcome {
    std::vector<traffic::ArrivedFrame> arrived;
    std::string refusal;  // empty: every frame was taken
};

struct BatchOutcome {
    std::vector<ProbeOutcome> probes;  // in the order given
    std::uint64_t foreign = 0;
    std::vector<std::string> objections;
};

// The owner of a frame that bears our source MAC and no readable address.
enum class Unreadable : std::uint8_t { kOfFirstLacking, kForeign };

// Sorts the frames of an exchange by probe. A frame is known by its innermost addresses, wherever
// its checksums went.
BatchOutcome sort_out(const matrix::ProbeMaker& maker, std::span<const matrix::Probe> probes,
                      traffic::ExchangeReport&& report, Unreadable unreadable);

// All frames of the probes, as they are handed to a DPDK port.
traffic::ExchangePlan plan_of(std::span<const matrix::Probe> probes);

// Sends all frames of the probes one way along a path, and again where the tester may have lost
// some itself. A frame that bears our source MAC and no readable address goes to the first probe
// that still lacks a frame.
Result<BatchOutcome> exchange_batch(Exchange& exchange, Way way, const matrix::ProbeMaker& maker,
                                    std::span<const matrix::Probe> probes);

// Frames of one probe that the device sent.
struct Carried {
    std::vector<matrix::FrameBytes> wire;  // in the order in which they came
    std::string refusal;                   // the device would not take it; empty: it did
};

// Frames that the tester itself saw, lost or could not place.
struct TesterTally {
    std::uint64_t received = 0;
    std::uint64_t lost = 0;    // or cut to its buffers, by the tester's own port: none is judged
    std::uint64_t strays = 0;  // frames that are none of ours, or cannot be told to be
};

// Sends each probe once from the device, at most `most_frames` frames at a time: one outcome for
// each probe. A frame without a readable address is a stray: others use the device's kernel too.
// Frames that were lost in a stall, where `watch` sees any, are sent again.
Result<std::vector<Carried>> carry(const Path& path, std::span<const matrix::Probe> probes,
                                   const matrix::ProbeMaker& maker, std::size_t most_frames,
                                   TesterTally& tally, StallWatch* watch = nullptr);

// Tells whether a port's driver keeps the type of an outermost VLAN tag. net_af_packet does not:
// the kernel takes the tag out of the frame, and the driver puts one of type 0x8100 in.
enum class TagType : std::uint8_t { kKept, kLost };
TagType tag_type_at(const port::PortInfo& port);

// Returns whether the receiver's kernel reassembles the row's frames before the port sees them.
// net_af_packet joins a fanout group with PACKET_FANOUT_FLAG_DEFRAG, so its IPv4 fragments arrive
// put together.
bool is_put_together(const matrix::Row& row, const port::PortInfo& receiver);

// The frame without Ethernet's zeros up to 60 bytes, where less was intended, and with the tag that
// the driver took out put back. A type that is not known is the intended one.
matrix::FrameBytes as_on_the_wire(const traffic::ArrivedFrame& arrived,
                                  const matrix::FrameBytes& intended, TagType tag);

}  // namespace pathproof::truth
