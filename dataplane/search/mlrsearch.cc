#include "dataplane/search/mlrsearch.h"

#include <algorithm>
#include <cmath>

#include "dataplane/search/focus.h"

namespace pathproof::search {
namespace {

std::vector<double> widths(const MlrPlan& plan) {
    std::vector<double> each;
    for (const Goal& goal : plan.goals) {
        each.push_back(goal.relative_width);
    }
    return each;
}

// Enough trials of the first targets to say where to begin: the greatest load, then what the device
// forwarded of it.
class Opening {
  public:
    explicit Opening(const MlrPlan& plan) {
        for (const Goal& goal : plan.goals) {
            loss_ = std::min(loss_, goal.criteria.loss_ratio);
            duration_ = std::max(duration_, goal.initial_trial_duration);
        }
    }
    Nanoseconds duration() const { return duration_; }
    // All load beyond what it carries is taken for lost: what the goal with the least loss could be
    // met at.
    double carried(double load, double loss) const { return load * (1 - loss) / (1 - loss_); }
    bool low(double loss) const { return loss <= loss_; }

  private:
    double loss_ = 1;
    Nanoseconds duration_{};
};

// Returns the least basis of the trials' loss ratios: the offered load, or the intended one where
// the tester was the limit.
double loss_basis(double load_pps, std::span<const TrialRecord> trials) {
    double least = load_pps;
    for (const TrialRecord& trial : trials) {
        least = trial.tester_limited ? least : std::min(least, trial.offered_pps);
    }
    return least;
}

class Search {
  public:
    Search(const MlrPlan& plan, Trials& trials)
        : plan_(plan), trials_(trials), grid_(plan.min_load_pps, plan.max_load_pps, widths(plan)) {}

    Status run() {
        if (plan_.warm_up > Nanoseconds(0)) {
            TRY(trials_.run({.load_pps = plan_.max_load_pps, .duration = plan_.warm_up}));
        }
        const auto hints = TRY(open());
        if (hints) {
            TRY(pursue(*hints));
        }
        return close();
    }

    MlrResult result() const {
        MlrResult result{.ending = trials_.ending()};
        for (std::size_t goal = 0; goal < plan_.goals.size(); ++goal) {
            result.goals.push_back(goal_result(goal));
        }
        return result;
    }

  private:
    struct Closing {
        unsigned run = 0;
        unsigned failed = 0;
    };

    // Loss ratio of a trial at this load; nothing when there are no more trials.
    Result<std::optional<double>> measure(int load, Nanoseconds duration) {
        const auto trial = TRY(trials_.run({.load_pps = grid_.pps(load), .duration = duration}));
        if (trial == nullptr) {
            return std::optional<double>();
        }
        book_.add(load, record_of(*trial));
        return std::optional<double>(trial->loss_ratio());
    }

    Result<std::optional<RelevantBounds>> open() {
        using Hints = std::optional<RelevantBounds>;
        const Opening opening(plan_);
        const int width = widest_first_target();
        const auto first = TRY(measure(grid_.top(), opening.duration()));
        if (!first) {
            return Hints();
        }
        const int carried = grid_.floor(opening.carried(plan_.max_load_pps, *first));
        if (carried >= grid_.top()) {
            return Hints({grid_.top(), grid_.top()});
        }
        const int second_load = std::clamp(grid_.top() - width, 0, carried);
        const auto second = TRY(measure(second_load, opening.duration()));
        if (!second) {
            return Hints();
        }
        const int third_load =
            opening.low(*second)
                ? std::min(second_load + width, grid_.top())
                : std::min(grid_.floor(opening.carried(grid_.pps(second_load), *second)),
                           std::max(0, second_load - width));
        if (third_load == grid_.top() || third_load == second_load) {
            return Hints({second_load, second_load});
        }
        const auto third = TRY(measure(third_load, opening.duration()));
        if (!third) {
            return Hints();
        }
        return Hints({std::min(second_load, third_load), std::max(second_load, third_load)});
    }

    // Every goal names a trial; the least load is measured first, since it can settle most, and of
    // equal loads the longest trial.
    Status pursue(RelevantBounds hints) {
        for (const Goal& goal : plan_.goals) {
            foci_.emplace_back(goal, grid_, hints);
        }
        int common_step = *hints.upper - *hints.lower;
        for (;;) {
            Focus* winner = nullptr;
            Nomination best;
            for (Focus& focus : foci_) {
                const auto named = focus.nominate(book_, common_step);
                if (!named) {
                    continue;
                }
                if (winner == nullptr || named->load < best.load ||
                    (named->load == best.load && named->duration > best.duration)) {
                    winner = &focus;
                    best = *named;
                }
            }
            if (winner == nullptr) {
                return {};
            }
            const auto loss = TRY(measure(best.load, best.duration));
            if (!loss) {
                return {};
            }
            common_step = winner->measured(book_);
        }
    }

    // Asks the lower bounds once more, after the device had time to drift. These trials stand
    // beside the search's own: they say whether its result still holds.
    Status close() {
        closing_.resize(plan_.goals.size());
        if (trials_.ending() != Ending::kNone) {
            return {};
        }
        for (std::size_t goal = 0; goal < plan_.goals.size(); ++goal) {
            TRY(close(goal));
        }
        return {};
    }

    Status close(std::size_t goal) {
        const Criteria& criteria = plan_.goals[goal].criteria;
        const std::optional<int> lower = book_.bounds(criteria).lower;
        Closing& closing = closing_[goal];
        while (lower && closing.run < plan_.closing_trials) {
            const auto trial = TRY(
                trials_.run({.load_pps = grid_.pps(*lower), .duration = criteria.trial_duration}));
            if (trial == nullptr) {
                return {};
            }
            ++closing.run;
            closing.failed += trial->loss_ratio() > criteria.loss_ratio ? 1 : 0;
            if (closing.failed == 0 || failed(closing, criteria)) {
                return {};
            }
        }
        return {};
    }

    bool failed(const Closing& closing, const Criteria& criteria) const {
        return closing.failed > criteria.exceed_ratio * plan_.closing_trials;
    }

    int widest_first_target() const {
        int width = 1;
        for (const Goal& goal : plan_.goals) {
            width = std::max(width, targets_of(goal, grid_).front().width);
        }
        return width;
    }

    GoalResult goal_result(std::size_t goal) const {
        GoalResult result{.goal = plan_.goals[goal]};
        const Criteria& criteria = result.goal.criteria;
        const RelevantBounds bounds = book_.bounds(criteria);
        if (bounds.lower) {
            const std::span<const TrialRecord> trials = book_.at(*bounds.lower);
            result.lower = describe(grid_.pps(*bounds.lower), criteria, trials);
            result.conditional_throughput_pps = loss_basis(grid_.pps(*bounds.lower), trials) *
                                                (1 - quantile_loss_ratio(criteria, trials));
        }
        if (bounds.upper) {
            result.upper = describe(grid_.pps(*bounds.upper), criteria, book_.at(*bounds.upper));
            result.limit = limit_of(criteria, book_.at(*bounds.upper));
        }
        if (const auto inversion = book_.inversion(criteria)) {
            result.passes_again_pps = grid_.pps(*inversion);
        }
        result.closing_run = closing_[goal].run;
        result.closing_failed = closing_[goal].failed;
        add_irregularities(result, bounds, grid_.width(result.goal.relative_width));
        return result;
    }

    void add_irregularities(GoalResult& result, const RelevantBounds& bounds, int width) const {
        if (bounds.upper == 0) {
            result.irregularities.push_back(Irregularity::kMinLoadFails);
        } else if (bounds.lower == grid_.top()) {
            result.irregularities.push_back(Irregularity::kMaxLoadPasses);
        } else if (!bounds.lower || !bounds.upper || *bounds.upper - *bounds.lower > width) {
            result.irregularities.push_back(Irregularity::kNotConverged);
        }
        if (failed({result.closing_run, result.closing_failed}, result.goal.criteria)) {
            result.irregularities.push_back(Irregularity::kDidNotHold);
        }
    }

    const MlrPlan& plan_;
    Trials& trials_;
    LoadGrid grid_;
    LoadBook book_;
    std::vector<Focus> foci_;
    std::vector<Closing> closing_;
};

}  // namespace

const char* name(Irregularity irregularity) {
    switch (irregularity) {
        case Irregularity::kMinLoadFails: return "the least load fails";
        case Irregularity::kMaxLoadPasses: return "the greatest load passes";
        case Irregularity::kNotConverged: return "bounds not converged";
        case Irregularity::kDidNotHold: return "lower bound did not hold at the end";
    }
    return "?";
}

Status check(const MlrPlan& plan) {
    if (plan.goals.empty()) {
        return fail(ErrorCode::kBadInput, "a search needs at least one goal");
    }
    for (const Goal& goal : plan.goals) {
        TRY(check(goal));
    }
    return check_loads(plan.min_load_pps, plan.max_load_pps);
}

Result<MlrResult> mlr_search(const MlrPlan& plan, Trials& trials) {
    TRY(check(plan));
    Search search(plan, trials);
    TRY(search.run());
    return search.result();
}

Nanoseconds usual_time(const MlrPlan& plan) {
    // A steady device needs most of the sum at two loads, or half of it where the exceed ratio
    // allows that; the targets before cost about as much again.
    double whole = 0;
    for (const Goal& goal : plan.goals) {
        const double sum = seconds(goal.criteria.duration_sum);
        whole += 2 * sum + 8 * seconds(goal.initial_trial_duration);
    }
    return Nanoseconds(static_cast<std::int64_t>(whole * 1e9));
}

}  // namespace pathproof::search
