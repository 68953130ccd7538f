#include "harness/bench/lanes/own_lane.h"
#include "harness/bench/peers/testpmd.h"

namespace pathproof::bench {
namespace {

// The device has no-rx=1: else it would make up frames for flowgen, which receives.
constexpr const char* kDevice = "net_null0,no-rx=1";

Lane peer(const DataplaneBench& bench, const std::string& id, const std::string& title,
          const std::string& note, const TestpmdJob& job) {
    const auto duration = std::chrono::milliseconds(static_cast<int>(bench.seconds * 1000));
    return {.id = id,
            .title = title,
            .note = note,
            .absent = bench.tools.testpmd.absence(),
            .run = [&bench, job, duration] { return run_testpmd(job, bench.cores, duration); }};
}

std::vector<Lane> lanes_of(const DataplaneBench& bench) {
    LoadJob plain = job_on(bench);
    plain.vdev = kDevice;
    LoadJob vxlan = plain;
    vxlan.envelope = LoadJob::Envelope::kVxlan;
    return {
        peer(bench, "txonly", "testpmd txonly", "the same 64 bytes again, one flow",
             {.vdev = kDevice, .mode = "txonly"}),
        peer(bench, "txonly-multi-flow", "testpmd txonly --txonly-multi-flow",
             "the source address differs",
             {.vdev = kDevice, .mode = "txonly", .flows = TestpmdJob::Flows::kMany}),
        peer(bench, "flowgen", "testpmd flowgen",
             "1024 flows, headers and IP checksum written for each; no UDP checksum",
             {.vdev = kDevice, .mode = "flowgen"}),
        own_lane(bench, "dns", "ours, DNS pairs",
                 "unique A and AAAA queries, valid UDP checksum, sequence, time", plain),
        own_lane(bench, "dns-again", "ours, DNS pairs (A/A)",
                 "the lane before once more: the control", plain),
        own_lane(
            bench, "dns-vxlan", "ours, DNS pairs in VXLAN",
            "the same in an envelope with a varied source port; outer and inner checksums valid",
            vxlan),
    };
}

std::vector<Finding> findings_of(const std::vector<LaneResult>& lanes) {
    return {
        compare(lanes, {"dns_flowgen", "ours / testpmd flowgen, cycles", "dns", "flowgen", "cycles",
                        "at most 1.0"}),
        compare(lanes, {"dns_multi_flow", "ours / testpmd txonly-multi-flow, cycles", "dns",
                        "txonly-multi-flow", "cycles", ""}),
        compare(lanes,
                {"dns_txonly", "ours / testpmd txonly, cycles", "dns", "txonly", "cycles", ""}),
        compare(lanes, {"vxlan_flowgen", "ours in VXLAN / testpmd flowgen, cycles", "dns-vxlan",
                        "flowgen", "cycles", "at most 1.25"}),
        compare(lanes, {"vxlan_plain", "ours in VXLAN / ours plain, cycles", "dns-vxlan", "dns",
                        "cycles", "at most 1.25"}),
        compare(lanes, {"control", "ours / ours (A/A), cycles", "dns", "dns-again", "cycles",
                        "0.98 to 1.02: else the machine was not quiet enough for the rest"}),
    };
}

}  // namespace

Result<Experiment> bench_generator(const DataplaneBench& bench) {
    auto lanes = TRY(run_rounds(lanes_of(bench), bench.plan));
    Experiment experiment{
        .id = "generator",
        .title = "what a frame costs the sending lcore",
        .conditions = {{"device", "net_null with no-rx=1, bursts of 32, 8192 mbufs"},
                       {"lcores", bench.cores.lcores()}},
        .columns = {{"cycles", "TSC cycles/frame", "", 1}, {"mpps", "Mpps of the lcore", "", 1}},
        .lanes = std::move(lanes)};
    experiment.findings = findings_of(experiment.lanes);
    return experiment;
}

}  // namespace pathproof::bench
