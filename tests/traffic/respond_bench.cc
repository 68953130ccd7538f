// Time-stamp cycles for each query answered on one lcore over net_ring ports: from the receive
// burst to the transmit burst, every checksum judged. Fresh queries lie in the ring before the
// clock is read; the lowest decile of many bursts, and how far the median lies above it.
#include <fmt/format.h>
#include <rte_eth_ring.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <rte_ring.h>
#include <x86intrin.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>

#include "dataplane/frame/template.h"
#include "dataplane/port/eal.h"
#include "dataplane/traffic/respond_worker.h"

using namespace pathproof;
using namespace pathproof::traffic;

namespace {

constexpr unsigned kBurst = 64;
constexpr int kRounds = 20'000;

template <typename T>
T unwrap(Result<T> result) {
    if (!result) {
        fmt::print(stderr, "{}\n", result.error().message);
        std::exit(1);
    }
    return std::move(*result);
}

struct Shape {
    const char* name;
    frame::Family family;
    bool in_vxlan;
    AnswerRule rule;
};

frame::FrameSpec spec_of(const Shape& shape) {
    const bool v4 = shape.family == frame::Family::kIpv4;
    frame::FrameSpec spec;
    spec.packet.source_mac = unwrap(frame::parse_mac("02:00:00:00:00:01"));
    spec.packet.destination_mac = unwrap(frame::parse_mac("02:00:00:00:00:02"));
    spec.packet.source = unwrap(frame::parse_endpoint(v4 ? "198.18.0.1:1024" : "[2001:2::1]:1024"));
    spec.packet.destination =
        unwrap(frame::parse_endpoint(v4 ? "198.18.0.53:53" : "[2001:2::53]:53"));
    if (shape.in_vxlan) {
        spec.tunnel.emplace();
        spec.tunnel->vni = 42;
        spec.tunnel->outer = spec.packet;
        spec.tunnel->outer.source = unwrap(frame::parse_endpoint("198.51.100.1:50000"));
        spec.tunnel->outer.destination = unwrap(frame::parse_endpoint("198.51.100.2:4789"));
    }
    return spec;
}

class Bench {
  public:
    explicit Bench(const frame::FrameTemplate& query)
        : query_(query), in_(ring("in")), out_(ring("out")), port_(open()) {}

    void measure(const Shape& shape) {
        RespondWorker worker(
            port_, {0}, 0,
            unwrap(
                Responder::make({.rules = {shape.rule}, .tunnel_ports = {4789}, .pending = 1024})));
        const RunClock clock{TscClock::of_this_machine(), tsc_now()};
        std::vector<std::uint64_t> slices;
        for (int round = 0; round < kRounds; ++round) {
            put_queries(static_cast<std::uint32_t>(round) * kBurst);
            const std::uint64_t from = __rdtsc();
            worker.serve(clock);
            slices.push_back(__rdtsc() - from);
            take_answers();
        }
        std::ranges::sort(slices);
        const auto each = [](std::uint64_t cycles) { return static_cast<double>(cycles) / kBurst; };
        const double low = each(slices[slices.size() / 10]);
        fmt::print("{:<28}{:>8.0f} cycles{:>8.0f} at the median{:>8.1f} M/s\n", shape.name, low,
                   each(slices[slices.size() / 2]), clock.tsc.hz() / low / 1e6);
    }

  private:
    static rte_ring* ring(const char* name) {
        static int number = 0;
        return rte_ring_create(fmt::format("{}{}", name, number++).c_str(), 1024, SOCKET_ID_ANY,
                               RING_F_SP_ENQ | RING_F_SC_DEQ);
    }
    port::Port open() {
        const int id =
            rte_eth_from_rings(fmt::format("b{}", fmt::ptr(in_)).c_str(), &in_, 1, &out_, 1, 0);
        std::array<char, RTE_ETH_NAME_MAX_LEN> device{};
        rte_eth_dev_get_name_by_port(static_cast<std::uint16_t>(id), device.data());
        return unwrap(port::Port::open({.name = "bench", .device = device.data()}));
    }
    void put_queries(std::uint32_t first) {
        std::array<rte_mbuf*, kBurst> burst;
        rte_pktmbuf_alloc_bulk(port_.pool(), burst.data(), kBurst);
        for (std::uint32_t n = 0; n < kBurst; ++n) {
            auto* room = rte_pktmbuf_append(burst[n], static_cast<std::uint16_t>(query_.size()));
            query_.render(
                reinterpret_cast<std::uint8_t*>(room),
                {.dns = frame::FramePatch::Dns{static_cast<std::uint16_t>(n), first + n}});
        }
        rte_ring_enqueue_bulk(in_, reinterpret_cast<void**>(burst.data()), kBurst, nullptr);
    }
    void take_answers() {
        std::array<rte_mbuf*, kBurst> burst;
        const unsigned count =
            rte_ring_dequeue_burst(out_, reinterpret_cast<void**>(burst.data()), kBurst, nullptr);
        if (count != kBurst) {
            fmt::print(stderr, "{} of {} queries were answered\n", count, kBurst);
            std::exit(1);
        }
        rte_pktmbuf_free_bulk(burst.data(), count);
    }

    const frame::FrameTemplate& query_;
    rte_ring* in_;
    rte_ring* out_;
    port::Port port_;
};

}  // namespace

int main() {
    const auto eal = unwrap(port::Eal::start({.memory_mib = 256}));
    const AnswerRule plain{.addresses = {unwrap(frame::parse_ip("192.0.2.1"))}};
    AnswerRule by_suffix = plain;
    by_suffix.suffix = "pathproof.test";
    AnswerRule named = plain;
    named.cname = "www.example.org";  // has no quick way
    constexpr auto kV4 = frame::Family::kIpv4;
    const Shape shapes[] = {{"A over IPv4", kV4, false, plain},
                            {"A over IPv4, by suffix", kV4, false, by_suffix},
                            {"A over IPv6", frame::Family::kIpv6, false, plain},
                            {"A in VXLAN", kV4, true, plain},
                            {"A over IPv4, written anew", kV4, false, named}};
    for (const Shape& shape : shapes) {
        const auto query = unwrap(
            frame::FrameTemplate::make_dns(spec_of(shape), "pathproof.test", frame::kDnsTypeA));
        Bench(query).measure(shape);
    }
}
