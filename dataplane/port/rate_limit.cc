#include "dataplane/port/rate_limit.h"

#include <rte_errno.h>
#include <rte_ethdev.h>

namespace pathproof::port {
namespace {

// The argument is of 16 bits in DPDK 22.11.
int set(std::uint16_t id, std::uint16_t queue, std::uint32_t mbps) {
    return rte_eth_set_queue_rate_limit(id, queue, static_cast<std::uint16_t>(mbps));
}

// Asks the driver by setting no limit.
Status can_limit_rate(const Port& port) {
    switch (const int outcome = set(port.id(), 0, 0)) {
        case 0: return {};
        case -ENOTSUP:
            return fail(ErrorCode::kNotSupported,
                        "port {}: driver {} has no rate limit in hardware; the software paces",
                        port.info().name, port.info().driver);
        default:
            return fail(ErrorCode::kFailed, "port {}: rate limit in hardware: {}", port.info().name,
                        rte_strerror(-outcome));
    }
}

}  // namespace

Status limit_rate(Port& port, std::uint16_t queue, std::uint32_t mbps) {
    const PortInfo& info = port.info();
    if (queue >= port.config().tx_queues) {
        return fail(ErrorCode::kBadInput, "port {} has no transmit queue {}: {} are open",
                    info.name, queue, port.config().tx_queues);
    }
    if (mbps > UINT16_MAX || (info.link_mbps != 0 && mbps > info.link_mbps)) {
        return fail(ErrorCode::kBadInput,
                    "a limit of {} Mbit/s is more than port {} carries ({} Mbit/s) or DPDK can say "
                    "(65535)",
                    mbps, info.name, info.link_mbps);
    }
    TRY(can_limit_rate(port));
    if (const int outcome = set(port.id(), queue, mbps); outcome != 0) {
        return fail(ErrorCode::kFailed, "port {}: limit queue {} to {} Mbit/s: {}", info.name,
                    queue, mbps, rte_strerror(-outcome));
    }
    return {};
}

}  // namespace pathproof::port
