#include "harness/cli/generate/replay_options.h"

#include <CLI/CLI.hpp>
#include <filesystem>
#include <string_view>

#include "dataplane/load/replay.h"
#include "harness/cli/generate/number_checks.h"
#include "harness/process/stop.h"

namespace pathproof::cli {
namespace {

// Options that describe made frames. A capture's frames are sent as they are, and not measured.
constexpr std::string_view kOfMadeFrames =
    "--pairs --type --mix --size --flows --suffix --expect-answer --timeout "
    "--seed --destination "
    "--destination-mac --source-mac --source --source-port --source-ports --vlan --checksum "
    "--vxlan-vni --pair-skew --gateway";

}  // namespace

void add_replay_options(CLI::App& command, ReplayOptions& options) {
    CLI::Option* file =
        command.add_option("--replay", options.file,
                           "send the frames of this pcap or pcapng file as they are, instead of "
                           "made ones");
    for (const std::string& made : CLI::detail::split(std::string(kOfMadeFrames), ' ')) {
        file->excludes(command.get_option(made));
    }
    command
        .add_option("--loop", options.loops, "times to send the file (1; 0: as long as --duration)")
        ->check(kWhole)
        ->needs(file);
    command
        .add_flag("--replay-timing", options.own_timing,
                  "with the gaps of the file instead of --rate")
        ->needs(file)
        ->excludes(command.get_option("--rate"));
    command
        .add_flag("--replay-cut", options.cut_short,
                  "take a file that ends within a frame up to the frame before")
        ->needs(file);
}

Result<std::shared_ptr<const load::Recording>> read_recording(const ReplayOptions& options,
                                                              const port::Port& port) {
    using load::CutShort;
    const auto read = [&](CutShort cut_short) {
        return load::Recording::read(options.file, cut_short,
                                     {.longest_frame = port.transmit_limit(),
                                      .port = "port " + port.info().name,
                                      .stop = &process::stop_on_signals()});
    };
    auto all = read(options.cut_short ? CutShort::kUsedUpToTheCut : CutShort::kRefused);
    if (all) {
        return std::make_shared<const load::Recording>(std::move(*all));
    }
    if (process::stopping()) {
        return fail(ErrorCode::kUnavailable, "--replay: capture file {}: stopped while reading it",
                    options.file);
    }
    // Bytes that came through a pipe cannot be read again.
    std::error_code ignored;
    if (!std::filesystem::is_regular_file(options.file, ignored)) {
        return fail(all.error(), "--replay");
    }
    if (const auto part = read(CutShort::kUsedUpToTheCut)) {
        return fail(ErrorCode::kBadInput,
                    "--replay: {}; --replay-cut sends the {} frames before it", part->cut(),
                    part->frames());
    }
    return fail(all.error(), "--replay");
}

SourceMaker replay_sources(std::shared_ptr<const load::Recording> recording,
                           const ReplayOptions& options, std::vector<std::uint64_t>* departures) {
    return [recording = std::move(recording), options,
            departures](const load::SourcePlan& plan) -> Result<std::unique_ptr<load::Source>> {
        using Gaps = load::ReplayPlan::Gaps;
        auto source = TRY(load::ReplaySource::make(
            recording, {.times = options.loops,
                        .gaps = options.own_timing ? Gaps::kOfTheFile : Gaps::kOfTheRun,
                        .first = plan.first_flow,
                        .step = plan.flow_step,
                        .departures = departures}));
        return std::unique_ptr<load::Source>(
            std::make_unique<load::ReplaySource>(std::move(source)));
    };
}

}  // namespace pathproof::cli
