#include "harness/drops/summary.h"

#include <algorithm>
#include <functional>
#include <map>
#include <tuple>

namespace pathproof::drops {
namespace {

void most_first(std::vector<DropCount>& counts) {
    std::ranges::stable_sort(counts, std::greater(), &DropCount::packets);
}

auto kind(const DropCount& count) {
    return std::tie(count.reason, count.location, count.protocol, count.flow);
}

}  // namespace

const char* name(FlowState state) {
    switch (state) {
        case FlowState::kUntold: return "";
        case FlowState::kNone: return "no entry";
        case FlowState::kNew: return "new";
        case FlowState::kNewPastNat: return "new past NAT";
        case FlowState::kKnown: return "known";
    }
    return "";
}

std::vector<DropCount> by_reason(const std::vector<DropCount>& counts) {
    std::map<std::string, std::uint64_t> packets;
    for (const DropCount& count : counts) {
        packets[count.reason] += count.packets;
    }
    std::vector<DropCount> reasons;
    for (const auto& [reason, number] : packets) {
        reasons.push_back({.reason = reason, .location = {}, .protocol = {}, .packets = number});
    }
    most_first(reasons);
    return reasons;
}

std::vector<DropCount> growth(const std::vector<DropCount>& before,
                              const std::vector<DropCount>& after) {
    const auto less = [](const DropCount* a, const DropCount* b) { return kind(*a) < kind(*b); };
    std::map<const DropCount*, std::uint64_t, decltype(less)> earlier(less);
    for (const DropCount& count : before) {
        earlier[&count] += count.packets;
    }
    std::vector<DropCount> grown;
    for (const DropCount& count : after) {
        const auto known = earlier.find(&count);
        const std::uint64_t had = known == earlier.end() ? 0 : known->second;
        if (count.packets > had) {
            grown.push_back(count);
            grown.back().packets -= had;
        }
    }
    most_first(grown);
    return grown;
}

}  // namespace pathproof::drops
