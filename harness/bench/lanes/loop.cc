#include "harness/bench/lanes/own_lane.h"
#include "harness/bench/peers/testpmd.h"

namespace pathproof::bench {
namespace {

constexpr const char* kDevice = "net_ring0";

Result<Measurement> run_flowgen(const DataplaneBench& bench) {
    const auto duration = std::chrono::milliseconds(static_cast<int>(bench.seconds * 1000));
    return run_testpmd({.vdev = kDevice, .mode = "flowgen"}, bench.cores, duration);
}

// Counts the frames that left a loop, as testpmd does: its lcore does nothing else, so the time of
// all its turns is theirs.
Result<Measurement> run_loop(const DataplaneBench& bench, const LoadJob& job) {
    auto measured = TRY(run_own(bench, job));
    Figures& figures = measured.figures;
    const double tsc_mhz = figures["mpps"] * figures["cycles"];
    figures["mpps"] = figures["frames_per_second"] * 1e-6;
    figures["cycles"] = figures["mpps"] > 0 ? tsc_mhz / figures["mpps"] : 0;
    if (figures["missing_share"] > 0) {
        return fail(ErrorCode::kFailed, "{:.4f} % of the frames did not come back from a ring",
                    figures["missing_share"] * 100);
    }
    return measured;
}

Lane loop_lane(const DataplaneBench& bench, const std::string& id, const std::string& title,
               const LoadJob& job) {
    return {.id = id,
            .title = title,
            .note =
                "each frame made, sent, received, its checksums verified, entered in the ledger "
                "and the latency histogram",
            .absent = {},
            .run = [&bench, job] { return run_loop(bench, job); }};
}

std::vector<Lane> lanes_of(const DataplaneBench& bench) {
    LoadJob plain = job_on(bench);
    plain.vdev = kDevice;
    plain.back = LoadJob::Back::kFrames;
    LoadJob vxlan = plain;
    vxlan.envelope = LoadJob::Envelope::kVxlan;
    return {
        {.id = "flowgen",
         .title = "testpmd flowgen",
         .note = "frames made, sent, received and freed; nothing is looked at",
         .absent = bench.tools.testpmd.absence(),
         .run = [&bench] { return run_flowgen(bench); }},
        loop_lane(bench, "dns", "ours, DNS pairs", plain),
        loop_lane(bench, "dns-again", "ours, DNS pairs (A/A)", plain),
        loop_lane(bench, "dns-vxlan", "ours, DNS pairs in VXLAN", vxlan),
    };
}

std::vector<Finding> findings_of(const std::vector<LaneResult>& lanes) {
    const Column rate{.figure = "mpps", .label = {}, .unit = "Mpps", .decimals = 1};
    return {
        quote(lanes, {"dns_mpps", "ours, closed loop on one lcore", "dns", rate, "at least 25"}),
        quote(lanes,
              {"vxlan_mpps", "ours in VXLAN, closed loop on one lcore", "dns-vxlan", rate, ""}),
        compare(lanes, {"dns_flowgen", "ours / testpmd flowgen without checks, cycles", "dns",
                        "flowgen", "cycles", ""}),
        compare(lanes, {"control", "ours / ours (A/A), cycles", "dns", "dns-again", "cycles",
                        "0.98 to 1.02: else the machine was not quiet enough for the rest"}),
    };
}

}  // namespace

Result<Experiment> bench_loop(const DataplaneBench& bench) {
    auto lanes = TRY(run_rounds(lanes_of(bench), bench.plan));
    Experiment experiment{
        .id = "loop",
        .title = "one lcore that sends, receives and judges",
        .conditions = {{"device", "net_ring, bursts of 32, 8192 mbufs"},
                       {"lcores", bench.cores.lcores()}},
        .columns = {{"cycles", "TSC cycles/frame", "", 1}, {"mpps", "Mpps", "", 1}},
        .lanes = std::move(lanes)};
    experiment.findings = findings_of(experiment.lanes);
    return experiment;
}

}  // namespace pathproof::bench
