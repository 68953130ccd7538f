// Follows frames from where they went in to where they came out.
//
// Frames of both sides are joined within a window of time, in steps from the surest to the weakest:
// headers and payload; the same without what address translation changes; the byte stream of TCP,
// the pieces of datagrams and fragments; the payload alone; the header alone; the likeness of bytes.
// Each step waits until the one before has had its chance for all frames of that time, so that a
// weak likeness never takes a frame from its own counterpart.
#pragma once

#include <functional>
#include <memory>

#include "dataplane/follow/outcome.h"
#include "dataplane/follow/packet.h"

namespace pathproof::follow {

struct FollowOptions {
    Transformations allowed;
    std::int64_t window_ns = 2'000'000'000;  // what is not found within it is decided
    std::int64_t late_ns = 1'000'000'000;
    std::uint64_t most_bytes = 192u << 20;  // of frames that are held, both sides together
    std::int64_t clock_offset_ns = 0;       // of the out side's clock against the in side's
    // Frames of the link that came out and never went in are the device's own, whatever it is allowed.
    bool device_speaks = false;
    // Callback with the class of each frame that was sent, as far as it is known by then; null:
    // nobody asks.
    std::function<void(Side, const FrameName&, Class)> on_fate = nullptr;
    ReadLimits limits;
};

class Follower {
  public:
    explicit Follower(const FollowOptions& options);
    Follower(Follower&&) noexcept;
    Follower& operator=(Follower&&) noexcept;
    ~Follower();

    // Before the first frame of this side: its capture ran since then.
    void begin(Side side, std::int64_t since_ns);
    // Adds a frame. Both sides together come in the order of time (roughly: within an eighth of the
    // window).
    void add(Side side, const CapturedFrame& frame);
    // The next frame of this side will be of this time: its capture ran on until then.
    void coming(Side side, std::int64_t time_ns);
    // No more frames of this side. `until_ns`: how long its capture ran on, if it says so.
    void end(Side side, std::int64_t until_ns);
    // Decides all frames that are left, and gives the counts.
    Outcome finish();

  private:
    class Engine;
    std::unique_ptr<Engine> engine_;
};

}  // namespace pathproof::follow
