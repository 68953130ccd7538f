#include "dataplane/pairs/pair_objections.h"

#include "dataplane/pairs/departures.h"

namespace pathproof::pairs {

using judge::PairReport;

void object_to_ports(std::span<port::Port> ports, PairReport& report) {
    for (std::size_t n = 0; n < ports.size(); ++n) {
        const port::PortCounters& counted = report.ports[n];
        const std::uint64_t lost = counted.rx_missed + counted.rx_no_mbuf;
        report.tester_lost += lost;
        if (lost > 0) {
            report.objections.push_back(
                fmt::format("port {} lost {} frames itself", ports[n].info().name, lost));
        }
        if (counted.tx_errors > 0) {
            report.objections.push_back(fmt::format("port {} failed to send {} frames",
                                                    ports[n].info().name, counted.tx_errors));
        }
        if (const std::string trouble = ports[n].link_trouble(); !trouble.empty()) {
            report.objections.push_back(trouble);
        }
    }
}

void object_to_departures(const PairPlan& plan, const load::HandOver& handed, PairReport& report) {
    const judge::Departures& left = report.departures;
    std::uint64_t pairs = 0;
    std::uint64_t split = 0;
    for (std::size_t n = 0; n + 1 < report.records.size(); n += 2) {
        const std::int64_t first = report.records[n].sent_ns;
        const std::int64_t second = report.records[n + 1].sent_ns;
        pairs += first != kNeverSent || second != kNeverSent ? 1 : 0;
        split += first != second ? 1 : 0;
    }
    if (pairs < plan.pairs) {
        report.objections.push_back(fmt::format("stopped after {} of {} pairs", pairs, plan.pairs));
    }
    if (handed.stuck > 0) {
        report.objections.push_back(
            "a client port sent nothing for 100 ms: its driver took no frame, or its buffers had "
            "run out");
    }
    if (static_cast<double>(left.late) > plan.late_share_allowed * static_cast<double>(left.sent)) {
        report.objections.push_back(
            fmt::format("late departures {:.0f} % (the worst by {:.1f} ms)",
                        100.0 * static_cast<double>(left.late) / static_cast<double>(left.sent),
                        static_cast<double>(left.worst_late_ns) / 1e6));
    }
    if (left.refused > 0) {
        report.objections.push_back(
            fmt::format("{} queries were made, and the driver did not take them", left.refused));
    }
    if (plan.departure == Departure::kOneBurst && split > 0) {
        report.objections.push_back(
            fmt::format("{} bursts of two were taken one frame at a time", split));
    }
}

void object_to_responder(const traffic::ResponderCounts& counts, PairReport& report) {
    if (counts.no_room > 0) {
        report.objections.push_back(
            fmt::format("the responder had no room for {} answers", counts.no_room));
    }
    if (counts.not_sent > 0) {
        report.objections.push_back(
            fmt::format("the responder's port refused {} answers", counts.not_sent));
    }
}

void object_to_account(const PortAccount& port, std::uint64_t received, std::uint64_t sent,
                       PairReport& report) {
    if (port.received < received || port.received > received + port.left_over) {
        report.objections.push_back(fmt::format("{} counted {} received frames, the run read {}",
                                                port.name, port.received, received));
    }
    if (port.sent != sent) {
        report.objections.push_back(
            fmt::format("{} counted {} sent frames, the run sent {}", port.name, port.sent, sent));
    }
}

}  // namespace pathproof::pairs
