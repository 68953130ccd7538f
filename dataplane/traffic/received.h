// A frame out of a receive queue, freed at the end, as it was on the wire.
#pragma once

#include <rte_ether.h>
#include <rte_mbuf.h>

#include <algorithm>
#include <cstdint>
#include <span>

#include "dataplane/frame/view.h"

namespace pathproof::traffic {

class Received {
  public:
    // VLAN tags that the driver took out are put back: the frame is judged as it was on the wire.
    explicit Received(rte_mbuf* mbuf) noexcept : mbuf_(mbuf) {
        if ((mbuf_->ol_flags & RTE_MBUF_F_RX_VLAN_STRIPPED) != 0) {
            rte_vlan_insert(&mbuf_);
        }
    }
    Received(const Received&) = delete;
    Received& operator=(const Received&) = delete;
    ~Received() { rte_pktmbuf_free(mbuf_); }

    // In one piece: a scattered frame is gathered in `scratch`, up to its size.
    frame::Bytes bytes(std::span<std::uint8_t> scratch) const noexcept {
        if (mbuf_->nb_segs == 1) {
            return {rte_pktmbuf_mtod(mbuf_, const std::uint8_t*), rte_pktmbuf_data_len(mbuf_)};
        }
        const auto size = std::min<std::size_t>(rte_pktmbuf_pkt_len(mbuf_), scratch.size());
        const void* gathered =
            rte_pktmbuf_read(mbuf_, 0, static_cast<std::uint32_t>(size), scratch.data());
        return {static_cast<const std::uint8_t*>(gathered), size};
    }

  private:
    rte_mbuf* mbuf_;
};

}  // namespace pathproof::traffic
