// Flows through SNAT into a range of ports of which most are in use.
//
// Set:  MASQUERADE of a client's UDP into 8192 ports, some of them in use by its other flows; or into
//       all ports.
// Sent: a datagram from each of many ports.
// Seen: which of them got an entry, with which port, and so which ports were in use at each;
//       conntrack's counters; what came out.

#include "harness/scenario/service_path/snat_exhaustion.h"

#include <netinet/in.h>

#include <map>

#include "harness/netfilter/stats.h"
#include "harness/scenario/nat_path_bench.h"
#include "harness/scenario/service_path/flow_timeline.h"

namespace pathproof::scenario {
namespace {

constexpr lab::PortRange kRange{30'000, 38'191};
constexpr std::uint32_t kRangePorts = kRange.last - kRange.first + 1;
// The client's ports lie outside the range, so that no flow keeps its own.
constexpr std::uint32_t kFirstClientPort = 40'000;
constexpr std::uint32_t kLastClientPort = 65'535;
constexpr std::uint16_t kSinkPort = 9000;
constexpr std::uint32_t kBatch = 64;  // flows, between two looks at the table
constexpr std::uint32_t kFlowsOfCure = 512;
// Flows that are sent for each port of the range that is to be taken: more fail for another reason.
constexpr std::uint32_t kMostForEach = 3;

class ExhaustionBench : public NatPathBench<ExhaustionCell, ExhaustionValues> {
  public:
    explicit ExhaustionBench(Context& context)
        : NatPathBench(context,
                       {{".failed.txt", "flows that got no entry, and the ports in use at each"}}) {
    }

    Status open() {
        TRY(NatPathBench::open());
        lacks_ipv6_ = TRY(hosts_.add_ipv6());
        return {};
    }

  private:
    Status configure(frame::Family family, lab::PortRange ports, lab::Flows flows) {
        return hosts_.set(
            {lab::masquerade(hosts_.lab->names(family),
                             {.snat = lab::Snat::kMasquerade, .protocol = "udp", .ports = ports}),
             lab::udp_timeout(600)},
            flows);
    }

    // Sends new flows until they have that many entries, or so many flows were sent.
    Status send_until(const lab::NatPathNames& names, std::uint64_t entries, std::uint32_t most) {
        std::uint64_t others = 0;  // a host of the kernel has flows of its own
        for (std::uint32_t sent = 0; sent < most;) {
            const auto table = TRY(hosts_.dut->conntrack_table());
            if (table.entries >= entries + others) {
                const std::uint64_t ours = TRY(entries_of_flows()).size();
                if (ours >= entries) {
                    return {};
                }
                others = table.entries - std::min(table.entries, ours);
            }
            const std::uint64_t missing =
                entries + others - std::min(table.entries, entries + others);
            const auto batch = static_cast<std::uint16_t>(std::min<std::uint64_t>(
                {kBatch, std::max<std::uint64_t>(missing, 1), most - sent}));
            const auto report = TRY(hosts_.client->send_datagrams(
                {.source = {names.client_address, static_cast<std::uint16_t>(next_)},
                 .destination = {names.server_address, kSinkPort},
                 .payloads = {{0x70, 0x70}},
                 .source_ports = batch}));
            if (report.sent != batch) {
                return fail(ErrorCode::kFailed, "the client's kernel refused {} of {} datagrams",
                            batch - report.sent, batch);
            }
            next_ += batch;
            sent += batch;
        }
        return {};
    }

    Result<std::vector<netfilter::Entry>> entries_of_flows() {
        return hosts_.dut->conntrack_dump(
            {.protocol = IPPROTO_UDP, .original_destination_port = kSinkPort});
    }

    // Returns, for each port of the range, whether it is in use.
    Result<std::vector<bool>> ports_in_use() {
        std::vector<bool> used(kRangePorts);
        const auto entries = TRY(entries_of_flows());
        for (const netfilter::Entry& entry : entries) {
            use(used, entry.reply.destination.port);
        }
        return used;
    }

    static void use(std::vector<bool>& used, std::uint16_t port) {
        if (port >= kRange.first && port <= kRange.last) {
            used[port - kRange.first] = true;
        }
    }

    static std::uint64_t count(const std::vector<bool>& used) {
        return static_cast<std::uint64_t>(std::ranges::count(used, true));
    }

    Status run(const ExhaustionCell& what, MeasuredExhaustionCell& cell) override {
        ExhaustionValues& seen = cell.seen;
        seen.lacks = what.family == frame::Family::kIpv6 ? lacks_ipv6_ : "";
        if (!seen.lacks.empty()) {
            return {};
        }
        const lab::NatPathNames& names = hosts_.lab->names(what.family);
        seen.ports = kRangePorts;
        const std::uint64_t begin = kRangePorts * what.from / 100;
        // Continues to fill the range where the cells before stopped, as long as the client has
        // ports for it.
        std::vector<bool> used;
        if (filled_ == what.family && next_ + kMostForEach * kRangePorts / 2 < kLastClientPort) {
            used = TRY(ports_in_use());
        }
        if (used.empty() || count(used) > begin + kRangePorts / 100 * (what.all_ports ? 3 : 0)) {
            next_ = kFirstClientPort;
            TRY(configure(what.family, kRange, lab::Flows::kForget));
        }
        filled_.reset();
        TRY(send_until(names, begin, kMostForEach * static_cast<std::uint32_t>(begin)));
        used = TRY(ports_in_use());
        seen.used_before = count(used);
        if (what.all_ports) {
            TRY(configure(what.family, {}, lab::Flows::kKeep));
        }
        const std::uint64_t end = kRangePorts * what.to / 100;
        const std::uint64_t wanted = what.all_ports ? seen.used_before + kFlowsOfCure : end;
        const std::uint32_t first = next_;
        auto recorder = TRY(FlowRecorder::start(
            what.again, hosts_, {.protocol = IPPROTO_UDP, .original_destination_port = kSinkPort}));
        TRY(hosts_.dut->start_events({.protocol = IPPROTO_UDP,
                                      .original_destination_port = kSinkPort,
                                      .births_only = true}));
        const auto watched = watch_path(hosts_, kSinkPort, [&] {
            return send_until(names, wanted,
                              kMostForEach * static_cast<std::uint32_t>(wanted - seen.used_before));
        });
        const auto log = TRY(hosts_.dut->stop_events());
        const auto record = TRY(recorder.stop());
        TRY(watched ? Status() : Status(pass_on(watched.error())));
        seen.path = watched->losses;
        seen.flows = next_ - first;
        seen.overruns = log.overruns;
        const std::uint16_t failed = judge(what, first, log.events, used, seen);
        if (failed != 0) {
            cell.timeline = flow_timeline(what.id + ": one flow that got no entry", record,
                                          {IPPROTO_UDP, {names.client_address, failed}});
        }
        const auto after = TRY(ports_in_use());
        seen.used_after = count(after);
        if (!what.all_ports) {
            filled_ = what.family;
        }
        return {};
    }

    // Follows the flows in the order in which they were sent. Gives the port of the first that got no
    // entry, or 0.
    std::uint16_t judge(const ExhaustionCell& what, std::uint32_t first,
                        const std::vector<netfilter::Event>& births, std::vector<bool>& used,
                        ExhaustionValues& seen) {
        std::map<std::uint32_t, std::uint16_t> given;  // port of the client, and that after NAT
        for (const netfilter::Event& event : births) {
            given[event.entry.original.source.port] = event.entry.reply.destination.port;
        }
        seen.fewest_free = kRangePorts;
        std::uint16_t failed = 0;
        for (std::uint32_t port = first; port < next_; ++port) {
            const double fails = what.all_ports ? 0 : search_failure(used);
            seen.expected += fails;
            seen.variance += fails * (1 - fails);
            if (const auto got = given.find(port); got != given.end()) {
                ++seen.made;
                use(used, got->second);
                continue;
            }
            failed = failed != 0 ? failed : static_cast<std::uint16_t>(port);
            const std::uint64_t in_use = count(used);
            seen.fewest_free = std::min(seen.fewest_free, kRangePorts - in_use);
            noted() += fmt::format("source port {}: {} of {} ports in use, computed {:.1f} %\n",
                                   port, in_use, kRangePorts, 100 * fails);
        }
        return failed;
    }

    std::string lacks_ipv6_;
    std::optional<frame::Family>
        filled_;  // the range holds flows of the cell before, and no others
    std::uint32_t next_ = kFirstClientPort;
};

}  // namespace

std::vector<ExhaustionCell> snat_exhaustion_plan() {
    std::vector<ExhaustionCell> cells = {
        {.id = "control.empty-range", .label = "0 to 10 % in use"}};
    for (const auto& [from, to] :
         {std::pair{45U, 50U}, {70U, 75U}, {85U, 90U}, {90U, 95U}, {95U, 97U}, {97U, 99U}}) {
        cells.push_back({.id = fmt::format("fill-{}", to),
                         .label = fmt::format("{} to {} % in use", from, to),
                         .from = from,
                         .to = to});
    }
    cells.insert(cells.end(),
                 {{.id = "cure.all-ports", .label = "cure: all ports", .from = 97},
                  {.id = "fill-99.after-cure", .label = "after the cure", .from = 97, .to = 99},
                  {.id = "control.all-ports", .label = "all ports"},
                  {.id = "ipv6.fill-99", .label = "IPv6, 97 to 99 % in use", .from = 97, .to = 99},
                  {.id = "control.ipv6.all-ports", .label = "IPv6, all ports"}});
    for (ExhaustionCell& cell : cells) {
        cell.all_ports = has_part(cell.id, "all-ports");
        cell.family = has_part(cell.id, "ipv6") ? frame::Family::kIpv6 : frame::Family::kIpv4;
    }
    return with_roles(std::move(cells));
}

Scenario snat_exhaustion_scenario() {
    return nat_path_scenario<ExhaustionBench, snat_exhaustion_plan, snat_exhaustion_conclusions>(
        "snat-exhaustion", "SNAT into few ports: the search for a free one is given up",
        "Do flows through SNAT get a port for as long as one is free (IPv4 and IPv6)?");
}

}  // namespace pathproof::scenario
