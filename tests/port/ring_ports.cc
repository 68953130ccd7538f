#include "tests/port/ring_ports.h"

#include <rte_eth_ring.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <rte_ring.h>

#include <array>
#include <boost/test/unit_test.hpp>
#include <cstring>

namespace pathproof::port {

namespace {

std::vector<rte_ring*> make_rings(const std::string& name, unsigned ring_size, unsigned queues) {
    std::vector<rte_ring*> rings;
    for (unsigned queue = 0; queue < queues; ++queue) {
        const std::string number = queue == 0 ? "" : std::to_string(queue);
        rings.push_back(rte_ring_create((name + number).c_str(), ring_size, SOCKET_ID_ANY, 0));
        BOOST_REQUIRE(rings.back() != nullptr);
    }
    return rings;
}

}  // namespace

RingPort RingPort::make(const std::string& name, unsigned ring_size, unsigned queues) {
    RingEnd end;
    end.in_ = make_rings(name + "_in", ring_size, queues);
    end.out_ = make_rings(name + "_out", ring_size, queues);
    end.pool_ = rte_pktmbuf_pool_create((name + "_end").c_str(), 2047, 0, 0, 4096, SOCKET_ID_ANY);
    BOOST_REQUIRE(end.pool_ != nullptr);
    const int id =
        rte_eth_from_rings(name.c_str(), end.in_.data(), queues, end.out_.data(), queues, 0);
    BOOST_REQUIRE(id >= 0);
    std::array<char, RTE_ETH_NAME_MAX_LEN> device{};
    BOOST_REQUIRE(rte_eth_dev_get_name_by_port(static_cast<std::uint16_t>(id), device.data()) == 0);
    const auto count = static_cast<std::uint16_t>(queues);
    auto port = Port::open({.name = name,
                            .device = device.data(),
                            .rx_queues = count,
                            .tx_queues = count,
                            .pool_mbufs = 4095});
    BOOST_REQUIRE_MESSAGE(port, port.error().message);
    return {std::move(*port), end};
}

void RingEnd::arrive(const std::vector<std::uint8_t>& frame, std::size_t queue) {
    rte_mbuf* mbuf = rte_pktmbuf_alloc(pool_);
    BOOST_REQUIRE(mbuf != nullptr);
    char* room = rte_pktmbuf_append(mbuf, static_cast<std::uint16_t>(frame.size()));
    BOOST_REQUIRE(room != nullptr);
    std::memcpy(room, frame.data(), frame.size());
    BOOST_REQUIRE(rte_ring_enqueue(in_[queue], mbuf) == 0);
}

bool RingEnd::all_taken(std::size_t queue) const {
    return rte_ring_empty(in_[queue]) == 1;
}

std::vector<std::vector<std::uint8_t>> RingEnd::left(std::size_t queue) {
    std::vector<std::vector<std::uint8_t>> frames;
    void* taken = nullptr;
    while (rte_ring_dequeue(out_[queue], &taken) == 0) {
        auto* mbuf = static_cast<rte_mbuf*>(taken);
        const auto* bytes = rte_pktmbuf_mtod(mbuf, const std::uint8_t*);
        frames.emplace_back(bytes, bytes + rte_pktmbuf_data_len(mbuf));
        rte_pktmbuf_free(mbuf);
    }
    return frames;
}

}  // namespace pathproof::port
