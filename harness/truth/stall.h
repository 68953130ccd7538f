// A device that carries frames, and then none at all for a while.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "dataplane/matrix/probe.h"
#include "harness/truth/exchange.h"
#include "harness/truth/finish.h"

namespace pathproof::truth {

struct Stall {
    std::string setting;          // "as found"
    double seconds = 0;           // from the last frames that came to the first that came again
    bool ended = true;            // false: nothing came as long as it was waited for
    bool at_super_frame = false;  // the first frame that was lost was one
    bool at_checksum = false;     // or one whose checksum was left to the device
    std::uint64_t frames =
        0;  // handed over since the stall before, or since the start; this one too
    std::uint64_t super_frames = 0;  // of them
    std::uint64_t held = 0;          // frames that came when it was over, and were not lost
};

// Sees stalls while frames are sent, and waits them out.
class StallWatch {
  public:
    struct Limits {
        std::chrono::milliseconds longest{15'000};  // of one stall
        std::chrono::milliseconds most{90'000};     // of all together
    };
    // `plain`: a frame that leaves nothing to the device, and crosses the path where it is not
    // stalled.
    explicit StallWatch(matrix::Probe plain) : StallWatch(std::move(plain), Limits()) {}
    StallWatch(matrix::Probe plain, Limits limits) : plain_(std::move(plain)), limits_(limits) {}

    // The work of a probe that the device is left under the setting; null: whatever it asks for.
    using Left = std::function<LeftToWire(const matrix::Probe&)>;
    void set_left(Left left) { left_ = std::move(left); }
    // Names the setting that is sent from now on.
    void begin(std::string setting) { setting_ = std::move(setting); }

    // Returns how many probes of a batch, handed over at `sent`, are done with. The others were lost in a
    // stall that is over now, and are to be sent again. `came`: for each probe, whether any frame came, or
    // it was refused. Errors: those of the exchange.
    Result<std::size_t> look(const Path& path, std::span<const matrix::Probe> batch,
                             const std::vector<bool>& came,
                             std::chrono::steady_clock::time_point sent);

    const std::vector<Stall>& stalls() const { return stalls_; }

  private:
    void count(std::span<const matrix::Probe> probes);
    bool is_super_frame(const matrix::Probe& probe) const;
    bool leaves_checksum(const matrix::Probe& probe) const;
    // Returns whether a plain frame arrives.
    Result<bool> beats(const Path& path, Stall& stall);

    matrix::Probe plain_;
    Limits limits_;
    std::string setting_;
    Left left_;
    std::vector<Stall> stalls_;
    std::uint64_t frames_ = 0;  // since the last stall
    std::uint64_t super_frames_ = 0;
    std::chrono::steady_clock::duration waited_{0};
    std::vector<matrix::Label>
        lost_in_one_;  // frames that began a stall: a second time they are lost
};

// The stalls in words, with all that they have in common: "3 times it carried frames, and then
// nothing for 2.0 s: each began with a super-frame, the 200th since the one before". Empty: none.
std::string stalls_text(std::span<const Stall> stalls);

// Super-frames from one stall to the next where each began with one, and their numbers are equal;
// 0: not so.
std::uint64_t super_frames_apart(std::span<const Stall> stalls);

}  // namespace pathproof::truth
