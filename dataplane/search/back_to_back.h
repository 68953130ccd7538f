// The longest burst that a device forwards whole: back-to-back frames of RFC 2544 (26.4) as RFC
// 9004 has it, with the buffer time that follows from it.
#pragma once

#include <vector>

#include "dataplane/search/trials.h"

namespace pathproof::search {

struct BurstPlan {
    double burst_pps = 0;               // 0: as fast as the tester can
    double measured_throughput = 0;     // frames per second, of the same frames: RFC 9004, 5
    std::uint64_t longest = 2'000'000;  // RFC 2544: 2 s at the rate of the medium, at least
    std::uint64_t resolution = 1;       // bursts are told apart by so many frames
    unsigned attempts = 2;              // binary search with loss verification (RFC 9004, 6.2)
    unsigned tests = 50;                // RFC 2544: at least; each gives one longest burst
    Nanoseconds idle = std::chrono::milliseconds(20);  // between bursts: the buffers run empty
};

struct BurstTest {
    std::uint64_t frames = 0;  // the longest burst without loss
    unsigned bursts = 0;       // sent to find it
    bool whole = false;        // the longest burst allowed passed: the device may hold more
};

struct BurstResult {
    std::vector<BurstTest> tests;
    double average = 0;  // frames, over the tests
    std::uint64_t min = 0;
    std::uint64_t max = 0;
    double standard_deviation = 0;
    double burst_pps = 0;  // what bursts left at, on average
    // RFC 9004, 6.4. Corrected: what was forwarded while the burst came in is taken off.
    double implied_buffer_seconds = 0;
    double corrected_buffer_seconds = 0;
    bool saturated = false;  // a test ended at the longest burst allowed
    bool doubtful = false;
    std::string tester_limit;  // of a burst that failed
    Ending ending = Ending::kNone;

    bool conclusive() const {
        return ending == Ending::kNone && !tests.empty() && !saturated && !doubtful &&
               tester_limit.empty();
    }
};

// Waits between bursts, by `pause` (tests wait in simulated time). Errors (kBadInput): no tests, no
// attempts, a resolution of 0, a longest burst below 2 frames.
Result<BurstResult> find_longest_burst(const BurstPlan& plan, Trials& trials,
                                       const std::function<void(Nanoseconds)>& pause);

}  // namespace pathproof::search
