#include "harness/cli/generate/amounts.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>

#include "harness/cli/generate/number_checks.h"
#include "harness/cli/seconds.h"

namespace pathproof::cli {
namespace {

constexpr std::uint64_t kDefaultCount = 1000;
constexpr std::uint64_t kMostOutstanding = 1'000'000'000;
// For what comes twice, and for what nobody waits for, in seconds.
constexpr double kSettle = 0.3;

}  // namespace

void add_amount_options(CLI::App& command, AmountOptions& options) {
    command
        .add_option("--count", options.count,
                    "queries, or pairs with --pairs (default 1000, or as --duration says)")
        ->check(kPositive);
    command.add_option(
        "--rate", options.rate,
        "queries, or pairs, per second (1000, 20k, 1.5M), a share of the line (10%), "
        "bits per second on the wire (1Gbit), or max (default 1000; max with --outstanding)");
    command
        .add_option("--outstanding", options.outstanding,
                    "queries, or pairs, under way at most: the next leaves when one is answered or "
                    "its --timeout is over (default: no limit)")
        ->check(CLI::Range(std::uint64_t{1}, kMostOutstanding));
    command.add_option("--duration", options.seconds, "seconds to send for")->check(kAboveZero);
    command
        .add_option(
            "--drain", options.drain_s,
            "seconds to listen after the last query (until all have come back, --timeout at "
            "most)")
        ->check(number_in(0, 3600));
}

Result<load::TrialOrder> order_of(const AmountOptions& options, const Rate& rate,
                                  const UnitFacts& unit) {
    const double pps = TRY(doing(
        frames_per_second(rate, unit.frames, unit.mean_frame_bytes, unit.link_mbps, unit.port),
        "--rate {}", options.rate_text()));
    const bool follows = !options.drain_s && unit.timeout_s > 0;
    const double drain_s = options.drain_s.value_or(std::max(kSettle, unit.timeout_s));
    const bool endless = options.count == 0 && options.seconds <= 0;
    return load::TrialOrder{.frames_per_second = pps,
                            .duration = nanoseconds_of(options.seconds),
                            .frames = (endless ? kDefaultCount : options.count) * unit.frames,
                            .outstanding = options.outstanding * unit.frames,
                            .drain = nanoseconds_of(drain_s),
                            .drain_end = follows ? load::TrialOrder::DrainEnd::kWhenAllArrived
                                                 : load::TrialOrder::DrainEnd::kFull,
                            .settle = nanoseconds_of(kSettle)};
}

std::uint64_t units_expected(const AmountOptions& options, const Rate& rate) {
    if (options.seconds <= 0) {
        return options.count == 0 ? kDefaultCount : options.count;
    }
    if (options.count > 0) {
        return options.count;
    }
    const double units = std::ceil(rate.value * options.seconds);
    return rate.kind == Rate::Kind::kPerSecond && units < 1e18 ? static_cast<std::uint64_t>(units)
                                                               : 0;
}

}  // namespace pathproof::cli
