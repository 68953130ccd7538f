#include "dataplane/port/rss.h"

#include <rte_ethdev.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace pathproof::port {
namespace {

constexpr std::uint64_t kAddresses =
    RTE_ETH_RSS_IPV4 | RTE_ETH_RSS_FRAG_IPV4 | RTE_ETH_RSS_NONFRAG_IPV4_OTHER | RTE_ETH_RSS_IPV6 |
    RTE_ETH_RSS_FRAG_IPV6 | RTE_ETH_RSS_NONFRAG_IPV6_OTHER | RTE_ETH_RSS_IPV6_EX;
constexpr std::uint64_t kUdpPorts =
    RTE_ETH_RSS_NONFRAG_IPV4_UDP | RTE_ETH_RSS_NONFRAG_IPV6_UDP | RTE_ETH_RSS_IPV6_UDP_EX;
constexpr std::uint64_t kTcpPorts =
    RTE_ETH_RSS_NONFRAG_IPV4_TCP | RTE_ETH_RSS_NONFRAG_IPV6_TCP | RTE_ETH_RSS_IPV6_TCP_EX;

// Drivers without RSS whose queues all get frames: by PACKET_FANOUT_HASH (af_packet), the kernel's
// flow hash (tap), the interface's own queues (af_xdp), a ring or file each, the far side's choice.
constexpr std::array<std::string_view, 10> kSpreadBySelf = {
    "net_af_packet", "net_af_xdp", "net_tap",    "net_ring",        "net_null",
    "net_memif",     "net_vhost",  "net_virtio", "net_virtio_user", "net_pcap"};

std::vector<std::uint8_t> symmetric_key(std::size_t bytes) {
    std::vector<std::uint8_t> key(bytes);
    for (std::size_t at = 0; at < bytes; ++at) {
        key[at] = at % 2 == 0 ? 0x6d : 0x5a;
    }
    return key;
}

}  // namespace

Result<RssSetup> choose_rss(const PortConfig& config, const rte_eth_dev_info& device) {
    if (config.rx_queues <= 1) {
        return RssSetup{};
    }
    const std::uint64_t offered = device.flow_type_rss_offloads;
    const std::uint64_t functions = offered & (kAddresses | kUdpPorts | kTcpPorts);
    if (functions == 0) {
        if (std::ranges::find(kSpreadBySelf, std::string_view(device.driver_name)) !=
            kSpreadBySelf.end()) {
            return RssSetup{};
        }
        return fail(ErrorCode::kNotSupported,
                    "port {} ({}, driver {}) cannot spread frames over {} receive queues: it "
                    "offers no RSS. Open one queue, and more ports or a faster core instead",
                    config.name, config.device, device.driver_name, config.rx_queues);
    }
    // Hash the outer headers of a tunnelled frame, where the device offers that choice.
    return RssSetup{.hash_functions = functions | (offered & RTE_ETH_RSS_LEVEL_OUTERMOST),
                    .key = symmetric_key(device.hash_key_size)};
}

}  // namespace pathproof::port
