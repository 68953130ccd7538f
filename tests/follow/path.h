// Frames that go into a made-up path, and what it makes of them, for tests of what follows them.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "dataplane/follow/follower.h"
#include "dataplane/frame/frame_spec.h"

namespace pathproof::follow {

using Octets = std::vector<std::uint8_t>;

struct TimedFrame {
    std::int64_t time_ns = 0;
    Octets bytes;
    std::uint32_t length = 0;  // 0: as many bytes as there are
};
using Frames = std::vector<TimedFrame>;

// Follows `in` to `out`, and checks that the counts balance.
Outcome follow(const Frames& in, const Frames& out, const std::vector<std::string>& allow,
               const ReadLimits& limits = {});

// Bytes of a specification, checksums right.
Octets render(const frame::FrameSpec& spec);

// A datagram, segment or message that is different for each number.
frame::FrameSpec spec_of(frame::Transport transport, std::size_t payload, unsigned number,
                         frame::Family family = frame::Family::kIpv4);

// A frame that went in and what a healthy path makes of it.
struct Way {
    Frames in;
    Frames out;
    std::vector<std::string> allow;
};
using Change = std::function<void(frame::FrameSpec&)>;

void route(frame::FrameSpec& spec);
void translate(frame::FrameSpec& spec);
void tag(frame::FrameSpec& spec);
Change wrap(frame::Tunnel kind);

// `count` frames, a millisecond apart, out 50 us later as `change` makes them.
Way way(frame::Transport transport, std::size_t payload, unsigned count, const Change& change,
        std::vector<std::string> allow, frame::Family family = frame::Family::kIpv4);
// A TCP stream in segments of these sizes, over and over: the same bytes on both sides.
Way stream(std::size_t bytes, std::vector<std::size_t> in_sizes, std::vector<std::size_t> out_sizes,
           const Change& change, std::vector<std::string> allow,
           frame::Family family = frame::Family::kIpv4);

// Fragments of an IPv4 packet in an Ethernet frame, `size` bytes of data each.
std::vector<Octets> fragments(const Octets& frame, std::size_t size);
// Puts right checksums into all layers.
void mend(Octets& frame);

}  // namespace pathproof::follow
