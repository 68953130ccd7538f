#include "dataplane/pairs/pair_intake.h"

#include <array>

#include "dataplane/traffic/received.h"

namespace pathproof::pairs {

PairIntake::PairIntake(std::vector<std::size_t> ports, judge::Ledger& ledger, judge::Intake intake,
                       std::uint32_t keep_misdelivered)
    : ports_(std::move(ports)),
      ledger_(ledger),
      intake_(std::move(intake)),
      misdelivered_(keep_misdelivered) {}

void PairIntake::take(std::span<rte_mbuf* const> burst, std::size_t port,
                      std::uint64_t now_ns) noexcept {
    std::array<std::uint8_t, 9216> scratch;
    for (rte_mbuf* mbuf : burst) {
        take(traffic::as_on_the_wire(mbuf, scratch), ports_[port],
             static_cast<std::int64_t>(now_ns));
    }
}

void PairIntake::take(frame::Bytes frame, std::size_t port, std::int64_t now_ns) noexcept {
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

}  // namespace pathproof::pairs
