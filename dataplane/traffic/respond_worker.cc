#include "dataplane/traffic/respond_worker.h"

#include <rte_mbuf.h>
#include <rte_prefetch.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "dataplane/traffic/received.h"

namespace pathproof::traffic {
namespace {

// Number of tries (some 0.1 ms) after which a full transmit queue is the path's limit, not a
// hiccup; waiting longer would only move the loss to the receive queue.
constexpr unsigned kTries = 1'000;

// The frame may be changed where it lies: it is in one piece, nobody else's, and as on the wire.
bool can_be_changed(const rte_mbuf& mbuf) noexcept {
    return mbuf.nb_segs == 1 && rte_mbuf_refcnt_read(&mbuf) == 1 && RTE_MBUF_DIRECT(&mbuf) &&
           (mbuf.ol_flags & RTE_MBUF_F_RX_VLAN_STRIPPED) == 0;
}

std::span<std::uint8_t> room_of(rte_mbuf& mbuf) noexcept {
    return {rte_pktmbuf_mtod(&mbuf, std::uint8_t*),
            std::size_t{rte_pktmbuf_data_len(&mbuf)} + rte_pktmbuf_tailroom(&mbuf)};
}

}  // namespace

RespondWorker::RespondWorker(port::Port& port, std::vector<std::uint16_t> receive_queues,
                             std::uint16_t transmit_queue, Responder responder)
    : port_(port),
      receive_queues_(std::move(receive_queues)),
      transmit_queue_(transmit_queue),
      responder_(std::move(responder)) {}

std::size_t RespondWorker::serve(const RunClock& clock, std::uint16_t most) noexcept {
    const std::int64_t now_ns = clock.now_ns();
    std::size_t count = 0;
    for (const std::uint16_t queue : receive_queues_) {
        count += receive(queue, std::min(most, kBurst), now_ns);
    }
    return count + send_due(now_ns, most);
}

std::size_t RespondWorker::receive(std::uint16_t queue, std::uint16_t most,
                                   std::int64_t now_ns) noexcept {
    std::array<rte_mbuf*, kBurst> burst;
    const std::uint16_t count = port_.rx_burst(queue, burst.data(), most);
    for (std::uint16_t i = 0; i < count; ++i) {
        rte_prefetch0(rte_pktmbuf_mtod(burst[i], void*));
    }
    for (std::uint16_t i = 0; i < count; ++i) {
        take(burst[i], now_ns);
    }
    send_turned();
    return count;
}

void RespondWorker::take(rte_mbuf* mbuf, std::int64_t now_ns) noexcept {
    if (!can_be_changed(*mbuf)) {
        std::array<std::uint8_t, 9216> scratch;
        responder_.take(as_on_the_wire(mbuf, scratch), now_ns);
        rte_pktmbuf_free(mbuf);
        return;
    }
    const Turned turned =
        responder_.take_in_place(room_of(*mbuf), rte_pktmbuf_data_len(mbuf), now_ns);
    if (turned.kind == Turned::Kind::kNothing) {
        rte_pktmbuf_free(mbuf);
        return;
    }
    mbuf->data_len = turned.bytes;
    mbuf->pkt_len = turned.bytes;
    mbuf->ol_flags = 0;  // what the driver said of the query
    turned_[turned_count_] = mbuf;
    kinds_[turned_count_] = turned.kind;
    ++turned_count_;
}

void RespondWorker::send_turned() noexcept {
    std::uint16_t sent = 0;
    for (unsigned tries = 0; sent < turned_count_ && tries < kTries; ++tries) {
        sent = static_cast<std::uint16_t>(
            sent + port_.tx_burst(transmit_queue_, turned_.data() + sent,
                                  static_cast<std::uint16_t>(turned_count_ - sent)));
    }
    for (std::uint16_t i = 0; i < turned_count_; ++i) {
        responder_.departed(kinds_[i],
                            i < sent ? Responder::Outcome::kSent : Responder::Outcome::kRefused);
    }
    if (sent < turned_count_) {
        rte_pktmbuf_free_bulk(turned_.data() + sent, static_cast<unsigned>(turned_count_ - sent));
    }
    turned_count_ = 0;
}

// Sends the answers that are due. An answer that finds no buffer, or no room in the queue, is
// counted as refused.
std::size_t RespondWorker::send_due(std::int64_t now_ns, std::size_t most) noexcept {
    std::size_t count = 0;
    for (; count < most; ++count) {
        const auto due = responder_.next_due();
        if (!due || *due > now_ns) {
            break;
        }
        const bool sent = send(responder_.next_answer());
        responder_.take_off(sent ? Responder::Outcome::kSent : Responder::Outcome::kRefused);
    }
    return count;
}

bool RespondWorker::send(frame::Bytes answer) noexcept {
    rte_mbuf* mbuf = rte_pktmbuf_alloc(port_.pool());
    if (mbuf == nullptr) {
        return false;
    }
    std::memcpy(rte_pktmbuf_append(mbuf, static_cast<std::uint16_t>(answer.size())), answer.data(),
                answer.size());
    if (port_.tx_burst(transmit_queue_, &mbuf, 1) == 1) {
        return true;
    }
    rte_pktmbuf_free(mbuf);
    return false;
}

Tsc RespondWorker::next_due(const RunClock& clock, Tsc otherwise) const noexcept {
    const auto due = responder_.next_due();
    return due ? clock.at(*due) : otherwise;
}

}  // namespace pathproof::traffic
