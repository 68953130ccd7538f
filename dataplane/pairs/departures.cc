#include "dataplane/pairs/departures.h"

#include <algorithm>
#include <cmath>

namespace pathproof::pairs {
namespace {

std::int64_t quantile(std::vector<std::int64_t>& values, double share) {
    if (values.empty()) {
        return 0;
    }
    const auto rank = static_cast<std::size_t>(
        std::max(0.0, std::ceil(share * static_cast<double>(values.size())) - 1));
    const auto place = values.begin() + static_cast<std::ptrdiff_t>(rank);
    std::ranges::nth_element(values, place);
    return *place;
}

std::vector<std::int64_t> skews(std::span<const std::int64_t> sent_ns) {
    std::vector<std::int64_t> found;
    found.reserve(sent_ns.size() / 2);
    for (std::size_t n = 0; n + 1 < sent_ns.size(); n += 2) {
        if (sent_ns[n] >= 0 && sent_ns[n + 1] >= 0) {
            found.push_back(sent_ns[n + 1] - sent_ns[n]);
        }
    }
    return found;
}

}  // namespace

std::vector<std::int64_t> deadlines(const PairPlan& plan, std::int64_t began_ns,
                                    std::span<const std::int64_t> sent_ns) {
    std::vector<std::int64_t> due(sent_ns.size());
    for (std::size_t pair = 0; 2 * pair + 1 < due.size(); ++pair) {
        const double behind = static_cast<double>(pair) * 1e9 / plan.pairs_per_second;
        const std::int64_t first = began_ns + static_cast<std::int64_t>(behind);
        const std::int64_t left = sent_ns[2 * pair];
        const bool in_turn = plan.departure == Departure::kInTurn && left != kNeverSent;
        due[2 * pair] = first;
        due[2 * pair + 1] = (in_turn ? left : first) + plan.skew.count();
    }
    return due;
}

judge::Departures summarize_departures(std::span<const std::int64_t> sent_ns,
                                       std::span<const std::int64_t> deadline_ns,
                                       std::uint64_t refused) {
    judge::Departures summary;
    summary.refused = refused;
    for (std::size_t n = 0; n < sent_ns.size(); ++n) {
        if (sent_ns[n] < 0) {
            continue;
        }
        ++summary.sent;
        const std::int64_t late = sent_ns[n] - deadline_ns[n];
        summary.late += late > kLateNs ? 1 : 0;
        summary.worst_late_ns = std::max(summary.worst_late_ns, late);
    }
    std::vector<std::int64_t> apart = skews(sent_ns);
    summary.skew_p50_ns = quantile(apart, 0.5);
    summary.skew_p99_ns = quantile(apart, 0.99);
    return summary;
}

}  // namespace pathproof::pairs
