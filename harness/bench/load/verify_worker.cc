#include "harness/bench/load/verify_worker.h"

#include <rte_cycles.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "dataplane/load/frame_source.h"
#include "harness/bench/load/load_plans.h"

namespace pathproof::bench {
namespace {

using nlohmann::json;

constexpr std::size_t kBurst = 32;
constexpr std::size_t kBurstsInSlice = 1024;
constexpr const char* kDevice = "net_ring0";

// The least time that slices of one kind took, but for a tenth of them.
double lowest_decile(std::vector<std::uint64_t>& cycles) {
    if (cycles.empty()) {
        return 0;
    }
    const auto at = cycles.begin() + static_cast<std::ptrdiff_t>(cycles.size() / 10);
    std::nth_element(cycles.begin(), at, cycles.end());
    return static_cast<double>(*at) / static_cast<double>(kBurst * kBurstsInSlice);
}

class Bench {
  public:
    static Result<Bench> make(port::Port& port, const LoadJob& job) {
        load::SourcePlan plan = source_plan_of(job);
        auto judged = load::FrameSource::make(plan);
        plan.stream = 1;
        auto unjudged = load::FrameSource::make(plan);
        auto intake = load::TrackedIntake::make(intake_plan_of(job));
        if (!judged || !unjudged || !intake) {
            return pass_on(judged ? (unjudged ? intake.error() : unjudged.error())
                                  : judged.error());
        }
        return Bench(port, std::move(*judged), std::move(*unjudged), std::move(*intake));
    }

    VerifyOutcome run(double seconds) {
        std::vector<std::uint64_t> loop;
        std::vector<std::uint64_t> judged;
        const auto length =
            static_cast<std::uint64_t>(seconds * static_cast<double>(rte_get_tsc_hz()));
        slice<Judging::kNo>();
        slice<Judging::kYes>();
        const std::uint64_t end = rte_rdtsc() + length;
        while (rte_rdtsc() < end) {
            loop.push_back(slice<Judging::kNo>());
            judged.push_back(slice<Judging::kYes>());
            judged.push_back(slice<Judging::kYes>());
            loop.push_back(slice<Judging::kNo>());
        }
        return outcome(lowest_decile(loop), lowest_decile(judged));
    }

  private:
    enum class Judging { kNo, kYes };

    Bench(port::Port& port, load::FrameSource judged, load::FrameSource unjudged,
          load::TrackedIntake intake)
        : port_(&port),
          judged_(std::move(judged)),
          unjudged_(std::move(unjudged)),
          intake_(std::move(intake)) {}

    template <Judging judging>
    std::uint64_t slice() {
        load::FrameSource& source = judging == Judging::kYes ? judged_ : unjudged_;
        const std::uint64_t from = rte_rdtsc();
        for (std::size_t i = 0; i < kBurstsInSlice; ++i) {
            burst<judging>(source);
        }
        return rte_rdtsc() - from;
    }

    template <Judging judging>
    void burst(load::FrameSource& source) {
        std::array<rte_mbuf*, kBurst> frames;
        if (rte_mempool_get_bulk(port_->pool(), reinterpret_cast<void**>(frames.data()), kBurst) !=
            0) {
            return;
        }
        source.fill(frames, now_ns_);
        const std::uint16_t sent = port_->tx_burst(0, frames.data(), kBurst);
        rte_pktmbuf_free_bulk(frames.data() + sent, kBurst - sent);
        const std::uint16_t got = port_->rx_burst(0, frames.data(), kBurst);
        now_ns_ += 1000;
        if constexpr (judging == Judging::kYes) {
            sent_ += sent;
            intake_.take({frames.data(), got}, 0, now_ns_);
        }
        rte_pktmbuf_free_bulk(frames.data(), got);
    }

    VerifyOutcome outcome(double loop, double judged) const {
        const load::IntakeTotals& totals = intake_.totals();
        std::uint64_t unique = 0;
        for (const load::ClassTotals& part : totals.classes) {
            unique += part.unique;
        }
        return {.loop = loop,
                .judged = judged,
                .frames = sent_,
                .missing = sent_ - std::min(sent_, unique),
                .bad_checksums = totals.received.bad_checksum,
                .frame_bytes = judged_.mean_frame_bytes()};
    }

    port::Port* port_;
    load::FrameSource judged_;
    load::FrameSource unjudged_;
    load::TrackedIntake intake_;
    std::uint64_t now_ns_ = 1'000'000;
    std::uint64_t sent_ = 0;
};

}  // namespace

Result<VerifyOutcome> run_verify_job(const LoadJob& job) {
    LoadJob on_ring = job;
    on_ring.vdev = kDevice;
    on_ring.back = LoadJob::Back::kFrames;
    auto eal = port::Eal::start(eal_options_of(on_ring));
    if (!eal) {
        return pass_on(eal.error());
    }
    auto port = port::Port::open(port_config_of(on_ring));
    if (!port) {
        return pass_on(port.error());
    }
    auto bench = Bench::make(*port, on_ring);
    if (!bench) {
        return pass_on(bench.error());
    }
    VerifyOutcome outcome;
    const Status launched = eal->launch(0, [&] {
        outcome = bench->run(job.seconds);
        return 0;
    });
    if (!launched) {
        return pass_on(launched.error());
    }
    eal->join(0);
    return outcome;
}

std::string to_text(const VerifyOutcome& outcome) {
    return json{{"loop", outcome.loop},
                {"judged", outcome.judged},
                {"frames", outcome.frames},
                {"missing", outcome.missing},
                {"bad_checksums", outcome.bad_checksums},
                {"frame_bytes", outcome.frame_bytes}}
        .dump();
}

Result<VerifyOutcome> parse_verify_outcome(const std::string& text) {
    const json value = json::parse(text, nullptr, false);
    if (!value.is_object() || !value.contains("judged")) {
        return fail(ErrorCode::kFailed, "the worker did not say what it did: '{}'",
                    text.substr(0, 200));
    }
    return VerifyOutcome{.loop = value.value("loop", 0.0),
                         .judged = value.value("judged", 0.0),
                         .frames = value.value("frames", std::uint64_t{0}),
                         .missing = value.value("missing", std::uint64_t{0}),
                         .bad_checksums = value.value("bad_checksums", std::uint64_t{0}),
                         .frame_bytes = value.value("frame_bytes", 0.0)};
}

}  // namespace pathproof::bench
