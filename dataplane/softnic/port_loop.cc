#include "dataplane/softnic/port_loop.h"

#include <rte_cycles.h>
#include <rte_pause.h>

#include <ctime>

namespace pathproof::softnic {

void Rest::idle() noexcept {
    ++polls_;
    if (polls_ < 32) {
        rte_pause();
        return;
    }
    const timespec pause{.tv_sec = 0, .tv_nsec = polls_ < 250 ? 20'000 : 50'000};
    clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, nullptr);
}

std::uint16_t send_patiently(port::Port& port, std::span<rte_mbuf*> frames) noexcept {
    const std::uint64_t patience = rte_get_tsc_hz() / 1000;
    std::uint16_t sent = 0;
    std::uint64_t since = 0;
    while (true) {
        sent = static_cast<std::uint16_t>(
            sent + port.tx_burst(0, frames.data() + sent,
                                 static_cast<std::uint16_t>(frames.size() - sent)));
        if (sent == frames.size()) {
            break;
        }
        const std::uint64_t now = rte_rdtsc();
        since = since == 0 ? now : since;
        if (now - since > patience) {
            break;
        }
        rte_pause();
    }
    return sent;
}

port::PortCounters difference(const port::PortCounters& before, const port::PortCounters& after) {
    return {.rx_packets = after.rx_packets - before.rx_packets,
            .tx_packets = after.tx_packets - before.tx_packets,
            .rx_missed = after.rx_missed - before.rx_missed,
            .rx_no_mbuf = after.rx_no_mbuf - before.rx_no_mbuf,
            .rx_errors = after.rx_errors - before.rx_errors,
            .tx_errors = after.tx_errors - before.tx_errors,
            .tx_refused = after.tx_refused - before.tx_refused};
}

}  // namespace pathproof::softnic
