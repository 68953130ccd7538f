#include "harness/bench/lanes/own_lane.h"
#include "harness/bench/load/verify_worker.h"

namespace pathproof::bench {
namespace {

constexpr std::chrono::seconds kLongestRun{60};

Result<Measurement> run_verify(const DataplaneBench& bench, const LoadJob& job) {
    const auto run = TRY(measure(
        {.argv = worker_command("verify", to_text(job)), .netns = {}, .cpus = bench.cores.both()},
        kLongestRun));
    const auto outcome = TRY(parse_verify_outcome(run.out.text()));
    if (outcome.missing + outcome.bad_checksums + outcome.wrong > 0) {
        return fail(ErrorCode::kFailed,
                    "of {} good frames on a ring {} are missing, {} bad and {} wrong",
                    outcome.frames, outcome.missing, outcome.bad_checksums, outcome.wrong);
    }
    return Measurement{.figures = {{"loop", outcome.loop},
                                   {"judged", outcome.judged},
                                   {"judging", outcome.judging()},
                                   {"comparing", outcome.comparing()},
                                   {"frame_bytes", outcome.frame_bytes}},
                       .waiting_share = run.cost.waiting_share()};
}

Lane lane(const DataplaneBench& bench, const std::string& id, const std::string& title,
          LoadJob::Envelope envelope, std::uint16_t bytes = 0,
          LoadJob::Traffic traffic = LoadJob::Traffic::kDnsPairs) {
    LoadJob job = job_on(bench);
    job.envelope = envelope;
    job.frame_bytes = bytes;
    job.traffic = traffic;
    return {.id = id,
            .title = title,
            .note = "all checksums verified, entered in the ledger and the latency histogram",
            .absent = {},
            .run = [&bench, job] { return run_verify(bench, job); }};
}

}  // namespace

Result<Experiment> bench_verify(const DataplaneBench& bench) {
    auto lanes = TRY(
        run_rounds({lane(bench, "dns", "DNS pairs", LoadJob::Envelope::kNone),
                    lane(bench, "dns-vxlan", "DNS pairs in VXLAN", LoadJob::Envelope::kVxlan),
                    lane(bench, "dns-128", "DNS pairs of 128 bytes", LoadJob::Envelope::kNone, 128),
                    lane(bench, "udp-128", "UDP of 128 bytes", LoadJob::Envelope::kNone, 128,
                         LoadJob::Traffic::kUdp)},
                   bench.plan));
    Experiment experiment{
        .id = "verify",
        .title = "what judging a received frame costs beyond receiving it",
        .conditions = {{"device", "net_ring, one lcore, bursts of 32"},
                       {"figures",
                        "lowest deciles of slices of 32768 frames; without judging, with "
                        "it, and with each byte compared take turns in one process, and the "
                        "differences are what judging and comparing cost"}},
        .columns = {{"frame_bytes", "bytes", "", 0},
                    {"loop", "made, sent, received, freed", "", 1},
                    {"judged", "and judged", "", 1},
                    {"judging", "judging, TSC cycles/frame", "", 1},
                    {"comparing", "and comparing each byte", "", 1}},
        .lanes = std::move(lanes)};
    const Column more{
        .figure = "comparing", .label = {}, .unit = "TSC cycles/frame", .decimals = 1};
    const Column cost{.figure = "judging", .label = {}, .unit = "TSC cycles/frame", .decimals = 1};
    experiment.findings = {
        quote(experiment.lanes, {"dns_judging", "judging a DNS frame", "dns", cost, "at most 40"}),
        quote(experiment.lanes,
              {"vxlan_judging", "judging a DNS frame in VXLAN", "dns-vxlan", cost, "at most 40"}),
        quote(experiment.lanes,
              {"dns_comparing", "comparing each byte of 128", "dns-128", more, "at most 15"}),
        quote(experiment.lanes, {"udp_comparing", "comparing each byte of a UDP frame of 128",
                                 "udp-128", more, "at most 15"}),
    };
    return experiment;
}

}  // namespace pathproof::bench
