#include <algorithm>
#include <csignal>
#include <nlohmann/json.hpp>

#include "harness/bench/inspect_bench.h"
#include "harness/bench/listener_probe.h"
#include "harness/bench/measured_program.h"
#include "harness/bench/table_fill.h"
#include "harness/bench/watch_output.h"
#include "harness/bench/worker.h"
#include "harness/lab/nat_box.h"
#include "harness/lab/path_settings.h"
#include "harness/netfilter/dump.h"
#include "harness/netfilter/stats.h"
#include "harness/process/child.h"
#include "harness/process/json_text.h"

namespace pathproof::bench {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;

constexpr std::chrono::seconds kLongestEnd{120};
// Buffer that `inspect watch` requests from the kernel.
constexpr const char* kLargeBuffer = "67108864";

// The NAT box with the packets' way through it, and where the next unused flow begins.
struct Rig {
    const InspectBench& bench;
    const lab::NatBoxNames& names;
    std::uint64_t next_flow = 0;
};

// A program that reads the DUT's events; none for the lane without one.
struct Reader {
    std::string id;
    std::string title;
    std::string note;
    std::vector<std::string> argv;
    std::string absent;
};

struct Passage {
    Flooded flooded;
    std::uint64_t forwarded = 0;  // packets that left the DUT: each the first of a confirmed flow
    double kernel_drops = 0;      // packets that conntrack refused: table full, clash
    Listeners listeners;          // when all that was queued has been read
};

std::vector<std::string> flood_command(Rig& rig, std::uint64_t flows, std::uint64_t rate) {
    const std::uint64_t first = rig.next_flow;
    rig.next_flow += flows;
    return {process::own_binary(),
            "worker",
            "flood",
            "--device",
            rig.names.client_ports[0],
            "--source-mac",
            to_string(rig.names.tester_client_mac[0]),
            "--destination-mac",
            to_string(rig.names.dut_client_mac[0]),
            "--first-source",
            to_string(rig.names.first_client[0]),
            "--destination",
            to_string(rig.names.servers[0]),
            "--first-flow",
            fmt::format("{}", first),
            "--flows",
            fmt::format("{}", flows),
            "--rate",
            fmt::format("{}", rate)};
}

Result<Flooded> read_flooded(const OutputFile& out) {
    const json said = process::json_or_null(out.text());
    if (!said.is_object()) {
        return fail(ErrorCode::kFailed, "the packet generator did not say what it sent: '{}'",
                    out.text(200));
    }
    return Flooded{.sent = said.value("sent", std::uint64_t{0}),
                   .seconds = said.value("seconds", 0.0)};
}

struct Counts {
    std::uint64_t sent = 0;
    double refused = 0;
};

Result<Counts> count(const lab::NatBoxNames& names) {
    const auto sent = TRY(packets_sent(names.dut, names.dut_server_device));
    const auto stats = TRY(netfilter::cpu_stats(names.dut));
    return Counts{sent, static_cast<double>(netfilter::total(stats, "drop"))};
}

// Sends the flows through the DUT and counts what left it.
Result<Passage> pass_flows(Rig& rig, std::uint64_t flows, std::uint64_t rate) {
    const auto before = TRY(count(rig.names));
    const auto seconds = std::chrono::seconds(60 + (rate > 0 ? flows / rate * 3 : 0));
    const auto run = TRY(measure({.argv = flood_command(rig, flows, rate),
                                  .netns = rig.names.tester,
                                  .cpus = {rig.bench.cpus.front()}},
                                 seconds));
    const auto flooded = TRY(read_flooded(run.out));
    const auto listeners = TRY(wait_until_drained(rig.names.dut, 30s));
    const auto after = TRY(count(rig.names));
    return Passage{.flooded = flooded,
                   .forwarded = after.sent - before.sent,
                   .kernel_drops = after.refused - before.refused,
                   .listeners = listeners};
}

double rate_of(std::uint64_t count, double seconds) {
    return seconds > 0 ? static_cast<double>(count) / seconds : 0;
}

Figures figures_of(const Passage& passage) {
    return {{"flows", static_cast<double>(passage.forwarded)},
            {"offered", static_cast<double>(passage.flooded.sent)},
            {"offered_rate", rate_of(passage.flooded.sent, passage.flooded.seconds)},
            {"rate", rate_of(passage.forwarded, passage.flooded.seconds)},
            {"refused", passage.kernel_drops},
            {"socket_drops", static_cast<double>(passage.listeners.drops)}};
}

// Compares the events that the reader printed with the flows that were made.
Status add_reader_figures(const MeasuredRun& run, Figures& figures) {
    const auto seen = TRY(read_watch_output(run.out, run.err));
    const double flows = figures["flows"];
    const auto live = static_cast<double>(seen.new_live);
    const auto missed = static_cast<double>(seen.new_missed);
    figures["new_live"] = live;
    figures["new_missed"] = missed;
    figures["gaps"] = static_cast<double>(seen.gaps());
    figures["unseen"] = std::max(0.0, flows - live - missed);
    figures["cpu_s"] = run.cost.user_s + run.cost.system_s;
    figures["rss_mib"] = static_cast<double>(run.cost.peak_rss_bytes) / kMebibyte;
    return {};
}

Result<Measurement> run_lane(Rig& rig, const Reader& reader, std::uint64_t flows,
                             std::uint64_t rate) {
    TRY(netfilter::flush(rig.names.dut));
    if (reader.argv.empty()) {
        const auto passage = TRY(pass_flows(rig, flows, rate));
        return Measurement{.figures = figures_of(passage), .waiting_share = {}};
    }
    auto program =
        TRY(MeasuredProgram::start({.argv = reader.argv, .netns = rig.names.dut, .cpus = {}}));
    TRY(wait_for_listener(rig.names.dut, 10s));
    const auto passage = TRY(pass_flows(rig, flows, rate));
    if (!program.runs_after(0ms)) {
        return fail(ErrorCode::kFailed, "it ended before the packets did");
    }
    program.signal(SIGINT);
    const auto run = TRY(program.finish(kLongestEnd));
    Measurement measurement{.figures = figures_of(passage), .waiting_share = {}};
    TRY(add_reader_figures(run, measurement.figures));
    return measurement;
}

std::vector<Reader> readers(const InspectBench& bench) {
    const std::string absent =
        bench.conntrack_version.empty()
            ? "not measured: conntrack is not installed (apt-get install conntrack)"
            : "";
    return {{"watch",
             "pathproof inspect watch",
             "text into a file in memory",
             {bench.binary, "inspect", "watch"},
             {}},
            {"conntrack-event",
             "conntrack -E",
             "its default receive buffer",
             {"conntrack", "-E"},
             absent},
            {"conntrack-event-buffer",
             "conntrack -E -b 64 MiB",
             "a receive buffer as large as ours",
             {"conntrack", "-E", "-b", kLargeBuffer},
             absent}};
}

std::vector<Lane> lanes_for(Rig& rig, const std::vector<Reader>& list, std::uint64_t flows,
                            std::uint64_t rate) {
    std::vector<Lane> lanes;
    for (const Reader& reader : list) {
        lanes.push_back(
            {.id = reader.id,
             .title = reader.title,
             .note = reader.note,
             .absent = reader.absent,
             .run = [&rig, &reader, flows, rate] { return run_lane(rig, reader, flows, rate); }});
    }
    return lanes;
}

Result<std::unique_ptr<lab::NatBox>> build_rig(const InspectBench& bench) {
    auto box = TRY(lab::NatBox::build(bench.journal));
    // Flows of one packet, as DNS makes them: they leave the table a second later, which keeps it
    // below its maximum at any rate the DUT can forward.
    const setting::Setting one_backend = TRY(box->service(1));
    TRY(box->set({one_backend, lab::udp_timeout(1)}));
    return box;
}

std::vector<std::pair<std::string, std::string>> conditions(const InspectBench& bench) {
    return {
        {"packets", fmt::format("64-byte UDP, each of a new flow, from a packet socket on CPU {}; "
                                "forwarded by a NAT box (veth) to a second veth",
                                bench.cpus.front())},
        {"readers", "on any of the CPUs, text into a file in memory"},
        {"flows made",
         "packets that left the DUT (its device's counters): each has a confirmed entry"},
        {"lost by the kernel",
         "messages that found the reader's buffer full, all kinds (/proc/net/netlink)"}};
}

std::vector<Finding> event_findings(const std::vector<LaneResult>& lanes) {
    const Column count{.figure = "unseen", .label = {}, .unit = "flows", .decimals = 0};
    std::vector<Finding> findings;
    for (const LaneResult& lane : lanes) {
        findings.push_back(quote(lanes, {"unseen_" + lane.id,
                                         lane.title + ", NEW flows neither shown live nor listed "
                                                      "as missed",
                                         lane.id, count, lane.id == "watch" ? "0" : ""}));
    }
    return findings;
}

}  // namespace

Result<Experiment> bench_events(const InspectBench& bench, const EventLoad& load) {
    const auto box = TRY(build_rig(bench));
    Rig rig{bench, box->names()};
    const auto flows =
        static_cast<std::uint64_t>(static_cast<double>(load.flows_per_second) * load.seconds);
    const std::vector<Reader> list = readers(bench);
    auto lanes = TRY(run_rounds(lanes_for(rig, list, flows, load.flows_per_second), bench.plan));
    Experiment experiment{.id = "events",
                          .title = fmt::format("{} new flows per second for {:g} s",
                                               load.flows_per_second, load.seconds),
                          .conditions = conditions(bench),
                          .columns = {{"offered_rate", "offered", "flows/s", 0},
                                      {"flows", "flows made", "", 0},
                                      {"new_live", "NEW printed", "", 0},
                                      {"gaps", "gaps", "", 0},
                                      {"new_missed", "listed as missed", "", 0},
                                      {"unseen", "unseen", "", 0},
                                      {"socket_drops", "lost by the kernel", "", 0},
                                      {"cpu_s", "CPU", "s", 2},
                                      {"rss_mib", "memory", "MiB", 1}},
                          .lanes = std::move(lanes),
                          .findings = {}};
    experiment.findings = event_findings(experiment.lanes);
    return experiment;
}

Result<Experiment> bench_attach(const InspectBench& bench, std::uint64_t flows) {
    const auto box = TRY(build_rig(bench));
    Rig rig{bench, box->names()};
    std::vector<Reader> list = readers(bench);
    list.pop_back();  // the larger buffer makes no difference to what attaching costs
    list.insert(list.begin(), {"nothing", "nothing attached", "", {}, {}});
    list.push_back({"nothing-again", "nothing attached (A/A)", "the control", {}, {}});
    auto lanes = TRY(run_rounds(lanes_for(rig, list, flows, 0), bench.plan));
    Experiment experiment{.id = "attach",
                          .title = fmt::format("forwarding {} new flows as fast as they go", flows),
                          .conditions = conditions(bench),
                          .columns = {{"rate", "forwarded", "flows/s", 0},
                                      {"flows", "flows made", "", 0},
                                      {"refused", "dropped by conntrack", "", 0}},
                          .lanes = std::move(lanes),
                          .findings = {}};
    experiment.findings = {
        compare(experiment.lanes,
                {"watch_rate", "forwarding rate, with inspect watch / with nothing", "watch",
                 "nothing", "rate", ""}),
        compare(experiment.lanes,
                {"conntrack_rate", "forwarding rate, with conntrack -E / with nothing",
                 "conntrack-event", "nothing", "rate", ""}),
        compare(experiment.lanes,
                {"watch_over_conntrack", "forwarding rate, with inspect watch / with conntrack -E",
                 "watch", "conntrack-event", "rate", "at least 1"}),
        compare(experiment.lanes,
                {"control", "forwarding rate, nothing / nothing (A/A)", "nothing", "nothing-again",
                 "rate", "0.98 to 1.02: else the machine was not quiet enough"}),
    };
    return experiment;
}

}  // namespace pathproof::bench
