#include "dataplane/traffic/due_answers.h"

#include <rte_mbuf.h>

#include <cstring>

namespace pathproof::traffic {
namespace {

bool send(port::Port& port, std::uint16_t queue, frame::Bytes answer) noexcept {
    rte_mbuf* mbuf = rte_pktmbuf_alloc(port.pool());
    if (mbuf == nullptr) {
        return false;
    }
    std::memcpy(rte_pktmbuf_append(mbuf, static_cast<std::uint16_t>(answer.size())), answer.data(),
                answer.size());
    if (port.tx_burst(queue, &mbuf, 1) == 1) {
        return true;
    }
    rte_pktmbuf_free(mbuf);
    return false;
}

}  // namespace

std::size_t send_due(Responder& responder, port::Port& port, std::uint16_t queue,
                     std::int64_t now_ns, std::size_t most) noexcept {
    std::size_t count = 0;
    for (; count < most; ++count) {
        const auto due = responder.next_due();
        if (!due || *due > now_ns) {
            break;
        }
        const bool sent = send(port, queue, responder.next_answer());
        responder.take_off(sent ? Responder::Outcome::kSent : Responder::Outcome::kRefused);
    }
    return count;
}

Tsc next_due(const Responder& responder, const RunClock& clock, Tsc otherwise) noexcept {
    const auto due = responder.next_due();
    return due ? clock.at(*due) : otherwise;
}

}  // namespace pathproof::traffic
