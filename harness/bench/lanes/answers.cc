#include <optional>

#include "harness/bench/lanes/own_lane.h"
#include "harness/bench/load/load_search.h"
#include "harness/bench/peers/dnsperf.h"
#include "harness/bench/peers/kxdpgun.h"
#include "harness/bench/veth/answerer.h"
#include "harness/bench/veth/device_counters.h"
#include "harness/bench/veth/drop_counter.h"
#include "harness/bench/veth/query_file.h"
#include "harness/bench/veth/veth_rig.h"
#include "harness/process/child.h"

namespace pathproof::bench {
namespace {

using namespace std::chrono_literals;

constexpr unsigned kQueries = 1000;
// Number of queries under way that dnsperf is given, too (peers/dnsperf.h).
constexpr std::uint64_t kOutstanding = 1000;

// Resources of one run of a lane: the pair whose far end a server of ours answers on, and the
// peers' names.
struct LaneRun {
    const DataplaneBench& bench;
    const VethRig& rig;
    DeviceCounters device;  // the client's end
    const OutputFile& names;
};

struct Asked {
    double answered = 0;
    double asked = 0;
    double seconds = 0;
    std::optional<double> loss_bound;  // of a search without loss; 0: nothing was lost
};

// A program that asks, and what it says came of it.
struct Client {
    Answerer answerer;
    std::vector<std::string> argv;
    std::function<Result<Asked>(const MeasuredRun&)> read;
};

// No program may say that it got more answers than the kernel handed to its device.
Status confirm(const Asked& asked, const Received& before, const Received& after) {
    const auto arrived = static_cast<double>(after.frames - before.frames);
    if (asked.answered > arrived) {
        return fail(ErrorCode::kFailed, "it says {} answers where {} frames arrived",
                    asked.answered, arrived);
    }
    return {};
}

Figures figures_of(const Asked& asked) {
    Figures figures{{"answers_per_second", asked.seconds > 0 ? asked.answered / asked.seconds : 0},
                    {"queries_per_second", asked.seconds > 0 ? asked.asked / asked.seconds : 0},
                    {"unanswered_share", asked.asked > 0 ? 1 - asked.answered / asked.asked : 0}};
    if (asked.loss_bound) {
        figures["loss_bound"] = *asked.loss_bound;
    }
    return figures;
}

Result<Measurement> ask(LaneRun& lane, const Client& client) {
    const VethPair& pair = lane.rig.server();
    auto server = TRY(client.answerer.start(pair));
    const auto before = TRY(lane.device.read());
    const auto run = TRY(measure(
        {.argv = client.argv, .netns = pair.client.netns, .cpus = {lane.bench.cores.worker}},
        longest_run(lane.bench)));
    const auto asked = TRY(client.read(run));
    const auto after = TRY(lane.device.read());
    TRY(confirm(asked, before, after));
    TRY(client.answerer.stop(server));
    // The client has one CPU, for its threads and for the kernel's part of its traffic: what waits
    // there waits for what is measured.
    return Measurement{.figures = figures_of(asked), .waiting_share = {}};
}

Client dnsperf(const LaneRun& lane) {
    const DnsperfJob job{.server = to_string(lane.rig.server().server.address),
                         .queries = lane.names.path(),
                         .seconds = lane.bench.seconds};
    return {.answerer = responder(lane.bench.binary, lane.bench.cores),
            .argv = dnsperf_command(job),
            .read = [](const MeasuredRun& run) -> Result<Asked> {
                const auto report = TRY(parse_dnsperf(run.out.text()));
                return Asked{.answered = static_cast<double>(report.completed),
                             .asked = static_cast<double>(report.sent),
                             .seconds = report.seconds};
            }};
}

Client kxdpgun(const LaneRun& lane) {
    const VethPair& pair = lane.rig.server();
    const auto seconds = static_cast<unsigned>(std::max(1.0, lane.bench.seconds));
    const KxdpgunJob job{.device = pair.client.device,
                         .local_mac = to_string(pair.client.mac),
                         .remote_mac = to_string(pair.server.mac),
                         .local_address = to_string(pair.client.address),
                         .remote_address = to_string(pair.server.address),
                         .queries = lane.names.path(),
                         .batch = 32,
                         .cpu = lane.bench.cores.worker,
                         .seconds = seconds};
    return {.answerer = responder(lane.bench.binary, lane.bench.cores),
            .argv = kxdpgun_command(job),
            .read = [seconds](const MeasuredRun& run) -> Result<Asked> {
                const auto report = TRY(parse_kxdpgun(run.out.text() + run.err.text()));
                return Asked{.answered = static_cast<double>(report.replies),
                             .asked = static_cast<double>(report.queries),
                             .seconds = static_cast<double>(seconds)};
            }};
}

Result<Asked> read_ours(const MeasuredRun& run) {
    const auto outcome = TRY(parse_load_outcome(run.out.text()));
    if (outcome.bad_checksums > 0) {
        return fail(ErrorCode::kFailed, "{} answers had a wrong checksum", outcome.bad_checksums);
    }
    return Asked{.answered = static_cast<double>(outcome.unique),
                 .asked = static_cast<double>(outcome.sent),
                 .seconds = outcome.seconds,
                 .loss_bound = outcome.loss_bound};
}

LoadJob job_of_ours(const DataplaneBench& bench, const VethPair& pair, const std::string& driver,
                    LoadJob::Rate rate) {
    LoadJob job = job_on(bench);
    job.control_cpu = bench.cores.worker;  // the other CPU is the server's
    job.vdev = fmt::format("net_{}0,iface={}", driver, pair.client.device);
    job.back = LoadJob::Back::kAnswers;
    job.source_mac = pair.client.mac;
    job.destination_mac = pair.server.mac;
    job.source = pair.client.address;
    job.destination = pair.server.address;
    job.rate = rate;
    job.outstanding = kOutstanding;
    return job;
}

Client ours(const LaneRun& lane, const std::string& driver, LoadJob::Rate rate) {
    const LoadJob job = job_of_ours(lane.bench, lane.rig.server(), driver, rate);
    return {.answerer = responder(lane.bench.binary, lane.bench.cores),
            .argv = worker_command("load", to_text(job)),
            .read = read_ours};
}

Client round_trip(const LaneRun& lane) {
    LoadJob job = job_of_ours(lane.bench, lane.rig.server(), "af_xdp", LoadJob::Rate::kClosedLoop);
    job.back = LoadJob::Back::kFrames;
    return {.answerer = mirror(lane.bench.cores),
            .argv = worker_command("load", to_text(job)),
            .read = read_ours};
}

// Runs the client in fresh namespaces, where it does not meet what another client left at its
// device.
Result<Measurement> ask_afresh(const DataplaneBench& bench, const OutputFile& names,
                               const std::function<Client(const LaneRun&)>& client) {
    VethRig rig(*bench.journal);
    TRY(doing(rig.make(), "make the veth pairs"));
    auto device = TRY(DeviceCounters::open(rig.server().client.netns, rig.server().client.device));
    LaneRun lane{.bench = bench, .rig = rig, .device = std::move(device), .names = names};
    return ask(lane, client(lane));
}

// Measures what leaves the client as fast as it goes, counted and dropped at the far end of the
// pair.
Result<Measurement> send_one_way(const DataplaneBench& bench) {
    VethRig rig(*bench.journal);
    TRY(doing(rig.make(), "make the veth pairs"));
    const VethPair& pair = rig.server();
    const auto sink = TRY(DropCounter::attach(pair.server.netns, pair.server.device));
    const LoadJob job = job_of_ours(bench, pair, "af_xdp", LoadJob::Rate::kAsFastAsItGoes);
    const auto run = TRY(measure({.argv = worker_command("load", to_text(job)),
                                  .netns = pair.client.netns,
                                  .cpus = {bench.cores.worker}},
                                 longest_run(bench)));
    const auto sent = TRY(read_ours(run));
    const auto arrived = TRY(sink.frames());
    return Measurement{
        .figures = {{"queries_per_second", static_cast<double>(arrived) / sent.seconds}},
        .waiting_share = {}};
}

// Resources that all lanes share.
struct Shared {
    const DataplaneBench& bench;
    OutputFile names;
};

Lane lane(const Shared& shared, const std::string& id, const std::string& title,
          const std::string& note, const std::string& absent,
          std::function<Client(const LaneRun&)> client) {
    return {.id = id,
            .title = title,
            .note = note,
            .absent = absent,
            .run = [&shared, client = std::move(client)] {
                return ask_afresh(shared.bench, shared.names, client);
            }};
}

Result<Measurement> ask_over_rings(const DataplaneBench& bench, LoadJob::Rate rate) {
    LoadJob job = job_on(bench);
    job.back = LoadJob::Back::kAnswers;
    job.rate = rate;
    auto measured = TRY(run_own(bench, job, "", "ring-answers"));
    Figures& figures = measured.figures;
    figures["queries_per_second"] = figures["frames_per_second"];
    figures["unanswered_share"] = figures["missing_share"];
    figures["answers_per_second"] = figures["frames_per_second"] * (1 - figures["missing_share"]);
    return measured;
}

Lane ring_lane(const DataplaneBench& bench, const std::string& id, const std::string& title,
               const std::string& absent, LoadJob::Rate rate) {
    return {.id = id,
            .title = title,
            .note = "the responder on the other CPU of the same process; no kernel between them",
            .absent = absent,
            .run = [&bench, rate] { return ask_over_rings(bench, rate); }};
}

std::string absence(const DataplaneBench& bench) {
    return bench.cores.apart()
               ? ""
               : "not measured: asking and answering need a CPU each, and there is one to use";
}

std::vector<Lane> lanes_of(const Shared& shared) {
    const DataplaneBench& bench = shared.bench;
    const std::string one_cpu = absence(bench);
    const std::string without = one_cpu.empty() ? bench.no_namespaces : one_cpu;
    const auto peer = [&](const Tool& tool) { return without.empty() ? tool.absence() : without; };
    using enum LoadJob::Rate;
    const auto own = [](const char* driver, LoadJob::Rate rate) {
        return [driver, rate](const LaneRun& r) { return ours(r, driver, rate); };
    };
    const char* judged = "each answer's checksums verified, matched with its query, timed";
    return {
        lane(shared, "dnsperf", "dnsperf -T 1 -c 8 -q 1000", "asks again as answers come",
             peer(bench.tools.dnsperf), dnsperf),
        lane(shared, "kxdpgun", "kxdpgun -b 32", "answers are counted, not compared",
             peer(bench.tools.kxdpgun), kxdpgun),
        lane(shared, "xdp", "ours on net_af_xdp, 1000 under way", judged, without,
             own("af_xdp", kClosedLoop)),
        lane(shared, "xdp-open", "ours on net_af_xdp, as fast as it goes", judged, without,
             own("af_xdp", kAsFastAsItGoes)),
        lane(shared, "xdp-whole", "ours on net_af_xdp, highest rate without loss*", judged, without,
             own("af_xdp", kWithoutLoss)),
        lane(shared, "round-trip", "ours on net_af_xdp, 1000 under way, testpmd io sends back",
             "the far end sends frames back as they came and looks at none: what the round trip "
             "carries at most",
             peer(bench.tools.testpmd), round_trip),
        {.id = "one-way",
         .title = "ours on net_af_xdp, as fast as it goes, nothing comes back",
         .note = "counted and dropped by an XDP program at the far end: what one way carries",
         .absent = without,
         .run = [&bench] { return send_one_way(bench); }},
        lane(shared, "packet", "ours on net_af_packet, as fast as it goes", judged, without,
             own("af_packet", kAsFastAsItGoes)),
        ring_lane(bench, "ring", "ours over net_ring, as fast as it goes", one_cpu,
                  kAsFastAsItGoes),
        ring_lane(bench, "ring-whole", "ours over net_ring, highest rate without loss*", one_cpu,
                  kWithoutLoss),
    };
}

std::vector<Finding> findings_of(const std::vector<LaneResult>& lanes) {
    const auto ratio = [&](const char* id, const char* text, const char* above, const char* below,
                           const char* asked) {
        return compare(lanes, {id, text, above, below, "answers_per_second", asked});
    };
    return {
        ratio("veth_dnsperf", "ours over veth / dnsperf, answers a second", "xdp", "dnsperf",
              "at least 3"),
        ratio("veth_whole_dnsperf", "ours over veth without loss / dnsperf, answers a second",
              "xdp-whole", "dnsperf", "at least 3"),
        ratio("ceiling_dnsperf", "what the round trip carries at most / dnsperf", "round-trip",
              "dnsperf", ""),
        ratio("veth_ceiling", "ours over veth / what the round trip carries at most", "xdp",
              "round-trip", ""),
        ratio("ring_dnsperf", "ours over net_ring / dnsperf, answers a second", "ring", "dnsperf",
              "at least 10"),
        ratio("ring_whole_dnsperf", "ours over net_ring without loss / dnsperf, answers a second",
              "ring-whole", "dnsperf", "at least 10"),
        ratio("veth_kxdpgun", "ours over veth / kxdpgun, answers a second", "xdp", "kxdpgun", ""),
    };
}

Result<Experiment> experiment_of(const Shared& shared) {
    auto lanes = TRY(run_rounds(lanes_of(shared), shared.bench.plan));
    Experiment experiment{
        .id = "answers",
        .title = "queries that come back answered",
        .conditions = {{"server",
                        "pathproof respond on net_af_xdp at the far end of the veth pair, "
                        "one lcore of the other CPU, for all clients alike"},
                       {"without loss*",
                        fmt::format("where no rate is, with at most {:g} % lost: 'loss bound'",
                                    kLossBound * 100)}},
        .columns = {{"answers_per_second", "answers/s", "", 0},
                    {"queries_per_second", "queries/s", "", 0},
                    {"unanswered_share", "unanswered", "", 4},
                    {"loss_bound", "loss bound", "", 4}},
        .lanes = std::move(lanes)};
    experiment.findings = findings_of(experiment.lanes);
    return experiment;
}

}  // namespace

Result<Experiment> bench_answers(const DataplaneBench& bench) {
    auto names = TRY(OutputFile::make());
    TRY(names.write(query_lines(kQueries)));
    const Shared shared{.bench = bench, .names = std::move(names)};
    return experiment_of(shared);
}

}  // namespace pathproof::bench
