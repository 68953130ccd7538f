// The counters that only this driver has (rte_eth_xstats): what a NIC says of itself beyond the
// common ones. They explain a loss; they never decide (DESIGN: a NIC counter alone never does).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "dataplane/port/port.h"

namespace pathproof::port {

struct NamedCounter {
    std::string name;  // as the driver gives it: "rx_crc_errors", "mac_local_errors"
    std::uint64_t value = 0;
    bool operator==(const NamedCounter&) const = default;
};

// All of them, in the driver's order; none if the driver has none. Not for the data path: some
// drivers ask the NIC's firmware.
std::vector<NamedCounter> extended_counters(const Port& port);

// Returns the growth between two readings of one port; counters that stood still are left out.
std::vector<NamedCounter> growth(std::span<const NamedCounter> before,
                                 std::span<const NamedCounter> after);

}  // namespace pathproof::port
