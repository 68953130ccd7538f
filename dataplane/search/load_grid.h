// The loads a search may choose: steps of one ratio from the least load to the greatest. Steps are
// whole numbers, so that intervals are halved and doubled without rounding.
#pragma once

#include <span>

namespace pathproof::search {

class LoadGrid {
  public:
    // Fine enough that each of the relative widths is met by a whole number of steps to 1 %, and
    // never exceeded. 0 < least < greatest; widths above 0 and below 1.
    LoadGrid(double least_pps, double greatest_pps, std::span<const double> widths);

    int top() const { return top_; }  // the greatest load; the least is 0
    double pps(int step) const;
    // The last step whose load is not above `pps`; 0 when it is below the least.
    int floor(double pps) const;
    // Returns how many steps may lie between two loads whose relative distance must not exceed
    // this.
    int width(double relative) const;

  private:
    double least_;
    double greatest_;
    int top_ = 1;
    double unit_ = 0;  // natural logarithm of the ratio of two neighbours
};

// Returns where to split an interval of `whole` steps, counted from its lower end. A power of two
// times `width` is cut off, so that halving ends at the width itself. The lower part is the smaller
// one, because a lossy middle then saves more. `whole` is greater than `width`.
int split(int whole, int width);

}  // namespace pathproof::search
