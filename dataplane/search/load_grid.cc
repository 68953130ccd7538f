#include "dataplane/search/load_grid.h"

#include <algorithm>
#include <cmath>

namespace pathproof::search {
namespace {

constexpr double kStepsInWidth = 128;
// Rounding of logarithms must not make a load fall below its own step, nor an interval wider than
// asked for.
constexpr double kSlack = 1e-9;

// A relative width seen from the upper end, as a distance of logarithms.
double distance(double relative) {
    return -std::log1p(-relative);
}

}  // namespace

LoadGrid::LoadGrid(double least_pps, double greatest_pps, std::span<const double> widths)
    : least_(least_pps), greatest_(greatest_pps) {
    const double whole = std::log(greatest_ / least_);
    double finest = whole;
    for (const double width : widths) {
        finest = std::min(finest, distance(width));
    }
    top_ = std::max(1, static_cast<int>(std::ceil(whole / (finest / kStepsInWidth))));
    unit_ = whole / top_;
}

double LoadGrid::pps(int step) const {
    if (step >= top_) {
        return greatest_;
    }
    return step <= 0 ? least_ : least_ * std::exp(unit_ * step);
}

int LoadGrid::floor(double pps) const {
    if (!(pps > least_)) {
        return 0;
    }
    const double steps = std::log(pps / least_) / unit_;
    return steps >= top_ ? top_ : static_cast<int>(std::floor(steps + kSlack));
}

int LoadGrid::width(double relative) const {
    const double steps = std::floor(distance(relative) / unit_ * (1 - kSlack));
    return static_cast<int>(std::clamp(steps, 1.0, static_cast<double>(top_)));
}

int split(int whole, int width) {
    if (whole <= 2 * width) {
        return std::max(1, whole / 2);
    }
    int part = width;
    while (4 * part <= whole) {
        part *= 2;
    }
    return std::max(part, whole - 2 * part);
}

}  // namespace pathproof::search
