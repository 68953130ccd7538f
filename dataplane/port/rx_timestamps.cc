#include "dataplane/port/rx_timestamps.h"

#include <rte_cycles.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <rte_mbuf_dyn.h>

#include <chrono>
#include <thread>

namespace pathproof::port {
namespace {

// Reading the device's clock crosses the bus: the middle of the call is when it was.
std::optional<ClockPair> read_both_clocks(std::uint16_t id) {
    ClockPair pair;
    const std::uint64_t before = rte_get_tsc_cycles();
    if (rte_eth_read_clock(id, &pair.device) != 0) {
        return std::nullopt;
    }
    pair.tsc = before + (rte_get_tsc_cycles() - before) / 2;
    return pair;
}

Status has_offload(const Port& port) {
    rte_eth_dev_info device{};
    const bool able = rte_eth_dev_info_get(port.id(), &device) == 0 &&
                      (device.rx_offload_capa & RTE_ETH_RX_OFFLOAD_TIMESTAMP) != 0;
    if (!able) {
        return fail(ErrorCode::kNotSupported,
                    "port {}: driver {} gives no receive timestamps; latencies are taken when the "
                    "lcore reads a burst",
                    port.info().name, port.info().driver);
    }
    if ((port.config().rx_offloads & RTE_ETH_RX_OFFLOAD_TIMESTAMP) == 0) {
        return fail(ErrorCode::kNotSupported,
                    "port {} was opened without the receive offload TIMESTAMP", port.info().name);
    }
    return {};
}

}  // namespace

std::optional<ClockScale> ClockScale::between(const ClockPair& first, const ClockPair& second) {
    if (second.device <= first.device || second.tsc <= first.tsc) {
        return std::nullopt;
    }
    return ClockScale(second, static_cast<double>(second.tsc - first.tsc) /
                                  static_cast<double>(second.device - first.device));
}

Result<RxTimestamps> RxTimestamps::of(const Port& port) {
    TRY(has_offload(port));
    int offset = -1;
    std::uint64_t flag = 0;
    if (rte_mbuf_dyn_rx_timestamp_register(&offset, &flag) != 0) {
        return fail(ErrorCode::kFailed, "port {}: no room for timestamps in the frame buffers",
                    port.info().name);
    }
    const auto first = read_both_clocks(port.id());
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    const auto second = read_both_clocks(port.id());
    const auto scale = first && second ? ClockScale::between(*first, *second) : std::nullopt;
    if (!scale) {
        return fail(ErrorCode::kNotSupported,
                    "port {}: driver {} stamps frames but does not let its clock be read, so that "
                    "the stamps cannot be compared with departures",
                    port.info().name, port.info().driver);
    }
    return RxTimestamps(port.id(), offset, flag, *second, *scale);
}

std::optional<std::uint64_t> RxTimestamps::arrival_tsc(const rte_mbuf& frame) const noexcept {
    if ((frame.ol_flags & flag_) == 0) {
        return std::nullopt;
    }
    const auto* stamp = RTE_MBUF_DYNFIELD(&frame, offset_, const rte_mbuf_timestamp_t*);
    return scale_.tsc_of(*stamp);
}

void RxTimestamps::follow_clock() {
    const auto present = read_both_clocks(id_);
    const auto scale = present ? ClockScale::between(last_, *present) : std::nullopt;
    if (scale) {
        last_ = *present;
        scale_ = *scale;
    }
}

}  // namespace pathproof::port
