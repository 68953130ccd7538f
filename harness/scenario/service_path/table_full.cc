// New flows where conntrack's table has no room.
//
// Set:  the table of the DUT's own namespace, filled to its limit over ctnetlink with entries of
//       answered flows or of unanswered ones, or half; some of them deleted.
// Sent: a datagram from each of many ports, and TCP connects.
// Seen: which of them came out; conntrack's counters; whose entries went meanwhile.

#include "harness/scenario/service_path/table_full.h"

#include <netinet/in.h>

#include <chrono>

#include "harness/agent/connects.h"
#include "harness/netfilter/stats.h"
#include "harness/scenario/nat_path_bench.h"
#include "harness/scenario/service_path/delete_entries.h"
#include "harness/scenario/service_path/flow_timeline.h"

namespace pathproof::scenario {
namespace {

using namespace std::chrono_literals;

constexpr std::uint16_t kDatagrams = 64;
constexpr std::uint32_t kConnects = 16;
constexpr auto kFullConnectTimeout = 1500ms;  // one SYN retransmit
constexpr std::uint16_t kFirstSource = 40'000;
constexpr std::uint16_t kServerPort = 9000;
// The entries that fill it: of the benchmarking range, to ports of a service that nobody asks.
constexpr std::uint32_t kStrangers = 0xc6130000;  // 198.19.0.0
constexpr std::uint16_t kStrangersPort = 20'000;
constexpr std::uint16_t kStrangersPorts = 64;
// Each entry takes some 400 bytes of the kernel's memory.
constexpr std::uint64_t kMostEntries = 600'000;
// Entries of unanswered flows may go before the new ones come: conntrack's garbage collection takes
// them, too, where a table was full.
constexpr unsigned kMostFills = 3;

class TableBench : public NatPathBench<TableCell, TableValues> {
  public:
    explicit TableBench(Context& context)
        : NatPathBench(context, {{".evicted.txt", "entries that went while new flows came"}}) {}

    Status open() {
        TRY(NatPathBench::open());
        const auto table = TRY(hosts_.dut->conntrack_table());
        if (table.maximum == 0 || table.maximum > kMostEntries) {
            return fail(
                ErrorCode::kKernelLacks,
                "nf_conntrack_max is {} on this machine; tables of 1 to {} entries are filled",
                table.maximum, kMostEntries);
        }
        maximum_ = table.maximum;
        // Entries that are made while nobody listens tell of their end, too. 2 is as they come
        // (nf_ct_ecache_ext_add).
        return hosts_.lab->hosts().keep(
            {setting::sysctl(lab::HostRole::kDut, "net.netfilter.nf_conntrack_events", "1")});
    }

  private:
    Status fill(const TableCell& what, TableValues& seen) {
        const frame::Endpoint strangers{hosts_.names().service.address, kStrangersPort};
        const std::uint64_t wanted = maximum_ * what.percent / 100;
        seen.maximum = maximum_;
        // A table that is full of such entries from the cell before need not be filled again.
        const bool again = what.deletes && full_of_ == what.assured;
        for (unsigned attempt = 0; attempt < (again ? 0 : kMostFills); ++attempt) {
            TRY(hosts_.set({lab::udp_timeout(120)}));
            const auto empty = TRY(hosts_.dut->conntrack_table());
            TRY(hosts_.dut->conntrack_fill(
                {.from = frame::IpAddress::v4(kStrangers),
                 .to = strangers,
                 .ports = kStrangersPorts,
                 .count = static_cast<std::uint32_t>(wanted - std::min(wanted, empty.entries)),
                 .assured = what.assured}));
            const auto filled = TRY(hosts_.dut->conntrack_table());
            seen.entries = filled.entries;
            if (seen.entries >= wanted) {
                break;
            }
        }
        full_of_.reset();
        if (what.full()) {
            full_of_ = what.assured;
        }
        if (what.deletes) {
            const std::vector<std::string> command = delete_command(strangers);
            seen.cure_command = in_a_row(command, " ");
            seen.deleted = TRY(delete_entries(*hosts_.dut, command));
            const auto left = TRY(hosts_.dut->conntrack_table());
            seen.entries = left.entries;
        }
        return {};
    }

    Status run(const TableCell& what, MeasuredTableCell& cell) override {
        TableValues& seen = cell.seen;
        const lab::NatPathNames& names = hosts_.names();
        TRY(hosts_.server->stop_servers());
        TRY(hosts_.server->start_closing_server(
            {.listen = {names.server_address, kServerPort + 1}}));
        TRY(fill(what, seen));
        TRY(hosts_.dut->start_events({}));
        auto recorder = TRY(FlowRecorder::start(
            what.again, hosts_,
            {.protocol = IPPROTO_TCP, .original_destination_port = kServerPort + 1}));
        std::uint16_t failed = 0;  // port of the first connect that failed
        const frame::Endpoint source{names.client_address, next_source_};
        next_source_ = static_cast<std::uint16_t>(next_source_ + kDatagrams);
        auto watched = watch_path(hosts_, kServerPort, [&]() -> Status {
            const auto sent = TRY(
                hosts_.client->send_datagrams({.source = source,
                                               .destination = {names.server_address, kServerPort},
                                               .payloads = {{0x70, 0x70}},
                                               .source_ports = kDatagrams}));
            const auto connects =
                TRY(hosts_.client->tcp_connects({.server = {names.server_address, kServerPort + 1},
                                                 .count = kConnects,
                                                 .per_second = 200,
                                                 .timeout = kFullConnectTimeout}));
            const auto first = std::ranges::find_if(
                connects.connects, [](const agent::Connect& each) { return each.error != 0; });
            failed = first == connects.connects.end() ? std::uint16_t{0} : first->port;
            seen.datagrams = sent.sent;
            seen.connects = connects.connects.size();
            seen.connected = static_cast<std::uint64_t>(
                std::ranges::count(connects.connects, 0, &agent::Connect::error));
            return {};
        });
        const auto log = TRY(hosts_.dut->stop_events());
        const auto record = TRY(recorder.stop());
        if (failed != 0) {
            cell.timeline = flow_timeline(what.id + ": one connect that failed", record,
                                          {IPPROTO_TCP, {names.client_address, failed}});
        }
        const WatchedPath path = TRY(std::move(watched));
        seen.path = path.losses;
        seen.datagrams_arrived = path.sources.size();
        seen.flows = seen.datagrams + seen.connects;
        seen.overruns = log.overruns;
        take_evictions(log.events, seen);
        for (const Eviction& each : seen.evicted) {
            noted() += fmt::format("{} (before {})\n", each.flow, each.before);
        }
        return {};
    }

    void take_evictions(const std::vector<netfilter::Event>& events, TableValues& seen) const {
        const auto text = [](const netfilter::Tuple& tuple) {
            return fmt::format("{} {} > {}", tuple.protocol == IPPROTO_UDP ? "udp" : "tcp",
                               frame::to_string(tuple.source), frame::to_string(tuple.destination));
        };
        std::size_t open = 0;  // the first whose new flow is not known
        for (const netfilter::Event& event : events) {
            const netfilter::Tuple& tuple = event.entry.original;
            if (event.kind == netfilter::EventKind::kDestroy && event.cause_port == 0 &&
                tuple.destination.address == hosts_.names().service.address) {
                seen.evicted.push_back({text(tuple), ""});
            } else if (event.kind == netfilter::EventKind::kNew) {
                for (; open < seen.evicted.size(); ++open) {
                    seen.evicted[open].before = text(tuple);
                }
            }
        }
    }

    std::uint64_t maximum_ = 0;
    std::optional<bool> full_of_;  // entries of answered flows; nothing: it is not full
    std::uint16_t next_source_ = kFirstSource;
};

}  // namespace

std::vector<TableCell> table_full_plan() {
    return with_roles<TableCell>({
        {.id = "control.half.unanswered",
         .label = "half full, unanswered",
         .assured = false,
         .percent = 50},
        {.id = "unanswered", .label = "full of unanswered flows", .assured = false},
        {.id = "cure.unanswered.delete-entries",
         .label = "cure: entries deleted (unanswered)",
         .assured = false,
         .deletes = true},
        {.id = "control.half.answered", .label = "half full, answered", .percent = 50},
        {.id = "answered", .label = "full of answered flows"},
        {.id = "cure.delete-entries", .label = "cure: entries deleted", .deletes = true},
        {.id = "answered.after-cure", .label = "after the cure"},
    });
}

Scenario table_full_scenario() {
    return nat_path_scenario<TableBench, table_full_plan, table_full_conclusions>(
        "table-full", "A full conntrack table: new flows dropped, or other people's evicted",
        "Do new flows get through where conntrack's table is full, and at whose cost?");
}

}  // namespace pathproof::scenario
