// Time-stamp cycles a frame that the intake takes: each frame fresh out of the source, a burst at a
// time, the lowest decile of many bursts and how far the median lies above it.
#include <fmt/format.h>
#include <rte_mbuf.h>
#include <x86intrin.h>

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "dataplane/judge/quick_verifier.h"
#include "dataplane/judge/verifier.h"
#include "dataplane/load/frame_source.h"
#include "dataplane/load/tracked_intake.h"

using namespace pathproof;
using namespace pathproof::load;

namespace {

constexpr std::size_t kBurst = 64;
constexpr std::size_t kRounds = 20'000;
// Distance between a pool's buffers: at a power of two they would share a few cache lines.
constexpr std::size_t kRoom = 2'368;

struct Lane {
    const char* name;
    SourcePlan plan;
};

struct Buffers {
    Buffers() : mbufs(kBurst), rooms(kBurst * kRoom) {
        for (std::size_t i = 0; i < kBurst; ++i) {
            mbufs[i] = {};
            mbufs[i].buf_addr = rooms.data() + i * kRoom;
            mbufs[i].buf_len = kRoom;
            mbufs[i].nb_segs = 1;
            mbufs[i].refcnt = 1;
            pointers.push_back(&mbufs[i]);
        }
    }
    std::vector<rte_mbuf> mbufs;
    std::vector<std::uint8_t> rooms;
    std::vector<rte_mbuf*> pointers;
};

struct Cycles {
    double low = 0;
    double median = 0;
};

Cycles of(std::vector<std::uint64_t>& slices) {
    std::ranges::sort(slices);
    const auto frame = [](std::uint64_t cycles) { return static_cast<double>(cycles) / kBurst; };
    return {frame(slices[slices.size() / 10]), frame(slices[slices.size() / 2])};
}

template <typename Work>
Cycles measure(FrameSource& source, Buffers& buffers, Work work) {
    std::vector<std::uint64_t> slices;
    for (std::size_t round = 0; round < kRounds; ++round) {
        const std::uint64_t now_ns = 1'000'000 + round * 2'000;
        source.fill(buffers.pointers, now_ns);
        const std::uint64_t began = __rdtsc();
        work(now_ns + 1'500);
        slices.push_back(__rdtsc() - began);
    }
    return of(slices);
}

frame::Bytes bytes_of(const rte_mbuf* mbuf) {
    return {rte_pktmbuf_mtod(mbuf, const std::uint8_t*), mbuf->pkt_len};
}

[[noreturn]] void give_up(const std::string& why) {
    fmt::print(stderr, "{}\n", why);
    std::exit(1);
}

void run(const Lane& lane) {
    constexpr std::uint16_t kPorts[] = {4789};
    auto source = FrameSource::make(lane.plan);
    IntakePlan plan{.expects = IntakePlan::Expects::kFrames};
    auto intake = TrackedIntake::make(plan);
    plan.sent = lane.plan;
    auto comparing = TrackedIntake::make(plan);
    auto other_source = FrameSource::make(lane.plan);
    if (!source || !intake || !comparing || !other_source) {
        give_up(source ? intake.error().message : source.error().message);
    }
    Buffers buffers;
    const judge::QuickVerifier quick(kPorts);
    unsigned sink = 0;
    const Cycles nothing = measure(*source, buffers, [](std::uint64_t) {});
    const Cycles verify = measure(*source, buffers, [&](std::uint64_t) {
        for (const rte_mbuf* mbuf : buffers.pointers) {
            sink += judge::verify(bytes_of(mbuf), kPorts).count;
        }
    });
    const Cycles quickly = measure(*source, buffers, [&](std::uint64_t) {
        for (const rte_mbuf* mbuf : buffers.pointers) {
            judge::QuickFrame frame;
            sink += quick.judge(bytes_of(mbuf), frame) ? frame.code.bad() : 1;
        }
    });
    intake->reset();
    const ClassCounts before = source->made();
    const Cycles all = measure(
        *source, buffers, [&](std::uint64_t now_ns) { intake->take(buffers.pointers, 0, now_ns); });
    comparing->reset();
    const Cycles compared = measure(*other_source, buffers, [&](std::uint64_t now_ns) {
        comparing->take(buffers.pointers, 0, now_ns);
    });
    for (const ClassTotals& one : comparing->totals().classes) {
        if (one.wrong + one.duplicates > 0) {
            give_up(fmt::format("{}: {} frames are not as sent", lane.name, one.wrong));
        }
    }
    std::uint64_t made = 0;
    std::uint64_t unique = 0;
    for (std::size_t i = 0; i < before.size(); ++i) {
        made += source->made()[i] - before[i];
        unique += intake->totals().classes[i].unique;
    }
    if (made != unique || intake->totals().quick != made || sink == 0) {
        give_up(fmt::format("{}: {} of {} frames tracked", lane.name, unique, made));
    }
    fmt::print(
        "{:26} {:5.0f} bytes  verifier {:6.1f}  sums only {:6.1f}  all {:6.1f} (median "
        "+{:.1f}; timer {:.1f} of it)  each byte compared {:6.1f} (median +{:.1f}): {:+.1f}\n",
        lane.name, source->mean_frame_bytes(), verify.low, quickly.low, all.low,
        all.median - all.low, nothing.low, compared.low, compared.median - compared.low,
        compared.low - all.low);
}

frame::FrameSpec spec(const char* from, const char* to) {
    frame::FrameSpec made;
    made.packet.source = frame::parse_endpoint(from).value();
    made.packet.destination = frame::parse_endpoint(to).value();
    return made;
}

// Measures frames of others on the same wire: ARP requests of the shortest length.
void run_strangers() {
    auto source = FrameSource::make({.spec = spec("198.18.0.1:10000", "203.0.113.2:53"),
                                     .mix = {{.traffic = frame::TrafficClass::kDnsA}}});
    const IntakePlan plan{.expects = IntakePlan::Expects::kFrames};
    auto intake = TrackedIntake::make(plan);
    if (!source || !intake) {
        give_up(source ? intake.error().message : source.error().message);
    }
    Buffers buffers;
    source->fill(buffers.pointers, 1'000'000);
    for (rte_mbuf* mbuf : buffers.pointers) {
        auto* const bytes = rte_pktmbuf_mtod(mbuf, std::uint8_t*);
        bytes[12] = 0x08;
        bytes[13] = 0x06;
        mbuf->pkt_len = 60;
        mbuf->data_len = 60;
    }
    std::vector<std::uint64_t> slices;
    for (std::size_t round = 0; round < kRounds; ++round) {
        const std::uint64_t began = __rdtsc();
        intake->take(buffers.pointers, 0, 1'001'500 + round * 2'000);
        slices.push_back(__rdtsc() - began);
    }
    const Cycles all = of(slices);
    if (intake->totals().received.other_traffic != kBurst * kRounds) {
        give_up("ARP of others was not counted as other traffic");
    }
    fmt::print("{:26} {:5} bytes  all {:6.1f} (median +{:.1f})\n", "ARP of others", 60, all.low,
               all.median - all.low);
}

SourcePlan plain(std::uint16_t bytes = 0) {
    SourcePlan plan;
    plan.spec = spec("198.18.0.1:10000", "203.0.113.2:53");
    plan.mix = {{.traffic = frame::TrafficClass::kDnsA, .frame_bytes = bytes},
                {.traffic = frame::TrafficClass::kDnsAaaa, .frame_bytes = bytes}};
    return plan;
}

SourcePlan vxlan(frame::ChecksumMode outer, std::uint16_t bytes = 0) {
    SourcePlan plan = plain(bytes);
    plan.spec.tunnel.emplace();
    plan.spec.tunnel->vni = 42;
    plan.spec.tunnel->outer = spec("198.51.100.1:5000", "198.51.100.2:4789").packet;
    plan.spec.tunnel->outer.transport_checksum = outer;
    return plan;
}

SourcePlan ipv6() {
    SourcePlan plan = plain();
    plan.spec = spec("[2001:db8::1]:10000", "[2001:db8:1::2]:53");
    return plan;
}

SourcePlan mix() {
    SourcePlan plan = plain();
    plan.mix = {{.traffic = frame::TrafficClass::kDnsA, .weight = 8},
                {.traffic = frame::TrafficClass::kTcpSyn, .weight = 1},
                {.traffic = frame::TrafficClass::kIcmpEcho, .weight = 1}};
    return plan;
}

}  // namespace

int main() {
    using frame::ChecksumMode;
    const Lane lanes[] = {{"DNS A/AAAA", plain()},
                          {"in VXLAN, outer sum", vxlan(ChecksumMode::kSoftware)},
                          {"in VXLAN, outer 0", vxlan(ChecksumMode::kZero)},
                          {"over IPv6", ipv6()},
                          {"DNS 8, SYN 1, ICMP 1", mix()},
                          {"DNS, 512 bytes", plain(512)},
                          {"DNS, 1518 bytes", plain(1'518)},
                          {"in VXLAN, 1518 bytes", vxlan(ChecksumMode::kSoftware, 1'518)}};
    for (const Lane& lane : lanes) {
        run(lane);
    }
    run_strangers();
    return 0;
}
