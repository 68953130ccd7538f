#include "harness/bench/load/load_worker.h"

#include <algorithm>
#include <atomic>

#include "dataplane/port/counter_rate.h"
#include "harness/bench/load/load_plans.h"
#include "harness/bench/load/load_search.h"

namespace pathproof::bench {
namespace {

// Caches and branch predictors are warm after less than this.
constexpr auto kWarmUp = std::chrono::milliseconds(50);

load::Roles roles_of(const LoadJob& job, port::Port& port) {
    load::Roles roles;
    for (unsigned worker = 0; worker < job.cpus.size(); ++worker) {
        const auto queue = static_cast<std::uint16_t>(worker);
        roles.senders.push_back({.worker = worker, .port = &port, .queue = queue});
        if (job.back != LoadJob::Back::kNothing) {
            roles.receivers.push_back({.worker = worker, .port = &port, .queue = queue});
        }
    }
    return roles;
}

std::uint64_t bad_checksums(const load::IntakeTotals& intake) {
    return intake.received.bad_checksum;
}

double cycles_per_frame(const load::TrialReport& report) {
    double sum = 0;
    for (const load::WorkerHealth& worker : report.workers) {
        sum += worker.cycles_per_frame;
    }
    return report.workers.empty() ? 0 : sum / static_cast<double>(report.workers.size());
}

LoadOutcome outcome_of(const load::TrialReport& report) {
    LoadOutcome outcome{.sent = report.sent,
                        .missing = report.missing(),
                        .bad_checksums = bad_checksums(report.intake),
                        .cycles_per_frame = cycles_per_frame(report),
                        .frames_per_second = report.achieved_pps,
                        .seconds = report.sending_seconds,
                        .frame_bytes = report.mean_frame_bytes,
                        .tsc_mhz = static_cast<double>(port::counter_hz()) * 1e-6,
                        .objections = report.objections};
    outcome.unique = outcome.sent - std::min(outcome.sent, outcome.missing);
    return outcome;
}

// Through the kernel a referee counts all that arrives: nothing is sent there but what is measured.
Status warm_up(load::LoadRun& run, const LoadJob& job) {
    if (is_of_kernel(job)) {
        return {};
    }
    const std::atomic<bool> stop = false;
    const auto warm = run.run({.duration = kWarmUp}, stop);
    return warm ? Status() : pass_on(warm.error());
}

Result<LoadOutcome> measure(load::LoadRun& run, const LoadJob& job) {
    const std::atomic<bool> stop = false;
    const auto duration = std::chrono::nanoseconds(static_cast<std::int64_t>(job.seconds * 1e9));
    if (job.rate != LoadJob::Rate::kWithoutLoss) {
        const bool closed = job.rate == LoadJob::Rate::kClosedLoop;
        const auto report =
            run.run({.duration = duration, .outstanding = closed ? job.outstanding : 0}, stop);
        return report ? Result<LoadOutcome>(outcome_of(*report)) : pass_on(report.error());
    }
    const auto found = TRY(search_without_loss(
        [&](double rate, std::chrono::nanoseconds length) {
            return run.run({.frames_per_second = rate, .duration = length}, stop);
        },
        duration));
    LoadOutcome outcome = outcome_of(found.report);
    outcome.loss_bound = found.loss_bound;
    return outcome;
}

}  // namespace

Result<LoadOutcome> run_job_on(port::Eal& eal, const load::Roles& roles, const LoadJob& job) {
    const load::LoadPlan plan{.source = source_plan_of(job), .intake = intake_plan_of(job)};
    const auto run = TRY(load::LoadRun::start(eal, roles, plan));
    TRY(warm_up(*run, job));
    return measure(*run, job);
}

Result<LoadOutcome> run_load_job(const LoadJob& job) {
    auto eal = TRY(port::Eal::start(eal_options_of(job)));
    auto port = TRY(port::Port::open(port_config_of(job)));
    return run_job_on(eal, roles_of(job, port), job);
}

}  // namespace pathproof::bench
