#include "dataplane/search/trials.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace pathproof::search {
namespace {

Nanoseconds steady_now() {
    return std::chrono::steady_clock::now().time_since_epoch();
}

Budget with_clock(Budget budget) {
    if (!budget.now) {
        budget.now = steady_now;
    }
    return budget;
}

// A tester far below the load will not do better when asked again.
bool worth_repeating(const TrialOutput& trial) {
    constexpr double kClose = 0.95;
    if (trial.objection.empty()) {
        return false;
    }
    return trial.tester_limit.empty() ||
           static_cast<double>(trial.sent) >= kClose * trial.intended();
}

}  // namespace

const char* name(Ending ending) {
    switch (ending) {
        case Ending::kNone:
            return "complete";
        case Ending::kStopped:
            return "stopped";
        case Ending::kOutOfTime:
            return "out of time";
    }
    return "?";
}

Trials::Trials(Measurer& measurer, Budget budget, Observer observer)
    : measurer_(measurer),
      budget_(with_clock(std::move(budget))),
      observer_(std::move(observer)),
      began_(budget_.now()) {}

bool Trials::may_run(const TrialInput& input) {
    if (ending_ != Ending::kNone) {
        return false;
    }
    if (budget_.stop != nullptr && budget_.stop->load(std::memory_order_relaxed)) {
        ending_ = Ending::kStopped;
    } else if (spent() + input.whole_duration() > budget_.time) {
        ending_ = Ending::kOutOfTime;
    }
    return ending_ == Ending::kNone;
}

Result<const TrialOutput*> Trials::once(const TrialInput& input) {
    Result<TrialOutput> output = measurer_.measure(input);
    if (!output) {
        return pass_on(output.error());
    }
    log_.push_back(std::move(*output));
    if (observer_) {
        observer_(log_.back());
    }
    if (log_.back().partial) {
        ending_ = Ending::kStopped;
        return nullptr;
    }
    return &log_.back();
}

Result<const TrialOutput*> Trials::run(const TrialInput& input) {
    const TrialOutput* last = nullptr;
    for (unsigned n = 0; n <= budget_.repeats; ++n) {
        if (!may_run(input)) {
            return nullptr;
        }
        const auto trial = once(input);
        if (!trial || *trial == nullptr) {
            return trial;
        }
        last = *trial;
        if (!worth_repeating(*last)) {
            break;
        }
    }
    return last;
}

Overhead Trials::overhead() const {
    std::vector<double> each;
    for (const TrialOutput& trial : log_) {
        each.push_back(trial.overhead_seconds);
    }
    if (each.empty()) {
        return {};
    }
    std::sort(each.begin(), each.end());
    return {.min_seconds = each.front(),
            .median_seconds = each[each.size() / 2],
            .max_seconds = each.back()};
}

}  // namespace pathproof::search
