#include "dataplane/search/focus.h"

#include <algorithm>
#include <cmath>

namespace pathproof::search {
namespace {

bool narrow(const RelevantBounds& bounds, int width) {
    return bounds.lower && bounds.upper && *bounds.upper - *bounds.lower <= width;
}

// The n-th of the targets before a goal: sums shrink by a constant factor to the first trial's
// duration.
Nanoseconds preceding_sum(const Goal& goal, unsigned n) {
    if (n == goal.preceding_targets) {
        return goal.initial_trial_duration;
    }
    const double whole = seconds(goal.criteria.duration_sum);
    const double share = seconds(goal.initial_trial_duration) / whole;
    const double sum = whole * std::pow(share, static_cast<double>(n) / goal.preceding_targets);
    return Nanoseconds(static_cast<std::int64_t>(sum * 1e9));
}

}  // namespace

std::vector<Target> targets_of(const Goal& goal, const LoadGrid& grid) {
    std::vector<Target> targets = {{goal.criteria, grid.width(goal.relative_width)}};
    for (unsigned n = 1; n <= goal.preceding_targets; ++n) {
        Target coarser = targets.back();
        coarser.width *= 2;
        coarser.criteria.duration_sum = preceding_sum(goal, n);
        coarser.criteria.trial_duration =
            std::min(goal.criteria.trial_duration, coarser.criteria.duration_sum);
        targets.push_back(coarser);
    }
    std::reverse(targets.begin(), targets.end());
    return targets;
}

Focus::Focus(const Goal& goal, const LoadGrid& grid, RelevantBounds hints)
    : expansion_(goal.expansion), top_(grid.top()), targets_(targets_of(goal, grid)) {
    look_between(hints);
}

// The target in hand begins here.
void Focus::look_between(const RelevantBounds& hints) {
    hints_ = hints;
    limit_step(hints_.lower && hints_.upper ? *hints_.upper - *hints_.lower : 0);
}

std::optional<Nomination> Focus::nominate(const LoadBook& book, int common_step) {
    common_step_ = common_step;
    for (;;) {
        const RelevantBounds bounds = book.bounds(target().criteria);
        reach_ = Reach::kNowhere;
        worked_at_ = target().width;
        if (const std::optional<int> load = wanted(bounds)) {
            nominated_ = {*load, target().criteria.trial_duration, worked_at_};
            return nominated_;
        }
        if (at_ + 1 == targets_.size()) {
            return {};
        }
        ++at_;
        look_between(bounds);
    }
}

std::optional<int> Focus::wanted(const RelevantBounds& bounds) {
    if (narrow(bounds, target().width)) {
        return {};
    }
    if (const auto middle = halve(bounds)) {
        return middle;
    }
    if (const auto low = confirm(hints_.lower, bounds)) {
        return low;
    }
    if (const auto high = confirm(hints_.upper, bounds)) {
        return high;
    }
    if (!bounds.upper) {
        return above(bounds);
    }
    return bounds.lower ? between(bounds) : below(bounds);
}

bool Focus::worth(int load, const RelevantBounds& bounds) const {
    return (!bounds.lower || load > *bounds.lower) && (!bounds.upper || load < *bounds.upper);
}

// The target before was reached at twice this one's width: its middle decides which of its two
// bounds has to be confirmed with this target's longer trials, so that the other need not be.
std::optional<int> Focus::halve(const RelevantBounds& bounds) {
    if (!hints_.lower || !hints_.upper) {
        return {};
    }
    const int whole = *hints_.upper - *hints_.lower;
    if (whole <= target().width || whole > 2 * target().width) {
        return {};
    }
    const int middle = *hints_.lower + split(whole, target().width);
    if (!worth(middle, bounds)) {
        return {};
    }
    limit_step(target().width);
    return middle;
}

std::optional<int> Focus::confirm(std::optional<int> hint, const RelevantBounds& bounds) {
    if (!hint || !worth(*hint, bounds)) {
        return {};
    }
    limit_step(target().width);
    return hint;
}

std::optional<int> Focus::above(const RelevantBounds& bounds) {
    const int from = bounds.lower.value_or(0);
    if (bounds.lower && from >= top_) {
        return {};
    }
    reach_ = Reach::kUp;
    worked_at_ = reach_step();
    const int load = from + std::min(worked_at_, top_ - from);
    return top_ - load < target().width ? top_ : load;
}

std::optional<int> Focus::below(const RelevantBounds& bounds) {
    if (*bounds.upper <= 0) {
        return {};
    }
    reach_ = Reach::kDown;
    worked_at_ = reach_step();
    const int load = *bounds.upper - std::min(worked_at_, *bounds.upper);
    return load < target().width ? 0 : load;
}

// Bisects; but where the goal is known to be near one end, goes out from that end in growing steps.
// The far bound may be a by-product of another goal's trials.
int Focus::between(const RelevantBounds& bounds) {
    const int low = *bounds.lower;
    const int high = *bounds.upper;
    const int middle = low + split(high - low, target().width);
    const int down = high - reach_step();
    const int up = low + reach_step();
    if (hints_.upper && middle < down && down < *hints_.upper) {
        reach_ = Reach::kDown;
        worked_at_ = reach_step();
        return down;
    }
    if (hints_.lower && *hints_.lower < up && up < middle) {
        reach_ = Reach::kUp;
        worked_at_ = reach_step();
        return up;
    }
    worked_at_ = std::min(middle - low, high - middle);
    limit_step(worked_at_);
    return middle;
}

int Focus::measured(const LoadBook& book) {
    const RelevantBounds bounds = book.bounds(target().criteria);
    const bool missed = (reach_ == Reach::kUp && bounds.lower == nominated_.load) ||
                        (reach_ == Reach::kDown && bounds.upper == nominated_.load);
    if (!missed) {
        return nominated_.step;
    }
    step_ = std::min(std::max(step_, nominated_.step), top_) * static_cast<int>(expansion_);
    return step_;
}

}  // namespace pathproof::search
