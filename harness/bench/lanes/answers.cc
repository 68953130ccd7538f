#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <nlohmann/json.hpp>
#include <span>

#include "harness/bench/lanes/own_lane.h"
#include "harness/bench/peers/dnsperf.h"
#include "harness/bench/peers/kxdpgun.h"
#include "harness/bench/veth/device_counters.h"
#include "harness/bench/veth/query_file.h"
#include "harness/bench/veth/veth_rig.h"
#include "harness/process/netns.h"

namespace pathproof::bench {
namespace {

using namespace std::chrono_literals;

constexpr unsigned kQueries = 1000;
constexpr std::size_t kHeaders = 14 + 20 + 8;  // Ethernet, IPv4, UDP
constexpr auto kLongestStart = 20s;
constexpr std::chrono::seconds kLongestRun{120};

// What one run of a lane has: the pair whose far end a server of ours answers on, and the peers'
// names.
struct Resort {
    const DataplaneBench& bench;
    const VethRig& rig;
    DeviceCounters device;  // the client's end
    const OutputFile& names;
};

struct Asked {
    double answered = 0;
    double asked = 0;
    double seconds = 0;
};

// A program that asks, and what it says came of it.
struct Client {
    std::vector<std::string> argv;
    std::function<Result<Asked>(const MeasuredRun&)> read;
};

// Asks the server over an ordinary socket until it answers: its lcore begins some time after it
// says that the port is open.
Status wait_for_an_answer(const VethPair& pair) {
    const auto frames = query_frames(pair, 1, LoadJob::UdpChecksum::kValid);
    if (!frames) {
        return pass_on(frames.error());
    }
    const std::span query = std::span(frames->front()).subspan(kHeaders);
    return process::in_netns(pair.client.netns, [&]() -> Status {
        const int asking = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        const timeval patience{.tv_sec = 0, .tv_usec = 50'000};
        setsockopt(asking, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
        const sockaddr_in server{.sin_family = AF_INET,
                                 .sin_port = htons(53),
                                 .sin_addr = {htonl(pair.server.address.v4_host_order())},
                                 .sin_zero = {}};
        bool answered = false;
        const auto deadline = std::chrono::steady_clock::now() + kLongestStart;
        while (!answered && std::chrono::steady_clock::now() < deadline) {
            std::array<char, 512> answer;
            sendto(asking, query.data(), query.size(), 0,
                   reinterpret_cast<const sockaddr*>(&server), sizeof server);
            answered = recv(asking, answer.data(), answer.size(), 0) > 0;
        }
        close(asking);
        return answered ? Status()
                        : fail(ErrorCode::kUnavailable, "the server answered nothing within {} s",
                               kLongestStart.count());
    });
}

Result<MeasuredProgram> start_server(const Resort& resort) {
    const VethEnd& end = resort.rig.server().server;
    auto server = MeasuredProgram::start(
        {.argv = {resort.bench.binary, "respond", "af_xdp:" + end.device, "--netns", end.netns,
                  "--cpu", fmt::format("{}", resort.bench.cores.control), "--rule",
                  "type=A,address=192.0.2.1", "--rule", "type=AAAA,address=2001:db8::1", "--json"},
         .netns = {},
         .cpus = {resort.bench.cores.control}});
    if (!server) {
        return server;
    }
    const auto deadline = std::chrono::steady_clock::now() + kLongestStart;
    while (server->warned().find("answering on") == std::string::npos) {
        const bool late = std::chrono::steady_clock::now() >= deadline;
        if (late || !server->runs_after(20ms)) {
            return fail(ErrorCode::kFailed, "the server did not start: {}", server->warned());
        }
    }
    if (const Status answers = wait_for_an_answer(resort.rig.server()); !answers) {
        return pass_on(answers.error());
    }
    return server;
}

Status stop_server(MeasuredProgram& server) {
    server.signal(SIGINT);
    const auto run = server.finish(kLongestRun);
    if (!run) {
        return pass_on(run.error());
    }
    if (!nlohmann::json::accept(run->out.text())) {
        return fail(ErrorCode::kFailed, "the server ended without a result: {}",
                    run->err.text(400));
    }
    return {};
}

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
    return {{"answers_per_second", asked.seconds > 0 ? asked.answered / asked.seconds : 0},
            {"queries_per_second", asked.seconds > 0 ? asked.asked / asked.seconds : 0},
            {"unanswered_share", asked.asked > 0 ? 1 - asked.answered / asked.asked : 0}};
}

Result<Measurement> ask(Resort& resort, const Client& client) {
    auto server = start_server(resort);
    const auto before = resort.device.read();
    if (!server || !before) {
        return pass_on(server ? before.error() : server.error());
    }
    const auto run = measure({.argv = client.argv,
                              .netns = resort.rig.server().client.netns,
                              .cpus = {resort.bench.cores.worker}},
                             kLongestRun);
    if (!run) {
        return pass_on(run.error());
    }
    const auto asked = client.read(*run);
    const auto after = resort.device.read();
    if (!asked || !after) {
        return pass_on(asked ? after.error() : asked.error());
    }
    const Status confirmed = confirm(*asked, *before, *after);
    const Status stopped = confirmed ? stop_server(*server) : confirmed;
    if (!stopped) {
        return pass_on(stopped.error());
    }
    return Measurement{.figures = figures_of(*asked), .waiting_share = run->cost.waiting_share()};
}

Client dnsperf(const Resort& resort) {
    const DnsperfJob job{.server = to_string(resort.rig.server().server.address),
                         .queries = resort.names.path(),
                         .seconds = resort.bench.seconds};
    return {.argv = dnsperf_command(job), .read = [](const MeasuredRun& run) -> Result<Asked> {
                const auto report = parse_dnsperf(run.out.text());
                if (!report) {
                    return pass_on(report.error());
                }
                return Asked{.answered = static_cast<double>(report->completed),
                             .asked = static_cast<double>(report->sent),
                             .seconds = report->seconds};
            }};
}

Client kxdpgun(const Resort& resort) {
    const VethPair& pair = resort.rig.server();
    const auto seconds = static_cast<unsigned>(std::max(1.0, resort.bench.seconds));
    const KxdpgunJob job{.device = pair.client.device,
                         .local_mac = to_string(pair.client.mac),
                         .remote_mac = to_string(pair.server.mac),
                         .local_address = to_string(pair.client.address),
                         .remote_address = to_string(pair.server.address),
                         .queries = resort.names.path(),
                         .batch = 32,
                         .cpu = resort.bench.cores.worker,
                         .seconds = seconds};
    return {.argv = kxdpgun_command(job),
            .read = [seconds](const MeasuredRun& run) -> Result<Asked> {
                const auto report = parse_kxdpgun(run.out.text() + run.err.text());
                if (!report) {
                    return pass_on(report.error());
                }
                return Asked{.answered = static_cast<double>(report->replies),
                             .asked = static_cast<double>(report->queries),
                             .seconds = static_cast<double>(seconds)};
            }};
}

Result<Asked> read_ours(const MeasuredRun& run) {
    const auto outcome = parse_load_outcome(run.out.text());
    if (!outcome) {
        return pass_on(outcome.error());
    }
    if (outcome->bad_checksums > 0) {
        return fail(ErrorCode::kFailed, "{} answers had a wrong checksum", outcome->bad_checksums);
    }
    return Asked{.answered = static_cast<double>(outcome->unique),
                 .asked = static_cast<double>(outcome->sent),
                 .seconds = outcome->seconds};
}

Client ours(const Resort& resort, const std::string& driver, LoadJob::Rate rate) {
    const VethPair& pair = resort.rig.server();
    LoadJob job = job_on(resort.bench);
    job.control_cpu = resort.bench.cores.worker;  // the other CPU is the server's
    job.vdev = fmt::format("net_{}0,iface={}", driver, pair.client.device);
    job.back = LoadJob::Back::kAnswers;
    job.source_mac = pair.client.mac;
    job.destination_mac = pair.server.mac;
    job.source = pair.client.address;
    job.destination = pair.server.address;
    job.rate = rate;
    return {.argv = worker_command(resort.bench, "load", to_text(job)), .read = read_ours};
}

// In namespaces of its own: what one client has left at its device, the next one does not meet.
Result<Measurement> ask_afresh(const DataplaneBench& bench, const OutputFile& names,
                               const std::function<Client(const Resort&)>& client) {
    VethRig rig(*bench.journal);
    if (const Status made = rig.make(); !made) {
        return fail(made.error(), "make the veth pairs");
    }
    auto device = DeviceCounters::open(rig.server().client.netns, rig.server().client.device);
    if (!device) {
        return pass_on(device.error());
    }
    Resort resort{.bench = bench, .rig = rig, .device = std::move(*device), .names = names};
    return ask(resort, client(resort));
}

// Where the lanes find what they share.
struct Shared {
    const DataplaneBench& bench;
    OutputFile names;
};

Lane lane(const Shared& shared, const std::string& id, const std::string& title,
          const std::string& note, const std::string& absent,
          std::function<Client(const Resort&)> client) {
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
    auto measured = run_own(bench, job, "", "ring-answers");
    if (!measured) {
        return measured;
    }
    Figures& figures = measured->figures;
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
        return [driver, rate](const Resort& r) { return ours(r, driver, rate); };
    };
    const char* judged = "each answer's checksums verified, matched with its query, timed";
    return {
        lane(shared, "dnsperf", "dnsperf -T 1 -c 8 -q 1000", "asks again as answers come",
             peer(bench.tools.dnsperf), dnsperf),
        lane(shared, "kxdpgun", "kxdpgun -b 32", "answers are counted, not compared",
             peer(bench.tools.kxdpgun), kxdpgun),
        lane(shared, "xdp", "ours on net_af_xdp, as fast as it goes", judged, without,
             own("af_xdp", kAsFastAsItGoes)),
        lane(shared, "xdp-whole", "ours on net_af_xdp, highest rate without loss", judged, without,
             own("af_xdp", kWithoutLoss)),
        lane(shared, "packet", "ours on net_af_packet, as fast as it goes", judged, without,
             own("af_packet", kAsFastAsItGoes)),
        ring_lane(bench, "ring", "ours over net_ring, as fast as it goes", one_cpu,
                  kAsFastAsItGoes),
        ring_lane(bench, "ring-whole", "ours over net_ring, highest rate without loss", one_cpu,
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
        ratio("ring_dnsperf", "ours over net_ring / dnsperf, answers a second", "ring", "dnsperf",
              "at least 10"),
        ratio("ring_whole_dnsperf", "ours over net_ring without loss / dnsperf, answers a second",
              "ring-whole", "dnsperf", "at least 10"),
        ratio("veth_kxdpgun", "ours over veth / kxdpgun, answers a second", "xdp", "kxdpgun", ""),
    };
}

Result<Experiment> experiment_of(const Shared& shared) {
    auto lanes = run_rounds(lanes_of(shared), shared.bench.plan);
    if (!lanes) {
        return pass_on(lanes.error());
    }
    Experiment experiment{
        .id = "answers",
        .title = "queries that come back answered",
        .conditions = {{"server",
                        "pathproof respond on net_af_xdp at the far end of the veth pair, "
                        "one lcore of the other CPU, for all clients alike"},
                       {"ceiling", "what one direction of the veth path carries: experiment veth"}},
        .columns = {{"answers_per_second", "answers/s", "", 0},
                    {"queries_per_second", "queries/s", "", 0},
                    {"unanswered_share", "unanswered", "", 4}},
        .lanes = std::move(*lanes)};
    experiment.findings = findings_of(experiment.lanes);
    return experiment;
}

}  // namespace

Result<Experiment> bench_answers(const DataplaneBench& bench) {
    auto names = OutputFile::make();
    if (!names) {
        return pass_on(names.error());
    }
    if (const Status written = names->write(query_lines(kQueries)); !written) {
        return pass_on(written.error());
    }
    const Shared shared{.bench = bench, .names = std::move(*names)};
    return experiment_of(shared);
}

}  // namespace pathproof::bench
