#include "harness/scenario/service_path/path_losses.h"

#include "dataplane/frame/view.h"
#include "harness/agent/offload_frames.h"
#include "harness/netfilter/stats.h"
#include "harness/scenario/concluded.h"

namespace pathproof::scenario {

namespace {

constexpr std::uint32_t kHeaderBytes = 128;

bool is_to(const frame::PacketView& view, std::uint16_t port) {
    return (view.transport == frame::Transport::kUdp && view.destination_port == port) ||
           (view.transport == frame::Transport::kTcp && view.destination_port == port + 1);
}

// The packets to that port, and the sources of the datagrams among them.
std::uint64_t packets_of(const agent::Capture& capture, std::uint16_t port,
                         std::set<std::uint16_t>* sources) {
    std::uint64_t packets = 0;
    for (const agent::CapturedFrame& frame : capture.frames) {
        const frame::PacketView view = frame::parse_packet(frame.bytes);
        if (!is_to(view, port)) {
            continue;
        }
        ++packets;
        if (sources != nullptr && view.transport == frame::Transport::kUdp) {
            sources->insert(view.source_port);
        }
    }
    return packets;
}

}  // namespace

void take(const agent::PathEvents& seen, PathLosses& losses) {
    for (const drops::DropCount& count : seen.drops.counts) {
        if (seen.untraced.empty() && count.reason == "NETFILTER_DROP") {
            losses.netfilter_drops += count.packets;
        }
    }
    for (const drops::Outage& outage : seen.outages) {
        if (std::ranges::find(losses.outages, outage.device) == losses.outages.end()) {
            losses.outages.push_back(outage.device);
        }
    }
}

Result<WatchedPath> watch_path(NatPathHosts& hosts, std::uint16_t port,
                               const std::function<Status()>& send) {
    const auto before = TRY(hosts.dut->conntrack_stats());
    TRY(hosts.dut->start_path_watch());
    TRY(hosts.server->start_capture(
        {.device = hosts.names().server_device, .most_bytes = kHeaderBytes}));
    TRY(hosts.dut->start_capture(
        {.device = hosts.names().first_of_dut(), .most_bytes = kHeaderBytes}));
    const Status sent = send();
    const auto in = TRY(hosts.dut->stop_capture());
    const auto out = TRY(hosts.server->stop_capture());
    const auto seen = TRY(hosts.dut->stop_path_watch());
    const auto after = TRY(hosts.dut->conntrack_stats());
    TRY(sent);
    if (in.missing() + out.missing() != 0) {
        return fail(ErrorCode::kFailed,
                    "the captures of the NAT path are not whole: {} frames missing",
                    in.missing() + out.missing());
    }
    WatchedPath watched;
    PathLosses& losses = watched.losses;
    losses.in = packets_of(in, port, nullptr);
    losses.out = packets_of(out, port, &watched.sources);
    const auto grown = netfilter::delta(before, after);
    losses.drop = netfilter::total(grown, "drop");
    losses.insert_failed = netfilter::total(grown, "insert_failed");
    losses.early_drop = netfilter::total(grown, "early_drop");
    take(seen, losses);
    return watched;
}

OtherCause other_cause(const PathLosses& losses) {
    const std::string lost =
        fmt::format("{} of {} packets did not come out of the DUT", losses.lost(), losses.in);
    if (!losses.outages.empty()) {
        return {"link-down", fmt::format("{}; {} had no link for a time", lost,
                                         fmt::join(losses.outages, ", "))};
    }
    if (losses.by_rules() != 0 && losses.by_rules() + losses.drop >= losses.lost()) {
        return {"rule-drop",
                fmt::format("{}; rules of netfilter dropped {}{}", lost, losses.by_rules(),
                            losses.drop != 0 ? fmt::format(", conntrack {}", losses.drop) : "")};
    }
    if (losses.insert_failed >= losses.lost()) {
        return {"insert-failed",
                fmt::format("{}; their entries were refused when they were inserted "
                            "(insert_failed rose by {})",
                            lost, losses.insert_failed)};
    }
    if (losses.for_want_of_entry() >= losses.lost()) {
        return {"table-full", fmt::format("{}; conntrack dropped {} for want of an entry", lost,
                                          losses.for_want_of_entry())};
    }
    Clauses counted;
    tell_count(counted, losses.drop, "drop rose by {}");
    tell_count(counted, losses.insert_failed, "insert_failed by {}");
    return {"lost", lost + (counted.empty() ? "" : " (conntrack: " + in_a_row(counted) + ")")};
}

}  // namespace pathproof::scenario
