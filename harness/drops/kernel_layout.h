// Offsets of the packet data that is read from the running kernel's structures, by the kernel's own
// type information (BTF, /sys/kernel/btf/vmlinux).
#pragma once

#include <cstdint>
#include <optional>

#include "dataplane/base/result.h"

namespace pathproof::drops {

// Offsets in bytes.
struct KernelLayout {
    // struct sk_buff
    std::int32_t skb_device = 0;          // dev
    std::int32_t skb_socket = 0;          // sk
    std::int32_t skb_route = 0;           // _skb_refdst: a struct dst_entry * and one flag bit
    std::int32_t skb_head = 0;            // head
    std::int32_t skb_network_header = 0;  // network_header, from head on
    std::int32_t device_net = 0;          // struct net_device, nd_net.net
    std::int32_t socket_net = 0;          // struct sock, __sk_common.skc_net.net
    std::int32_t route_device = 0;        // struct dst_entry, dev
    std::int32_t net_inode = 0;           // struct net, ns.inum
    // Kernels without connection tracking have no such members.
    struct Conntrack {
        std::int32_t skb_entry = 0;     // _nfct: a struct nf_conn * and three bits of state
        std::int32_t entry_status = 0;  // struct nf_conn, status
    };
    std::optional<Conntrack> conntrack;
};

// kKernelLacks for a kernel without BTF (CONFIG_DEBUG_INFO_BTF) or with other structures.
Result<KernelLayout> kernel_layout();

}  // namespace pathproof::drops
