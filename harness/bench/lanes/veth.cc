#include <csignal>
#include <thread>

#include "harness/bench/lanes/own_lane.h"
#include "harness/bench/peers/kxdpgun.h"
#include "harness/bench/peers/testpmd.h"
#include "harness/bench/peers/trafgen.h"
#include "harness/bench/veth/drop_counter.h"
#include "harness/bench/veth/query_file.h"
#include "harness/bench/veth/rate_window.h"
#include "harness/bench/veth/veth_rig.h"

namespace pathproof::bench {
namespace {

using namespace std::chrono_literals;

constexpr unsigned kQueries = 1000;
constexpr std::uint64_t kEthernetHeader = 14;
constexpr std::chrono::seconds kLongestEnd{30};

// Resources that the lanes share: the pair with its sink, and the files that the peers read.
struct Range {
    const DataplaneBench& bench;
    const VethRig& rig;
    DropCounter sink;
    DeviceCounters device;
    OutputFile names;
    OutputFile frames;
    std::uint16_t frame_bytes = 0;

    // Frames by the sink's own counter, bytes by the kernel's of the device, which counts a frame
    // after eth_type_trans() has taken its Ethernet header off.
    Result<Received> count() const {
        const auto frames_now = TRY(sink.frames());
        const auto received = TRY(device.read());
        return Received{.frames = frames_now,
                        .bytes = received.bytes + kEthernetHeader * received.frames};
    }
};

// A program that sends until it is told to stop, and what it says that it sent.
struct Sender {
    ProgramToMeasure program;
    std::function<Status(MeasuredProgram&)> stop;
    std::function<Result<std::uint64_t>(const MeasuredRun&)> claim;
};

// trafgen sends from a process that it forks.
Status interrupt(MeasuredProgram& program) {
    program.signal_all(SIGINT);
    return {};
}

Status wait_for_its_end(MeasuredProgram&) {
    return {};
}

Result<Measurement> send(Range& range, const Sender& sender) {
    const auto before = TRY(range.count());
    auto program = TRY(MeasuredProgram::start(sender.program));
    const auto window_length =
        std::chrono::nanoseconds(static_cast<std::int64_t>(range.bench.seconds * 1e9));
    const auto window = watch(
        program, [&] { return range.count(); }, window_length);
    if (!window) {
        const auto ended = program.finish(1s);
        return fail(window.error(), "{}", ended ? ended->err.text(400) : program.said());
    }
    TRY(sender.stop(program));
    const auto run = TRY(program.finish(kLongestEnd));
    const auto claimed = TRY(sender.claim(run));
    const auto after = TRY(range.count());
    const auto arrived = static_cast<double>(after.frames - before.frames);
    return Measurement{
        .figures = {{"frames_per_second", window->frames_per_second},
                    {"frame_bytes", window->frame_bytes},
                    {"arrived", arrived},
                    {"claimed", static_cast<double>(claimed)},
                    {"claimed_share", arrived > 0 ? static_cast<double>(claimed) / arrived : 0}},
        .waiting_share = run.cost.waiting_share()};
}

Sender kxdpgun(const Range& range, unsigned batch) {
    const VethPair& pair = range.rig.sink();
    const auto seconds = static_cast<unsigned>(range.bench.seconds) + 20;
    const KxdpgunJob job{.device = pair.client.device,
                         .local_mac = to_string(pair.client.mac),
                         .remote_mac = to_string(pair.server.mac),
                         .local_address = to_string(pair.client.address),
                         .remote_address = to_string(pair.server.address),
                         .queries = range.names.path(),
                         .batch = batch,
                         .cpu = range.bench.cores.worker,
                         .seconds = seconds};
    return {.program = {.argv = kxdpgun_command(job),
                        .netns = pair.client.netns,
                        .cpus = range.bench.cores.both()},
            .stop = interrupt,
            .claim = [](const MeasuredRun& run) -> Result<std::uint64_t> {
                const auto report = parse_kxdpgun(run.out.text() + run.err.text());
                return report ? Result<std::uint64_t>(report->queries) : pass_on(report.error());
            }};
}

Sender trafgen(const Range& range) {
    const VethPair& pair = range.rig.sink();
    return {.program = {.argv = trafgen_command(pair.client.device, range.frames.path()),
                        .netns = pair.client.netns,
                        .cpus = range.bench.cores.both()},
            .stop = interrupt,
            .claim = [](const MeasuredRun& run) -> Result<std::uint64_t> {
                const auto report = parse_trafgen(run.out.text() + run.err.text());
                return report ? Result<std::uint64_t>(report->packets) : pass_on(report.error());
            }};
}

Sender testpmd(const Range& range) {
    const VethPair& pair = range.rig.sink();
    const TestpmdJob job{.vdev = "net_af_xdp0,iface=" + pair.client.device,
                         .mode = "txonly",
                         .frame_bytes = range.frame_bytes};
    return {.program = {.argv = testpmd_command(job, range.bench.cores),
                        .netns = pair.client.netns,
                        .cpus = range.bench.cores.both(),
                        .input = ProgramToMeasure::Input::kTold},
            .stop = [](MeasuredProgram& program) { return program.tell("stop\nquit\n"); },
            .claim = [](const MeasuredRun& run) -> Result<std::uint64_t> {
                const auto report = parse_testpmd(run.out.text());
                return report ? Result<std::uint64_t>(report->sent) : pass_on(report.error());
            }};
}

Sender ours(const Range& range, const std::string& driver, LoadJob::UdpChecksum checksum) {
    const VethPair& pair = range.rig.sink();
    LoadJob job = job_on(range.bench);
    job.vdev = fmt::format("net_{}0,iface={}", driver, pair.client.device);
    job.back = LoadJob::Back::kAnswers;
    job.checksum = checksum;
    job.source_mac = pair.client.mac;
    job.destination_mac = pair.server.mac;
    job.source = pair.client.address;
    job.destination = pair.server.address;
    job.seconds = range.bench.seconds + std::chrono::duration<double>(kAroundWindow).count();
    return {.program = {.argv = worker_command("load", to_text(job)),
                        .netns = pair.client.netns,
                        .cpus = range.bench.cores.both()},
            .stop = wait_for_its_end,
            .claim = [](const MeasuredRun& run) -> Result<std::uint64_t> {
                if (run.exit_status != 0) {
                    return fail(ErrorCode::kFailed, "{}", run.err.text(400));
                }
                const auto outcome = parse_load_outcome(run.out.text());
                return outcome ? Result<std::uint64_t>(outcome->sent) : pass_on(outcome.error());
            }};
}

// Whatever became of it, the next program finds the devices as this one did.
Result<Measurement> send_and_clean_up(Range& range, const Sender& sender) {
    auto sent = send(range, sender);
    const Status cleaned = range.rig.clean_up();
    return sent && !cleaned ? pass_on(cleaned.error()) : std::move(sent);
}

// The kernel gives an AF_XDP queue free some time after the socket on it was closed.
Result<Measurement> send_when_free(Range& range,
                                   const std::function<Sender(const Range&)>& sender) {
    constexpr unsigned kAttempts = 10;
    for (unsigned attempt = 1;; ++attempt) {
        auto sent = send_and_clean_up(range, sender(range));
        const bool busy = !sent && sent.error().message.find("busy") != std::string::npos;
        if (!busy || attempt == kAttempts) {
            return sent;
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(500));
    }
}

Lane lane(Range* range, const std::string& id, const std::string& title, const std::string& note,
          const std::string& absent, std::function<Sender(const Range&)> sender) {
    return {.id = id,
            .title = title,
            .note = note,
            .absent = absent,
            .run = [range, sender = std::move(sender)] { return send_when_free(*range, sender); }};
}

std::vector<Lane> lanes_of(const DataplaneBench& bench, Range* range) {
    const std::string& without = bench.no_namespaces;
    const auto absence = [&](const Tool& tool) {
        return without.empty() ? tool.absence() : without;
    };
    std::vector<Lane> lanes{lane(range, "ceiling", "testpmd txonly on net_af_xdp",
                                 "the same bytes again: what the path carries at most",
                                 absence(bench.tools.testpmd), testpmd)};
    for (const unsigned batch : {10U, 32U, 64U}) {
        lanes.push_back(lane(
            range, fmt::format("kxdpgun-{}", batch), fmt::format("kxdpgun -b {}", batch),
            "queries laid out before; UDP checksum 0; nothing is tracked",
            absence(bench.tools.kxdpgun), [batch](const Range& r) { return kxdpgun(r, batch); }));
    }
    lanes.push_back(lane(range, "trafgen", "trafgen",
                         "finished frames through a packet socket's ring",
                         absence(bench.tools.trafgen), trafgen));
    const auto own = [&](const std::string& id, const std::string& title, const std::string& driver,
                         LoadJob::UdpChecksum checksum) {
        lanes.push_back(
            lane(range, id, title, "unique queries, stamped and tracked, bursts of 32", without,
                 [driver, checksum](const Range& r) { return ours(r, driver, checksum); }));
    };
    using enum LoadJob::UdpChecksum;
    own("xdp-valid", "ours on net_af_xdp, UDP checksum valid", "af_xdp", kValid);
    own("xdp-zero", "ours on net_af_xdp, UDP checksum 0", "af_xdp", kZero);
    own("xdp-again", "ours on net_af_xdp, UDP checksum valid (A/A)", "af_xdp", kValid);
    own("packet-valid", "ours on net_af_packet, UDP checksum valid", "af_packet", kValid);
    return lanes;
}

std::vector<Finding> findings_of(const std::vector<LaneResult>& lanes) {
    const auto ratio = [&](const char* id, const char* text, const char* above, const char* below,
                           const char* asked) {
        return compare(lanes, {id, text, above, below, "frames_per_second", asked});
    };
    return {
        ratio("zero_kxdpgun", "ours, UDP checksum 0 / kxdpgun -b 32", "xdp-zero", "kxdpgun-32",
              "at least 1.0"),
        ratio("valid_kxdpgun", "ours, UDP checksum valid / kxdpgun -b 32", "xdp-valid",
              "kxdpgun-32", "at least 1.0"),
        ratio("valid_kxdpgun_10", "ours, UDP checksum valid / kxdpgun -b 10", "xdp-valid",
              "kxdpgun-10", ""),
        ratio("valid_kxdpgun_64", "ours, UDP checksum valid / kxdpgun -b 64", "xdp-valid",
              "kxdpgun-64", ""),
        ratio("packet_trafgen", "ours on net_af_packet / trafgen", "packet-valid", "trafgen", ""),
        ratio("ceiling", "ours on net_af_xdp / the ceiling", "xdp-valid", "ceiling", ""),
        ratio("control", "ours / ours (A/A)", "xdp-valid", "xdp-again",
              "0.98 to 1.02: else the machine was not quiet enough for the rest"),
    };
}

Result<Range> make_range(const DataplaneBench& bench, const VethRig& rig) {
    const VethEnd& far = rig.sink().server;
    auto sink = TRY(DropCounter::attach(far.netns, far.device));
    auto device = TRY(DeviceCounters::open(far.netns, far.device));
    auto names = OutputFile::make();
    auto packets = OutputFile::make();
    const auto frames = query_frames(rig.sink(), kQueries, LoadJob::UdpChecksum::kValid);
    if (!names || !packets || !frames) {
        return fail(ErrorCode::kFailed, "the peers' queries cannot be written");
    }
    TRY(names->write(query_lines(kQueries)));
    TRY(packets->write(trafgen_packets(*frames)));
    return Range{.bench = bench,
                 .rig = rig,
                 .sink = std::move(sink),
                 .device = std::move(device),
                 .names = std::move(*names),
                 .frames = std::move(*packets),
                 .frame_bytes = static_cast<std::uint16_t>(frames->front().size())};
}

Result<Experiment> experiment_of(const DataplaneBench& bench, Range* range) {
    auto lanes = TRY(run_rounds(lanes_of(bench, range), bench.plan));
    Experiment experiment{
        .id = "veth",
        .title = "queries through the kernel into a counting sink",
        .conditions = {{"referee",
                        "the counter of an XDP program at the far end of the veth pair, "
                        "over a window in the middle of each run"},
                       {"queries", fmt::format("{} names, laid out before for kxdpgun and trafgen; "
                                               "ours are made as they are sent, as long as those",
                                               kQueries)}},
        .columns = {{"frames_per_second", "frames/s", "", 0},
                    {"frame_bytes", "bytes", "", 1},
                    {"claimed_share", "claimed/arrived", "", 4}},
        .lanes = std::move(lanes)};
    experiment.findings = findings_of(experiment.lanes);
    return experiment;
}

}  // namespace

Result<Experiment> bench_veth(const DataplaneBench& bench) {
    if (bench.journal == nullptr) {
        return experiment_of(bench, nullptr);
    }
    VethRig rig(*bench.journal);
    TRY(doing(rig.make(), "make the veth pairs"));
    auto range = TRY(make_range(bench, rig));
    return experiment_of(bench, &range);
}

}  // namespace pathproof::bench
