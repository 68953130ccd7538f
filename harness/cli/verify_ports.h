// Frames that go into a device and come out of it, judged at ports while it happens.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "dataplane/follow/followed_files.h"
#include "harness/cli/gathered.h"
#include "harness/cli/verify_stream.h"

namespace pathproof::cli {

struct PortsOptions {
    std::vector<std::string> in;
    std::vector<std::string> out;
    std::string netns;
    bool far_ends = false;  // the ports are not the device's own, but those that it is cabled to
    int cpu = 0;
    double seconds = 0;         // 0: until the count is reached
    std::uint64_t count = 0;    // frames that went in; 0: until the seconds are over
    bool super_frames = false;  // the ports take frames of up to 64 KiB whole, and fewer of them
    StreamOptions stream;       // for as long as frames are listened for
};

// TCP frames at one port, by what was gathered in them.
struct PortSizes {
    std::string port;
    bool hears_sent = false;  // by this machine's kernel; else received
    GatheredSizes sizes;
};

struct FollowedPorts {
    follow::Followed followed;
    std::optional<StreamReport> stream;
    std::vector<PortSizes> gathered;  // of a stream: the in side's ports first
};

// Follows what the in side's ports receive and what the out side's ports send (far ends: the other way
// round), in bounded memory. Ports of other drivers than af_packet hear what they receive: a mirror's.
// Frames carry the time at which they were fetched. Errors: those of ports::OwnPorts::open() and
// StreamEnds::make(); kUnavailable: a port's link that is lost.
Result<FollowedPorts> follow_ports(const PortsOptions& options, follow::FollowOptions follow,
                                   const std::atomic<bool>& stop);

}  // namespace pathproof::cli
