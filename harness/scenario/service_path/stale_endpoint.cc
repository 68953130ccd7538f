// A share of the connections to a service fails for as long as its rules name endpoints that are dead.
//
// Set:  kube-proxy's chains for a service, of its iptables or its nftables mode: each endpoint with
//       the same chance; of those that they name some are dead, each way that an endpoint can be.
// Sent: short TCP connections to the service at a rate.
// Seen: how each ended, which endpoint conntrack's entry or event of it names, what each endpoint's
//       DNAT rule counted.

#include "harness/scenario/service_path/stale_endpoint.h"

#include <netinet/in.h>
#include <netinet/tcp.h>

#include <algorithm>
#include <cerrno>
#include <map>

#include "harness/agent/connects.h"
#include "harness/fate/flow.h"
#include "harness/lab/rule_hits.h"
#include "harness/scenario/first_error.h"
#include "harness/scenario/nat_path_bench.h"
#include "harness/scenario/own_ends.h"
#include "harness/scenario/service_path/connects_by_port.h"
#include "harness/scenario/service_path/flow_timeline.h"

namespace pathproof::scenario {
namespace {

using frame::Family;

constexpr std::uint32_t kEndpointConnects = 400;
constexpr double kEndpointConnectsPerSecond = 400;
// The timeout is longer than the search for a neighbour (3 s,
// net.ipv4.neigh.default.mcast_solicit).
constexpr agent::milliseconds kEndpointTimeout{3500};
constexpr const char* kService = "service";
constexpr const char* kStranger = "stranger";

ConnectEnd end_of(const agent::Connect& connect) {
    switch (connect.error) {
        case 0:
            if (connect.said == kService) {
                return ConnectEnd::kServed;
            }
            return connect.said.empty() ? ConnectEnd::kNothing : ConnectEnd::kStranger;
        case ECONNREFUSED: return ConnectEnd::kRefused;
        case ETIMEDOUT: return ConnectEnd::kTimedOut;
        case EHOSTUNREACH:
        case ENETUNREACH: return ConnectEnd::kUnreachable;
        default: return ConnectEnd::kOther;
    }
}

class EndpointBench : public NatPathBench<EndpointCell, EndpointValues> {
  public:
    explicit EndpointBench(Context& context)
        : NatPathBench(context,
                       {{".failed-connects.txt", "every connect that failed, a line each"}}) {}

    Status open() {
        TRY(NatPathBench::open());
        lacks_ipv6_ = TRY(hosts_.add_ipv6());
        TRY(add_endpoints(*hosts_.lab));
        // Finds out before any cell what the kernel lacks for such rules.
        TRY(hosts_.set(
            web_service(hosts_.names(), Proxy::kIptables, endpoints_that(EndpointState::kServes))));
        for (const auto& [state, says] :
             {std::pair{EndpointState::kServes, kService}, {EndpointState::kStranger, kStranger}}) {
            for (const Family family : {Family::kIpv4, Family::kIpv6}) {
                for (const frame::IpAddress& address : endpoints_that(state, family)) {
                    if (family == Family::kIpv4 || lacks_ipv6_.empty()) {
                        TRY(hosts_.server->start_closing_server(
                            {.listen = {address, kEndpointPort}, .greeting = says}));
                    }
                }
            }
        }
        return {};
    }

  private:
    void object(const Error& error, EndpointValues& seen) override {
        const bool lacks = error.code == ErrorCode::kKernelLacks;
        (lacks ? seen.lacks : seen.objections.emplace_back()) = error.message;
    }

    Status run(const EndpointCell& what, MeasuredEndpointCell& cell) override {
        EndpointValues& seen = cell.seen;
        if (what.family == Family::kIpv6 && !lacks_ipv6_.empty()) {
            return fail(ErrorCode::kKernelLacks, "{}", lacks_ipv6_);
        }
        std::vector<EndpointState> states(what.serving, EndpointState::kServes);
        states.insert(states.end(), what.dead.begin(), what.dead.end());
        std::vector<frame::IpAddress> named;
        std::map<EndpointState, std::size_t> used;
        for (const EndpointState state : states) {
            named.push_back(endpoints_that(state, what.family).at(used[state]++));
        }
        const lab::NatPathNames& names = hosts_.lab->names(what.family);
        const frame::Endpoint& service = names.web_service;
        TRY(hosts_.set(web_service(names, what.proxy, named)));
        TRY(hosts_.dut->start_events({.protocol = IPPROTO_TCP,
                                      .original_destination_port = service.port,
                                      .births_only = true}));
        auto recorder = TRY(FlowRecorder::start(
            what.again, hosts_,
            {.protocol = IPPROTO_TCP, .original_destination_port = service.port}));
        TRY(hosts_.dut->start_fate({.flows = {{.protocol = IPPROTO_TCP,
                                               .source = names.client_address,
                                               .destination_port = service.port,
                                               .tcp_flags = TH_SYN}}}));
        const auto report = hosts_.client->tcp_connects({.server = service,
                                                         .count = kEndpointConnects,
                                                         .per_second = kEndpointConnectsPerSecond,
                                                         .timeout = kEndpointTimeout});
        const auto fates = hosts_.dut->stop_fate();
        const auto log = hosts_.dut->stop_events();
        const auto record = TRY(recorder.stop());
        const auto hits = endpoint_hits(what, named);
        TRY(first_error(report, log, hits));
        tell_count(seen.objections, log->overruns, "the conntrack listener lost events {} times");
        for (std::size_t i = 0; i < named.size(); ++i) {
            seen.endpoints.push_back(
                {.address = to_string(named[i]), .state = states[i], .hits = (*hits)[i]});
        }
        const std::vector<std::string> backends = backends_of(report->connects, log->events);
        for (std::size_t i = 0; i < report->connects.size(); ++i) {
            const agent::Connect& connect = report->connects[i];
            take(connect, backends[i], seen, noted());
            if (!cell.timeline && end_of(connect) != ConnectEnd::kServed) {
                cell.timeline = flow_timeline(what.id + ": one connect that failed", record,
                                              {IPPROTO_TCP, {names.client_address, connect.port}});
            }
        }
        take_stopped(fates, report->connects, backends, seen);
        return {};
    }

    // Returns whether the endpoint's state explains the DUT's drop: the DUT's own rule rejects the
    // packet, or nobody answers for the address.
    static bool is_of_state(EndpointState state, const std::string& cause) {
        switch (state) {
            case EndpointState::kRejected: return cause == "reject" || cause == "rule";
            case EndpointState::kNobody: return cause == "neighbour";
            case EndpointState::kServes:
            case EndpointState::kClosed:
            case EndpointState::kSilent:
            case EndpointState::kStranger: return false;
        }
        return false;
    }

    // The connects that failed as the DUT itself dropped their SYNs.
    static void take_stopped(const Result<fate::Fates>& fates,
                             const std::vector<agent::Connect>& connects,
                             const std::vector<std::string>& backends, EndpointValues& seen) {
        OwnEnds ends = own_ends(fates, fate::Direction::kThere);
        seen.not_followed = ends.not_followed;
        if (!ends.by_packet()) {
            return;
        }
        const ConnectsByPort began(connects);
        std::map<std::size_t, const fate::Packet*> dropped;  // the last one of a connect
        for (const fate::Packet& packet : fates->each) {
            const fate::End& end = fates->ends.at(packet.end).end;
            const auto of = began.at(packet.source.port, packet.begin_ns);
            if (packet.direction == fate::Direction::kThere &&
                end.ending == fate::Ending::kDropped && end.netns == fates->netns && of) {
                dropped[*of] = &packet;
            }
        }
        fate::Fates stopping{.netns = fates->netns};
        for (std::size_t i = 0; i < connects.size(); ++i) {
            const auto found = dropped.find(i);
            if (end_of(connects[i]) == ConnectEnd::kServed || found == dropped.end()) {
                continue;
            }
            const fate::Packet& packet = *found->second;
            const fate::End& end = fates->ends.at(packet.end).end;
            // A packet that is dropped before its flow has an entry still shows where it was sent.
            const std::string to =
                backends[i].empty() ? to_string(packet.last_destination.address) : backends[i];
            const auto at = std::ranges::find(seen.endpoints, to, &EndpointTally::address);
            if (at == seen.endpoints.end() || !is_of_state(at->state, end.cause)) {
                ++seen.stopped;
                seen.stopped_to_dead += at != seen.endpoints.end() && at->dead() ? 1 : 0;
                stopping.ends.push_back({.end = end, .packets = 1});
            }
        }
        ends = own_ends_in(stopping,
                           {fates->netns});  // a device that did not take a SYN in ended it too
        seen.stopped_by = causes(ends);
        seen.stopped_how = in_words(ends);
    }

    // Returns the count of each endpoint's rule.
    Result<std::vector<std::uint64_t>> endpoint_hits(
        const EndpointCell& what, const std::vector<frame::IpAddress>& named) const {
        const bool nft = what.proxy == Proxy::kNftables;
        const char* const family = what.family == Family::kIpv4 ? "ip" : "ip6";
        const auto rules =
            TRY(nft ? hosts_.dut->output_of({"nft", "list", "table", family, "kube-proxy"})
                    : hosts_.lab->counted_rules(what.family));
        std::vector<std::uint64_t> hits;
        for (const frame::IpAddress& address : named) {
            const std::string to = to_string(frame::Endpoint{address, kEndpointPort});
            hits.push_back(nft ? lab::nft_hits_of(rules, " dnat to " + to)
                               : lab::hits_of(rules, " --to-destination " + to));
        }
        return hits;
    }

    // The endpoint of each connect, by the entries of its port; empty: it has no entry.
    static std::vector<std::string> backends_of(const std::vector<agent::Connect>& connects,
                                                const std::vector<netfilter::Event>& births) {
        const ConnectsByPort began(connects);
        std::vector<std::string> backends(connects.size());
        for (const netfilter::Event& event : births) {
            const std::int64_t time_ns = event.kernel_time_ns
                                             ? static_cast<std::int64_t>(*event.kernel_time_ns)
                                             : event.time_ns;
            if (const auto of = began.at(event.entry.original.source.port, time_ns)) {
                backends[*of] = to_string(event.entry.reply.source.address);
            }
        }
        return backends;
    }

    static void take(const agent::Connect& connect, const std::string& backend,
                     EndpointValues& seen, std::string& lines) {
        const ConnectEnd end = end_of(connect);
        const bool failed = end != ConnectEnd::kServed;
        ++seen.ends[static_cast<std::size_t>(end)];
        const auto at = std::ranges::find(seen.endpoints, backend, &EndpointTally::address);
        if (at != seen.endpoints.end()) {
            ++at->flows;
            at->failed += failed ? 1 : 0;
        } else {
            seen.failed_without_entry += failed ? 1 : 0;
        }
        if (failed) {
            lines += fmt::format("port={} errno={} milliseconds={:.1f} said={} backend={}\n",
                                 connect.port, connect.error, connect.milliseconds, connect.said,
                                 backend.empty() ? "unknown" : backend);
        }
    }

    std::string lacks_ipv6_;
};

}  // namespace

std::vector<EndpointCell> endpoint_cells() {
    const std::vector<EndpointState> each_way = {EndpointState::kNobody, EndpointState::kClosed,
                                                 EndpointState::kSilent, EndpointState::kStranger,
                                                 EndpointState::kRejected};
    // IPv6 leaves kRejected out: a rejected SYN is sent again and gets another endpoint, because
    // the error arrives while the connect is under way and then ends nothing (tcp_v6_err).
    const std::vector<EndpointState> each_way6(each_way.begin(), each_way.end() - 1);
    std::vector<EndpointCell> cells = with_roles<EndpointCell>({
        {.id = "dead.closed", .label = "port closed"},
        {.id = "dead.each-way", .label = "each way", .serving = 5, .dead = each_way},
        {.id = "control.all-alive", .label = "control: all alive", .serving = 8},
        {.id = "cure.rules-of-the-living", .label = "cure: rules anew"},
        {.id = "dead.closed.after-cure", .label = "after the cure"},
        {.id = "nft.dead.each-way", .label = "nftables, each way", .serving = 5, .dead = each_way},
        {.id = "control.nft.all-alive", .label = "control: nftables, all alive", .serving = 8},
        {.id = "cure.nft.rules-of-the-living", .label = "cure: nftables, rules anew", .serving = 5},
        {.id = "ipv6.dead.each-way", .label = "IPv6, each way", .serving = 4, .dead = each_way6},
        {.id = "control.ipv6.all-alive", .label = "control: IPv6, all alive", .serving = 8},
        {.id = "nft.ipv6.dead.closed", .label = "nftables, IPv6, port closed"},
    });
    for (EndpointCell& cell : cells) {
        cell.proxy = has_part(cell.id, "nft") ? Proxy::kNftables : Proxy::kIptables;
        cell.family = has_part(cell.id, "ipv6") ? Family::kIpv6 : Family::kIpv4;
        if (cell.role != CellRole::kMatrix) {  // rules of the living
            cell.dead.clear();
        }
    }
    return cells;
}

Scenario stale_endpoint_scenario() {
    return nat_path_scenario<EndpointBench, endpoint_cells, stale_endpoint_conclusions>(
        "stale-endpoint",
        "A share of connections fails: the rules still name endpoints that are dead",
        "Does each connection to a service reach an endpoint that serves (IPv4 and IPv6, "
        "kube-proxy's iptables and nftables modes)?");
}

}  // namespace pathproof::scenario
