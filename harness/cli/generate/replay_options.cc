#include "harness/cli/generate/replay_options.h"

#include <CLI/CLI.hpp>

#include "dataplane/load/replay.h"

namespace pathproof::cli {

void add_replay_options(CLI::App& command, ReplayOptions& options) {
    CLI::Option* file =
        command.add_option("--replay", options.file,
                           "send the frames of this pcap or pcapng file as they are, instead of "
                           "made ones");
    command
        .add_option("--loop", options.loops, "times to send the file (1; 0: as long as --duration)")
        ->check(CLI::NonNegativeNumber)
        ->needs(file);
    command
        .add_flag("--replay-timing", options.own_timing,
                  "with the gaps of the file instead of --rate")
        ->needs(file);
    command
        .add_flag("--replay-cut", options.cut_short,
                  "take a file that ends within a frame up to the frame before")
        ->needs(file);
}

Result<std::shared_ptr<const load::Recording>> read_recording(const ReplayOptions& options,
                                                              std::uint32_t longest_frame) {
    auto read = load::Recording::read(
        options.file,
        options.cut_short ? load::CutShort::kUsedUpToTheCut : load::CutShort::kRefused,
        {.longest_frame = longest_frame});
    if (!read) {
        return fail(read.error(), "--replay {}", options.file);
    }
    return std::make_shared<const load::Recording>(std::move(*read));
}

SourceMaker replay_sources(std::shared_ptr<const load::Recording> recording,
                           const ReplayOptions& options) {
    return [recording = std::move(recording),
            options](const load::SourcePlan& plan) -> Result<std::unique_ptr<load::Source>> {
        using Gaps = load::ReplayPlan::Gaps;
        auto source = load::ReplaySource::make(
            recording, {.times = options.loops,
                        .gaps = options.own_timing ? Gaps::kOfTheFile : Gaps::kOfTheRun,
                        .first = plan.first_flow,
                        .step = plan.flow_step});
        if (!source) {
            return pass_on(source.error());
        }
        return std::unique_ptr<load::Source>(
            std::make_unique<load::ReplaySource>(std::move(*source)));
    };
}

}  // namespace pathproof::cli
