// A device whose loss is a known function of load, time and luck, and whose clock is simulated: a
// search over hours takes milliseconds.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "dataplane/search/trials.h"

namespace pathproof::search {

struct Moment {
    double load_pps = 0;
    double duration_s = 0;
    double at_s = 0;  // since the first trial began
    std::mt19937_64* luck = nullptr;
};

using LossFunction = std::function<double(const Moment&)>;

class SimulatedDevice : public Measurer {
  public:
    explicit SimulatedDevice(LossFunction loss, std::uint64_t seed = 1)
        : loss_(std::move(loss)), luck_(seed) {}

    Result<TrialOutput> measure(const TrialInput& input) override {
        const double duration = seconds(input.duration);
        const Moment moment{input.load_pps, duration, seconds(now_), &luck_};
        TrialOutput output{.input = input};
        output.sent = input.frames != 0
                          ? input.frames
                          : static_cast<std::uint64_t>(std::llround(input.load_pps * duration));
        output.offered_pps = input.load_pps * (1 - short_by);
        output.sent -= static_cast<std::uint64_t>(static_cast<double>(output.sent) * short_by);
        const double loss = std::clamp(loss_(moment), 0.0, 1.0);
        output.lost =
            static_cast<std::uint64_t>(std::llround(static_cast<double>(output.sent) * loss));
        if (tester_pps > 0 && input.load_pps > tester_pps) {
            limit(output, duration);
        }
        output.trial_seconds = duration + 0.004;
        output.overhead_seconds = 0.004;
        now_ += input.whole_duration();
        loads.push_back(input.load_pps);
        return output;
    }

    Budget budget() {
        Budget budget{.time = std::chrono::hours(1000)};
        budget.now = [this] { return now_; };
        return budget;
    }
    double elapsed_seconds() const { return seconds(now_); }
    std::size_t trials() const { return loads.size(); }

    double tester_pps = 0;  // not 0: all that the tester can send
    double short_by = 0;    // share of each load that is not sent, and tolerated
    std::vector<double> loads;

  private:
    void limit(TrialOutput& output, double duration) const {
        output.sent = static_cast<std::uint64_t>(std::llround(tester_pps * duration));
        output.lost = 0;
        output.offered_pps = tester_pps;
        output.tester_limit = "the tester sends no more";
    }

    LossFunction loss_;
    std::mt19937_64 luck_;
    Nanoseconds now_{};
};

inline constexpr double kCapacity = 1'234'567;

// Forwards all up to its capacity, and of more load its capacity.
inline double step_loss(const Moment& moment) {
    return moment.load_pps <= kCapacity ? 0 : 1 - kCapacity / moment.load_pps;
}

// Loses from 80 % of its capacity, 2 % at its capacity.
inline double sloped_loss(const Moment& moment) {
    constexpr double kKnee = 0.8 * kCapacity;
    if (moment.load_pps <= kKnee) {
        return 0;
    }
    const double way = (std::min(moment.load_pps, kCapacity) - kKnee) / (kCapacity - kKnee);
    return step_loss(moment) + 0.02 * way * way;
}
// Returns the load at which the sloped device loses this share.
inline double sloped_load_at(double loss) {
    return kCapacity * (0.8 + 0.2 * std::sqrt(loss / 0.02));
}

// Loses 0.1 % in some trials, the more often the nearer its capacity: in 60 % of those at it.
inline double noisy_loss(const Moment& moment) {
    const double often = std::min(1.0, 0.6 * std::pow(moment.load_pps / kCapacity, 8));
    std::uniform_real_distribution<double> share(0, 1);
    return step_loss(moment) + (share(*moment.luck) < often ? 0.001 : 0);
}
// Returns the load at which half of the noisy device's trials lose frames.
inline double noisy_load_at_half() {
    return kCapacity * std::pow(0.5 / 0.6, 1.0 / 8);
}

}  // namespace pathproof::search
