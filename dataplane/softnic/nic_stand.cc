#include "dataplane/softnic/nic_stand.h"

#include <rte_errno.h>
#include <rte_eth_ring.h>
#include <rte_ethdev.h>
#include <rte_ring.h>

#include <array>

#include "dataplane/port/device.h"

namespace pathproof::softnic {
namespace {

constexpr unsigned kRingFrames = 1024;
// A super-frame in one buffer is handed over as such.
constexpr std::uint16_t kWholeSuperFrame = 65'535;
constexpr std::uint16_t kWholeFrame = 10'240;

// One direction of a cable between two ports.
Result<rte_ring*> make_ring(const char* name) {
    rte_ring* ring =
        rte_ring_create(name, kRingFrames, SOCKET_ID_ANY, RING_F_SP_ENQ | RING_F_SC_DEQ);
    if (ring == nullptr) {
        return fail(ErrorCode::kFailed, "{}: no ring '{}' ({}); give the tester more memory",
                    kSoftwareNicName, name, rte_strerror(rte_errno));
    }
    return ring;
}

struct Cable {
    rte_ring* there = nullptr;
    rte_ring* back = nullptr;
};

Result<Cable> make_cable(const std::string& name) {
    const auto there = TRY(make_ring((name + "_there").c_str()));
    const auto back = TRY(make_ring((name + "_back").c_str()));
    return Cable{there, back};
}

// `in` and `out` as the port's owner sees them.
Result<port::Port> make_port(const std::string& name, rte_ring* in, rte_ring* out,
                             port::PortConfig config) {
    const int id = rte_eth_from_rings(name.c_str(), &in, 1, &out, 1, 0);
    std::array<char, RTE_ETH_NAME_MAX_LEN> device{};
    if (id < 0 ||
        rte_eth_dev_get_name_by_port(static_cast<std::uint16_t>(id), device.data()) != 0) {
        return fail(ErrorCode::kFailed, "{}: no port of rings '{}' ({})", kSoftwareNicName, name,
                    rte_strerror(rte_errno));
    }
    config.name = name;
    config.device = device.data();
    return port::Port::open(config);
}

}  // namespace

std::uint64_t tx_capabilities() {
    return (port::kFrameTxOffloads & ~RTE_ETH_TX_OFFLOAD_IP_TNL_TSO) |
           RTE_ETH_TX_OFFLOAD_QINQ_INSERT;
}

std::uint64_t rx_capabilities() {
    return port::kFrameRxOffloads | RTE_ETH_RX_OFFLOAD_SCATTER;
}

Result<NicStand> NicStand::start(port::Eal& eal, unsigned worker, const NicLinkPlan& plan) {
    const Cable near_cable = TRY(make_cable("nic_near"));
    const Cable far_cable = TRY(make_cable("nic_far"));
    auto device = TRY(make_port("device", near_cable.back, near_cable.there,
                                {.pool_mbufs = 1023, .mbuf_bytes = kWholeSuperFrame}));
    auto far = TRY(make_port("far", far_cable.back, far_cable.there,
                             {.pool_mbufs = 1023, .mbuf_bytes = kWholeFrame}));
    auto link_a = TRY(make_port("link_a", near_cable.there, near_cable.back, {.pool_mbufs = 4095}));
    auto link_b = TRY(make_port("link_b", far_cable.there, far_cable.back, {.pool_mbufs = 4095}));
    std::vector<port::Port> inside;
    inside.push_back(std::move(link_a));
    inside.push_back(std::move(link_b));
    auto link = TRY(NicLink::start(eal, worker, std::span<port::Port, 2>(inside), plan));
    return NicStand{.inside = std::move(inside),
                    .link = std::move(link),
                    .device = std::move(device),
                    .far = std::move(far)};
}

}  // namespace pathproof::softnic
