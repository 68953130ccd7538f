#include "dataplane/port/link_speed.h"

#include <rte_ethdev.h>

#include <filesystem>
#include <thread>

namespace pathproof::port {

bool wait_for_link(std::uint16_t id, std::chrono::milliseconds patience) {
    constexpr auto kLook = std::chrono::milliseconds(50);
    const auto until = std::chrono::steady_clock::now() + patience;
    for (;;) {
        rte_eth_link link{};
        if (rte_eth_link_get_nowait(id, &link) == 0 && link.link_status == RTE_ETH_LINK_UP) {
            return true;
        }
        if (std::chrono::steady_clock::now() + kLook > until) {
            return false;
        }
        std::this_thread::sleep_for(kLook);
    }
}

void describe_link(std::uint16_t id, PortInfo& info) {
    rte_eth_link link{};
    if (rte_eth_link_get_nowait(id, &link) != 0 || link.link_status != RTE_ETH_LINK_UP) {
        return;
    }
    info.link_mbps = link.link_speed == RTE_ETH_SPEED_NUM_UNKNOWN ? 0 : link.link_speed;
    info.duplex = link.link_duplex == RTE_ETH_LINK_FULL_DUPLEX ? PortInfo::Duplex::kFull
                                                               : PortInfo::Duplex::kHalf;
    info.speed = link.link_autoneg == RTE_ETH_LINK_AUTONEG ? PortInfo::Speed::kAgreed
                                                           : PortInfo::Speed::kFixed;
}

bool is_removed(std::uint16_t id, const std::string& device) {
    const bool on_bus = device.find(':') != std::string::npos;
    std::error_code none;
    return rte_eth_dev_is_removed(id) == 1 ||
           (on_bus && !std::filesystem::exists("/sys/bus/pci/devices/" + device, none));
}

}  // namespace pathproof::port
