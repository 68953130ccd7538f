#include "harness/bench/lanes/own_lane.h"
#include "harness/bench/load/ledger_worker.h"

namespace pathproof::bench {
namespace {

// A billion frames at the pace of an old machine, and then some.
constexpr double kSlowestPerSecond = 2e5;

Result<LedgerOutcome> prove(const DataplaneBench& bench, const LedgerJob& job) {
    const auto limit = std::chrono::seconds(
        60 + static_cast<std::int64_t>(static_cast<double>(job.frames) / kSlowestPerSecond));
    const auto run = TRY(measure(
        {.argv = worker_command("ledger", to_text(job)), .netns = {}, .cpus = {bench.cores.worker}},
        limit));
    return parse_ledger_outcome(run.out.text());
}

Figures figures_of(const LedgerOutcome& outcome) {
    const auto count = [](std::uint64_t value) { return static_cast<double>(value); };
    return {{"frames", count(outcome.sent)},
            {"missing_injected", count(outcome.missing.injected)},
            {"missing_found", count(outcome.missing.found)},
            {"duplicates_injected", count(outcome.duplicates.injected)},
            {"duplicates_found", count(outcome.duplicates.found)},
            {"reordered_injected", count(outcome.reordered.injected)},
            {"reordered_found", count(outcome.reordered.found)},
            {"furthest_injected", count(outcome.furthest.injected)},
            {"furthest_found", count(outcome.furthest.found)},
            {"corrupted_injected", count(outcome.corrupted.injected)},
            {"corrupted_found", count(outcome.corrupted.found)},
            {"errors", count(outcome.errors.size())},
            {"seconds", outcome.seconds}};
}

std::vector<std::string> row_of(const std::string& title, const LedgerOutcome& outcome) {
    const auto both = [](const LedgerOutcome::Kind& kind) {
        return fmt::format("{} / {}", kind.injected, kind.found);
    };
    return {title,
            fmt::format("{}", outcome.sent),
            both(outcome.missing),
            both(outcome.duplicates),
            both(outcome.reordered),
            both(outcome.furthest),
            both(outcome.corrupted),
            fmt::format("{}", outcome.errors.size())};
}

}  // namespace

Result<Experiment> bench_ledger(const DataplaneBench& bench) {
    struct Proof {
        std::string id;
        std::string title;
        LedgerJob job;
    };
    const std::vector<Proof> proofs{
        {"plain",
         "DNS",
         {.frames = bench.ledger_packets, .seed = bench.seed, .cpu = bench.cores.worker}},
        {"vxlan",
         "DNS in VXLAN",
         {.frames = bench.ledger_packets,
          .seed = bench.seed,
          .cpu = bench.cores.worker,
          .path = LedgerJob::Path::kVxlan}}};
    Experiment experiment{.id = "ledger",
                          .title = "faults put into the path, and those found",
                          .conditions = {{"seed", fmt::format("{}", bench.seed)}},
                          .columns = {{"frames", "frames", "", 0}, {"seconds", "time", "s", 1}}};
    Table table{.id = "faults",
                .title = "injected / found",
                .heads = {"traffic", "frames", "lost or corrupted", "duplicates", "reordered",
                          "furthest", "corrupted", "errors"},
                .rows = {}};
    double errors = 0;
    for (const Proof& proof : proofs) {
        if (bench.plan.progress) {
            bench.plan.progress(1, {.id = proof.id, .title = proof.title});
        }
        const auto outcome = TRY(doing(prove(bench, proof.job), "{}", proof.title));
        LaneResult lane{.id = proof.id,
                        .title = proof.title,
                        .note = "frames of our own through injected faults into our receiver",
                        .absent = {},
                        .readings = {}};
        lane.readings.push_back(
            {.figures = figures_of(outcome), .contention = {}, .objection = {}});
        experiment.lanes.push_back(std::move(lane));
        table.rows.push_back(row_of(proof.title, outcome));
        errors += static_cast<double>(outcome.errors.size());
        experiment.notes.insert(experiment.notes.end(), outcome.errors.begin(),
                                outcome.errors.end());
    }
    experiment.tables = {table};
    experiment.findings = {{.id = "errors",
                            .text = "figures of the ledger that are not what was injected",
                            .value = errors,
                            .decimals = 0,
                            .asked = "0"}};
    return experiment;
}

}  // namespace pathproof::bench
