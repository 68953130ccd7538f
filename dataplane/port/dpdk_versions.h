// All that is written differently for different versions of DPDK, from 22.11 on. Elsewhere the code
// uses what all of them have.
#pragma once

#include <rte_mbuf.h>
#include <rte_pcapng.h>
#include <rte_version.h>

#include <cstdint>

namespace pathproof::port {

// Makes a port the next interface of a new file. To be called for each port, in their order: before
// DPDK 23.03 rte_pcapng_fdopen() adds them so by itself. False: it cannot be written.
inline bool add_interface([[maybe_unused]] rte_pcapng_t* file,
                          [[maybe_unused]] std::uint16_t port) {
#if RTE_VERSION >= RTE_VERSION_NUM(25, 11, 0, 0)
    return rte_pcapng_add_interface(file, port, DLT_EN10MB, nullptr, nullptr, nullptr) >= 0;
#elif RTE_VERSION >= RTE_VERSION_NUM(23, 3, 0, 0)
    return rte_pcapng_add_interface(file, port, nullptr, nullptr, nullptr) >= 0;
#else
    return true;
#endif
}

// The frame as a block of a pcapng file, without its interface and time: what stands in their
// places differs. nullptr: `pool` is exhausted.
inline rte_mbuf* packet_block(const rte_mbuf* frame, rte_mempool* pool,
                              rte_pcapng_direction direction) {
    constexpr std::uint32_t kQueue = 0;
#if RTE_VERSION >= RTE_VERSION_NUM(23, 11, 0, 0)
    return rte_pcapng_copy(frame->port, kQueue, frame, pool, UINT32_MAX, direction, nullptr);
#elif RTE_VERSION >= RTE_VERSION_NUM(23, 3, 0, 0)
    return rte_pcapng_copy(frame->port, kQueue, frame, pool, UINT32_MAX, 0, direction, nullptr);
#else
    return rte_pcapng_copy(frame->port, kQueue, frame, pool, UINT32_MAX, 0, direction);
#endif
}

}  // namespace pathproof::port
