// A frame out of a receive queue as it was on the wire.
#pragma once

#include <rte_ether.h>
#include <rte_mbuf.h>

#include <algorithm>
#include <cstdint>
#include <span>

#include "dataplane/frame/view.h"

namespace pathproof::traffic {

// Returns the frame in one piece: a scattered frame is gathered in `scratch`, up to its size. A
// VLAN tag that the driver took out is put back into the mbuf.
inline frame::Bytes as_on_the_wire(rte_mbuf* mbuf, std::span<std::uint8_t> scratch) noexcept {
    if ((mbuf->ol_flags & RTE_MBUF_F_RX_VLAN_STRIPPED) != 0) {
        rte_vlan_insert(&mbuf);
    }
    if (mbuf->nb_segs == 1) {
        return {rte_pktmbuf_mtod(mbuf, const std::uint8_t*), rte_pktmbuf_data_len(mbuf)};
    }
    const auto size = std::min<std::size_t>(rte_pktmbuf_pkt_len(mbuf), scratch.size());
    const void* gathered =
        rte_pktmbuf_read(mbuf, 0, static_cast<std::uint32_t>(size), scratch.data());
    return {static_cast<const std::uint8_t*>(gathered), size};
}

}  // namespace pathproof::traffic
