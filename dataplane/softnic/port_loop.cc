#include "dataplane/softnic/port_loop.h"

#include <rte_cycles.h>
#include <rte_pause.h>

#include <ctime>

namespace pathproof::softnic {

void IdleWait::idle() noexcept {
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

}  // namespace pathproof::softnic
