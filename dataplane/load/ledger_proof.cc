#include "dataplane/load/ledger_proof.h"

#include <rte_errno.h>
#include <rte_mbuf.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <span>
#include <string_view>
#include <utility>

#include "dataplane/base/owned.h"
#include "dataplane/load/frame_source.h"

namespace pathproof::load {
namespace {

constexpr std::size_t kBurst = 64;
// The frames' clock: as if they left and came at some 25 Mpps.
constexpr std::uint64_t kBurstNs = 40 * kBurst;
constexpr std::uint64_t kWayNs = 1'500;

using Pool = Owned<rte_mempool, rte_mempool_free>;

Result<Pool> make_pool(std::uint32_t most_held, std::uint16_t longest_frame) {
    static std::atomic<unsigned> made = 0;
    const std::string name = fmt::format("ledger_proof{}", made++);
    const auto room = static_cast<std::uint16_t>(RTE_PKTMBUF_HEADROOM + longest_frame + 64);
    constexpr unsigned kCache = 256;
    // Buffers for a burst and its copies, for the frames held, and for those that the cache keeps
    // back.
    const auto frames = static_cast<unsigned>(most_held + 4 * kBurst + 2 * kCache);
    Pool pool(rte_pktmbuf_pool_create(name.c_str(), frames, kCache, 0, room, SOCKET_ID_ANY));
    if (!pool) {
        return fail(ErrorCode::kUnavailable,
                    "a pool of {} frames of {} bytes: {}; start with more memory", frames, room,
                    rte_strerror(rte_errno));
    }
    return pool;
}

// One core from the source to the intake.
class Path {
  public:
    Path(Pool pool, FrameSource source, Impairment impairment, TrackedIntake intake)
        : pool_(std::move(pool)),
          source_(std::move(source)),
          impairment_(std::move(impairment)),
          intake_(std::move(intake)) {}

    // False: the pool is empty, which no plan leads to.
    bool send(std::size_t frames) noexcept {
        const std::span<rte_mbuf*> burst = std::span(made_).first(frames);
        if (rte_pktmbuf_alloc_bulk(pool_.get(), burst.data(), static_cast<unsigned>(frames)) != 0) {
            return false;
        }
        source_.fill(burst, now_ns_);
        receive(impairment_.pass(burst, arriving_));
        return true;
    }
    void finish() noexcept {
        while (const std::size_t frames = impairment_.flush(arriving_)) {
            receive(frames);
        }
    }
    const ImpairmentCounts& injected() const { return impairment_.counts(); }
    const IntakeTotals& found() const { return intake_.totals(); }

  private:
    void receive(std::size_t frames) noexcept {
        intake_.take(std::span(arriving_).first(frames), 0, now_ns_ + kWayNs);
        rte_pktmbuf_free_bulk(arriving_.data(), static_cast<unsigned>(frames));
        now_ns_ += kBurstNs;
    }

    Pool pool_;  // last to go: the impairment may hold frames of it
    FrameSource source_;
    Impairment impairment_;
    TrackedIntake intake_;
    std::array<rte_mbuf*, kBurst> made_{};
    std::array<rte_mbuf*, 2 * kBurst> arriving_{};
    std::uint64_t now_ns_ = 1'000'000;
};

Result<Path> make_path(const LedgerProofPlan& plan) {
    FrameSource source = TRY(FrameSource::make(plan.source));
    ImpairmentPlan harm = plan.impairment;
    harm.seed = plan.source.seed;
    Impairment impairment = TRY(Impairment::make(harm));
    TrackedIntake intake = TRY(TrackedIntake::make({.tunnel_ports = harm.tunnel_ports,
                                                    .streams = plan.source.stream + 1u,
                                                    .suffix = plan.source.suffix,
                                                    .expects = IntakePlan::Expects::kFrames,
                                                    .keep_bad_frames = 0,
                                                    .seed = plan.source.seed}));
    Pool pool = TRY(make_pool(harm.most_held, source.longest_frame()));
    return Path(std::move(pool), std::move(source), std::move(impairment), std::move(intake));
}

void compare(LedgerProof& proof, const judge::SequenceTotals& stream) {
    const ImpairmentCounts& injected = proof.injected;
    const judge::ReceiveTally& received = proof.found.received;
    const auto equal = [&](std::string_view what, std::uint64_t found, std::uint64_t expected) {
        if (found != expected) {
            proof.errors.push_back(fmt::format("{}: {} found, {} injected", what, found, expected));
        }
    };
    equal("frames", injected.frames, proof.sent);
    equal("missing", proof.sent - stream.unique, injected.lost + injected.corrupted);
    equal("duplicates", stream.duplicates, injected.duplicates);
    equal("reordered", stream.reordered, injected.reordered);
    equal("furthest behind", stream.furthest, injected.furthest);
    for (std::size_t bin = 0; bin < injected.distance.size(); ++bin) {
        equal(fmt::format("reordered by {} or more", std::uint64_t{1} << bin), stream.distance[bin],
              injected.distance[bin]);
    }
    equal("corrupted", received.bad_checksum + received.malformed, injected.corrupted);
    equal("too old to tell", stream.too_old, 0);
    equal("other traffic", received.other_traffic, 0);
    equal("received", received.received, proof.sent - injected.lost + injected.duplicates);
    equal("received, by what it was",
          received.answers + received.bad_checksum + received.malformed + received.other_traffic,
          received.received);
    equal("latencies", all_classes(proof.found).latency.count(), stream.unique);
}

}  // namespace

LedgerProofPlan ledger_proof_plan(std::uint64_t frames, std::uint64_t seed, ProofPath path) {
    LedgerProofPlan plan{.frames = frames};
    plan.source.seed = seed;
    plan.source.mix = {{.traffic = frame::TrafficClass::kDnsA},
                       {.traffic = frame::TrafficClass::kDnsAaaa}};
    frame::PacketSpec& packet = plan.source.spec.packet;
    packet.source = {frame::IpAddress::v4(0xc6120001), 10'000};   // 198.18.0.1
    packet.destination = {frame::IpAddress::v4(0xcb007102), 53};  // 203.0.113.2
    if (path == ProofPath::kVxlan) {
        frame::TunnelSpec tunnel;
        tunnel.vni = 42;
        tunnel.outer.source = {frame::IpAddress::v4(0xc6336401), 49'152};  // 198.51.100.1
        tunnel.outer.destination = {frame::IpAddress::v4(0xc6336402), 4789};
        plan.source.spec.tunnel = tunnel;
    }
    return plan;
}

Result<LedgerProof> run_ledger_proof(const LedgerProofPlan& plan, const std::atomic<bool>& stop) {
    Path path = TRY(make_path(plan));
    LedgerProof proof;
    const auto began = std::chrono::steady_clock::now();
    while (proof.sent < plan.frames && !stop.load(std::memory_order_relaxed)) {
        const std::size_t burst = std::min<std::uint64_t>(kBurst, plan.frames - proof.sent);
        if (!path.send(burst)) {
            return fail(ErrorCode::kFailed, "the pool ran out of frames after {}", proof.sent);
        }
        proof.sent += burst;
    }
    path.finish();
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
    proof.seconds = took.count();
    proof.partial = proof.sent < plan.frames;
    proof.injected = path.injected();
    proof.found = path.found();
    compare(proof, proof.found.streams[plan.source.stream]);
    return proof;
}

}  // namespace pathproof::load
