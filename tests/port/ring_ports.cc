#include "tests/port/ring_ports.h"

#include <rte_eth_ring.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <rte_ring.h>

#include <boost/test/unit_test.hpp>
#include <cstring>

namespace pathproof::port {

RingPort RingPort::make(const std::string& name) {
    rte_ring* in = rte_ring_create((name + "_in").c_str(), 2048, SOCKET_ID_ANY, 0);
    rte_ring* out = rte_ring_create((name + "_out").c_str(), 2048, SOCKET_ID_ANY, 0);
    BOOST_REQUIRE(in != nullptr && out != nullptr);
    const int id = rte_eth_from_rings(name.c_str(), &in, 1, &out, 1, 0);
    BOOST_REQUIRE(id >= 0);
    std::array<char, RTE_ETH_NAME_MAX_LEN> device{};
    BOOST_REQUIRE(rte_eth_dev_get_name_by_port(static_cast<std::uint16_t>(id), device.data()) == 0);
    auto port = Port::open({.name = name, .device = device.data()});
    BOOST_REQUIRE_MESSAGE(port, port.error().message);
    return {std::move(*port), in, out};
}

void RingPort::arrive(const std::vector<std::uint8_t>& frame) {
    rte_mbuf* mbuf = rte_pktmbuf_alloc(port_.pool());
    BOOST_REQUIRE(mbuf != nullptr);
    char* room = rte_pktmbuf_append(mbuf, static_cast<std::uint16_t>(frame.size()));
    BOOST_REQUIRE(room != nullptr);
    std::memcpy(room, frame.data(), frame.size());
    BOOST_REQUIRE(rte_ring_enqueue(in_, mbuf) == 0);
}

std::vector<std::vector<std::uint8_t>> RingPort::left() {
    std::vector<std::vector<std::uint8_t>> frames;
    void* taken = nullptr;
    while (rte_ring_dequeue(out_, &taken) == 0) {
        auto* mbuf = static_cast<rte_mbuf*>(taken);
        const auto* bytes = rte_pktmbuf_mtod(mbuf, const std::uint8_t*);
        frames.emplace_back(bytes, bytes + rte_pktmbuf_data_len(mbuf));
        rte_pktmbuf_free(mbuf);
    }
    return frames;
}

}  // namespace pathproof::port
