#include "dataplane/search/trials.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace pathproof::search {
namespace {

// A tester that cannot reach the load will not do better when asked again, and what lost nothing in
// spite of a disturbance will lose nothing without.
bool worth_repeating(const TrialOutput& trial, Use use) {
    if (!trial.tester_limit.empty()) {
        return trial.limited_by_stalls;
    }
    const bool matters = use == Use::kTimes || trial.lost != 0;
    return !trial.objection.empty() || (matters && !trial.disturbance.empty());
}

}  // namespace

const char* name(Ending ending) {
    switch (ending) {
        case Ending::kNone: return "complete";
        case Ending::kStopped: return "stopped";
        case Ending::kCutShort: return "cut short";
        case Ending::kOutOfTime: return "out of time";
    }
    return "?";
}

Trials::Trials(Measurer& measurer, Budget budget, Observer observer)
    : measurer_(measurer),
      budget_(std::move(budget)),
      observer_(std::move(observer)),
      began_(budget_.now()) {}

bool Trials::may_run(const TrialInput& input) {
    if (ending_ != Ending::kNone) {
        return false;
    }
    if (stopped_by_user()) {
        ending_ = Ending::kStopped;
    } else if (spent() + input.whole_duration() > budget_.time) {
        ending_ = Ending::kOutOfTime;
    }
    return ending_ == Ending::kNone;
}

void Trials::end_at(const TrialOutput& partial) {
    const bool by_itself = !stopped_by_user() && !partial.objection.empty();
    ending_ = by_itself ? Ending::kCutShort : Ending::kStopped;
    why_cut_short_ = by_itself ? partial.objection : std::string();
}

Result<const TrialOutput*> Trials::once(const TrialInput& input) {
    TrialOutput output = TRY(measurer_.measure(input));
    log_.push_back(std::move(output));
    if (observer_) {
        observer_(log_.back());
    }
    if (log_.back().partial) {
        end_at(log_.back());
        return nullptr;
    }
    return &log_.back();
}

Result<const TrialOutput*> Trials::run(const TrialInput& input, Use use) {
    const TrialOutput* last = nullptr;
    for (unsigned n = 0; n <= budget_.repeats; ++n) {
        if (!may_run(input)) {
            return nullptr;
        }
        last = TRY(once(input));
        if (last == nullptr || !worth_repeating(*last, use)) {
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
    std::ranges::sort(each);
    return {.min_seconds = each.front(),
            .median_seconds = each[each.size() / 2],
            .max_seconds = each.back()};
}

}  // namespace pathproof::search
