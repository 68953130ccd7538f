#include "harness/scenario/service_path/path_losses.h"

#include <netinet/in.h>

#include "dataplane/frame/view.h"
#include "harness/agent/offload_frames.h"
#include "harness/fate/flow.h"
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
    TRY(hosts.dut->start_fate(
        {.flows = {{.protocol = IPPROTO_UDP, .destination_port = port},
                   {.protocol = IPPROTO_TCP,
                    .destination_port = static_cast<std::uint16_t>(port + 1)}}}));
    TRY(hosts.server->start_capture(
        {.device = hosts.names().server_device, .most_bytes = kHeaderBytes}));
    TRY(hosts.dut->start_capture(
        {.device = hosts.names().first_of_dut(), .most_bytes = kHeaderBytes}));
    const Status sent = send();
    const auto in = TRY(hosts.dut->stop_capture());
    const auto out = TRY(hosts.server->stop_capture());
    const auto fates = hosts.dut->stop_fate();
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
    // A device tells nothing of packets that do not come by it.
    const lab::NatPathNames& names = hosts.names();
    std::erase_if(losses.outages, [&](const std::string& device) {
        return device != names.first_of_dut() && device != names.dut_client_device &&
               device != names.dut_server_device;
    });
    losses.ends = own_ends(fates, fate::Direction::kThere);
    return watched;
}

namespace {

OtherCause by_packet(const PathLosses& losses, const std::string& lost) {
    const std::uint64_t ended = losses.ends.all();
    const std::string told = in_words(losses.ends);
    if (ended >= losses.lost()) {
        const Link link = losses.outages.empty() ? Link::kWasUp : Link::kWasDown;
        const std::string words = causes(losses.ends, link);
        return {words, fmt::format("{}: {}{}", lost, told,
                                   words.find("link-down") == words.npos
                                       ? ""
                                       : fmt::format("; {} had no link for a time",
                                                     fmt::join(losses.outages, ", ")))};
    }
    return {"lost", fmt::format("{}: {}{} nowhere that was seen", lost,
                                told.empty() ? "" : told + ", ", losses.lost() - ended)};
}

OtherCause by_counters(const PathLosses& losses, const std::string& lost) {
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

}  // namespace

OtherCause other_cause(const PathLosses& losses) {
    const std::string lost =
        fmt::format("{} of {} packets did not come out of the DUT", losses.lost(), losses.in);
    if (losses.ends.by_packet()) {
        return by_packet(losses, lost);
    }
    OtherCause other = by_counters(losses, lost);
    other.clause += fmt::format(" ({})", fate::kByCounters);
    return other;
}

}  // namespace pathproof::scenario
