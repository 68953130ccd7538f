#include <fmt/ranges.h>

#include <algorithm>

#include "dataplane/search/frame_sizes.h"
#include "harness/scenario/performance/figures.h"
#include "harness/scenario/performance/limited_by.h"
#include "harness/verdict/interval.h"

namespace pathproof::scenario::performance {
namespace {

using search::GoalResult;
using verdict::Cell;
using verdict::Chart;
using verdict::Interval;
using verdict::Measure;

verdict::Bar bar_of(const std::string& label, const Measure& measure) {
    return {.label = label,
            .value = measure.value.is_number() ? measure.value.number() : 0,
            .interval = measure.interval};
}

}  // namespace

Chart latency_chart(const std::vector<LatencySeen>& seen) {
    constexpr double kRatio = 1.25;  // between two points of the axis
    Chart chart{
        .title = "Latency by load", .unit = "% of the frames", .x_label = "latency in us, up to"};
    for (const LatencySeen& one : seen) {
        const judge::LatencyHistogram& histogram = one.point.histogram;
        verdict::Curve curve{.label = one.point.point.label};
        double before = 0;
        const double longest = static_cast<double>(histogram.max_ns());
        for (double up_to = std::max<double>(judge::LatencyHistogram::kUnitNs,
                                             static_cast<double>(histogram.min_ns()) / kRatio);
             histogram.count() != 0 && before < 1; up_to *= kRatio) {
            const double within = up_to >= longest * kRatio
                                      ? 1
                                      : histogram.share_within(static_cast<std::int64_t>(up_to));
            curve.points.push_back({.x = up_to / 1e3, .y = 100 * (within - before)});
            before = within;
        }
        if (!curve.points.empty()) {
            chart.curves.push_back(std::move(curve));
        }
    }
    return chart;
}

Chart loss_chart(const LossSeen& seen) {
    Chart chart{.title = fmt::format("Loss over load, {}", frames_text(seen.frames)),
                .unit = "% of the frames",
                .x_label = "offered load, 1000 frames/s"};
    verdict::Curve device{.label = "lost"};
    verdict::Curve tester{.label = "lost, the tester was the limit"};
    for (auto point = seen.curve.points.rbegin(); point != seen.curve.points.rend(); ++point) {
        const Interval interval = verdict::fraction_interval(point->lost, point->sent);
        const double share =
            point->sent == 0 ? 0
                             : static_cast<double>(point->lost) / static_cast<double>(point->sent);
        (point->tester_limited ? tester : device)
            .points.push_back({.x = point->offered_pps / 1e3,
                               .y = 100 * share,
                               .interval = Interval{100 * interval.low, 100 * interval.high}});
    }
    for (verdict::Curve* curve : {&device, &tester}) {
        std::ranges::sort(curve->points, {}, &verdict::Curve::Point::x);
        if (!curve->points.empty()) {
            chart.curves.push_back(std::move(*curve));
        }
    }
    return chart;
}

std::vector<Chart> charts(const Seen& seen) {
    std::vector<Chart> all;
    Chart rates{.title = "Throughput by frame size",
                .unit = "1000 frames/s",
                .x_label = "frame size in bytes, FCS included"};
    verdict::Curve ndr{.label = "without loss (NDR)"};
    verdict::Curve pdr{.label = "at 0.5 % loss (PDR)"};
    verdict::Curve line{.label = "line rate"};
    Chart bits{.title = seen.medium.is_software
                            ? "Throughput without loss (software path: no line rate)"
                            : "Throughput without loss against line rate",
               .unit = "Gbit/s",
               .maximum = seen.medium.line_mbps / 1e3};
    for (const auto& [id, one] : seen.throughput) {
        const Cell cell = conclude(id, one, seen.medium);
        const auto measure = [&](const char* name) {
            const auto found = std::ranges::find(cell.measures, name, &Measure::name);
            return found == cell.measures.end() ? Measure{} : *found;
        };
        const std::string limit = measure(verdict::kLimitedBy).value.text();
        bits.bars.push_back(
            bar_of(frames_text(one.frames) + (limit == kTester ? ", the tester was the limit" : ""),
                   measure("ndr_gbit_s")));
        if (one.frames.size() != 1) {
            continue;
        }
        const double x = one.frames.front().bytes;
        for (const auto& [name, curve] : {std::pair{"ndr_pps", &ndr}, {"pdr_pps", &pdr}}) {
            const Measure rate = measure(name);
            if (rate.value.is_number()) {
                curve->points.push_back(
                    {.x = x,
                     .y = rate.value.number() / 1e3,
                     .interval = Interval{rate.interval->low / 1e3, rate.interval->high / 1e3}});
            }
        }
        if (const double most = seen.medium.line_pps(one.frames); most > 0) {
            line.points.push_back({.x = x, .y = most / 1e3});
        }
    }
    for (verdict::Curve* curve : {&ndr, &pdr, &line}) {
        if (!curve->points.empty()) {
            rates.curves.push_back(std::move(*curve));
        }
    }
    if (!rates.curves.empty()) {
        all.push_back(std::move(rates));
    }
    if (!bits.bars.empty()) {
        all.push_back(std::move(bits));
    }
    if (seen.loss && !seen.loss->curve.points.empty()) {
        all.push_back(loss_chart(*seen.loss));
    }
    if (Chart latency = latency_chart(seen.latency); !latency.curves.empty()) {
        all.push_back(std::move(latency));
    }
    return all;
}

std::string headline(const Seen& seen) {
    std::vector<std::string> rates;
    for (const auto& [id, one] : seen.throughput) {
        const double rate = rate_of(one, "ndr");
        if (rate <= 0) {
            continue;
        }
        const double line = seen.medium.line_pps(one.frames);
        rates.push_back(fmt::format(
            "{}: {:.0f} frames/s{}", frames_text(one.frames), rate,
            line > 0 ? fmt::format(" ({:.1f} % of line rate)", 100 * rate / line) : ""));
    }
    std::string text = seen.medium.is_software ? "Software path, forwarded without loss: "
                                               : "Forwarded without loss: ";
    if (!rates.empty()) {
        return text + fmt::format("{}", fmt::join(rates, "; "));
    }
    if (!seen.latency.empty()) {
        return fmt::format("Latency was measured at {} loads", seen.latency.size());
    }
    return "Performance was measured";
}

std::vector<std::string> explanation(const Seen& seen) {
    std::vector<std::string> all;
    if (seen.medium.is_software) {
        all.push_back(
            "The frames pass virtual devices of this kernel: the figures are of its software path "
            "on this machine's CPUs, and say nothing of a NIC. There is no line rate.");
    } else {
        all.push_back(
            fmt::format("Line rate is that of a link of {:.0f} Mbit/s, with preamble and gap ({} "
                        "bytes a frame).",
                        seen.medium.line_mbps, search::kOverheadBytes));
    }
    std::vector<std::string> limited;
    for (const auto& [id, one] : seen.throughput) {
        const GoalResult* const ndr = goal_named(one, "ndr");
        if (ndr != nullptr && ndr->lower &&
            limit_of(*ndr, one, seen.medium) == std::string(kTester)) {
            limited.push_back(frames_text(one.frames));
        }
    }
    if (!limited.empty()) {
        all.push_back(
            fmt::format("The tester, not the device, was the limit with frames of {}: the "
                        "device carries at least what is told.",
                        fmt::join(limited, ", ")));
    }
    return all;
}

}  // namespace pathproof::scenario::performance
