#include "harness/bench/lanes/own_lane.h"
#include "harness/bench/line_rate.h"

namespace pathproof::bench {
namespace {

constexpr std::uint16_t kFcs = 4;
constexpr std::array<std::uint64_t, 5> kFlows{1, 1'000, 100'000, 1'000'000, 10'000'000};
// Frame sizes with FCS, as RFC 2544 section 9.1 counts; 9018 is the jumbo frame of an MTU of 9000.
constexpr std::array<std::uint16_t, 8> kSizes{64, 128, 256, 512, 1024, 1280, 1518, 9018};

std::string size_id(std::uint16_t size) {
    return fmt::format("size-{}", size);
}

LoadJob sized(const DataplaneBench& bench, std::uint16_t size) {
    LoadJob job = job_on(bench);
    job.traffic = LoadJob::Traffic::kUdp;
    job.frame_bytes = static_cast<std::uint16_t>(size - kFcs);
    return job;
}

Lane flows_lane(const DataplaneBench& bench, std::uint64_t flows) {
    LoadJob job = job_on(bench);
    job.flows = flows;
    return own_lane(bench, fmt::format("flows-{}", flows),
                    fmt::format("DNS pairs, {} flows", flows), "distinct 5-tuples, in turn", job);
}

Lane lcores_lane(const DataplaneBench& bench, unsigned lcores) {
    LoadJob job = job_on(bench);
    if (lcores == 2) {
        job.cpus = {bench.cores.worker, bench.cores.control};
    }
    Lane lane = own_lane(bench, fmt::format("lcores-{}", lcores),
                         fmt::format("DNS pairs, {} lcore{}", lcores, lcores == 1 ? "" : "s"),
                         "each with a queue of its own", job);
    if (lcores == 2 && !bench.cores.apart()) {
        lane.absent = "not measured: there is one CPU to use";
    }
    return lane;
}

Lane vxlan_lane(const DataplaneBench& bench, std::uint16_t size) {
    LoadJob job = sized(bench, size);
    job.envelope = LoadJob::Envelope::kVxlan;
    return own_lane(bench, fmt::format("vxlan-{}", size),
                    fmt::format("UDP, {} bytes in VXLAN", size),
                    "the size is the inner frame's; outer and inner checksums valid", job);
}

std::vector<Lane> lanes_of(const DataplaneBench& bench) {
    std::vector<Lane> lanes;
    for (const std::uint64_t flows : kFlows) {
        lanes.push_back(flows_lane(bench, flows));
    }
    for (const std::uint16_t size : kSizes) {
        lanes.push_back(own_lane(bench, size_id(size), fmt::format("UDP, {} bytes", size),
                                 "size with FCS; stamped, UDP checksum valid", sized(bench, size)));
    }
    for (const std::uint16_t size : {std::uint16_t{64}, std::uint16_t{1468}}) {
        lanes.push_back(vxlan_lane(bench, size));
    }
    for (const unsigned lcores : {1U, 2U}) {
        lanes.push_back(lcores_lane(bench, lcores));
    }
    return lanes;
}

std::vector<Finding> findings_of(const std::vector<LaneResult>& lanes) {
    return {
        compare(lanes, {"flows", "10,000,000 flows / 1,000 flows, cycles", "flows-10000000",
                        "flows-1000", "cycles", ""}),
        compare(lanes,
                {"sizes", "1518 bytes / 64 bytes, cycles", "size-1518", "size-64", "cycles", ""}),
        compare(lanes, {"lcores", "2 lcores / 1 lcore, frames a second", "lcores-2", "lcores-1",
                        "frames_per_second", ""}),
        compare(lanes, {"vxlan", "64 bytes in VXLAN / 64 bytes, cycles", "vxlan-64", "size-64",
                        "cycles", ""}),
    };
}

std::map<std::uint32_t, double> rates_by_size(const std::vector<LaneResult>& lanes) {
    std::map<std::uint32_t, double> rates;
    for (const std::uint16_t size : kSizes) {
        for (const LaneResult& lane : lanes) {
            const auto spread = spread_of(lane.values("mpps"));
            if (lane.id == size_id(size) && spread) {
                rates[size] = spread->median * 1e6;
            }
        }
    }
    return rates;
}

}  // namespace

Result<Experiment> bench_growth(const DataplaneBench& bench) {
    auto lanes = TRY(run_rounds(lanes_of(bench), bench.plan));
    Experiment experiment{.id = "growth",
                          .title = "how the cost grows with the work",
                          .conditions = {{"device", "net_null with no-rx=1"}},
                          .columns = {{"cycles", "TSC cycles/frame", "", 1},
                                      {"mpps", "Mpps of one lcore", "", 1},
                                      {"frames_per_second", "frames/s of all", "", 0}},
                          .lanes = std::move(lanes)};
    experiment.findings = findings_of(experiment.lanes);
    experiment.tables = {line_rate_table(rates_by_size(experiment.lanes))};
    return experiment;
}

}  // namespace pathproof::bench
