#include "dataplane/neighbour/desk.h"

#include <netinet/in.h>
#include <rte_errno.h>
#include <rte_ether.h>
#include <rte_mbuf.h>
#include <rte_ring.h>

#include <atomic>
#include <cstring>

namespace pathproof::neighbour {
namespace {

constexpr unsigned kRelayed = 256;

// By type and next header alone, at a few cycles.
bool may_ask(frame::Bytes frame) noexcept {
    constexpr std::size_t kType = 12;
    constexpr std::size_t kNextHeader = 14 + 6;
    if (frame.size() <= kNextHeader) {
        return false;
    }
    const auto type = static_cast<std::uint16_t>(frame[kType] << 8 | frame[kType + 1]);
    return type == RTE_ETHER_TYPE_ARP || frame::is_vlan(type) ||
           (type == RTE_ETHER_TYPE_IPV6 && frame[kNextHeader] == IPPROTO_ICMPV6);
}

}  // namespace

Result<std::unique_ptr<Relay>> Relay::make(port::Port& port, std::uint16_t queue) {
    static std::atomic<unsigned> made = 0;
    const std::string name = fmt::format("pp_neighbour_{}", made.fetch_add(1));
    rte_ring* ring = rte_ring_create(name.c_str(), kRelayed, SOCKET_ID_ANY, RING_F_SC_DEQ);
    if (ring == nullptr) {
        return fail(ErrorCode::kFailed, "a ring for answers to ARP could not be made: {}",
                    rte_strerror(rte_errno));
    }
    return std::unique_ptr<Relay>(new Relay(port, queue, ring));
}

Relay::~Relay() {
    void* frame = nullptr;
    while (rte_ring_sc_dequeue(ring_, &frame) == 0) {
        rte_pktmbuf_free(static_cast<rte_mbuf*>(frame));
    }
    rte_ring_free(ring_);
}

bool Relay::give(rte_mbuf* frame) noexcept {
    return rte_ring_mp_enqueue(ring_, frame) == 0;
}

unsigned Relay::pass_on() noexcept {
    if (rte_ring_empty(ring_) != 0) [[likely]] {
        return 0;
    }
    unsigned passed = 0;
    void* next = nullptr;
    while (rte_ring_sc_dequeue(ring_, &next) == 0) {
        auto* frame = static_cast<rte_mbuf*>(next);
        if (port_.tx_burst(queue_, &frame, 1) == 1) {
            ++counts_.answered;
        } else {
            ++counts_.not_sent;
            rte_pktmbuf_free(frame);
        }
        ++passed;
    }
    return passed;
}

void Desk::look(std::span<rte_mbuf* const> burst) noexcept {
    for (const rte_mbuf* mbuf : burst) {
        const frame::Bytes bytes(rte_pktmbuf_mtod(mbuf, const std::uint8_t*),
                                 rte_pktmbuf_data_len(mbuf));
        if (may_ask(bytes)) {
            answer(bytes);
        }
    }
}

void Desk::answer(frame::Bytes frame) noexcept {
    std::array<std::uint8_t, kMostFrame> bytes;
    const std::size_t size = write_answer(bytes, frame, station_);
    if (size == 0) {
        return;
    }
    rte_mbuf* mbuf = rte_pktmbuf_alloc(port_.pool());
    if (mbuf == nullptr) {
        ++counts_.not_sent;
        return;
    }
    std::memcpy(rte_pktmbuf_append(mbuf, static_cast<std::uint16_t>(size)), bytes.data(), size);
    if (!send(mbuf)) {
        ++counts_.not_sent;
        rte_pktmbuf_free(mbuf);
    }
}

bool Desk::send(rte_mbuf* frame) noexcept {
    if (Relay* const* relay = std::get_if<Relay*>(&outlet_)) {
        return (*relay)->give(frame);
    }
    const bool sent = port_.tx_burst(std::get<std::uint16_t>(outlet_), &frame, 1) == 1;
    counts_.answered += sent ? 1 : 0;
    return sent;
}

}  // namespace pathproof::neighbour
