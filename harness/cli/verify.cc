// pathproof verify: captures of what went into a device or path against captures of what came out.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "dataplane/base/exit_code.h"
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
    return {};
}

Result<follow::Followed> follow_sides(const VerifyOptions& options,
                                      const follow::FollowOptions& follow_options) {
    if (!options.live()) {
        return follow::follow_files(options.in, options.out, follow_options);
    }
    return follow_ports({.in = options.in,
                         .out = options.out,
                         .netns = options.netns,
                         .far_ends = options.far_ends,
                         .cpu = options.cpu,
                         .seconds = options.seconds,
                         .count = options.count},
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

Result<int> run_verify(const VerifyOptions& options) {
    follow::FollowOptions follow_options;
    follow_options.allowed = TRY(allowed_of(options.allow));
    follow_options.late_ns = static_cast<std::int64_t>(options.late_ms * 1e6);
    follow_options.window_ns = static_cast<std::int64_t>(options.window_s * 1e9);
    TRY(check_names(options));
    const auto followed = TRY(follow_sides(options, follow_options));
    const follow::Conclusion conclusion = follow::conclude(followed);
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
        fmt::print("{}\n", process::to_text(said, 2));
    } else {
        std::string word = arrival_words(conclusion.arrival);
        std::ranges::transform(word, word.begin(), [](unsigned char c) { return std::toupper(c); });
        fmt::print("{}{}: {}\n", followed_text(followed, conclusion, follow_options.allowed), word,
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
        "  pathproof verify --in lan0 --out wan0 --netns dut --seconds 10 --allow router nat");
}

}  // namespace pathproof::cli
