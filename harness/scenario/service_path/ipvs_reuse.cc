// The first SYN of a connection that reuses the port of an earlier one, which IPVS still has in
// TIME_WAIT.
//
// Set:  a client, a DUT whose IPVS has a service with one endpoint, a server; a small range of the
//       client's ports; net.ipv4.vs.conn_reuse_mode.
// Sent: short TCP connections that the server closes, so that ports are free at once and used again.
// Seen: how long each connect took; SYNs that came to the DUT, and those that left it.

#include "harness/scenario/service_path/ipvs_reuse.h"

#include <netinet/tcp.h>

#include <algorithm>
#include <set>

#include "harness/scenario/nat_path_bench.h"
#include "harness/scenario/service_path/ipvs_connections.h"
#include "harness/scenario/service_path/syn_trail.h"
#include "harness/scenario/settings/service.h"

namespace pathproof::scenario {
namespace {

constexpr std::uint32_t kConnectsOfPort = 300;
constexpr double kConnectsPerSecond = 100;
constexpr lab::PortRange kFewPorts{.first = 40'000, .last = 40'099};
constexpr unsigned kMostRuns = 3;
constexpr double kStarvedMs = 100;
constexpr std::uint32_t kMostFrames = 10'000;
constexpr std::uint32_t kFrameBytes = 128;

class ReuseBench : public NatPathBench<ReuseCell, ReuseValues> {
  public:
    using NatPathBench::NatPathBench;

    Status open() {
        TRY(NatPathBench::open());
        const std::string lacking =
            TRY(hosts_.lab->hosts().lacks(ipvs_services(hosts_.names(), {})));
        return lacking.empty() ? Status() : fail(ErrorCode::kKernelLacks, "{}", lacking);
    }

  private:
    Status run(const ReuseCell& what, MeasuredReuseCell& cell) override {
        for (unsigned attempt = 1; attempt <= kMostRuns; ++attempt) {
            cell.seen = {};
            TRY(run_once(what, cell.seen));
            if (cell.seen.slow == cell.seen.swallowed || cell.seen.worst_late_ms < kStarvedMs) {
                break;
            }
        }
        tell(cell.seen.objections,
             cell.seen.slow != cell.seen.swallowed && cell.seen.worst_late_ms >= kStarvedMs,
             "the client was short of CPU time: a connect began {:.0f} ms late",
             cell.seen.worst_late_ms);
        return {};
    }

    static Result<std::vector<Segment>> syns(agent::Client& host, std::uint16_t to) {
        const auto capture = TRY(host.stop_capture());
        std::vector<Segment> all = segments_to(capture, to);
        std::erase_if(all, [](const Segment& segment) { return !segment.syn; });
        return all;
    }

    Status run_once(const ReuseCell& what, ReuseValues& seen) {
        const lab::NatPathNames& names = hosts_.names();
        const frame::Endpoint endpoint{names.endpoints[0], kEndpointPort};
        lab::Settings settings =
            ipvs_services(names, {.tcp = endpoint.address, .reuse_mode = what.mode});
        if (!what.other_ports) {
            settings.push_back(lab::client_ports(kFewPorts));
        }
        // Connections of the cell before are gone with the service.
        TRY(hosts_.set({}));
        TRY(hosts_.set(settings));
        TRY(hosts_.server->stop_servers());
        TRY(hosts_.server->start_closing_server({.listen = endpoint}));
        const auto watch = [](agent::Client& host, const std::string& device) {
            return host.start_capture({.device = device,
                                       .most_frames = kMostFrames,
                                       .most_bytes = kFrameBytes,
                                       .tcp_flags = TH_SYN});
        };
        TRY(watch(*hosts_.dut, names.dut_client_device));
        TRY(watch(*hosts_.server, names.server_device));
        const auto report = hosts_.client->tcp_connects({.server = names.web_service,
                                                         .count = kConnectsOfPort,
                                                         .per_second = kConnectsPerSecond});
        const auto came = TRY(syns(*hosts_.dut, names.web_service.port));
        const auto left = TRY(syns(*hosts_.server, endpoint.port));
        const auto connections = TRY(ipvs_connections(*hosts_.dut));
        TRY(report ? Status() : pass_on(report.error()));
        seen.time_wait = static_cast<std::uint64_t>(std::ranges::count_if(
            connections,
            [](const std::string& line) { return line.find(" TIME_WAIT ") != std::string::npos; }));
        count(*report, came, left, seen);
        return {};
    }

    static void count(const agent::ConnectsReport& report, const std::vector<Segment>& came,
                      const std::vector<Segment>& left, ReuseValues& seen) {
        seen.connects = report.connects.size();
        seen.worst_late_ms = report.worst_late_ms;
        std::set<std::uint16_t> used;
        for (const agent::Connect& each : report.connects) {
            const bool reused = !used.insert(each.port).second;
            seen.reused += reused ? 1 : 0;
            if (each.error != 0) {
                ++seen.failed;
                continue;
            }
            seen.worst_ms = std::max(seen.worst_ms, each.milliseconds);
            if (each.milliseconds < kSecondSynMs) {
                continue;
            }
            ++seen.slow;
            const auto early = [&](const Segment& syn) {
                return syn.source_port == each.port && syn.time_ns >= each.start_ns &&
                       static_cast<double>(syn.time_ns - each.start_ns) < kSecondSynMs / 2 * 1e6;
            };
            seen.swallowed +=
                reused && std::ranges::any_of(came, early) && std::ranges::none_of(left, early) ? 1
                                                                                                : 0;
        }
    }
};

}  // namespace

std::vector<ReuseCell> ipvs_reuse_plan() {
    return with_roles<ReuseCell>({
        {.id = "reuse", .label = "conn_reuse_mode=1"},
        {.id = "control.other-ports", .label = "control: other ports", .other_ports = true},
        {.id = "cure.reuse-mode-0", .label = "cure: conn_reuse_mode=0", .mode = 0},
        {.id = "reuse.after-cure", .label = "after the cure"},
    });
}

Scenario ipvs_reuse_scenario() {
    return nat_path_scenario<ReuseBench, ipvs_reuse_plan, ipvs_reuse_conclusions>(
        "ipvs-reuse", "Connects through IPVS from a port that was used before",
        "Does IPVS swallow the first SYN of a connection whose port it still has in TIME_WAIT?");
}

}  // namespace pathproof::scenario
