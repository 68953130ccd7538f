// pathproof verify: captures of what went into a device or path against captures of what came out.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "dataplane/base/exit_code.h"
#include "dataplane/base/plural.h"
#include "harness/cli/commands.h"
#include "harness/cli/followed_text.h"
#include "harness/cli/generate/number_checks.h"
#include "harness/cli/verify_ports.h"
#include "harness/process/json_text.h"
#include "harness/process/stop.h"

namespace pathproof::cli {
namespace {

using nlohmann::json;

struct VerifyOptions {
    std::vector<std::string> in;
    std::vector<std::string> out;
    std::vector<std::string> allow;
    std::string evidence;
    double late_ms = 1000;
    double window_s = 2;
    std::string netns;
    double seconds = 0;
    std::uint64_t count = 0;
    int cpu = 0;
    bool far_ends = false;
    StreamOptions stream;
    bool json = false;

    // Names are of ports, and not of files.
    bool live() const { return seconds > 0 || count != 0; }
};

bool is_file(const std::string& name) {
    std::error_code ignored;
    return std::filesystem::exists(name, ignored) ||
           std::filesystem::exists(name.substr(0, name.rfind('@')), ignored);
}

Status check_names(const VerifyOptions& options) {
    for (const auto& [option, names] :
         {std::pair("--in", &options.in), std::pair("--out", &options.out)}) {
        for (const std::string& name : *names) {
            if (options.live() && is_file(name)) {
                return fail(
                    ErrorCode::kBadInput,
                    "{} {} is a file: --seconds and --count bound what ports receive; leave "
                    "them out, or name a port",
                    option, name);
            }
            const bool may_be_port = name.find_first_of("/.") == std::string::npos;
            if (!options.live() && may_be_port && !is_file(name)) {
                return fail(ErrorCode::kBadInput,
                            "{} {}: there is no such file; a port needs --seconds or --count",
                            option, name);
            }
        }
    }
    if (!options.live() && !options.netns.empty()) {
        return fail(ErrorCode::kBadInput,
                    "--netns {} is for ports, which need --seconds or --count", options.netns);
    }
    if (!options.live() && options.stream.any()) {
        return fail(
            ErrorCode::kBadInput,
            "--stream is sent while ports are listened at, which needs --seconds or --count");
    }
    return {};
}

Result<FollowedPorts> follow_sides(const VerifyOptions& options,
                                   const follow::FollowOptions& follow_options) {
    if (!options.live()) {
        return FollowedPorts{
            .followed = TRY(follow::follow_files(options.in, options.out, follow_options))};
    }
    const follow::Transformations& allowed = follow_options.allowed;
    return follow_ports({.in = options.in,
                         .out = options.out,
                         .netns = options.netns,
                         .far_ends = options.far_ends,
                         .cpu = options.cpu,
                         .seconds = options.seconds,
                         .count = options.count,
                         .super_frames = allowed.test(bit(follow::Transformation::kGso)) ||
                                         allowed.test(bit(follow::Transformation::kGro)),
                         .stream = options.stream},
                        follow_options, process::stop_on_signals());
}

const char* arrival_words(follow::Arrival arrival) {
    switch (arrival) {
        case follow::Arrival::kAllArrived: return "all arrived";
        case follow::Arrival::kNot: return "not as sent";
        case follow::Arrival::kCannotTell: break;
    }
    return "cannot be told";
}

int arrival_code(follow::Arrival arrival) {
    switch (arrival) {
        case follow::Arrival::kAllArrived: return kDone;
        case follow::Arrival::kNot: return 1;
        case follow::Arrival::kCannotTell: break;
    }
    return kIncomplete;
}

std::string stream_text(const FollowedPorts& ports) {
    if (!ports.stream) {
        return "";
    }
    const StreamReport& stream = *ports.stream;
    std::string text = fmt::format(
        "stream {} -> {}: {} of {} whole, {} bytes in {:.2f} s, {:.0f} Mbit/s{}, {} of up to {} "
        "bytes "
        "sent again{}\n",
        stream.from, stream.to, stream.whole, plural(stream.connections, "connection"),
        stream.bytes, stream.seconds, stream.mbps(),
        stream.most_mbps == 0 ? "" : fmt::format(" (held back to {:g})", stream.most_mbps),
        plural(stream.retransmitted, "segment"), stream.segment_bytes,
        stream.answered ? "" : "; the server tells no digest");
    for (const PortSizes& port : ports.gathered) {
        text += fmt::format("gathered, {} {}: {}\n", port.hears_sent ? "sent by" : "received at",
                            port.port, gathered_text(port.sizes));
    }
    return text;
}

json stream_json(const FollowedPorts& ports) {
    if (!ports.stream) {
        return nullptr;
    }
    const StreamReport& stream = *ports.stream;
    json gathered = json::array();
    for (const PortSizes& port : ports.gathered) {
        json frames = json::array();
        for (std::size_t i = 0; i < port.sizes.frames.size(); ++i) {
            frames.push_back(
                {{"segments_from", GatheredSizes::kFrom[i]}, {"frames", port.sizes.frames[i]}});
        }
        gathered.push_back({{"port", port.port},
                            {"hears", port.hears_sent ? "sent" : "received"},
                            {"frames", frames},
                            {"super_frames", port.sizes.super_frames()},
                            {"most_segments", port.sizes.most_segments},
                            {"longest_frame", port.sizes.longest}});
    }
    return {{"from", stream.from},
            {"to", stream.to},
            {"connections", stream.connections},
            {"whole", stream.whole},
            {"digest", stream.answered},
            {"bytes", stream.bytes},
            {"seconds", stream.seconds},
            {"mbps", stream.mbps()},
            {"most_mbps", stream.most_mbps},
            {"retransmitted", stream.retransmitted},
            {"segment_bytes", stream.segment_bytes},
            {"trouble", stream.trouble},
            {"gathered", gathered}};
}

// A stream that broke is none that arrived, whatever its frames did.
void add_stream(const FollowedPorts& ports, follow::Conclusion& conclusion) {
    if (!ports.stream || ports.stream->trouble.empty()) {
        return;
    }
    const std::string text = "the stream broke: " + ports.stream->trouble;
    if (ports.followed.outcome.totals[0].sent == 0) {
        conclusion.why.push_back(text);
        return;
    }
    conclusion.arrival = follow::Arrival::kNot;
    conclusion.notes.push_back(text);
}

Result<int> run_verify(const VerifyOptions& options) {
    follow::FollowOptions follow_options;
    follow_options.allowed = TRY(allowed_of(options.allow));
    if (options.stream.any()) {
        // The kernels of both ends gather segments and cut them.
        follow_options.allowed.set(bit(follow::Transformation::kGso));
        follow_options.allowed.set(bit(follow::Transformation::kGro));
    }
    follow_options.late_ns = static_cast<std::int64_t>(options.late_ms * 1e6);
    follow_options.window_ns = static_cast<std::int64_t>(options.window_s * 1e9);
    TRY(check_names(options));
    const FollowedPorts ports = TRY(follow_sides(options, follow_options));
    const follow::Followed& followed = ports.followed;
    follow::Conclusion conclusion = follow::conclude(followed);
    add_stream(ports, conclusion);
    for (const follow::Totals& totals : followed.outcome.totals) {
        if (!totals.balance()) {
            return fail(
                ErrorCode::kFailed,
                "the counts do not balance ({} sent, {} received): no verdict; please report "
                "this with the captures",
                totals.sent, totals.received);
        }
    }
    if (!options.evidence.empty()) {
        TRY(doing(write_followed_evidence(followed, options.evidence, "pathproof verify"),
                  "--evidence {}", options.evidence));
    }
    const int code = arrival_code(conclusion.arrival);
    if (options.json) {
        json said = followed_json(followed, conclusion);
        said["verdict"] = arrival_words(conclusion.arrival);
        said["exit_code"] = code;
        said["stream"] = stream_json(ports);
        fmt::print("{}\n", process::to_text(said, 2));
    } else {
        std::string word = arrival_words(conclusion.arrival);
        std::ranges::transform(word, word.begin(), [](unsigned char c) { return std::toupper(c); });
        fmt::print("{}{}{}: {}\n", stream_text(ports),
                   followed_text(followed, conclusion, follow_options.allowed), word,
                   followed_counts(followed));
    }
    return code;
}

}  // namespace

void add_verify(CLI::App& app, Command& chosen) {
    CLI::App* command =
        app.add_subcommand("verify",
                           "Hold what came out of a device or path against what went in, by "
                           "captures (exit code 0: all "
                           "arrived as allowed, 1: not, 2: bad input, 3: cannot be told)");
    const auto options = options_for<VerifyOptions>(*command, chosen, run_verify);
    command
        ->add_option("--in", options->in,
                     "pcap or pcapng file of what went in, FILE@INTERFACE, or with --seconds or "
                     "--count a port; several are one side")
        ->required()
        ->expected(1, 16)
        ->type_name("FILE|PORT");
    command->add_option("--out", options->out, "the same of what came out")
        ->required()
        ->expected(1, 16)
        ->type_name("FILE|PORT");
    command->add_option("--seconds", options->seconds, "ports: how long they are listened at")
        ->check(kAboveZero);
    command
        ->add_option("--count", options->count,
                     "ports: listen until so many frames went in, or the seconds are over")
        ->check(whole(1, INT64_MAX));
    command->add_flag(
        "--far-ends", options->far_ends,
        "ports: they are cabled to the device; --in is judged by what it sends and --out "
        "by what it receives, not the other way round");
    command->add_option("--netns", options->netns, "ports: the network namespace that they are in");
    command->add_option("--cpu", options->cpu, "ports: CPU of the EAL's lcore (default 0)")
        ->check(kCpu);
    CLI::Option* stream =
        command
            ->add_option(
                "--stream", options->stream.ends,
                "ports: send TCP streams of this kernel from a namespace behind the first "
                "place to one behind the second: ADDRESS/PREFIX[,GATEWAY][@INTERFACE[@NETNS]]; "
                "with --far-ends the interfaces are the ports; ADDRESS:PORT in the second "
                "place is a server that is there and takes bytes; gso and gro are allowed")
            ->expected(2)
            ->type_name("CLIENT SERVER");
    command
        ->add_option("--stream-bytes", options->stream.bytes,
                     "bytes of one connection; others follow until the seconds are over (default "
                     "16777216)")
        ->check(whole(1, INT64_MAX))
        ->needs(stream);
    command
        ->add_option("--stream-mbps", options->stream.mbps,
                     "megabits a second that a connection is held back to, so that the judge hears "
                     "each frame (default 300; 0: as fast as TCP likes)")
        ->check(number_in(0, 1e6))
        ->needs(stream);
    command
        ->add_option("--allow", options->allow,
                     fmt::format("what the path may do to frames; all else is a change: {}",
                                 transformation_names()))
        ->expected(1, 16)
        ->delimiter(',')
        ->type_name("WORD");
    command
        ->add_option("--late", options->late_ms,
                     "milliseconds from which on a frame is late (default 1000)")
        ->check(kAboveZero);
    command
        ->add_option("--window", options->window_s,
                     "seconds within which a frame has to come out (default 2)")
        ->check(number_in(0.01, 60));
    command->add_flag("--json", options->json, "as JSON");
    command
        ->add_option("--evidence", options->evidence,
                     "folder for frames of each finding, before and after")
        ->type_name("DIR");
    command->footer(
        "Captures of both ways (tcpdump on each port of a device) are judged both ways.\n\n"
        "Examples:\n"
        "  tcpdump -i wan0 -w out.pcap & tcpdump -i lan0 -w in.pcap & sleep 60; kill %2; sleep 2; "
        "kill "
        "%1\n"
        "  pathproof verify --in in.pcap --out out.pcap --allow router nat\n"
        "  pathproof verify --in pod.pcapng --out wire.pcapng --allow vxlan gso gro --evidence "
        "shown\n"
        "  pathproof verify --in both.pcapng@eth1 --out both.pcapng@eth2 --json\n"
        "  pathproof verify --in lan0 --out wan0 --netns dut --seconds 10 --allow router nat\n"
        "  pathproof verify --in c0 --out s0 --far-ends --netns tester --seconds 5 --allow router "
        "--stream 198.18.0.2/24,198.18.0.1 203.0.113.2/24,203.0.113.1");
}

}  // namespace pathproof::cli
