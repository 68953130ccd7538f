#include <CLI/CLI.hpp>
#include <algorithm>

#include "dataplane/search/frame_loss_rate.h"
#include "harness/cli/generate/number_checks.h"
#include "harness/cli/search/kinds.h"
#include "harness/message/archive.h"
#include "harness/message/fields.h"

namespace pathproof::search {

FIELDS(LossPoint, share, load_pps, offered_pps, loss_ratio, sent, lost, tester_limited, doubtful)

}  // namespace pathproof::search

namespace pathproof::cli {
namespace {

constexpr double kLossTrialSeconds = 60;

search::LossCurvePlan loss_plan(const SizeSearch& search) {
    const SearchOptions& options = search.options;
    return {.max_load_pps = search.max_load.pps,
            .step = options.step,
            .trial_duration =
                nanoseconds_of(options.trial_s > 0 ? options.trial_s : kLossTrialSeconds)};
}

Result<SearchTime> loss_time(const SizeSearch& search) {
    const search::Nanoseconds longest = longest_time(loss_plan(search));
    return SearchTime{.usual = longest, .most = 2 * longest + std::chrono::seconds(10)};
}

Result<SizeOutcome> run_loss(const SizeSearch& search, search::Trials& trials) {
    const auto curve = TRY(search::measure_loss_curve(loss_plan(search), trials));
    SizeOutcome outcome;
    outcome.json = {{"curve", message::encode(curve.points)},
                    {"clean_end", curve.clean_end},
                    {"monotone", curve.monotone}};
    outcome.table = fmt::format("{:>6}{:>8}{:>13}{:>13}{:>12}\n", "bytes", "load", "frames/s",
                                "offered /s", "loss");
    for (const search::LossPoint& point : curve.points) {
        outcome.table += fmt::format(
            "{:>6}{:>6.0f} %{:>13.0f}{:>13.0f}{:>10.4f} %{}\n", search.size, 100 * point.share,
            point.load_pps, point.offered_pps, 100 * point.loss_ratio, trouble_mark(point));
    }
    if (std::ranges::any_of(curve.points, &search::LossPoint::tester_limited)) {
        outcome.reasons.add_limit("the tester, not the device, was the limit of some loads (" +
                                  tester_limit(trials) + ")");
    }
    if (std::ranges::any_of(curve.points, &search::LossPoint::doubtful)) {
        outcome.reasons.add_disturbance("the tester was disturbed at some loads");
    }
    if (!curve.clean_end && curve.ending == search::Ending::kNone) {
        outcome.reasons.add("no two loads one after the other were without loss; lower --max-load");
    }
    add_ending(outcome.reasons, trials);
    return outcome;
}

void add_loss_options(CLI::App& command, SearchOptions& options) {
    command.add_option("--trial", options.trial_s, "seconds of a trial (60)")->check(kTypedSeconds);
    command
        .add_option("--step", options.step,
                    "from one load to the next, of the greatest load (0.1, or finer)")
        ->check(number_in(0.001, 0.1));
}

}  // namespace

const SearchKind kLossKind{
    "loss", "RFC 2544 frame loss rate (26.3): loss over load, from the greatest load down",
    add_loss_options, loss_time, run_loss};

}  // namespace pathproof::cli
