#include "harness/bench/lanes/own_lane.h"

#include <fmt/ranges.h>

#include "harness/process/child.h"

namespace pathproof::bench {
LoadJob job_on(const DataplaneBench& bench) {
    LoadJob job = load_job();
    job.control_cpu = bench.cores.control;
    job.cpus = {bench.cores.worker};
    job.seconds = bench.seconds;
    return job;
}

std::chrono::seconds longest_run(const DataplaneBench& bench) {
    return std::chrono::seconds(60 + static_cast<int>(30 * bench.seconds));
}

std::vector<std::string> worker_command(const std::string& worker, const std::string& job) {
    return {process::own_binary(), "worker", worker, job};
}

Figures figures_of(const LoadOutcome& outcome) {
    const auto sent = static_cast<double>(outcome.sent);
    const double per_cycle =
        outcome.cycles_per_frame > 0 ? outcome.tsc_mhz / outcome.cycles_per_frame : 0;
    Figures figures{{"cycles", outcome.cycles_per_frame},
                    {"mpps", per_cycle},
                    {"frames_per_second", outcome.frames_per_second},
                    {"frame_bytes", outcome.frame_bytes},
                    {"sent", sent},
                    {"missing_share", sent > 0 ? static_cast<double>(outcome.missing) / sent : 0}};
    if (outcome.loss_bound) {
        figures["loss_bound"] = *outcome.loss_bound;
    }
    return figures;
}

Result<Measurement> run_own(const DataplaneBench& bench, const LoadJob& job,
                            const std::string& netns, const std::string& worker) {
    const auto run = TRY(measure(
        {.argv = worker_command(worker, to_text(job)), .netns = netns, .cpus = bench.cores.both()},
        longest_run(bench)));
    const auto outcome = TRY(parse_load_outcome(run.out.text()));
    if (outcome.bad_checksums > 0) {
        return fail(ErrorCode::kFailed, "{} frames came back with a wrong checksum",
                    outcome.bad_checksums);
    }
    return Measurement{.figures = figures_of(outcome),
                       .waiting_share = run.cost.waiting_share(),
                       .objection = fmt::format("{}", fmt::join(outcome.objections, "; "))};
}

Lane own_lane(const DataplaneBench& bench, std::string id, std::string title, std::string note,
              const LoadJob& job) {
    return {.id = std::move(id),
            .title = std::move(title),
            .note = std::move(note),
            .absent = {},
            .run = [&bench, job] { return run_own(bench, job); }};
}

}  // namespace pathproof::bench
