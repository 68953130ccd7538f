// Capture files of both sides, read side by side in the order of time, and what became of their frames.
#pragma once

#include <string>
#include <vector>

#include "dataplane/base/result.h"
#include "dataplane/follow/follower.h"

namespace pathproof::follow {

struct FileFacts {
    std::string path;
    std::uint64_t frames = 0;
    std::uint64_t bytes = 0;
    std::uint64_t dropped = 0;  // by the capture, as it counted
    bool counts_drops = false;  // it says how many
    std::int64_t first_ns = 0;
    std::int64_t last_ns = 0;
    std::uint32_t snap_length = 0;  // 0: whole frames
};

struct Followed {
    Outcome outcome;
    std::vector<FileFacts> in;
    std::vector<FileFacts> out;
    // The out side's clock is that far ahead of the in side's; 0: they are taken for one clock.
    std::int64_t clock_offset_ns = 0;
};

// Each file is named by its path, or as PATH@INTERFACE for one of its interfaces. Errors are those of
// CaptureReader, and a file that is named twice.
Result<Followed> follow_files(const std::vector<std::string>& in,
                              const std::vector<std::string>& out, const FollowOptions& options);

// The verdict on it.
enum class Arrival : std::uint8_t {
    kAllArrived,  // as is allowed
    kNot,
    kCannotTell,
};
struct Conclusion {
    Arrival arrival = Arrival::kCannotTell;
    std::vector<std::string> why;    // one sentence a reason
    std::vector<std::string> notes;  // what was recognised and is no fault
};
Conclusion conclude(const Followed& followed);

}  // namespace pathproof::follow
