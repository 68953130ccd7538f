#include "dataplane/port/link_speed.h"

#include <rte_ethdev.h>

#include <filesystem>
#include <optional>
#include <thread>

namespace pathproof::port {
namespace {

std::optional<rte_eth_link> link_that_is_up(std::uint16_t id) {
    rte_eth_link link{};
    return rte_eth_link_get_nowait(id, &link) == 0 && link.link_status == RTE_ETH_LINK_UP
               ? std::optional(link)
               : std::nullopt;
}

}  // namespace

bool wait_for_link(std::uint16_t id, std::chrono::milliseconds patience) {
    constexpr auto kLook = std::chrono::milliseconds(50);
    const auto until = std::chrono::steady_clock::now() + patience;
    for (;;) {
        if (link_that_is_up(id)) {
            return true;
        }
        if (std::chrono::steady_clock::now() + kLook > until) {
            return false;
        }
        std::this_thread::sleep_for(kLook);
    }
}

std::uint32_t link_mbps(std::uint16_t id) {
    const auto link = link_that_is_up(id);
    return link && link->link_speed != RTE_ETH_SPEED_NUM_UNKNOWN ? link->link_speed : 0;
}

bool is_removed(std::uint16_t id, const std::string& device) {
    const bool on_bus = device.find(':') != std::string::npos;
    std::error_code none;
    return rte_eth_dev_is_removed(id) == 1 ||
           (on_bus && !std::filesystem::exists("/sys/bus/pci/devices/" + device, none));
}

}  // namespace pathproof::port
