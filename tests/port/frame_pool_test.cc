#include "dataplane/port/frame_pool.h"

#include <rte_mbuf.h>
#include <rte_mempool.h>
#include <unistd.h>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <vector>

#include "tests/port/eal_fixture.h"

using namespace pathproof::port;

namespace {

constexpr std::uint32_t kCount = 1000;

struct PagePool {
    PagePool() : pool((eal(), make_page_pool("whole_pages", kCount, SOCKET_ID_ANY))) {
        BOOST_REQUIRE(pool != nullptr);
    }
    ~PagePool() { rte_mempool_free(pool); }
    rte_mempool* const pool;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(frame_pool)

BOOST_AUTO_TEST_CASE(more_queues_and_lcores_have_more_buffers_and_memory) {
    BOOST_TEST(frame_buffers_for({}, 1) == PortConfig().pool_mbufs);
    BOOST_TEST(frame_buffers_for({.rx_queues = 3, .tx_queues = 3}, 2) == 2 * 6 * 1024u + 2048u);
    BOOST_TEST(memory_mib_for(2 * 8192) == 256u + 64u);
}

BOOST_AUTO_TEST_CASE(buffers_of_a_page_lie_one_behind_the_other_without_gaps) {
    const PagePool pages;
    const auto page = static_cast<std::uintptr_t>(getpagesize());
    BOOST_TEST(pages.pool->nb_mem_chunks == 1u);
    BOOST_TEST(pages.pool->populated_size == kCount);
    // net_af_xdp takes this size as the length of a buffer (xdp_umem_configure).
    BOOST_TEST(rte_mempool_calc_obj_size(pages.pool->elt_size, pages.pool->flags, nullptr) == page);

    std::vector<rte_mbuf*> all(kCount);
    BOOST_REQUIRE(rte_mempool_get_bulk(pages.pool, reinterpret_cast<void**>(all.data()), kCount) ==
                  0);
    std::ranges::sort(all);
    const std::uintptr_t first =
        reinterpret_cast<std::uintptr_t>(all.front()) - pages.pool->header_size;
    BOOST_TEST(first % page == 0u);
    for (std::uint32_t n = 0; n < kCount; ++n) {
        BOOST_REQUIRE(reinterpret_cast<std::uintptr_t>(all[n]) ==
                      first + n * page + pages.pool->header_size);
    }
    rte_mempool_put_bulk(pages.pool, reinterpret_cast<void**>(all.data()), kCount);
}

BOOST_AUTO_TEST_CASE(they_are_mbufs_with_room_for_the_rest_of_the_page) {
    const PagePool pages;
    rte_mbuf* const mbuf = rte_pktmbuf_alloc(pages.pool);
    BOOST_REQUIRE(mbuf != nullptr);
    BOOST_TEST(mbuf->buf_len == page_pool_room());
    BOOST_TEST(rte_pktmbuf_headroom(mbuf) == RTE_PKTMBUF_HEADROOM);
    BOOST_TEST(pages.pool->header_size + sizeof(rte_mbuf) + mbuf->buf_len ==
               static_cast<std::size_t>(getpagesize()));
    BOOST_TEST(rte_pktmbuf_append(mbuf, 3000) != nullptr);
    rte_pktmbuf_free(mbuf);
    BOOST_TEST(rte_mempool_full(pages.pool) == 1);
}

BOOST_AUTO_TEST_CASE(there_are_no_more_than_memory_has_room_for) {
    eal();
    BOOST_TEST(make_page_pool("too_many", 1'000'000, SOCKET_ID_ANY) == nullptr);
    BOOST_TEST(rte_mempool_lookup("too_many") == nullptr);
}

BOOST_AUTO_TEST_SUITE_END()
