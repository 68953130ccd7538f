#include "dataplane/port/extended_counters.h"

#include <rte_ethdev.h>

#include <algorithm>

namespace pathproof::port {

std::vector<NamedCounter> extended_counters(const Port& port) {
    const int most = rte_eth_xstats_get_names(port.id(), nullptr, 0);
    if (most <= 0) {
        return {};
    }
    const auto room = static_cast<unsigned>(most);
    std::vector<rte_eth_xstat_name> names(room);
    std::vector<rte_eth_xstat> values(room);
    // Both calls return a number beyond `room`, and nothing else, if counters were added meanwhile.
    if (rte_eth_xstats_get_names(port.id(), names.data(), room) != most ||
        rte_eth_xstats_get(port.id(), values.data(), room) != most) {
        return {};
    }
    std::vector<NamedCounter> counters;
    for (const rte_eth_xstat& value : values) {
        if (value.id < names.size()) {
            counters.push_back({names[value.id].name, value.value});
        }
    }
    return counters;
}

std::vector<NamedCounter> growth(std::span<const NamedCounter> before,
                                 std::span<const NamedCounter> after) {
    std::vector<NamedCounter> grown;
    for (const NamedCounter& counter : after) {
        const auto was = std::ranges::find(before, counter.name, &NamedCounter::name);
        const std::uint64_t start = was == before.end() ? 0 : was->value;
        if (counter.value > start) {
            grown.push_back({counter.name, counter.value - start});
        }
    }
    return grown;
}

}  // namespace pathproof::port
