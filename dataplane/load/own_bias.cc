#include "dataplane/load/own_bias.h"

#include <rte_cycles.h>
#include <rte_errno.h>
#include <rte_mbuf.h>
#include <rte_ring.h>

#include <algorithm>
#include <array>
#include <atomic>

#include "dataplane/base/owned.h"
#include "dataplane/load/sender.h"

namespace pathproof::load {
namespace {

constexpr unsigned kRounds = 1'001;
constexpr unsigned kRingSize = 128;

// Cycles from the stamp of `count` frames to the clock read behind their arrival; 0: no buffers.
Tsc once(Source& source, rte_mempool* pool, rte_ring* ring, std::uint16_t count) {
    std::array<rte_mbuf*, kMostInBurst> frames;
    if (rte_mempool_get_bulk(pool, reinterpret_cast<void**>(frames.data()), count) != 0) {
        return 0;
    }
    const Tsc stamp = rte_rdtsc();
    source.fill({frames.data(), count}, stamp & 0xffff'ffff'ffff);
    rte_ring_enqueue_bulk(ring, reinterpret_cast<void**>(frames.data()), count, nullptr);
    rte_ring_dequeue_bulk(ring, reinterpret_cast<void**>(frames.data()), count, nullptr);
    const Tsc read = rte_rdtsc();
    rte_pktmbuf_free_bulk(frames.data(), count);
    return read - stamp;
}

Result<std::vector<Tsc>> sorted_rounds(Source& source, rte_mempool* pool, rte_ring* ring,
                                       std::uint16_t count) {
    std::vector<Tsc> took(kRounds);
    for (Tsc& one : took) {
        one = once(source, pool, ring, count);
        if (one == 0) {
            return fail(ErrorCode::kFailed,
                        "no frame buffers to measure the tester's own share of "
                        "latencies with; give the port more");
        }
    }
    std::ranges::sort(took);
    return took;
}

}  // namespace

Result<OwnBias> measure_own_bias(Source& source, rte_mempool* pool, std::uint16_t burst,
                                 const traffic::TscClock& clock) {
    static std::atomic<unsigned> made = 0;
    const Owned<rte_ring, rte_ring_free> ring(
        rte_ring_create(fmt::format("own_bias_{}", made++).c_str(), kRingSize, SOCKET_ID_ANY,
                        RING_F_SP_ENQ | RING_F_SC_DEQ));
    if (!ring) {
        return fail(ErrorCode::kFailed,
                    "no ring to measure the tester's own share of latencies "
                    "with: {}",
                    rte_strerror(rte_errno));
    }
    const auto single = TRY(sorted_rounds(source, pool, ring.get(), 1));
    const auto whole = TRY(sorted_rounds(source, pool, ring.get(), burst));
    return OwnBias{.floor_ns = clock.nanoseconds(0, single.front()),
                   .single_ns = clock.nanoseconds(0, single[kRounds / 2]),
                   .burst_ns = clock.nanoseconds(0, whole[kRounds / 2])};
}

}  // namespace pathproof::load
