// "Reply from unexpected source": the client and the service's backend are ports of one bridge.
//
// Set:  a client and a backend on one bridge of the DUT, which translates a service to that backend or
//       to one on another host; net.bridge.bridge-nf-call-iptables; MASQUERADE of what goes back.
// Sent: DNS lookups, A and AAAA from one connected UDP socket.
// Seen: whether the client's socket got the answers; their source on its wire; the flows' entries.

#include "harness/scenario/service_path/bridge_unnat.h"

#include <fmt/ranges.h>
#include <netinet/in.h>

#include <algorithm>
#include <future>
#include <map>
#include <nlohmann/json.hpp>

#include "dataplane/frame/view.h"
#include "harness/agent/device_hooks.h"
#include "harness/agent/name_servers.h"
#include "harness/agent/probes.h"
#include "harness/process/json_text.h"
#include "harness/scenario/first_error.h"
#include "harness/scenario/nat_path_bench.h"
#include "harness/scenario/service_path/flow_timeline.h"
#include "harness/scenario/settings/service.h"
#include "harness/setting/cures.h"

namespace pathproof::scenario {
namespace {

constexpr unsigned kLookups = 5;  // all at once
constexpr agent::milliseconds kLookupTimeout{2000};

class BridgeBench : public NatPathBench<BridgeCell, BridgeValues> {
  public:
    explicit BridgeBench(Context& context)
        : NatPathBench(context,
                       {{".entries.json", "conntrack's entries at the end (JSON lines)"}}) {}

    Status open() {
        TRY(NatPathBench::open());
        TRY(hosts_.lab->add_neighbour());
        const lab::NatPathNames& names = hosts_.names();
        agent::DnsServerOptions dns{.address = names.service.address,
                                    .address6 = *frame::parse_ip("2001:db8::1")};
        dns.listen = {names.neighbour_address, names.service.port};
        TRY(hosts_.lab->hosts().agent(lab::HostRole::kNeighbour).start_dns_server(dns));
        dns.listen = {names.endpoints[0], names.service.port};
        return hosts_.server->start_dns_server(dns);
    }

  private:
    Status run(const BridgeCell& what, MeasuredBridgeCell& cell) override {
        BridgeValues& seen = cell.seen;
        const lab::NatPathNames& names = hosts_.names();
        const bool direct = what.asks == BridgeCell::Asks::kDirectly;
        const bool routed = what.asks == BridgeCell::Asks::kOtherHost;
        const frame::IpAddress backend = routed ? names.endpoints[0] : names.neighbour_address;
        const frame::Endpoint asked =
            direct ? frame::Endpoint{backend, names.service.port} : names.service;
        lab::Settings settings =
            direct ? lab::Settings{} : lab::Settings{udp_service(names, backend)};
        if (what.hairpin) {
            settings = both(settings, setting::cure("hairpin-masquerade").settings);
        }
        if (what.filtered) {
            settings = both(settings, setting::cure("bridge-nf").settings);
        }
        TRY(hosts_.set(settings));
        seen.filtered = TRY(hosts_.dut->read_sysctl(setting::kBridgeFilter));
        seen.around_bridge = TRY(around_bridge());
        auto recorder = TRY(FlowRecorder::start(
            what.again, hosts_,
            {.protocol = IPPROTO_UDP, .original_destination_port = names.service.port}));
        TRY(hosts_.client->start_capture({.device = names.client_device}));
        const Status looked = look_up(asked, seen);
        const auto capture = hosts_.client->stop_capture();
        const auto record = TRY(recorder.stop());
        const auto entries = hosts_.dut->conntrack_dump(
            {.protocol = IPPROTO_UDP, .original_destination_port = names.service.port});
        TRY(first_error(looked, capture, entries));
        std::map<std::uint16_t, bool> flows;  // of the client's ports: the backend answered there
        for (const agent::CapturedFrame& frame : capture->frames) {
            const frame::PacketView view = frame::parse_packet(frame.bytes);
            if (view.transport != frame::Transport::kUdp ||
                view.source_port != names.service.port) {
                continue;
            }
            if (view.source == asked.address) {
                ++seen.from_asked;
            } else if (view.source == backend) {
                ++seen.from_backend;
            } else {
                ++seen.from_others;
            }
            flows[view.destination_port] |= view.source == backend && !direct;
        }
        for (const netfilter::Entry& entry : *entries) {
            noted() += process::to_text(nlohmann::json(entry)) + "\n";
            const auto flow = flows.find(entry.original.source.port);
            if (flow != flows.end() && flow->second &&
                entry.original.destination.address == asked.address &&
                entry.reply.source.address == backend &&
                (entry.status & netfilter::status::kSeenReply) == 0) {
                ++seen.unreplied;
                seen.entry_text = fmt::format(
                    "udp src={} dst={} sport={} dport={} [UNREPLIED] src={} dst={}",
                    to_string(entry.original.source.address),
                    to_string(entry.original.destination.address), entry.original.source.port,
                    entry.original.destination.port, to_string(entry.reply.source.address),
                    to_string(entry.reply.destination.address));
                flow->second = false;
                cell.timeline =
                    flow_timeline(what.id + ": one lookup whose answers were not translated back",
                                  record, {IPPROTO_UDP, entry.original.source});
            }
        }
        seen.unnamed = static_cast<std::uint64_t>(
            std::ranges::count_if(flows, [](const auto& flow) { return flow.second; }));
        return {};
    }

    Result<std::string> around_bridge() {
        std::vector<std::string> found;
        for (const std::string& port :
             {hosts_.names().first_of_dut(), hosts_.names().dut_neighbour_device}) {
            for (const agent::DeviceHook& hook : TRY(hosts_.dut->device_hooks(port))) {
                found.push_back(hook.what);
            }
            if (const std::string program = TRY(hosts_.dut->xdp_program(port)); !program.empty()) {
                found.push_back(fmt::format("an XDP program at {}: {}", port, program));
            }
        }
        return fmt::format("{}", fmt::join(found, "; "));
    }

    Status look_up(const frame::Endpoint& server, BridgeValues& seen) {
        std::vector<std::future<Result<agent::ProbeResult>>> lookups;
        for (unsigned i = 0; i < kLookups; ++i) {
            lookups.push_back(std::async(std::launch::async, [&] {
                return hosts_.client->dns_lookup(
                    {.server = server, .name = "service.example", .timeout = kLookupTimeout});
            }));
        }
        Status made;
        for (auto& lookup : lookups) {
            const auto probe = lookup.get();
            made = probe ? made : Status(pass_on(probe.error()));
            ++seen.lookups;
            seen.answered += probe && probe->ok ? 1 : 0;
        }
        return made;
    }
};

}  // namespace

std::vector<BridgeCell> bridge_cells() {
    using Asks = BridgeCell::Asks;
    return with_roles<BridgeCell>({
        {.id = "bridge-nf-off", .label = "bridge-nf-call-iptables=0"},
        {.id = "control.direct", .label = "control: no service", .asks = Asks::kDirectly},
        {.id = "control.other-host", .label = "control: other host", .asks = Asks::kOtherHost},
        {.id = "cure.bridge-nf-on", .label = "cure: =1", .filtered = true},
        {.id = "cure.masquerade", .label = "cure: MASQUERADE", .hairpin = true},
        {.id = "bridge-nf-off.after-cure", .label = "after the cures"},
    });
}

Scenario bridge_unnat_scenario() {
    return nat_path_scenario<BridgeBench, bridge_cells, bridge_unnat_conclusions>(
        "bridge-unnat",
        "Reply from unexpected source: answers that a bridge carries past conntrack",
        "Does each answer of a service come from the service's address where the backend is on "
        "the client's own bridge (IPv4)?");
}

}  // namespace pathproof::scenario
