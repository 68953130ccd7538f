#include "dataplane/port/counters.h"

namespace pathproof::port {
namespace {

constexpr std::uint64_t PortCounters::*kAll[] = {
    &PortCounters::rx_packets, &PortCounters::tx_packets,     &PortCounters::rx_missed,
    &PortCounters::rx_no_mbuf, &PortCounters::rx_errors,      &PortCounters::tx_errors,
    &PortCounters::tx_refused, &PortCounters::tx_by_interface};
static_assert(sizeof kAll / sizeof *kAll == sizeof(PortCounters) / sizeof(std::uint64_t));

}  // namespace

PortCounters difference(const PortCounters& before, const PortCounters& after) {
    PortCounters result = after;
    for (const auto counter : kAll) {
        result.*counter -= before.*counter;
    }
    return result;
}

PortCounters sum(const PortCounters& a, const PortCounters& b) {
    PortCounters result = a;
    for (const auto counter : kAll) {
        result.*counter += b.*counter;
    }
    return result;
}

}  // namespace pathproof::port
