#include "dataplane/port/device.h"

#include <fmt/ranges.h>
#include <rte_dev.h>
#include <rte_devargs.h>
#include <rte_ethdev.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <optional>

#include "dataplane/base/file.h"
#include "dataplane/base/number.h"
#include "dataplane/port/emulated.h"

namespace pathproof::port {
namespace {

template <typename Name>
std::vector<std::string> names_of(std::uint64_t offloads, Name name) {
    std::vector<std::string> names;
    for (unsigned bit = 0; bit < 64; ++bit) {
        const std::uint64_t offload = std::uint64_t{1} << bit;
        if ((offloads & offload) != 0) {
            names.emplace_back(name(offload));
        }
    }
    return names;
}

std::string listed(const std::vector<std::string>& names) {
    return names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "));
}

bool is_emulated_device(const std::string& pci_address) {
    const std::string folder = "/sys/bus/pci/devices/" + pci_address + "/";
    return is_emulated(first_word(folder + "device"), first_word(folder + "subsystem_vendor"),
                       first_word(folder + "subsystem_device"));
}

// The number behind `key=` in the arguments that a virtual device was made with.
std::optional<std::uint32_t> argument(const rte_eth_dev_info& device, std::string_view key) {
    const rte_devargs* given = device.device != nullptr ? rte_dev_devargs(device.device) : nullptr;
    if (given == nullptr || given->args == nullptr) {
        return std::nullopt;
    }
    std::string_view rest = given->args;
    while (!rest.empty()) {
        const std::string_view word = rest.substr(0, rest.find(','));
        rest.remove_prefix(std::min(word.size() + 1, rest.size()));
        if (word.starts_with(key) && word.substr(key.size()).starts_with('=')) {
            std::string_view value = word.substr(key.size() + 1);
            return take_number<std::uint32_t>(value);
        }
    }
    return std::nullopt;
}

}  // namespace

const std::uint64_t kFrameTxOffloads =
    RTE_ETH_TX_OFFLOAD_VLAN_INSERT | RTE_ETH_TX_OFFLOAD_IPV4_CKSUM | RTE_ETH_TX_OFFLOAD_UDP_CKSUM |
    RTE_ETH_TX_OFFLOAD_TCP_CKSUM | RTE_ETH_TX_OFFLOAD_SCTP_CKSUM | RTE_ETH_TX_OFFLOAD_TCP_TSO |
    RTE_ETH_TX_OFFLOAD_UDP_TSO | RTE_ETH_TX_OFFLOAD_OUTER_IPV4_CKSUM |
    RTE_ETH_TX_OFFLOAD_OUTER_UDP_CKSUM | RTE_ETH_TX_OFFLOAD_VXLAN_TNL_TSO |
    RTE_ETH_TX_OFFLOAD_GRE_TNL_TSO | RTE_ETH_TX_OFFLOAD_IPIP_TNL_TSO |
    RTE_ETH_TX_OFFLOAD_GENEVE_TNL_TSO | RTE_ETH_TX_OFFLOAD_UDP_TNL_TSO |
    RTE_ETH_TX_OFFLOAD_IP_TNL_TSO | RTE_ETH_TX_OFFLOAD_MULTI_SEGS;
const std::uint64_t kFrameRxOffloads =
    RTE_ETH_RX_OFFLOAD_IPV4_CKSUM | RTE_ETH_RX_OFFLOAD_UDP_CKSUM | RTE_ETH_RX_OFFLOAD_TCP_CKSUM |
    RTE_ETH_RX_OFFLOAD_SCTP_CKSUM | RTE_ETH_RX_OFFLOAD_OUTER_IPV4_CKSUM |
    RTE_ETH_RX_OFFLOAD_OUTER_UDP_CKSUM;

Result<OffloadCapabilities> capabilities(const std::string& device) {
    std::uint16_t id = 0;
    rte_eth_dev_info info{};
    if (rte_eth_dev_get_port_by_name(device.c_str(), &id) != 0 ||
        rte_eth_dev_info_get(id, &info) != 0) {
        return fail(ErrorCode::kNotFound, "DPDK has no device '{}', or it does not say what it can",
                    device);
    }
    return OffloadCapabilities{info.tx_offload_capa, info.rx_offload_capa};
}

std::vector<std::string> tx_names(std::uint64_t offloads) {
    return names_of(offloads, rte_eth_dev_tx_offload_name);
}

std::vector<std::string> rx_names(std::uint64_t offloads) {
    return names_of(offloads, rte_eth_dev_rx_offload_name);
}

Status check_capabilities(const PortConfig& config, const rte_eth_dev_info& device) {
    if (config.rx_queues > device.max_rx_queues || config.tx_queues > device.max_tx_queues) {
        return fail(ErrorCode::kNotSupported,
                    "port {} ({}) has {} receive and {} transmit queues; {} and {} were asked for",
                    config.name, config.device, device.max_rx_queues, device.max_tx_queues,
                    config.rx_queues, config.tx_queues);
    }
    if (const std::uint64_t lacks = config.tx_offloads & ~device.tx_offload_capa; lacks != 0) {
        return fail(
            ErrorCode::kNotSupported,
            "port {} ({}, driver {}) lacks the transmit offload {}; it has {}. Let the software "
            "compute it instead",
            config.name, config.device, device.driver_name, listed(tx_names(lacks)),
            listed(tx_names(device.tx_offload_capa)));
    }
    if (const std::uint64_t lacks = config.rx_offloads & ~device.rx_offload_capa; lacks != 0) {
        return fail(ErrorCode::kNotSupported,
                    "port {} ({}, driver {}) lacks the receive offload {}; it has {}", config.name,
                    config.device, device.driver_name, listed(rx_names(lacks)),
                    listed(rx_names(device.rx_offload_capa)));
    }
    if (config.mtu != 0 && (config.mtu < device.min_mtu || config.mtu > device.max_mtu)) {
        return fail(ErrorCode::kNotSupported,
                    "port {} ({}) cannot have MTU {}: its range is {} to {}", config.name,
                    config.device, config.mtu, device.min_mtu, device.max_mtu);
    }
    return {};
}

PacketRingShape packet_ring_shape(const rte_eth_dev_info& device) {
    // The defaults are those of rte_eth_af_packet.c.
    return {
        .slot = argument(device, "framesz").value_or(2048),
        .slots = argument(device, "framecnt").value_or(512),
        .block = argument(device, "blocksz").value_or(static_cast<std::uint32_t>(getpagesize()))};
}

Evidence evidence_of(std::string_view driver, const std::string& device) {
    if (driver == "net_ring" || driver == "net_null") {
        return Evidence::kSimulated;
    }
    constexpr std::array<std::string_view, 12> kVirtual = {
        "net_af_packet", "net_af_xdp",  "net_tap",   "net_pcap", "net_virtio", "net_virtio_user",
        "net_vhost",     "net_vmxnet3", "net_memif", "net_ena",  "net_gve",    "net_netvsc"};
    const bool is_virtual = std::ranges::find(kVirtual, driver) != kVirtual.end();
    // A vdev of a driver unknown here is not called hardware: only a device on a bus is (it has a
    // colon).
    if (is_virtual || device.find(':') == std::string::npos || is_emulated_device(device)) {
        return Evidence::kVirtual;
    }
    return Evidence::kPhysical;
}

const char* evidence_name(Evidence evidence) {
    switch (evidence) {
        case Evidence::kPhysical: return "physical";
        case Evidence::kVirtual: return "virtual";
        case Evidence::kSimulated: return "simulated";
    }
    return "simulated";
}

}  // namespace pathproof::port
