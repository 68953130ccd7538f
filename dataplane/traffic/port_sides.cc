#include "dataplane/traffic/port_sides.h"

#include <rte_mbuf.h>

#include <algorithm>
#include <array>

#include "dataplane/traffic/due_answers.h"
#include "dataplane/traffic/received.h"

namespace pathproof::traffic {
namespace {

template <typename Take>
std::size_t each_received(port::Port& port, std::uint16_t most, Take take) noexcept {
    std::array<rte_mbuf*, kMostInBurst> burst;
    std::array<std::uint8_t, 9216> scratch;
    const std::uint16_t count = port.rx_any(burst.data(), std::min(most, kMostInBurst));
    for (std::uint16_t i = 0; i < count; ++i) {
        const Received received(burst[i]);
        take(received.bytes(scratch));
    }
    return count;
}

}  // namespace

ClientSide::ClientSide(std::vector<NumberedPort> ports, judge::Ledger& ledger, judge::Intake intake,
                       std::uint32_t keep_misdelivered)
    : ports_(std::move(ports)),
      ledger_(ledger),
      intake_(std::move(intake)),
      misdelivered_(keep_misdelivered) {}

std::size_t ClientSide::poll(const RunClock& clock, std::uint16_t most) noexcept {
    std::size_t count = 0;
    for (const NumberedPort& from : ports_) {
        const std::int64_t now_ns = clock.now_ns();
        count += each_received(*from.port, most,
                               [&](frame::Bytes frame) { take(frame, from.number, now_ns); });
    }
    return count;
}

void ClientSide::take(frame::Bytes frame, std::size_t port, std::int64_t now_ns) noexcept {
    const auto view = intake_.admit(frame, port, now_ns);
    if (!view) {
        return;
    }
    const frame::PacketView& packet = view->innermost();
    judge::AnswerKind kind = judge::AnswerKind::kNotOurs;
    if (judge::is_whole_udp(packet)) {
        kind = ledger_.take(
            {packet.source_endpoint(), packet.destination_endpoint(), packet.payload(frame)},
            now_ns);
    }
    if (kind == judge::AnswerKind::kNotOurs) {
        intake_.count_other(frame, *view);
        return;
    }
    intake_.count_answer();
    if (kind == judge::AnswerKind::kWrongSource) {
        misdelivered_.keep(frame, port, now_ns, {});
    }
}

std::size_t ServerSide::serve(const RunClock& clock, std::uint16_t most) noexcept {
    const std::int64_t now_ns = clock.now_ns();
    const std::size_t received = each_received(
        *port_.port, most, [&](frame::Bytes frame) { responder_.take(frame, now_ns); });
    return received + send_due(responder_, *port_.port, 0, clock.now_ns(), most);
}

std::uint64_t empty_queue(port::Port& port) noexcept {
    std::array<rte_mbuf*, kMostInBurst> burst;
    std::uint64_t total = 0;
    // A queue that fills as fast as it is read must not hold the run up for ever.
    for (unsigned round = 0; round < 4096; ++round) {
        const std::uint16_t count = port.rx_any(burst.data(), kMostInBurst);
        if (count == 0) {
            break;
        }
        rte_pktmbuf_free_bulk(burst.data(), count);
        total += count;
    }
    return total;
}

}  // namespace pathproof::traffic
