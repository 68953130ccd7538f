#include "dataplane/traffic/client_side.h"

#include <rte_mbuf.h>

#include <algorithm>
#include <array>

#include "dataplane/traffic/received.h"

namespace pathproof::traffic {

ClientSide::ClientSide(std::vector<NumberedPort> ports, judge::Ledger& ledger, judge::Intake intake,
                       std::uint32_t keep_misdelivered)
    : ports_(std::move(ports)),
      ledger_(ledger),
      intake_(std::move(intake)),
      misdelivered_(keep_misdelivered) {}

std::size_t ClientSide::poll(const RunClock& clock, std::uint16_t most) noexcept {
    std::array<rte_mbuf*, kMostInBurst> burst;
    std::array<std::uint8_t, 9216> scratch;
    std::size_t count = 0;
    for (const NumberedPort& from : ports_) {
        const std::int64_t now_ns = clock.now_ns();
        const std::uint16_t got = from.port->rx_any(burst.data(), std::min(most, kMostInBurst));
        for (std::uint16_t i = 0; i < got; ++i) {
            const Received received(burst[i]);
            take(received.bytes(scratch), from.number, now_ns);
        }
        count += got;
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

}  // namespace pathproof::traffic
