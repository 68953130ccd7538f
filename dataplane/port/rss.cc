#include "dataplane/port/rss.h"

#include <fmt/ranges.h>
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

struct Spreading {
    std::string_view driver;
    std::string_view how;
};
constexpr std::array kBySelf = {
    Spreading{"net_af_packet", "PACKET_FANOUT_HASH of the packet sockets"},
    Spreading{"net_af_xdp", "the interface's own receive queues"},
    Spreading{"net_tap", "the kernel's flow hash over the tap's queues"},
    Spreading{"net_ring", "one ring for each queue"},
    Spreading{"net_null", "the same empty frames on each queue"},
    Spreading{"net_memif", "one ring of the far side for each queue"},
    Spreading{"net_vhost", "the guest's choice of queue"},
    Spreading{"net_virtio", "the host's choice of queue"},
    Spreading{"net_virtio_user", "the host's choice of queue"},
    Spreading{"net_pcap", "one file or interface for each queue"},
};

std::vector<std::uint8_t> symmetric_key(std::size_t bytes) {
    std::vector<std::uint8_t> key(bytes);
    for (std::size_t at = 0; at < bytes; ++at) {
        key[at] = at % 2 == 0 ? 0x6d : 0x5a;
    }
    return key;
}

std::string describe(std::uint64_t functions) {
    std::vector<std::string_view> parts;
    if ((functions & kAddresses) != 0) {
        parts.push_back("IP addresses");
    }
    if ((functions & kUdpPorts) != 0) {
        parts.push_back("UDP ports");
    }
    if ((functions & kTcpPorts) != 0) {
        parts.push_back("TCP ports");
    }
    return fmt::format("RSS over {}", fmt::join(parts, ", "));
}

// How a driver without RSS feeds several queues, as a sentence; empty: it does not.
std::string_view own_spreading(std::string_view driver) {
    const auto* found = std::ranges::find(kBySelf, driver, &Spreading::driver);
    return found == kBySelf.end() ? std::string_view() : found->how;
}

}  // namespace

Result<RssSetup> choose_rss(const PortConfig& config, const rte_eth_dev_info& device) {
    if (config.rx_queues <= 1) {
        return RssSetup{};
    }
    const std::uint64_t offered = device.flow_type_rss_offloads;
    const std::uint64_t functions = offered & (kAddresses | kUdpPorts | kTcpPorts);
    if (functions == 0) {
        const std::string_view how = own_spreading(device.driver_name);
        if (how.empty()) {
            return fail(ErrorCode::kNotSupported,
                        "port {} ({}, driver {}) cannot spread frames over {} receive queues: it "
                        "offers no RSS. Open one queue, and more ports or a faster core instead",
                        config.name, config.device, device.driver_name, config.rx_queues);
        }
        return RssSetup{.hash_functions = 0, .key = {}, .description = std::string(how)};
    }
    // Of a tunnelled frame the outer headers, where that is a choice at all.
    return RssSetup{.hash_functions = functions | (offered & RTE_ETH_RSS_LEVEL_OUTERMOST),
                    .key = symmetric_key(device.hash_key_size),
                    .description = describe(functions)};
}

}  // namespace pathproof::port
