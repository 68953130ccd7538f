// Chooses the next trial for one goal. The goal is approached over coarser targets, whose bounds
// are where the next target looks first.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <vector>

#include "dataplane/search/goal.h"
#include "dataplane/search/load_book.h"
#include "dataplane/search/load_grid.h"

namespace pathproof::search {

struct Target {
    Criteria criteria;
    int width = 1;  // steps of the grid
};

// The targets of a goal, coarsest first; the last is the goal itself.
std::vector<Target> targets_of(const Goal& goal, const LoadGrid& grid);

struct Nomination {
    int load = 0;
    Nanoseconds duration{};
    int step = 1;  // width at which the search works that names this trial
};

class Focus {
  public:
    // `hints`: two loads between which the first trials put the bounds.
    Focus(const Goal& goal, const LoadGrid& grid, RelevantBounds hints);

    // The trial that brings the goal nearer; nothing when it is reached, or cannot be within the
    // grid's loads. `common_step` is the width at which the goals together work: steps towards a
    // missing bound are at least so long, lest two goals that go the same way take turns with small
    // ones.
    std::optional<Nomination> nominate(const LoadBook& book, int common_step);
    // The last nomination was measured; gives the common step after it.
    int measured(const LoadBook& book);

  private:
    enum class Reach : std::uint8_t { kNowhere, kUp, kDown };

    const Target& target() const { return targets_[at_]; }
    std::optional<int> wanted(const RelevantBounds& bounds);
    std::optional<int> halve(const RelevantBounds& bounds);
    std::optional<int> confirm(std::optional<int> hint, const RelevantBounds& bounds);
    std::optional<int> above(const RelevantBounds& bounds);
    std::optional<int> below(const RelevantBounds& bounds);
    int between(const RelevantBounds& bounds);
    bool worth(int load, const RelevantBounds& bounds) const;
    void look_between(const RelevantBounds& hints);
    // The next step of a search for a missing bound, after one of `width` had its answer.
    void limit_step(int width) {
        step_ = std::max(width, target().width) * static_cast<int>(expansion_);
    }
    // Returns the step of the search for a missing bound, within the grid.
    int reach_step() const { return std::min(std::max(step_, common_step_), top_); }

    unsigned expansion_;
    int top_;
    std::vector<Target> targets_;
    std::size_t at_ = 0;
    RelevantBounds hints_;
    int step_ = 1;       // of this goal's search for a bound that is missing
    int worked_at_ = 1;  // width of what the last nomination does
    int common_step_ = 0;
    Reach reach_ = Reach::kNowhere;
    Nomination nominated_;
};

}  // namespace pathproof::search
