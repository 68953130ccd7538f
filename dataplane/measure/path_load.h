// A stream of UDP frames over a path through the device under test, as plain values: what a search
// that is steered from another process asks its tester for.
#pragma once

#include <vector>

#include "dataplane/frame/address.h"
#include "dataplane/measure/load_measurer.h"

namespace pathproof::measure {

// A part of the mix: frames of this size, FCS included, by weight.
struct FrameShare {
    std::uint16_t bytes = 64;
    std::uint32_t weight = 1;
    bool operator==(const FrameShare&) const = default;
};

// Bytes of a frame, FCS included, on average.
double mean_bytes(const std::vector<FrameShare>& frames);

struct PathLoad {
    std::uint64_t from = 0;  // index of the port that sends
    std::uint64_t to = 0;    // and of the one at which the frames come back
    std::uint16_t queues = 1;
    std::vector<FrameShare> frames = {{}};
    frame::MacAddress source_mac;
    frame::MacAddress destination_mac;  // the device's
    frame::IpAddress source;            // the first; flows go on from it
    frame::Endpoint destination;
    std::uint64_t flows = 1000;
    std::uint64_t seed = 1;
    // Changes that the path may make, in the words of load::parse_allowance().
    std::string allow = "router";
    Nanoseconds drain = std::chrono::milliseconds(100);
    double offered_tolerance = 0.005;
    bool operator==(const PathLoad&) const = default;
};

// Errors (kBadInput): frames that cannot be made, a port that cannot carry one of them (named, with
// its MTU), words that parse_allowance() does not know.
Result<MeasurerPlan> plan_of(const PathLoad& load, port::Port& from, port::Port& to,
                             unsigned lcores);

}  // namespace pathproof::measure
