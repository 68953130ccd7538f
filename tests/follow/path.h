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
    Heading heading = Heading::kUnknown;
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

void nothing(frame::FrameSpec& spec);
// Frames without IP as they are: EtherType or 802.3 length, and so many bytes.
Octets plain(std::uint16_t type, std::size_t size, std::uint8_t seed);
Way plain_frames(const std::vector<Octets>& frames);
// Datagrams of 3000 bytes, whole or in fragments on either side.
Way fragmented(bool in_too, bool out_too, std::size_t out_size, unsigned count = 10);
// Frames that a link pads to 60 bytes.
Way with_padding(bool in_too, unsigned count = 20);
// UDP datagrams that a sender handed over as one (UDP_SEGMENT).
Way super_datagrams(bool merged_on_the_way, unsigned count = 10);

// Figures over both directions.
std::uint64_t count(const Outcome& outcome, Class one);
std::uint64_t unknown(const Outcome& outcome);
std::string described(const Outcome& outcome);
// All of it arrived as it should, and nothing is accused.
void check_clean(const std::string& name, const Way& way);

}  // namespace pathproof::follow
