#include "dataplane/load/receiver.h"

#include <rte_mbuf.h>

#include <array>

namespace pathproof::load {

std::uint16_t Receiver::turn(Intake& intake, std::uint16_t most) noexcept {
    std::array<rte_mbuf*, kBurst> frames;
    const std::uint16_t count = port_->rx_burst(queue_, frames.data(), most);
    if (count == 0) {
        return 0;
    }
    const auto now_ns = static_cast<std::uint64_t>(clock_.now_ns());
    intake.take({frames.data(), count}, number_, now_ns);
    rte_pktmbuf_free_bulk(frames.data(), count);
    return count;
}

}  // namespace pathproof::load
