#include "harness/drops/summary.h"

#include <algorithm>
#include <map>

namespace pathproof::drops {

std::vector<DropCount> by_reason(const std::vector<DropCount>& counts) {
    std::map<std::string, std::uint64_t> packets;
    for (const DropCount& count : counts) {
        packets[count.reason] += count.packets;
    }
    std::vector<DropCount> reasons;
    for (const auto& [reason, number] : packets) {
        reasons.push_back({.reason = reason, .location = {}, .protocol = {}, .packets = number});
    }
    std::stable_sort(reasons.begin(), reasons.end(),
                     [](const DropCount& a, const DropCount& b) { return a.packets > b.packets; });
    return reasons;
}

}  // namespace pathproof::drops
