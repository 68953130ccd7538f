#include "harness/bench/peers/testpmd.h"

#include <unistd.h>

#include <thread>

#include "dataplane/base/pattern.h"

namespace pathproof::bench {
namespace {

using namespace std::chrono_literals;

constexpr auto kLongestStart = 20s;
constexpr std::chrono::seconds kLongestEnd{20};
// Number of mbufs, the same for our lanes: the more there are, the more of the cache they take.
constexpr unsigned kMbufs = 8192;
// net_af_xdp holds as many in its rings before the first frame is sent.
constexpr unsigned kMbufsOfSocket = 16'384;

bool is_of_kernel(const TestpmdJob& job) {
    return job.vdev.starts_with("net_af_");
}

std::uint64_t last_number(const std::string& text, const std::string& pattern) {
    const auto found = Pattern(pattern).search_all(text);
    return found.empty() ? 0 : std::strtoull(found.back()[1].c_str(), nullptr, 10);
}

Status check(const TestpmdJob& job, const TestpmdReport& report) {
    if (report.sent == 0) {
        return fail(ErrorCode::kFailed, "it sent nothing");
    }
    const bool takes_back = job.vdev.find("no-rx=1") == std::string::npos;
    if (!takes_back && report.received > 0) {
        return fail(ErrorCode::kFailed,
                    "it received {} frames from a device that shall give none: its cycles are not "
                    "those of sending",
                    report.received);
    }
    return {};
}

Figures figures_of(const TestpmdReport& report) {
    return {{"cycles", report.cycles_per_packet},
            {"mpps", report.tsc_mhz / report.cycles_per_packet},
            {"sent", static_cast<double>(report.sent)}};
}

}  // namespace

Status wait_until_it_forwards(MeasuredProgram& program) {
    const auto deadline = std::chrono::steady_clock::now() + kLongestStart;
    // Its output waits in its buffer, but for the prompt, which comes after the start.
    while (program.said().find("testpmd> ") == std::string::npos) {
        if (!program.runs_after(20ms)) {
            return fail(ErrorCode::kFailed, "it ended before it forwarded anything");
        }
        if (std::chrono::steady_clock::now() >= deadline) {
            return fail(ErrorCode::kUnavailable, "it did not start to forward within {} s",
                        kLongestStart.count());
        }
    }
    return {};
}

Result<TestpmdReport> parse_testpmd(const std::string& text) {
    static const Pattern cycles(
        "CPU cycles/packet=([0-9.]+) [(]total cycles=[0-9]+ / total \\w+ packets=[0-9]+[)] at "
        "([0-9]+) MHz");
    const auto found = cycles.search(text);
    if (!found) {
        return fail(ErrorCode::kFailed,
                    "testpmd printed no 'CPU cycles/packet': it ended with '{}'",
                    text.substr(text.size() - std::min<std::size_t>(text.size(), 200)));
    }
    return TestpmdReport{.cycles_per_packet = std::strtod((*found)[1].c_str(), nullptr),
                         .tsc_mhz = std::strtod((*found)[2].c_str(), nullptr),
                         .sent = last_number(text, "TX-packets: ([0-9]+)"),
                         .received = last_number(text, "RX-packets: ([0-9]+)"),
                         .dropped = last_number(text, "TX-dropped: ([0-9]+)")};
}

// The prefix is such that EAL's folder, which testpmd leaves behind, is swept with our own
// (dataplane/port/eal.cc).
std::vector<std::string> testpmd_command(const TestpmdJob& job, const Cores& cores) {
    std::vector<std::string> words{
        "dpdk-testpmd",
        "--lcores",
        cores.lcores(),
        "--main-lcore",
        "0",
        "--no-huge",
        "-m",
        "512",
        "--no-pci",
        "--no-shconf",
        "--no-telemetry",
        fmt::format("--file-prefix=pathproof-{}", getpid()),
        "--vdev",
        job.vdev,
        "--",
        "-i",
        "--auto-start",
        "--nb-cores=1",
        "--record-core-cycles",
        "--forward-mode=" + job.mode,
        fmt::format("--total-num-mbufs={}", is_of_kernel(job) ? kMbufsOfSocket : kMbufs)};
    if (job.mode == "txonly") {
        words.push_back(fmt::format("--txpkts={}", job.frame_bytes));
    }
    if (job.flows == TestpmdJob::Flows::kMany) {
        words.push_back("--txonly-multi-flow");
    }
    return words;
}

Result<Measurement> run_testpmd(const TestpmdJob& job, const Cores& cores,
                                std::chrono::milliseconds duration) {
    auto program = TRY(MeasuredProgram::start({.argv = testpmd_command(job, cores),
                                               .netns = job.netns,
                                               .cpus = cores.both(),
                                               .input = ProgramToMeasure::Input::kTold}));
    TRY(doing(wait_until_it_forwards(program), "dpdk-testpmd on {}", job.vdev));
    std::this_thread::sleep_for(duration);
    (void)program.runs_after(0ms);
    TRY(program.tell("stop\nquit\n"));
    const auto run = TRY(program.finish(kLongestEnd));
    const auto report = TRY(parse_testpmd(run.out.text()));
    TRY(doing(check(job, report), "dpdk-testpmd on {}", job.vdev));
    return Measurement{.figures = figures_of(report), .waiting_share = run.cost.waiting_share()};
}

}  // namespace pathproof::bench
