#include "harness/truth/stall.h"

#include <algorithm>

#include "dataplane/base/contains.h"
#include "harness/truth/in_time.h"

namespace pathproof::truth {
namespace {

using Clock = std::chrono::steady_clock;
using matrix::Probe;

// Fewer frames at the end of a batch are lost for other reasons as well, if plain ones come.
constexpr std::size_t kSilentTail = 8;

std::string seconds_text(std::span<const Stall> stalls) {
    const auto [low, high] = std::ranges::minmax(stalls, {}, &Stall::seconds);
    return high.seconds - low.seconds < 0.25
               ? fmt::format("{:.1f} s", high.seconds)
               : fmt::format("{:.1f} to {:.1f} s", low.seconds, high.seconds);
}

}  // namespace

bool StallWatch::is_super_frame(const Probe& probe) const {
    return probe.segment_bytes != 0 && (!left_ || left_(probe).segmentation);
}

bool StallWatch::leaves_checksum(const Probe& probe) const {
    return !probe.handed.empty() && probe.handed.front().virtio.any() &&
           (!left_ || left_(probe).checksums);
}

void StallWatch::count(std::span<const Probe> probes) {
    for (const Probe& probe : probes) {
        frames_ += probe.handed.size();
        super_frames_ += is_super_frame(probe) ? 1 : 0;
    }
}

Result<bool> StallWatch::beats(const Path& path, Stall& stall) {
    const auto exchanged = TRY(path.exchange.send(Way::kFromDevice, {&plain_, 1}));
    bool came = false;
    for (const traffic::ArrivedFrame& arrived : exchanged.report.arrived) {
        const bool plain = arrived.bytes == plain_.intended.front();
        came = came || plain;
        stall.held += plain ? 0 : 1;
    }
    return came;
}

Result<std::size_t> StallWatch::look(const Path& path, std::span<const Probe> batch,
                                     const std::vector<bool>& came, Clock::time_point sent) {
    std::size_t tail = batch.size();
    while (tail > 0 && !came[tail - 1]) {
        --tail;
    }
    const std::size_t silent = batch.size() - tail;
    if (silent == 0 || waited_ >= limits_.most) {
        count(batch);
        return batch.size();
    }
    Stall stall{.setting = setting_};
    const Clock::time_point asked = Clock::now();
    bool beat = TRY(beats(path, stall));
    if (beat && silent < kSilentTail) {
        count(batch);
        return batch.size();
    }
    while (!beat && Clock::now() - sent < limits_.longest) {
        beat = TRY(beats(path, stall));
    }
    waited_ += Clock::now() - asked;
    const Probe& first = batch[tail];
    count(batch.first(tail + 1));
    stall.seconds = std::chrono::duration<double>(Clock::now() - sent).count();
    stall.ended = beat;
    stall.at_super_frame = is_super_frame(first);
    stall.at_checksum = leaves_checksum(first);
    stall.frames = std::exchange(frames_, 0);
    stall.super_frames = std::exchange(super_frames_, 0);
    stalls_.push_back(stall);
    if (!beat) {
        waited_ = limits_.most;  // nothing more is waited for
        return batch.size();
    }
    const bool again = contains(lost_in_one_, first.label);
    lost_in_one_.push_back(first.label);
    return again ? tail + 1 : tail;
}

std::uint64_t super_frames_apart(std::span<const Stall> stalls) {
    const bool each = std::ranges::all_of(stalls, &Stall::at_super_frame);
    if (stalls.size() < 2 || !each) {
        return 0;
    }
    // Up to the first one it may have carried some before this run.
    const auto later = stalls.subspan(1);
    const std::uint64_t apart = later.front().super_frames;
    const bool equal =
        std::ranges::all_of(later, [&](const Stall& stall) { return stall.super_frames == apart; });
    return equal ? apart : 0;
}

std::string stalls_text(std::span<const Stall> stalls) {
    if (stalls.empty()) {
        return "";
    }
    const auto ended = static_cast<std::size_t>(std::ranges::count(stalls, true, &Stall::ended));
    std::string text =
        stalls.size() == 1
            ? "once it carried frames, and then nothing for "
            : fmt::format("{} times it carried frames, and then nothing for ", stalls.size());
    text += seconds_text(stalls);
    if (ended != stalls.size()) {
        text += " (the last time for as long as it was waited for)";
    }
    const auto at_super =
        static_cast<std::size_t>(std::ranges::count(stalls, true, &Stall::at_super_frame));
    const char* each = stalls.size() == 1 ? "it began" : "each began";
    if (at_super == stalls.size()) {
        text += fmt::format(": {} with a super-frame", each);
        if (const std::uint64_t apart = super_frames_apart(stalls); apart != 0) {
            text += fmt::format(", the {} since the one before", ordinal(apart));
        }
    } else if (std::ranges::all_of(stalls, &Stall::at_checksum)) {
        text += fmt::format(": {} with a frame whose checksum was left to it", each);
    } else {
        std::string counts;
        for (const Stall& stall : stalls) {
            counts += fmt::format("{}{}", counts.empty() ? "" : ", ", stall.frames);
        }
        text += fmt::format(": after {} frames", counts);
    }
    std::uint64_t held = 0;
    for (const Stall& stall : stalls) {
        held += stall.held;
    }
    text += held == 0 ? "; the frames of that time were lost"
                      : fmt::format("; {} frames came when it was over", held);
    if (ended == stalls.size()) {
        text += ", and it ended by itself";
    }
    return text;
}

}  // namespace pathproof::truth
