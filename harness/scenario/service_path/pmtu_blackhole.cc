// A VXLAN tunnel whose packets are too large for a hop of its path.
//
// Set:  a tunnel of MTU 1450 between a client and a server, by way of a router whose next hop takes
//       1400 bytes; the outer DF bit; whether the router's ICMP gets out and the VTEPs take fragments.
// Sent: ping, and TCP transfers of 100 and 60,000 bytes.
// Seen: which get through; the size above which packets stop; what the router cut, refused and said.

#include "harness/scenario/service_path/pmtu_blackhole.h"

#include <netinet/in.h>

#include <chrono>
#include <future>

#include "harness/agent/probes.h"
#include "harness/lab/rule_hits.h"
#include "harness/scenario/nat_path_bench.h"
#include "harness/scenario/service_path/flow_timeline.h"

namespace pathproof::scenario {
namespace {

using namespace std::chrono_literals;

constexpr std::uint16_t kTransferPort = 7000;
constexpr std::uint16_t kVxlanPortOfTunnel = 4789;
constexpr std::uint32_t kEchoHeaders = 28;  // IPv4 and ICMP
constexpr std::uint32_t kPacketThatFits = 84;
constexpr auto kHang = 2s;  // without progress

// One end of the tunnel.
setting::Setting tunnel_end(lab::HostRole role, const std::string& device,
                            const frame::IpAddress& local, const frame::IpAddress& remote,
                            const frame::IpAddress& inner, const TunnelOptions& options) {
    return setting::links(
        role, "tunnel-end", device,
        {{"route flush cache", "route flush cache"},
         {fmt::format(
              "link add $TUNNEL mtu {} type vxlan id 42 local {} remote {} dstport {} df {}",
              options.mtu, to_string(local), to_string(remote), kVxlanPortOfTunnel,
              options.df ? "set" : "unset"),
          "link delete $TUNNEL"},
         {fmt::format("address add {}/24 dev $TUNNEL", to_string(inner)),
          fmt::format("address delete {}/24 dev $TUNNEL", to_string(inner))},
         {"link set $TUNNEL up", "link set $TUNNEL down"}});
}

lab::Settings tunnel_settings(const lab::NatPathNames& names, const TunnelOptions& options) {
    using setting::HostRole;
    const auto hop = [&](const frame::IpAddress& to, const char* device) {
        const std::string route = fmt::format("{}/32 dev {}", to_string(to), device);
        return std::pair{fmt::format("route add {} mtu {}", route, options.hop_mtu),
                         "route delete " + route};
    };
    lab::Settings settings = {
        tunnel_end(HostRole::kClient, names.client_device, names.client_address,
                   names.server_address, names.client_inner, options),
        tunnel_end(HostRole::kServer, names.server_device, names.server_address,
                   names.client_address, names.server_inner, options),
        setting::links(
            HostRole::kDut, "smaller-hop", "$TO_SERVER",
            {hop(names.client_address, "$TO_CLIENT"), hop(names.server_address, "$TO_SERVER")})};
    if (!options.icmp) {
        settings.push_back(setting::rules(HostRole::kDut, "icmp-filtered", "filter",
                                          "-A OUTPUT -p icmp -m icmp --icmp-type 3/4 -j DROP\n"));
    }
    if (!options.fragments) {
        settings.push_back(setting::rules(HostRole::kTunnelEnds, "fragments-dropped", "raw",
                                          "-A PREROUTING -f -j DROP\n"));
    }
    if (options.mss != 0) {
        settings.push_back(setting::rules(
            HostRole::kTunnelEnds, "mss-clamp", "mangle",
            fmt::format("-A POSTROUTING -o $TUNNEL -p tcp -m tcp --tcp-flags SYN,RST SYN -j TCPMSS "
                        "--set-mss {}\n",
                        options.mss)));
    }
    return settings;
}

class PmtuBench : public NatPathBench<PmtuCell, PmtuValues> {
  public:
    using NatPathBench::NatPathBench;

  private:
    // Messages of ICMP that the DUT's rule dropped, and fragments that those of the VTEPs did.
    Result<std::uint64_t> icmp_dropped() const {
        const auto rules = TRY(hosts_.lab->counted_rules());
        return lab::hits_of(rules, "--icmp-type 3/4 -j DROP");
    }

    Result<std::uint64_t> fragments_dropped() const {
        std::uint64_t dropped = 0;
        for (agent::Client* end : {hosts_.client.get(), hosts_.server.get()}) {
            const auto rules = TRY(end->output_of({"iptables-save", "--counters"}));
            dropped += lab::hits_of(rules, " -f -j DROP");
        }
        return dropped;
    }

    // Returns whether one of three echo requests of that size is answered.
    Result<bool> passes(std::uint32_t bytes) {
        const auto answered = TRY(hosts_.client->ping(
            {.destination = hosts_.names().server_inner, .payload_bytes = bytes - kEchoHeaders}));
        return answered.received != 0;
    }

    Result<agent::ProbeResult> transfer(std::uint64_t bytes) {
        return hosts_.client->tcp_transfer({.server = {hosts_.names().server_inner, kTransferPort},
                                            .bytes = bytes,
                                            .timeout = kHang});
    }

    // The size to try next; no greater than seen.passes: there is none.
    static std::uint32_t next_size(const PmtuCell& what, const PmtuValues& seen) {
        if (seen.stops == 0) {
            return seen.passes;
        }
        const bool told = seen.passes >= what.fits() || seen.stops <= what.fits();
        if (!told) {
            return what.fits();
        }
        return seen.passes == what.fits() && seen.stops > what.fits() + 1
                   ? what.fits() + 1
                   : (seen.passes + seen.stops) / 2;
    }

    // The size above which packets stop, looked for first where the hop's MTU puts it.
    Status find_sizes(const PmtuCell& what, PmtuValues& seen) {
        seen.passes = kPacketThatFits;
        std::uint32_t next = what.tunnel.mtu;
        while (next > seen.passes && (seen.stops == 0 || next < seen.stops)) {
            const bool passed = TRY(passes(next));
            (passed ? seen.passes : seen.stops) = next;
            next = next_size(what, seen);
        }
        return {};
    }

    Status run(const PmtuCell& what, MeasuredPmtuCell& cell) override {
        PmtuValues& seen = cell.seen;
        TRY(hosts_.server->stop_servers());
        // Made anew: the kernel forgets the path's MTU that it learned.
        TRY(hosts_.set({}));
        TRY(hosts_.set(tunnel_settings(hosts_.names(), what.tunnel)));
        TRY(hosts_.server->start_transfer_server({hosts_.names().server_inner, kTransferPort}));
        const auto router_before = TRY(hosts_.dut->counters());
        const auto client_before = TRY(hosts_.client->counters());
        TRY(hosts_.dut->start_path_watch());
        const Status probed = probe(what, cell);
        const auto watched = TRY(hosts_.dut->stop_path_watch());
        TRY(probed);
        const auto router_after = TRY(hosts_.dut->counters());
        const auto client_after = TRY(hosts_.client->counters());
        const auto router = agent::delta(router_before, router_after);
        const auto client = agent::delta(client_before, client_after);
        seen.cut = value_in(router, "Ip.FragOKs");
        seen.too_big = value_in(router, "Ip.FragFails");
        seen.icmp_sent = value_in(router, "Icmp.OutDestUnreachs");
        seen.icmp_seen = value_in(client, "Icmp.InDestUnreachs");
        seen.icmp_dropped = TRY(icmp_dropped());
        seen.fragments_dropped = TRY(fragments_dropped());
        take(watched, seen.path);
        return {};
    }

    Status probe(const PmtuCell& what, MeasuredPmtuCell& cell) {
        PmtuValues& seen = cell.seen;
        seen.ping = TRY(passes(kPacketThatFits));
        const auto small = TRY(transfer(100));
        auto recorder = TRY(FlowRecorder::start(
            what.again, hosts_,
            {.protocol = IPPROTO_UDP, .original_destination_port = kVxlanPortOfTunnel}));
        // Side by side: what is too large for the hop is waited for in both.
        auto sizes = std::async(std::launch::async,
                                [&] { return seen.ping ? find_sizes(what, seen) : Status(); });
        const auto large = TRY(transfer(60'000));
        TRY(sizes.get());
        const auto record = TRY(recorder.stop());
        if (!large.ok) {
            cell.timeline =
                flow_timeline(what.id + ": the large transfer, in the tunnel's packets", record,
                              {.protocol = IPPROTO_UDP,
                               .client = {hosts_.names().client_address, 0},
                               .port_in_tunnel = kTransferPort});
        }
        seen.small = small.ok;
        seen.large = large.ok;
        seen.acknowledged = large.received;
        return {};
    }
};

}  // namespace

std::vector<PmtuCell> pmtu_blackhole_plan() {
    std::vector<PmtuCell> cells;
    for (const bool df : {false, true}) {
        for (const bool icmp : {true, false}) {
            for (const bool fragments : {true, false}) {
                const bool hangs = df ? !icmp : !fragments;
                const char* const passing_role = df && !fragments ? "cure." : "control.";
                const char* const role = hangs ? "" : passing_role;
                const std::string name =
                    fmt::format("df-{}.icmp-{}.fragments-{}", df ? "set" : "unset",
                                icmp ? "passes" : "filtered", fragments ? "pass" : "dropped");
                cells.push_back({.id = role + name,
                                 .label = fmt::format(
                                     "DF {}, ICMP {}, fragments {}", df ? "set" : "unset",
                                     icmp ? "passes" : "filtered", fragments ? "pass" : "dropped"),
                                 .tunnel = {.df = df, .icmp = icmp, .fragments = fragments}});
            }
        }
    }
    const TunnelOptions dark{.icmp = false, .fragments = false};
    PmtuCell wide{.id = "control.wide-hop", .label = "hop of 1500 bytes", .tunnel = dark};
    wide.tunnel.hop_mtu = 1500;
    PmtuCell mtu{.id = "cure.mtu", .label = "cure: MTU of the tunnel", .tunnel = dark};
    mtu.tunnel.mtu = mtu.fits();
    PmtuCell clamp{.id = "cure.mss-clamp", .label = "cure: MSS clamped", .tunnel = dark};
    clamp.tunnel.mss = clamp.fits() - 40;
    cells.insert(cells.end(), {wide,
                               mtu,
                               clamp,
                               {.id = "df-unset.icmp-filtered.fragments-dropped.after-cure",
                                .label = "after the cures",
                                .tunnel = dark}});
    return with_roles(std::move(cells));
}

Scenario pmtu_blackhole_scenario() {
    return nat_path_scenario<PmtuBench, pmtu_blackhole_plan, pmtu_blackhole_conclusions>(
        "pmtu-blackhole", "A VXLAN tunnel over a smaller hop: ping works, large transfers hang",
        "Do large packets get through a tunnel whose path has a smaller MTU?");
}

}  // namespace pathproof::scenario
