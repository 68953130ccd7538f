#include "harness/netfilter/entry.h"

#include <algorithm>

namespace pathproof::netfilter {

Tuple turned(Tuple tuple) {
    std::swap(tuple.source, tuple.destination);
    return tuple;
}

const char* name(EventKind kind) {
    switch (kind) {
        case EventKind::kNew: return "NEW";
        case EventKind::kUpdate: return "UPDATE";
        case EventKind::kDestroy: return "DESTROY";
    }
    return "UPDATE";
}

std::uint64_t CpuStats::value(std::string_view counter) const {
    const auto found = std::ranges::find(counters, counter, &decltype(counters)::value_type::first);
    return found == counters.end() ? 0 : found->second;
}

bool CpuStats::has(std::string_view counter) const {
    return std::ranges::count(counters, counter, &decltype(counters)::value_type::first) != 0;
}

std::uint64_t total(const std::vector<CpuStats>& stats, std::string_view counter) {
    std::uint64_t sum = 0;
    for (const CpuStats& cpu : stats) {
        sum += cpu.value(counter);
    }
    return sum;
}

CpuStats summed(const std::vector<CpuStats>& stats) {
    CpuStats sum = stats.front();
    for (auto& [counter, value] : sum.counters) {
        value = total(stats, counter);
    }
    return sum;
}

std::vector<CpuStats> delta(const std::vector<CpuStats>& before,
                            const std::vector<CpuStats>& after) {
    std::vector<CpuStats> change = after;
    for (CpuStats& cpu : change) {
        const auto earlier = std::ranges::find(before, cpu.cpu, &CpuStats::cpu);
        if (earlier == before.end()) {
            continue;
        }
        for (auto& [counter, value] : cpu.counters) {
            // CTA_STATS_* are 32 bits wide: a counter that wrapped is ahead all the same.
            value = static_cast<std::uint32_t>(value - earlier->value(counter));
        }
    }
    return change;
}

}  // namespace pathproof::netfilter
