#include "dataplane/port/frame_pool.h"

#include <rte_errno.h>
#include <rte_mbuf.h>
#include <rte_mbuf_pool_ops.h>
#include <rte_mempool.h>
#include <rte_memzone.h>
#include <unistd.h>

#include <algorithm>

namespace pathproof::port {
namespace {

constexpr unsigned kCached = 256;  // mbufs for each lcore
// Not spread over memory channels: that adds to an object's size.
constexpr unsigned kFlags = RTE_MEMPOOL_F_NO_SPREAD;

std::uint32_t page_size() {
    return static_cast<std::uint32_t>(getpagesize());
}

std::uint32_t element_size() {
    rte_mempool_objsz size{};
    rte_mempool_calc_obj_size(sizeof(rte_mbuf), kFlags, &size);
    return page_size() - size.header_size;
}

void free_zone(rte_mempool_memhdr* /*chunk*/, void* zone) {
    rte_memzone_free(static_cast<const rte_memzone*>(zone));
}

// The objects of a pool that has none yet.
bool fill(rte_mempool& pool, int node) {
    rte_pktmbuf_pool_private about{
        .mbuf_data_room_size = page_pool_room(), .mbuf_priv_size = 0, .flags = 0};
    if (rte_mempool_set_ops_byname(&pool, rte_mbuf_best_mempool_ops(), nullptr) != 0) {
        return false;
    }
    rte_pktmbuf_pool_init(&pool, &about);
    const rte_memzone* const zone = rte_memzone_reserve_aligned(
        pool.name, std::size_t{pool.size} * page_size(), node, 0, page_size());
    if (zone == nullptr) {
        return false;
    }
    // The buffers need no IOVA: no device reads them by DMA of DPDK's.
    const int filled =
        rte_mempool_populate_iova(&pool, static_cast<char*>(zone->addr), RTE_BAD_IOVA, zone->len,
                                  free_zone, const_cast<rte_memzone*>(zone));
    if (filled <= 0) {
        rte_memzone_free(zone);
        rte_errno = -filled;
        return false;
    }
    rte_mempool_obj_iter(&pool, rte_pktmbuf_init, nullptr);
    return filled == static_cast<int>(pool.size);
}

}  // namespace

std::uint32_t frame_buffers_for(const PortConfig& config, std::size_t lcores) {
    constexpr std::uint32_t kPerLcore = 1024;
    const std::uint32_t descriptors = std::uint32_t{config.rx_queues} * config.rx_descriptors +
                                      std::uint32_t{config.tx_queues} * config.tx_descriptors;
    return std::max(PortConfig().pool_mbufs,
                    2 * descriptors + kPerLcore * static_cast<std::uint32_t>(lcores));
}

std::uint32_t memory_mib_for(std::uint64_t frame_buffers) {
    // EAL's own, rings, histograms of the lcores, the ports of a software NIC, longer frames.
    constexpr std::uint32_t kElse = 256;
    constexpr std::uint32_t kMostFrame = 4096;  // an af_packet slot behind its headers, rounded up
    return kElse + static_cast<std::uint32_t>(frame_buffers * kMostFrame >> 20);
}

rte_mempool* make_frame_pool(const std::string& name, std::uint32_t count, std::uint16_t room,
                             int node) {
    return rte_pktmbuf_pool_create(name.c_str(), count, kCached, 0, room, node);
}

std::uint16_t page_pool_room() {
    return static_cast<std::uint16_t>(element_size() - sizeof(rte_mbuf));
}

rte_mempool* make_page_pool(const std::string& name, std::uint32_t count, int node) {
    rte_mempool* const pool =
        rte_mempool_create_empty(name.c_str(), count, element_size(), kCached,
                                 sizeof(rte_pktmbuf_pool_private), node, kFlags);
    if (pool == nullptr || fill(*pool, node)) {
        return pool;
    }
    rte_mempool_free(pool);
    return nullptr;
}

}  // namespace pathproof::port
