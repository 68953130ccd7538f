#include "dataplane/measure/load_measurer.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "dataplane/load/frame_source.h"
#include "dataplane/measure/shortfall.h"

namespace pathproof::measure {
namespace {

using search::TrialInput;
using search::TrialOutput;
using SteadyClock = std::chrono::steady_clock;

// A sender so far behind its schedule did not apply the load that was to be applied.
constexpr std::int64_t kBehindNs = 5'000'000;
// A queue that nobody looks at for so long may run over.
constexpr double kStillSeconds = 1e-3;

Steps steps_of(const TrialInput& input, unsigned sender, std::size_t senders) {
    return {.first_pps = input.load_pps,
            .first_duration = input.duration,
            .second_pps = input.change->load_pps,
            .second_duration = input.change->duration,
            .sender = sender,
            .senders = static_cast<unsigned>(senders)};
}

std::vector<Steps> all_steps(const TrialInput& input, std::size_t senders) {
    std::vector<Steps> all;
    for (unsigned sender = 0; sender < senders; ++sender) {
        all.push_back(steps_of(input, sender, senders));
    }
    return all;
}

void add(std::string& sentences, const std::string& next) {
    sentences += (sentences.empty() ? "" : "; ") + next;
}

// Returns the objections to the trial, without those that are reported as its limit and its
// disturbance.
std::string objections(const load::TrialReport& report) {
    std::vector<std::string> others = report.objections;
    std::erase_if(others, [&](const std::string& one) {
        return one == report.missed_rate || one == report.own_drops ||
               std::ranges::find(report.disturbances, one) != report.disturbances.end();
    });
    return fmt::format("{}", fmt::join(others, "; "));
}

// A receiver that stood still may have let its queue run over.
bool stood_still(const load::TrialReport& report) {
    return std::ranges::any_of(report.workers, [](const load::WorkerHealth& worker) {
        return seconds_lost(worker) > kStillSeconds;
    });
}

void judge_limit(TrialOutput& output, const load::TrialReport& report, double tolerance) {
    const Shortfall short_by = shortfall(output.input, report, tolerance);
    if (short_by != Shortfall::kTolerated) {
        add(output.tester_limit,
            fmt::format("{:.0f} of {:.0f} frames per second were offered{}", output.offered_pps,
                        output.input.load_pps,
                        short_by == Shortfall::kStalls ? ", as the sender stood still" : ""));
    }
    if (!report.own_drops.empty()) {
        add(output.tester_limit, report.own_drops);
    }
    output.limited_by_stalls = !output.tester_limit.empty() && short_by != Shortfall::kReach &&
                               (report.own_drops.empty() || stood_still(report));
}

std::string missed_schedule(const load::TrialReport& report, std::uint64_t planned) {
    if (report.sent < planned && !report.partial) {
        return fmt::format("{} of {} frames left in time", report.sent, planned);
    }
    const std::int64_t late = report.departures.worst_late_ns;
    return late > kBehindNs
               ? fmt::format("frames left up to {:.1f} ms late", static_cast<double>(late) / 1e6)
               : std::string();
}

// A source with times of its own has no rate that the run could miss.
void judge_change(TrialOutput& output, const load::TrialReport& report,
                  const std::vector<Steps>& steps) {
    std::uint64_t planned = 0;
    for (const Steps& one : steps) {
        planned += one.frames();
    }
    if (const std::string missed = missed_schedule(report, planned); !missed.empty()) {
        output.limited_by_stalls =
            (output.tester_limit.empty() || output.limited_by_stalls) && stood_still(report);
        add(output.tester_limit, missed);
    }
    if (output.reordered > 0) {
        add(output.objection, fmt::format("{} frames came out of order: the last loss may be one "
                                          "of them",
                                          output.reordered));
    }
    output.last_loss =
        last_loss(steps, report.intake.streams, planned - std::min(planned, report.sent));
}

}  // namespace

std::optional<Nanoseconds> last_loss(const std::vector<Steps>& senders,
                                     const std::vector<judge::SequenceTotals>& streams,
                                     std::uint64_t unsent) {
    std::optional<Nanoseconds> last;
    for (std::size_t n = 0; n < senders.size(); ++n) {
        const Steps& steps = senders[n];
        const judge::SequenceTotals seen =
            n < streams.size() ? streams[n] : judge::SequenceTotals();
        const bool end_missing = seen.highest + unsent < steps.frames();
        const std::uint64_t behind_lost = end_missing ? steps.frames() : seen.overtaken;
        if (behind_lost <= steps.in_first()) {
            continue;
        }
        const Nanoseconds at = steps.departure(behind_lost - 1) - steps.change();
        last = std::max(last.value_or(at), at);
    }
    return last;
}

TrialOutput output_of(const TrialInput& input, const load::TrialReport& report,
                      double offered_tolerance) {
    TrialOutput output{.input = input,
                       .offered_pps = offered_pps(input, report),
                       .sent = report.sent,
                       .lost = report.missing() + report.damaged() + report.wrong(),
                       .bad_checksums = report.intake.received.bad_checksum,
                       .overhead_seconds = static_cast<double>(report.overhead_ns) / 1e9,
                       .objection = objections(report),
                       .disturbance = fmt::format("{}", fmt::join(report.disturbances, "; ")),
                       .partial = report.partial};
    const load::ClassTotals all = load::all_classes(report.intake);
    output.duplicates = all.duplicates;
    output.reordered = all.reordered;
    output.latency = all.latency;
    judge_limit(output, report, offered_tolerance);
    return output;
}

Result<std::unique_ptr<LoadMeasurer>> LoadMeasurer::start(port::Eal& eal, const MeasurerPlan& plan,
                                                          const std::atomic<bool>& stop) {
    std::unique_ptr<LoadMeasurer> measurer(new LoadMeasurer(eal, plan, stop));
    TRY(measurer->start_steady());
    return measurer;
}

Status LoadMeasurer::start_steady() {
    run_ = TRY(load::LoadRun::start(eal_, plan_.roles, plan_.load));
    return {};
}

Result<load::TrialReport> LoadMeasurer::run_steady(const TrialInput& input) {
    if (!run_) {
        TRY(start_steady());
    }
    return run_->run({.frames_per_second = input.load_pps,
                      .duration = input.frames == 0 ? input.duration : Nanoseconds(0),
                      .frames = input.frames,
                      .drain = plan_.drain},
                     stop_);
}

// Its source has the two rates in it, so it has a run of its own.
Result<load::TrialReport> LoadMeasurer::run_change(const TrialInput& input) {
    if (plan_.roles.receivers.size() != 1) {
        return fail(ErrorCode::kNotSupported,
                    "system recovery needs one receiving queue, which sees all frames in order; "
                    "there are {}",
                    plan_.roles.receivers.size());
    }
    run_.reset();  // its workers have to end first
    load::LoadPlan plan = plan_.load;
    const std::size_t senders = plan_.roles.senders.size();
    plan.make_source =
        [&](const load::SourcePlan& source) -> Result<std::unique_ptr<load::Source>> {
        auto frames = TRY(load::FrameSource::make(source));
        return std::make_unique<SteppedSource>(std::move(frames),
                                               steps_of(input, source.stream, senders));
    };
    auto run = TRY(load::LoadRun::start(eal_, plan_.roles, plan));
    return run->run({.duration = input.whole_duration(), .drain = plan_.drain}, stop_);
}

Result<TrialOutput> LoadMeasurer::measure(const TrialInput& input) {
    const auto began = SteadyClock::now();
    const auto report = TRY(input.change ? run_change(input) : run_steady(input));
    TrialOutput output = output_of(input, report, plan_.offered_tolerance);
    clock_ppm_ = report.clock_ppm;
    if (input.change) {
        judge_change(output, report, all_steps(input, plan_.roles.senders.size()));
    } else {
        bias_ = report.bias;
    }
    output.trial_seconds = std::chrono::duration<double>(SteadyClock::now() - began).count();
    return output;
}

}  // namespace pathproof::measure
