// The buffers of a port's frames.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "dataplane/port/port.h"

struct rte_mempool;

namespace pathproof::port {

// Returns the number of mbufs for a port that `lcores` lcores serve: twice what can lie in the
// descriptors of all its queues, in bursts and in the lcores' caches at one time, and no fewer than
// PortConfig's own.
std::uint32_t frame_buffers_for(const PortConfig& config, std::size_t lcores);

// Returns the MiB that an EAL needs for ports with this number of mbufs in all, for
// EalOptions::memory_mib.
std::uint32_t memory_mib_for(std::uint64_t frame_buffers);

// The functions below make a pool of `count` mbufs on the NUMA node (SOCKET_ID_ANY: any), freed by
// rte_mempool_free(). nullptr: no memory; rte_errno says more.

// mbufs with a data room of `room` bytes, headroom included.
rte_mempool* make_frame_pool(const std::string& name, std::uint32_t count, std::uint16_t room,
                             int node);

// mbufs of a page each, headers included, in one piece without gaps. net_af_xdp gives the kernel
// the first `count` times an mbuf's size of a pool as its UMEM (xdp_umem_configure() of DPDK
// 22.11); DPDK's own pools leave gaps where an mbuf would cross a page, so that those at the end
// lie outside, and the kernel drops each frame sent from one without a word to the driver. Drivers
// that read frames themselves (zero-copy) take none that crosses a page.
rte_mempool* make_page_pool(const std::string& name, std::uint32_t count, int node);
// The data room of such mbufs, headroom included.
std::uint16_t page_pool_room();

}  // namespace pathproof::port
