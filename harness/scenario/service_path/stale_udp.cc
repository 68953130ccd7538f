// A UDP flow keeps going to an endpoint that its service has no more.
//
// Set:  a client, a DUT that translates a service's address to an endpoint, a server with both
//       endpoints; the service's rules are changed while the client sends: to the other endpoint, or
//       to REJECT for want of one. The same with IPVS in the place of rules, where the kernel has it.
// Sent: a datagram every 100 ms from one port, or another.
// Seen: where each comes out; the flow's entry and what the service's rule counted.

#include "harness/scenario/service_path/stale_udp.h"

#include <fmt/ranges.h>
#include <netinet/in.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <thread>

#include "dataplane/frame/view.h"
#include "harness/lab/kube_proxy.h"
#include "harness/lab/rule_hits.h"
#include "harness/process/json_text.h"
#include "harness/scenario/first_error.h"
#include "harness/scenario/nat_path_bench.h"
#include "harness/scenario/service_path/delete_entries.h"
#include "harness/scenario/service_path/flow_timeline.h"
#include "harness/scenario/service_path/ipvs_connections.h"

namespace pathproof::scenario {
namespace {

using namespace std::chrono_literals;

constexpr unsigned kDatagramsBefore = 3;
constexpr unsigned kDatagramsAfter = 15;
constexpr auto kDatagramInterval = 100ms;
// Times of the cell with a silence; conntrack's entries are looked at once a second.
constexpr unsigned kShortTimeout_s = 1;
constexpr auto kSilence = 2500ms;
constexpr std::uint16_t kFirstSourcePort = 40'000;
constexpr std::uint16_t kOtherFlow = 1000;  // source ports further
constexpr std::uint16_t kBystander = 2000;
constexpr auto kIpvs = Proxy::kIpvs;

class StaleUdpBench : public NatPathBench<StaleUdpCell, StaleUdpValues> {
  public:
    explicit StaleUdpBench(Context& context)
        : NatPathBench(context, {{".entries.json",
                                  "conntrack's entries of the service at the end (JSON lines)"}}) {}

    Status open() {
        TRY(NatPathBench::open());
        lacks_ipv6_ = TRY(hosts_.add_ipv6());
        lacks_ipvs_ = TRY(hosts_.lab->hosts().lacks(ipvs_services(hosts_.names(), {})));
        return {};
    }

  private:
    Status configure(const StaleUdpCell& what, ServiceEndpoint endpoint, lab::Flows flows) {
        const lab::NatPathNames& names = hosts_.lab->names(what.family);
        lab::Settings settings;
        if (endpoint == ServiceEndpoint::kNone) {
            settings = {no_endpoint(names)};
        } else {
            const frame::IpAddress& address =
                names.endpoints[endpoint == ServiceEndpoint::kFirst ? 0 : 1];
            settings =
                what.by_ipvs()
                    ? ipvs_services(names, {.udp = address, .expires_nodest = what.expires_nodest})
                    : lab::Settings{udp_service(names, address)};
        }
        if (what.then == AfterChange::kSilent) {
            settings.push_back(lab::udp_timeout(kShortTimeout_s));
        }
        return hosts_.set(settings, flows);
    }

    // Packets that the service's rule counted: of DNAT the first ones of flows, of REJECT all.
    Result<std::uint64_t> service_hits(frame::Family family) const {
        const auto rules = TRY(hosts_.lab->counted_rules(family));
        return lab::hits_of(rules,
                            " -d " + lab::host_prefix(hosts_.lab->names(family).service.address));
    }

    // Returns the command that deletes the entries of flows to the first endpoint, and no others.
    static std::vector<std::string> forget_command(const lab::NatPathNames& names) {
        std::vector<std::string> command = delete_command(names.service);
        command.insert(command.end(), {"--reply-src", to_string(names.endpoints.at(0))});
        return command;
    }

    static Status send(agent::Client& client, const lab::NatPathNames& names, std::uint16_t port,
                       unsigned datagrams) {
        for (unsigned i = 0; i < datagrams; ++i) {
            const auto sent = TRY(client.send_datagrams({.source = {names.client_address, port},
                                                         .destination = names.service,
                                                         .payloads = {{0x70, 0x70}}}));
            if (!sent.refusals.empty()) {
                return fail(ErrorCode::kFailed, "the client's kernel refused a datagram: {}",
                            sent.refusals.front().reason);
            }
            std::this_thread::sleep_for(kDatagramInterval);
        }
        return {};
    }

    // Sends, and counts where the datagrams of that port come out: at each endpoint.
    Result<std::vector<std::uint64_t>> follow(const lab::NatPathNames& names, std::uint16_t port,
                                              unsigned datagrams) {
        TRY(hosts_.server->start_capture({.device = names.server_device}));
        const Status sent = send(*hosts_.client, names, port, datagrams);
        const auto capture = hosts_.server->stop_capture();
        TRY(first_error(sent, capture));
        std::vector<std::uint64_t> at(names.endpoints.size());
        for (const agent::CapturedFrame& frame : capture->frames) {
            const frame::PacketView view = frame::parse_packet(frame.bytes);
            const auto endpoint = std::ranges::find(names.endpoints, view.destination);
            if (view.transport == frame::Transport::kUdp && view.source_port == port &&
                endpoint != names.endpoints.end()) {
                ++at[static_cast<std::size_t>(endpoint - names.endpoints.begin())];
            }
        }
        return at;
    }

    // The entry of that source port to the service; nothing where there is none.
    Result<std::optional<netfilter::Entry>> entry_of(const lab::NatPathNames& names,
                                                     std::uint16_t port) {
        const auto entries = TRY(hosts_.dut->conntrack_dump(
            {.protocol = IPPROTO_UDP, .original_destination_port = names.service.port}));
        noted().clear();
        std::optional<netfilter::Entry> found;
        for (const netfilter::Entry& entry : entries) {
            noted() += process::to_text(nlohmann::json(entry)) + "\n";
            if (entry.original.source.port == port &&
                entry.original.destination.address == names.service.address) {
                found = entry;
            }
        }
        return found;
    }

    static std::uint64_t packets(const std::optional<netfilter::Entry>& entry) {
        return entry && entry->original_counters ? entry->original_counters->packets : 0;
    }

    // Reason why the cell cannot run here; empty: it can.
    std::string lacks_for(const StaleUdpCell& what) const {
        if (what.family == frame::Family::kIpv6) {
            return lacks_ipv6_;
        }
        return what.by_ipvs() ? lacks_ipvs_ : "";
    }

    Status run(const StaleUdpCell& what, MeasuredStaleUdpCell& cell) override {
        StaleUdpValues& seen = cell.seen;
        seen.lacks = lacks_for(what);
        if (!seen.lacks.empty()) {
            return {};
        }
        const lab::NatPathNames& names = hosts_.lab->names(what.family);
        const auto port = static_cast<std::uint16_t>(kFirstSourcePort + runs_++);
        const auto bystander = static_cast<std::uint16_t>(port + kBystander);
        TRY(configure(what, ServiceEndpoint::kFirst, lab::Flows::kForget));
        const auto before = TRY(follow(names, port, kDatagramsBefore));
        seen.sent_before = kDatagramsBefore;
        seen.reached_before = before[0];
        const auto old_entry = TRY(entry_of(names, port));
        auto recorder = TRY(FlowRecorder::start(
            what.again, hosts_,
            {.protocol = IPPROTO_UDP, .original_destination_port = names.service.port}));
        TRY(configure(what, what.changed_to, lab::Flows::kKeep));
        // A flow to the endpoint that serves: the cure must leave it alone.
        if (what.then == AfterChange::kForgets) {
            TRY(send(*hosts_.client, names, bystander, 1));
            const auto command = forget_command(names);
            seen.deleted = TRY(delete_entries(*hosts_.dut, command));
            seen.cure_command = fmt::format("{}", fmt::join(command, " "));
        }
        if (what.then == AfterChange::kSilent) {
            std::this_thread::sleep_for(kSilence);
        }
        const auto hits_before = service_hits(what.family);
        const auto own = what.then == AfterChange::kNewFlow
                             ? static_cast<std::uint16_t>(port + kOtherFlow)
                             : port;
        const auto after = follow(names, own, kDatagramsAfter);
        const auto entry = entry_of(names, own);
        const auto hits = service_hits(what.family);
        const auto other = what.then == AfterChange::kForgets
                               ? entry_of(names, bystander)
                               : Result<std::optional<netfilter::Entry>>(std::nullopt);
        TRY(first_error(hits_before, after, entry, hits, other));
        const auto record = TRY(recorder.stop());
        cell.timeline = flow_timeline(what.id + ": the flow after the rules were changed", record,
                                      {IPPROTO_UDP, {names.client_address, own}});
        seen.sent = kDatagramsAfter;
        seen.to_gone = (*after)[0];
        seen.to_new = (*after)[1];
        seen.rule_hits = *hits - *hits_before;
        seen.rejected = what.has_endpoint() ? 0 : seen.rule_hits;
        seen.bystander = other->has_value();
        if (what.by_ipvs()) {
            seen.ipvs_connection = TRY(ipvs_connection(*hosts_.dut, hosts_.names(), own));
            seen.ipvs_to_gone = seen.ipvs_connection.ends_with(
                " " + to_string(frame::Endpoint{names.endpoints[0], names.service.port}));
        }
        if (*entry && (*entry)->reply.source.address == names.endpoints[0]) {
            const bool same = old_entry && old_entry->id == (*entry)->id;
            seen.entry = true;
            seen.entry_is_new = !same;
            seen.entry_packets = packets(*entry) - (same ? packets(old_entry) : 0);
            seen.entry_timeout_s = (*entry)->timeout_s.value_or(0);
            seen.entry_text = fmt::format(
                "udp {} src={} dst={} sport={} dport={}{} src={} dst={}", seen.entry_timeout_s,
                to_string((*entry)->original.source.address),
                to_string((*entry)->original.destination.address), own, names.service.port,
                ((*entry)->status & netfilter::status::kSeenReply) == 0 ? " [UNREPLIED]" : "",
                to_string((*entry)->reply.source.address),
                to_string((*entry)->reply.destination.address));
        }
        return {};
    }

    std::string lacks_ipv6_;
    std::string lacks_ipvs_;
    std::uint16_t runs_ = 0;
};

}  // namespace

std::vector<StaleUdpCell> stale_udp_plan() {
    std::vector<StaleUdpCell> cells = with_roles<StaleUdpCell>({
        {.id = "other-endpoint", .label = "another endpoint"},
        {.id = "no-endpoint", .label = "no endpoint: REJECT", .changed_to = ServiceEndpoint::kNone},
        {.id = "control.new-flow", .label = "control: a new flow", .then = AfterChange::kNewFlow},
        {.id = "control.no-endpoint.new-flow",
         .label = "control: REJECT, a new flow",
         .changed_to = ServiceEndpoint::kNone,
         .then = AfterChange::kNewFlow},
        {.id = "control.silence", .label = "control: silence", .then = AfterChange::kSilent},
        {.id = "cure.delete-entry", .label = "cure: entry deleted", .then = AfterChange::kForgets},
        {.id = "other-endpoint.after-cure", .label = "after the cure"},
        {.id = "ipv6.other-endpoint", .label = "IPv6, another endpoint"},
        {.id = "control.ipv6.new-flow",
         .label = "control: IPv6, a new flow",
         .then = AfterChange::kNewFlow},
        {.id = "ipvs.other-endpoint", .label = "IPVS, another endpoint"},
        {.id = "control.ipvs.new-flow",
         .label = "control: IPVS, a new flow",
         .then = AfterChange::kNewFlow},
        {.id = "cure.ipvs.expire-nodest",
         .label = "cure: expire_nodest_conn=1",
         .expires_nodest = true},
        {.id = "ipvs.other-endpoint.after-cure", .label = "IPVS, after the cure"},
    });
    for (StaleUdpCell& cell : cells) {
        cell.family = has_part(cell.id, "ipv6") ? frame::Family::kIpv6 : frame::Family::kIpv4;
        cell.proxy = has_part(cell.id, "ipvs") ? kIpvs : cell.proxy;
    }
    return cells;
}

Scenario stale_udp_scenario() {
    return nat_path_scenario<StaleUdpBench, stale_udp_plan, stale_udp_conclusions>(
        "stale-udp", "UDP to an endpoint that is gone: its conntrack entry outlives it",
        "Does a UDP flow follow its service when the service's endpoint changes (IPv4 and IPv6)?");
}

}  // namespace pathproof::scenario
