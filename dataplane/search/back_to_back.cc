#include "dataplane/search/back_to_back.h"

#include <algorithm>
#include <cmath>

namespace pathproof::search {
namespace {

enum class Outcome : std::uint8_t { kPassed, kLost, kNoMoreTrials };

class Bursts {
  public:
    Bursts(const BurstPlan& plan, Trials& trials, const std::function<void(Nanoseconds)>& pause)
        : plan_(plan), trials_(trials), pause_(pause) {}

    Status run() {
        while (result_.tests.size() < plan_.tests) {
            const auto one = TRY(test());
            if (!one) {
                return {};
            }
            result_.tests.push_back(*one);
        }
        return {};
    }

    BurstResult result() {
        BurstResult& into = result_;
        into.ending = trials_.ending();
        if (into.tests.empty()) {
            return into;
        }
        const auto count = static_cast<double>(into.tests.size());
        into.min = into.tests.front().frames;
        for (const BurstTest& test : into.tests) {
            into.average += static_cast<double>(test.frames) / count;
            into.min = std::min(into.min, test.frames);
            into.max = std::max(into.max, test.frames);
            into.saturated |= test.whole;
        }
        double squares = 0;
        for (const BurstTest& test : into.tests) {
            squares += std::pow(static_cast<double>(test.frames) - into.average, 2);
        }
        into.standard_deviation = count > 1 ? std::sqrt(squares / (count - 1)) : 0;
        into.burst_pps = rated_ == 0 ? 0 : rates_ / static_cast<double>(rated_);
        if (into.burst_pps > 0) {
            into.implied_buffer_seconds = into.average / into.burst_pps;
            const double forwarded = std::min(1.0, plan_.measured_throughput / into.burst_pps);
            into.corrected_buffer_seconds = into.implied_buffer_seconds * (1 - forwarded);
        }
        return into;
    }

  private:
    Result<Outcome> send(std::uint64_t frames) {
        for (unsigned attempt = 0; attempt < plan_.attempts; ++attempt) {
            pause_(plan_.idle);
            const auto trial = TRY(trials_.run({.load_pps = plan_.burst_pps, .frames = frames}));
            if (trial == nullptr) {
                return Outcome::kNoMoreTrials;
            }
            const TrialOutput& output = *trial;
            const bool passed = output.lost == 0 && output.sent == frames;
            const bool disturbed = !passed && !output.disturbance.empty();
            result_.doubtful |=
                output.tester_limit.empty() && (disturbed || !output.objection.empty());
            // Short bursts end before their rate can be told from their first gap.
            rates_ += output.offered_pps * static_cast<double>(frames);
            rated_ += frames;
            if (passed) {
                return Outcome::kPassed;
            }
            if (!output.tester_limit.empty()) {
                result_.tester_limit = output.tester_limit;
            }
        }
        return Outcome::kLost;
    }

    // Runs one test; returns nothing if there were no more trials before its end.
    Result<std::optional<BurstTest>> test() {
        BurstTest test;
        std::uint64_t passed = 0;
        std::uint64_t lost = plan_.longest + 1;
        std::uint64_t next = plan_.longest;
        while (lost - passed > plan_.resolution) {
            const auto outcome = TRY(send(next));
            if (outcome == Outcome::kNoMoreTrials) {
                return std::optional<BurstTest>();
            }
            ++test.bursts;
            (outcome == Outcome::kPassed ? passed : lost) = next;
            next = passed + (lost - passed) / 2;
        }
        test.frames = passed;
        test.whole = passed == plan_.longest;
        return std::optional<BurstTest>(test);
    }

    const BurstPlan& plan_;
    Trials& trials_;
    const std::function<void(Nanoseconds)>& pause_;
    BurstResult result_;
    double rates_ = 0;
    std::uint64_t rated_ = 0;
};

}  // namespace

Result<BurstResult> find_longest_burst(const BurstPlan& plan, Trials& trials,
                                       const std::function<void(Nanoseconds)>& pause) {
    if (plan.tests == 0 || plan.attempts == 0 || plan.resolution == 0 || plan.longest < 2) {
        return fail(ErrorCode::kBadInput,
                    "bursts need at least one test, one attempt, a resolution of one frame and a "
                    "longest burst of two");
    }
    Bursts bursts(plan, trials, pause);
    TRY(bursts.run());
    return bursts.result();
}

}  // namespace pathproof::search
