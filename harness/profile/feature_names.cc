#include <algorithm>
#include <array>
#include <string_view>

#include "harness/profile/profile.h"

namespace pathproof::profile {
namespace {

// net/ethtool/common.c, netdev_features_strings: Linux 6.18, and names that left it after 4.9.
// Sorted.
constexpr std::array<std::string_view, 65> kNames{{
    "esp-hw-offload",
    "esp-tx-csum-hw-offload",
    "fcoe-mtu",
    "highdma",
    "hsr-dup-offload",
    "hsr-fwd-offload",
    "hsr-tag-ins-offload",
    "hsr-tag-rm-offload",
    "hw-tc-offload",
    "l2-fwd-offload",
    "loopback",
    "macsec-hw-offload",
    "netns-local",
    "rx-all",
    "rx-checksum",
    "rx-fcs",
    "rx-gro",
    "rx-gro-hw",
    "rx-gro-list",
    "rx-hashing",
    "rx-lro",
    "rx-ntuple-filter",
    "rx-udp-gro-forwarding",
    "rx-udp_tunnel-port-offload",
    "rx-vlan-filter",
    "rx-vlan-hw-parse",
    "rx-vlan-stag-filter",
    "rx-vlan-stag-hw-parse",
    "tls-hw-record",
    "tls-hw-rx-offload",
    "tls-hw-tx-offload",
    "tx-checksum-fcoe-crc",
    "tx-checksum-ip-generic",
    "tx-checksum-ipv4",
    "tx-checksum-ipv6",
    "tx-checksum-sctp",
    "tx-esp-segmentation",
    "tx-fcoe-segmentation",
    "tx-generic-segmentation",
    "tx-gre-csum-segmentation",
    "tx-gre-segmentation",
    "tx-gso-list",
    "tx-gso-partial",
    "tx-gso-robust",
    "tx-ipip-segmentation",
    "tx-ipxip4-segmentation",
    "tx-ipxip6-segmentation",
    "tx-nocache-copy",
    "tx-scatter-gather",
    "tx-scatter-gather-fraglist",
    "tx-sctp-segmentation",
    "tx-sit-segmentation",
    "tx-tcp-accecn-segmentation",
    "tx-tcp-ecn-segmentation",
    "tx-tcp-mangleid-segmentation",
    "tx-tcp-segmentation",
    "tx-tcp6-segmentation",
    "tx-tunnel-remcsum-segmentation",
    "tx-udp-fragmentation",
    "tx-udp-segmentation",
    "tx-udp_tnl-csum-segmentation",
    "tx-udp_tnl-segmentation",
    "tx-vlan-hw-insert",
    "tx-vlan-stag-hw-insert",
    "vlan-challenged",
}};
static_assert(std::is_sorted(kNames.begin(), kNames.end()));

// DPDK 22.11, lib/ethdev/rte_ethdev.c, eth_dev_tx_offload_names and eth_dev_rx_offload_names.
// Sorted.
constexpr std::array<std::string_view, 22> kDpdkTxNames{{
    "GENEVE_TNL_TSO",  "GRE_TNL_TSO",    "IPIP_TNL_TSO", "IPV4_CKSUM",  "IP_TNL_TSO",
    "MACSEC_INSERT",   "MBUF_FAST_FREE", "MT_LOCKFREE",  "MULTI_SEGS",  "OUTER_IPV4_CKSUM",
    "OUTER_UDP_CKSUM", "QINQ_INSERT",    "SCTP_CKSUM",   "SECURITY",    "SEND_ON_TIMESTAMP",
    "TCP_CKSUM",       "TCP_TSO",        "UDP_CKSUM",    "UDP_TNL_TSO", "UDP_TSO",
    "VLAN_INSERT",     "VXLAN_TNL_TSO",
}};
constexpr std::array<std::string_view, 18> kDpdkRxNames{{
    "BUFFER_SPLIT",
    "IPV4_CKSUM",
    "KEEP_CRC",
    "MACSEC_STRIP",
    "OUTER_IPV4_CKSUM",
    "OUTER_UDP_CKSUM",
    "QINQ_STRIP",
    "RSS_HASH",
    "SCATTER",
    "SCTP_CKSUM",
    "SECURITY",
    "TCP_CKSUM",
    "TCP_LRO",
    "TIMESTAMP",
    "UDP_CKSUM",
    "VLAN_EXTEND",
    "VLAN_FILTER",
    "VLAN_STRIP",
}};
static_assert(std::is_sorted(kDpdkTxNames.begin(), kDpdkTxNames.end()));
static_assert(std::is_sorted(kDpdkRxNames.begin(), kDpdkRxNames.end()));

}  // namespace

bool is_feature_name(const std::string& name) {
    return std::ranges::binary_search(kNames, name);
}

bool is_dpdk_tx_offload(const std::string& name) {
    return std::ranges::binary_search(kDpdkTxNames, name);
}

bool is_dpdk_rx_offload(const std::string& name) {
    return std::ranges::binary_search(kDpdkRxNames, name);
}

}  // namespace pathproof::profile
