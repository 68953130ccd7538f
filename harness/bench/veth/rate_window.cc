#include "harness/bench/veth/rate_window.h"

namespace pathproof::bench {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr auto kLongestWindowStart = 20s;
constexpr auto kSettle = 300ms;
// Fewer can be what the kernel or the start of a program sends.
constexpr std::uint64_t kFirstFrames = 500;
constexpr auto kLookEvery = 10ms;

Status wait_for_frames(MeasuredProgram& program, const Referee& referee) {
    const auto start = TRY(referee());
    const auto deadline = Clock::now() + kLongestWindowStart;
    while (true) {
        const auto received = TRY(referee());
        if (received.frames >= start.frames + kFirstFrames) {
            return {};
        }
        if (!program.runs_after(kLookEvery)) {
            return fail(ErrorCode::kFailed, "it ended before it sent anything");
        }
        if (Clock::now() >= deadline) {
            return fail(ErrorCode::kUnavailable, "it sent nothing within {} s",
                        kLongestWindowStart.count());
        }
    }
}

bool runs_for(MeasuredProgram& program, std::chrono::nanoseconds length) {
    const auto end = Clock::now() + length;
    while (Clock::now() < end) {
        if (!program.runs_after(kLookEvery)) {
            return false;
        }
    }
    return true;
}

}  // namespace

Result<RateWindow> watch(MeasuredProgram& program, const Referee& referee,
                         std::chrono::nanoseconds window) {
    TRY(wait_for_frames(program, referee));
    bool ran = runs_for(program, kSettle);
    const auto before = referee();
    const auto from = Clock::now();
    ran = ran && runs_for(program, window);
    const auto after = referee();
    const std::chrono::duration<double> passed = Clock::now() - from;
    if (!before || !after) {
        return pass_on((before ? after : before).error());
    }
    if (!ran) {
        return fail(ErrorCode::kFailed, "it ended while its frames were counted");
    }
    const auto frames = static_cast<double>(after->frames - before->frames);
    const auto bytes = static_cast<double>(after->bytes - before->bytes);
    return RateWindow{.frames_per_second = frames / passed.count(),
                      .frame_bytes = frames > 0 ? bytes / frames : 0};
}

}  // namespace pathproof::bench
