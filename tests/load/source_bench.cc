// Cost of a frame, by class and envelope, in cycles of the time-stamp counter: from fresh mbufs to
// a null device that frees them. Short slices of all lanes take turns, so that a disturbance of the
// machine hits all of them. The least and the lowest decile show what the code costs, the median
// what was reached on this machine while it ran. The benchmark asserts nothing.
#include <rte_cycles.h>
#include <rte_mbuf.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <string>
#include <vector>

#include "dataplane/load/frame_source.h"
#include "dataplane/port/eal.h"
#include "dataplane/port/port.h"

using namespace pathproof;
using frame::TrafficClass;

namespace {

constexpr std::uint16_t kBurst = 32;
constexpr unsigned kBurstsInSlice = 128;
constexpr unsigned kRounds = 400;

struct Lane {
    std::string name;
    std::optional<load::FrameSource> source;  // nothing: mbufs are described and not filled
    std::vector<double> cycles;               // a frame, by slice
};

frame::FrameSpec plain(const char* source, const char* destination) {
    frame::FrameSpec spec;
    spec.packet.source_mac = frame::parse_mac("02:00:00:00:00:01").value();
    spec.packet.destination_mac = frame::parse_mac("02:00:00:00:00:02").value();
    spec.packet.source = frame::parse_endpoint(source).value();
    spec.packet.destination = frame::parse_endpoint(destination).value();
    return spec;
}

load::SourcePlan queries() {
    load::SourcePlan plan;
    plan.spec = plain("198.18.0.1:10000", "203.0.113.2:53");
    return plan;
}

load::SourcePlan carried() {
    load::SourcePlan plan = queries();
    plan.spec.tunnel.emplace();
    plan.spec.tunnel->vni = 42;
    plan.spec.tunnel->outer = plain("198.51.100.1:5000", "198.51.100.2:4789").packet;
    return plan;
}

load::SourcePlan in_pairs(load::SourcePlan plan) {
    plan.pairing = load::SourcePlan::Pairing::kPairs;
    return plan;
}

load::SourcePlan with_outer_ports(load::SourcePlan plan) {
    for (std::uint16_t port = 49'152; port < 49'152 + 64; ++port) {
        plan.outer_source_ports.push_back(port);
    }
    return plan;
}

load::SourcePlan with_flows(load::SourcePlan plan, std::uint64_t flows, std::uint16_t ports) {
    plan.flow.flows = flows;
    plan.flow.ports = ports;
    return plan;
}

load::SourcePlan with_size(load::SourcePlan plan, std::uint16_t bytes) {
    plan.mix[0].frame_bytes = bytes;
    return plan;
}

load::SourcePlan over_ipv6() {
    load::SourcePlan plan;
    plan.spec = plain("[2001:db8::1]:10000", "[2001:db8:1::2]:53");
    return plan;
}

load::SourcePlan mix() {
    load::SourcePlan plan = in_pairs(queries());
    plan.mix = {{.traffic = TrafficClass::kDnsA, .weight = 70},
                {.traffic = TrafficClass::kTcpSyn, .weight = 10},
                {.traffic = TrafficClass::kIcmpEcho, .weight = 5},
                {.traffic = TrafficClass::kUdp, .weight = 15}};
    return plan;
}

load::SourcePlan offloaded() {
    load::SourcePlan plan = queries();
    plan.spec.packet.ip_checksum = frame::ChecksumMode::kOffload;
    plan.spec.packet.transport_checksum = frame::ChecksumMode::kOffload;
    return plan;
}

Lane lane(std::string name, const load::SourcePlan& plan) {
    Result<load::FrameSource> source = load::FrameSource::make(plan);
    if (!source) {
        std::fprintf(stderr, "%s: %s\n", name.c_str(), source.error().message.c_str());
        std::exit(1);
    }
    return {std::move(name), std::move(*source), {}};
}

std::vector<Lane> all_lanes() {
    std::vector<Lane> lanes;
    lanes.push_back({"driver alone", std::nullopt, {}});
    lanes.push_back(lane("dns", queries()));
    lanes.push_back(lane("dns, pairs", in_pairs(queries())));
    lanes.push_back(lane("dns, an address a flow", with_flows(queries(), 100'000, 1)));
    lanes.push_back(lane("dns, 10 M flows", with_flows(queries(), 10'000'000, 50'000)));
    lanes.push_back(lane("dns, IPv6", over_ipv6()));
    lanes.push_back(lane("dns, offload", offloaded()));
    lanes.push_back(lane("dns, VXLAN", carried()));
    lanes.push_back(lane("dns, VXLAN, 64 outer ports", with_outer_ports(carried())));
    lanes.push_back(lane("dns, VXLAN, pairs, ports", with_outer_ports(in_pairs(carried()))));
    lanes.push_back(lane("mix of 4", mix()));
    lanes.push_back(lane("dns, 512 bytes", with_size(queries(), 512)));
    lanes.push_back(lane("dns, 1518 bytes", with_size(queries(), 1'518)));
    return lanes;
}

// Does what any sender has to do: buffers in, lengths set, out to the driver.
void describe(rte_mbuf& mbuf) {
    rte_pktmbuf_reset(&mbuf);
    mbuf.pkt_len = mbuf.data_len = 98;
}

double slice(Lane& lane, port::Port& port) {
    std::array<rte_mbuf*, kBurst> burst;
    const std::uint64_t start = rte_rdtsc_precise();
    for (unsigned i = 0; i < kBurstsInSlice; ++i) {
        if (rte_mempool_get_bulk(port.pool(), reinterpret_cast<void**>(burst.data()), kBurst) !=
            0) {
            std::fprintf(stderr, "the pool has no buffers left\n");
            std::exit(1);
        }
        if (lane.source) {
            lane.source->fill(burst, rte_rdtsc());
        } else {
            std::ranges::for_each(burst, [](rte_mbuf* mbuf) { describe(*mbuf); });
        }
        port.tx_burst(0, burst.data(), kBurst);
    }
    const std::uint64_t end = rte_rdtsc_precise();
    return static_cast<double>(end - start) / (kBurst * kBurstsInSlice);
}

void print(Lane& lane, double driver) {
    std::ranges::sort(lane.cycles);
    const double least = lane.cycles.front();
    std::printf("%-28s %8.1f %8.1f %8.1f %8.1f\n", lane.name.c_str(), least,
                lane.cycles[lane.cycles.size() / 10], lane.cycles[lane.cycles.size() / 2],
                least - driver);
}

int measure() {
    Result<port::Port> port =
        port::Port::open({.name = "null", .device = "net_null0", .pool_mbufs = 8'191});
    if (!port) {
        std::fprintf(stderr, "%s\n", port.error().message.c_str());
        return 1;
    }
    std::vector<Lane> lanes = all_lanes();
    for (unsigned round = 0; round < kRounds; ++round) {
        for (Lane& each : lanes) {
            each.cycles.push_back(slice(each, *port));
        }
    }
    std::printf("TSC cycles per frame, %s, bursts of %u, %u slices of %u frames\n",
                port->info().device.c_str(), kBurst, kRounds, kBurst * kBurstsInSlice);
    std::printf("%-28s %8s %8s %8s %8s\n", "", "least", "10 %", "median", "-driver");
    const double driver = *std::ranges::min_element(lanes.front().cycles);
    for (Lane& each : lanes) {
        print(each, driver);
    }
    return 0;
}

}  // namespace

int main() {
    // On a worker: only lcores of the EAL have a cache in the pool.
    Result<port::Eal> eal = port::Eal::start({.worker_cpus = {0},
                                              .main_cpus = {},
                                              .memory_mib = 128,
                                              .vdevs = {"net_null0,no-rx=1"},
                                              .pci = {}});
    if (!eal) {
        std::fprintf(stderr, "%s\n", eal.error().message.c_str());
        return 1;
    }
    if (const Status launched = eal->launch(0, measure); !launched) {
        std::fprintf(stderr, "%s\n", launched.error().message.c_str());
        return 1;
    }
    return eal->join(0);
}
