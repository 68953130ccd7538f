#include "harness/bench/load/verify_worker.h"

#include <rte_cycles.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "dataplane/load/frame_source.h"
#include "harness/bench/load/load_plans.h"
#include "harness/process/json_text.h"

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
        load::IntakePlan intake_plan = intake_plan_of(job);
        auto judged = load::FrameSource::make(plan);
        auto compared = load::FrameSource::make(plan);
        auto intake = load::TrackedIntake::make(intake_plan);
        intake_plan.sent = plan;
        auto comparing = load::TrackedIntake::make(intake_plan);
        plan.stream = 1;
        auto unjudged = load::FrameSource::make(plan);
        for (const Error* wrong :
             {judged ? nullptr : &judged.error(), compared ? nullptr : &compared.error(),
              unjudged ? nullptr : &unjudged.error(), intake ? nullptr : &intake.error(),
              comparing ? nullptr : &comparing.error()}) {
            if (wrong != nullptr) {
                return pass_on(*wrong);
            }
        }
        return Bench(port, std::move(*unjudged), {std::move(*judged), std::move(*intake)},
                     {std::move(*compared), std::move(*comparing)});
    }

    VerifyOutcome run(double seconds) {
        std::vector<std::uint64_t> loop;
        std::vector<std::uint64_t> judged;
        std::vector<std::uint64_t> compared;
        const auto length =
            static_cast<std::uint64_t>(seconds * static_cast<double>(rte_get_tsc_hz()));
        slice(nullptr);
        slice(&judged_);
        slice(&compared_);
        const std::uint64_t end = rte_rdtsc() + length;
        while (rte_rdtsc() < end) {
            for (const bool forth : {true, false}) {
                loop.push_back(slice(nullptr));
                (forth ? judged : compared).push_back(slice(forth ? &judged_ : &compared_));
                (forth ? compared : judged).push_back(slice(forth ? &compared_ : &judged_));
            }
        }
        return outcome(lowest_decile(loop), lowest_decile(judged), lowest_decile(compared));
    }

  private:
    struct Way {
        load::FrameSource source;
        load::TrackedIntake intake;
        std::uint64_t sent = 0;
    };

    Bench(port::Port& port, load::FrameSource unjudged, Way judged, Way compared)
        : port_(&port),
          unjudged_(std::move(unjudged)),
          judged_(std::move(judged)),
          compared_(std::move(compared)) {}

    // `way` null: nothing is judged.
    std::uint64_t slice(Way* way) {
        const std::uint64_t from = rte_rdtsc();
        for (std::size_t i = 0; i < kBurstsInSlice; ++i) {
            burst(way != nullptr ? way->source : unjudged_, way);
        }
        return rte_rdtsc() - from;
    }

    void burst(load::FrameSource& source, Way* way) {
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
        if (way != nullptr) {
            way->sent += sent;
            way->intake.take({frames.data(), got}, 0, now_ns_);
        }
        rte_pktmbuf_free_bulk(frames.data(), got);
    }

    VerifyOutcome outcome(double loop, double judged, double compared) const {
        VerifyOutcome outcome{.loop = loop,
                              .judged = judged,
                              .compared = compared,
                              .frames = judged_.sent + compared_.sent,
                              .frame_bytes = judged_.source.mean_frame_bytes()};
        std::uint64_t unique = 0;
        for (const Way* way : {&judged_, &compared_}) {
            const load::IntakeTotals& totals = way->intake.totals();
            outcome.bad_checksums += totals.received.bad_checksum;
            for (const load::ClassTotals& part : totals.classes) {
                unique += part.unique;
                outcome.wrong += part.wrong;
            }
        }
        outcome.missing = outcome.frames - std::min(outcome.frames, unique);
        return outcome;
    }

    port::Port* port_;
    load::FrameSource unjudged_;
    Way judged_;
    Way compared_;
    std::uint64_t now_ns_ = 1'000'000;
};

}  // namespace

Result<VerifyOutcome> run_verify_job(const LoadJob& job) {
    LoadJob on_ring = job;
    on_ring.vdev = kDevice;
    on_ring.back = LoadJob::Back::kFrames;
    auto eal = TRY(port::Eal::start(eal_options_of(on_ring)));
    auto port = TRY(port::Port::open(port_config_of(on_ring)));
    auto bench = TRY(Bench::make(port, on_ring));
    VerifyOutcome outcome;
    TRY(eal.launch(0, [&] {
        outcome = bench.run(job.seconds);
        return 0;
    }));
    eal.join(0);
    return outcome;
}

std::string to_text(const VerifyOutcome& outcome) {
    return process::to_text(json{{"loop", outcome.loop},
                                 {"judged", outcome.judged},
                                 {"compared", outcome.compared},
                                 {"wrong", outcome.wrong},
                                 {"frames", outcome.frames},
                                 {"missing", outcome.missing},
                                 {"bad_checksums", outcome.bad_checksums},
                                 {"frame_bytes", outcome.frame_bytes}});
}

Result<VerifyOutcome> parse_verify_outcome(const std::string& text) {
    const json value = process::json_or_null(text);
    if (!value.is_object() || !value.contains("judged")) {
        return fail(ErrorCode::kFailed, "the worker did not say what it did: '{}'",
                    text.substr(0, 200));
    }
    return VerifyOutcome{.loop = value.value("loop", 0.0),
                         .judged = value.value("judged", 0.0),
                         .compared = value.value("compared", 0.0),
                         .frames = value.value("frames", std::uint64_t{0}),
                         .missing = value.value("missing", std::uint64_t{0}),
                         .wrong = value.value("wrong", std::uint64_t{0}),
                         .bad_checksums = value.value("bad_checksums", std::uint64_t{0}),
                         .frame_bytes = value.value("frame_bytes", 0.0)};
}

}  // namespace pathproof::bench
