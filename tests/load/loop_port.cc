#include "tests/load/loop_port.h"

#include <rte_eth_ring.h>
#include <rte_ethdev.h>
#include <rte_ring.h>

#include <array>
#include <boost/test/unit_test.hpp>
#include <vector>

namespace pathproof::load {

port::Port loop_port(const std::string& name, std::uint16_t queues, unsigned ring_size) {
    std::vector<rte_ring*> rings;
    for (std::uint16_t queue = 0; queue < queues; ++queue) {
        rings.push_back(rte_ring_create((name + std::to_string(queue)).c_str(), ring_size,
                                        SOCKET_ID_ANY, RING_F_SP_ENQ | RING_F_SC_DEQ));
        BOOST_REQUIRE(rings.back() != nullptr);
    }
    const int id = rte_eth_from_rings(name.c_str(), rings.data(), queues, rings.data(), queues, 0);
    BOOST_REQUIRE(id >= 0);
    std::array<char, RTE_ETH_NAME_MAX_LEN> device{};
    BOOST_REQUIRE(rte_eth_dev_get_name_by_port(static_cast<std::uint16_t>(id), device.data()) == 0);
    auto port = port::Port::open({.name = name,
                                  .device = device.data(),
                                  .rx_queues = queues,
                                  .tx_queues = queues,
                                  .pool_mbufs = 8191});
    BOOST_REQUIRE_MESSAGE(port, port.error().message);
    return std::move(*port);
}

}  // namespace pathproof::load
