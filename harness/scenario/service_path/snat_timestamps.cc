// Connects that take 1, 2, 4 s through SNAT, and more often where it draws the port.
//
// Set:  a client and a server of the kernel's own, a DUT with MASQUERADE between them: into few ports
//       or all, drawn at random or kept; the client's tcp_timestamps; which side closes first.
// Sent: short TCP connections at a rate, whatever becomes of those before.
// Seen: each connect's time; every SYN on both sides of the NAT, with its timestamp, and what its
//       4-tuple left at the server before; conntrack's entries; the counters of both hosts.

#include "harness/scenario/service_path/snat_timestamps.h"

#include <netinet/in.h>
#include <netinet/tcp.h>

#include "harness/fate/flow.h"
#include "harness/lab/plan.h"
#include "harness/scenario/device_facts.h"
#include "harness/scenario/first_error.h"
#include "harness/scenario/nat_path_bench.h"
#include "harness/scenario/service_path/flow_timeline.h"
#include "harness/setting/cures.h"

namespace pathproof::scenario {
namespace {

using PathSnat = lab::Snat;

constexpr std::uint16_t kFirstServerPort = 8000;  // each run has its own: no TIME_WAIT of another
// The few ports: more than the 128 that the kernel tries, so that the port of a refused SYN is seldom
// found again (nf_nat_l4proto_unique_tuple).
constexpr lab::PortRange kFewPorts{30'000, 30'255};
constexpr std::uint32_t kFewConnects = 450;
constexpr double kFewPerSecond = 200;
constexpr std::uint32_t kManyConnects = 8'000;
constexpr double kManyPerSecond = 1600;
// The client's ports: each is used again after a second or two. Its old entry then leaves
// conntrack, and the port after NAT is free to be drawn while the server still has its TIME_WAIT.
constexpr lab::PortRange kClientPorts{40'000, 43'199};
constexpr lab::PortRange kFewClientPorts{40'000, 40'399};
// A MASQUERADE that draws ports takes them from 1024 to 65535.
constexpr std::uint32_t kAllPorts = 64'512;
constexpr std::uint32_t kFrameBytes = 128;  // Ethernet, IPv4 and TCP with all their options
constexpr std::uint32_t kMostFrames = 200'000;
constexpr double kStarvedMs = 100;
constexpr unsigned kMostRuns = 5;

class PathBench : public NatPathBench<TimestampCell, TimestampValues> {
  public:
    explicit PathBench(Context& context)
        : NatPathBench(context,
                       {{".refused-syns.txt", "every SYN that a TIME_WAIT refused, a line each"}}) {
    }

    Status open() {
        TRY(NatPathBench::open());
        const lab::NatPathNames& names = hosts_.names();
        for (const std::string& device : {names.dut_client_device, names.dut_server_device}) {
            TRY(know_device(context_.measured, *hosts_.dut, device,
                            "DUT device " + device + " (NAT path)"));
        }
        return {};
    }

  private:
    // A run whose client had no CPU time, in which two SYNs drew one port at once (the failure of
    // snat-race), or whose server was late though its queue had room (the machine stood still), is
    // made again, up to five times in all.
    Status run(const TimestampCell& /*what*/, MeasuredTimestampCell& cell) override {
        // A cure that is tried on top changes the path's settings.
        TimestampPath& path = cell.what.path;
        if (has(hosts_.cure, "random-fully") && path.snat == PathSnat::kMasquerade) {
            path.snat = PathSnat::kMasqueradeRandomFully;
        }
        if (has(hosts_.cure, "timestamps-2")) {
            path.timestamps = 2;
        }
        for (unsigned attempt = 1; attempt <= kMostRuns; ++attempt) {
            cell.seen = {};
            cell.seen = TRY(run_once(cell.what, cell));
            cell.seen.attempts = attempt;
            const bool starved =
                cell.seen.found.unexplained != 0 && cell.seen.worst_late_ms >= kStarvedMs;
            const bool clashed =
                cell.seen.found.harmed_by(SynFate::kLost) != 0 && cell.seen.insert_failed != 0;
            const bool stalled = cell.seen.found.harmed_by(SynFate::kUnanswered) != 0 &&
                                 cell.seen.listen_overflows == 0;
            if (!starved && !clashed && !stalled) {
                break;
            }
        }
        tell(cell.seen.objections,
             cell.seen.worst_late_ms >= kStarvedMs && cell.seen.found.unexplained != 0,
             "the client was short of CPU time: a connect began {:.0f} ms late",
             cell.seen.worst_late_ms);
        for (const RefusedSyn& syn : cell.seen.found.refused) {
            noted() += fmt::format(
                "port={} port_before_nat={} left_by={} compared={} last={} own={} conntrack={}\n",
                syn.port, syn.port_before_nat, syn.left_by,
                syn.fate == SynFate::kTimestamp ? "tsval" : "sequence", syn.last, syn.own,
                syn.named ? "names" : "unknown");
        }
        return {};
    }

    struct Counters {
        agent::CounterSet client, server;
        std::vector<netfilter::CpuStats> conntrack;
    };

    Result<Counters> counters() {
        auto client = hosts_.client->counters();
        auto server = hosts_.server->counters();
        auto conntrack = hosts_.dut->conntrack_stats();
        TRY(first_error(client, server, conntrack));
        return Counters{std::move(*client), std::move(*server), std::move(*conntrack)};
    }

    lab::Settings settings_of(const TimestampPath& path) const {
        lab::Settings settings = {
            lab::masquerade(hosts_.names(), {.snat = path.snat, .ports = path.snat_ports})};
        if (path.client_ports.last != 0) {
            settings.push_back(lab::client_ports(path.client_ports));
        }
        settings.push_back(setting::sysctl(lab::HostRole::kClient, setting::kTimestamps,
                                           std::to_string(path.timestamps)));
        return settings;
    }

    Status prepare(const TimestampCell& what, std::uint16_t port) {
        const lab::NatPathNames& names = hosts_.names();
        const auto watch = [](agent::Client& agent, const std::string& device, int flags) {
            return agent.start_capture({.device = device,
                                        .most_frames = kMostFrames,
                                        .most_bytes = kFrameBytes,
                                        .tcp_flags = static_cast<std::uint8_t>(flags)});
        };
        TRY(hosts_.set(settings_of(what.path)));
        TRY(hosts_.server->stop_servers());
        TRY(hosts_.server->start_closing_server(
            {.listen = {names.server_address, port}, .closes_first = what.closes_first}));
        TRY(hosts_.dut->start_events(
            {.protocol = IPPROTO_TCP, .original_destination_port = port, .births_only = true}));
        TRY(watch(*hosts_.dut, names.dut_client_device, TH_SYN | TH_RST));
        return watch(*hosts_.server, names.server_device, TH_SYN | TH_FIN | TH_RST);
    }

    Result<TimestampValues> run_once(const TimestampCell& what, MeasuredTimestampCell& cell) {
        cell.timeline.reset();
        const auto port = static_cast<std::uint16_t>(kFirstServerPort + runs_++);
        TRY(prepare(what, port));
        auto recorder = TRY(FlowRecorder::start(
            what.again, hosts_, {.protocol = IPPROTO_TCP, .original_destination_port = port}));
        const auto before = TRY(counters());
        TRY(hosts_.dut->start_fate(
            {.flows = {{.protocol = IPPROTO_TCP, .destination_port = port, .tcp_flags = TH_SYN}}}));
        auto report = hosts_.client->tcp_connects({.server = {hosts_.names().server_address, port},
                                                   .count = what.connects,
                                                   .per_second = what.per_second,
                                                   .closes_first = what.closes_first});
        const auto after = counters();
        const auto fates = hosts_.dut->stop_fate();
        const auto sent = hosts_.dut->stop_capture();
        const auto arrived = hosts_.server->stop_capture();
        auto log = hosts_.dut->stop_events();
        const auto record = TRY(recorder.stop());
        TRY(first_error(report, after, sent, arrived, log));
        const auto slow = std::ranges::find_if(report->connects, [](const agent::Connect& each) {
            return each.error == 0 && each.milliseconds > kSlowConnectMs;
        });
        if (slow != report->connects.end()) {
            const auto took_ns = static_cast<std::int64_t>(slow->milliseconds * 1e6);
            cell.timeline = flow_timeline(what.id + ": one connect that waited", record,
                                          {.protocol = IPPROTO_TCP,
                                           .client = {hosts_.names().client_address, slow->port},
                                           .from_ns = slow->start_ns,
                                           .until_ns = slow->start_ns + took_ns});
        }
        TimestampValues seen = values_of(what, port, std::move(*report), std::move(log->events),
                                         *sent, *arrived, log->overruns, before, *after);
        seen.answers = own_ends(fates, fate::Direction::kBack);
        return seen;
    }

    static TimestampValues values_of(const TimestampCell& what, std::uint16_t port,
                                     agent::ConnectsReport report,
                                     std::vector<netfilter::Event> births,
                                     const agent::Capture& sent, const agent::Capture& arrived,
                                     std::uint64_t overruns, const Counters& before,
                                     const Counters& after) {
        const agent::CounterSet client = agent::delta(before.client, after.client);
        const agent::CounterSet server = agent::delta(before.server, after.server);
        const char* paws = after.server.contains("TcpExt.PAWSTimewait") ? "TcpExt.PAWSTimewait"
                                                                        : "TcpExt.PAWSEstab";
        const auto conntrack = netfilter::delta(before.conntrack, after.conntrack);
        const double begun_s = report.connects.size() < 2
                                   ? 0
                                   : static_cast<double>(report.connects.back().start_ns -
                                                         report.connects.front().start_ns) /
                                         1e9;
        TimestampValues seen{
            .paws = value_in(server, paws),
            .client_resets = value_in(client, "Tcp.OutRsts"),
            .syn_retransmits = value_in(client, "TcpExt.TCPSynRetrans"),
            .listen_overflows = value_in(server, "TcpExt.ListenOverflows"),
            .insert_failed = netfilter::total(conntrack, "insert_failed"),
            .drop = netfilter::total(conntrack, "drop"),
            .seconds = report.seconds,
            .per_second =
                begun_s > 0 ? static_cast<double>(report.connects.size() - 1) / begun_s : 0,
            .worst_late_ms = report.worst_late_ms};
        seen.found = follow_syns(
            {.connects = std::move(report.connects),
             .before_nat = segments_to(sent, port),
             .after_nat = segments_to(arrived, port),
             .births = std::move(births),
             .server_closes = !what.without_time_wait(),
             .drawn_from = what.full_range && what.path.snat == PathSnat::kMasqueradeRandomFully
                               ? kAllPorts
                               : 0});
        tell_count(seen.objections, sent.missing() + arrived.missing(),
                   "the captures lost {} segments");
        tell_count(seen.objections, seen.found.strangers,
                   "{} SYNs came to the server that nobody saw leave");
        tell_count(seen.objections, overruns, "the conntrack listener lost events {} times");
        return seen;
    }

    unsigned runs_ = 0;
};

}  // namespace

std::vector<TimestampCell> timestamp_cells() {
    const auto few = [](const char* id, std::string label, PathSnat snat) {
        return TimestampCell{.id = id,
                             .label = std::move(label),
                             .path = {.snat = snat, .snat_ports = kFewPorts},
                             .connects = kFewConnects,
                             .per_second = kFewPerSecond};
    };
    const auto full = [](const char* id, std::string label, PathSnat snat) {
        return TimestampCell{.id = id,
                             .label = std::move(label),
                             .full_range = true,
                             .path = {.snat = snat, .client_ports = kClientPorts},
                             .connects = kManyConnects,
                             .per_second = kManyPerSecond};
    };
    constexpr PathSnat kRandom = PathSnat::kMasqueradeRandomFully;
    const std::string drawn = setting::cure("random-fully").brief;
    const std::string cured = setting::cure("timestamps-2").brief;
    std::vector<TimestampCell> cells = with_roles<TimestampCell>({
        few("small-range.random-fully", "256 ports, " + drawn, kRandom),
        few("small-range.masquerade", "256 ports, plain", PathSnat::kMasquerade),
        few("control.no-nat", "control: no NAT", PathSnat::kNone),
        few("control.client-closes-first", "control: client closes", kRandom),
        few("cure.timestamps-2", "cure: " + cured, kRandom),
        few("small-range.after-cure", "after the cure", kRandom),
        full("full-range.random-fully", "all ports, " + drawn, kRandom),
        full("control.full-range.masquerade", "control: all ports, plain", PathSnat::kMasquerade),
        full("full-range.timestamps-0", "all ports, tcp_timestamps=0", kRandom),
        full("cure.full-range.timestamps-2", "cure: all ports, " + cured, kRandom),
    });
    cells[2].path.client_ports = kFewClientPorts;  // so that its 4-tuples come again too
    cells[3].closes_first = agent::Closer::kClient;
    cells[4].path.timestamps = 2;
    cells[8].path.timestamps = 0;
    cells[9].path.timestamps = 2;
    return cells;
}

Scenario snat_timestamps_scenario() {
    return nat_path_scenario<PathBench, timestamp_cells, snat_timestamps_conclusions>(
        "snat-timestamps", "Connects of 1, 2, 4 s behind SNAT: timestamps of another port",
        "Does every connection through SNAT open at once where the server closes first?");
}

}  // namespace pathproof::scenario
