#include "harness/scenario/performance/figures.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "dataplane/search/frame_sizes.h"
#include "harness/scenario/measures.h"
#include "harness/scenario/performance/limited_by.h"
#include "harness/verdict/interval.h"

namespace pathproof::scenario::performance {
namespace {

using measure::FrameShare;
using search::GoalResult;
using verdict::Cell;
using verdict::CellVerdict;
using verdict::Interval;
using verdict::Measure;

// Returns the bounds between which the rate lies; where the tester was the limit, it lies anywhere
// above the lower one.
Interval bounds_of(const GoalResult& goal, const ThroughputSeen& seen, const Medium& medium) {
    const double low = goal.lower->offered_pps;
    const double line = medium.line_pps(seen.frames);
    double high = goal.upper ? goal.upper->load_pps : std::max(seen.max_load_pps, low);
    if (limit_of(goal, seen, medium) == std::string(kTester)) {
        high = std::max(high, line);
    }
    return {low, std::max(low, high)};
}

Measure scaled(const Measure& rate, const std::string& name, const std::string& label,
               double factor, const std::string& unit) {
    Measure measure = rate;
    measure.name = name;
    measure.label = label;
    measure.unit = unit;
    if (rate.value.is_number()) {
        measure.value = rate.value.number() * factor;
        measure.interval = Interval{rate.interval->low * factor, rate.interval->high * factor};
    }
    return measure;
}

void add_rate(Cell& cell, const ThroughputSeen& seen, const Medium& medium, const std::string& name,
              const std::string& label) {
    const GoalResult* const goal = goal_named(seen, name);
    Measure rate{.name = name + "_pps", .label = label, .value = nullptr, .unit = "frames/s"};
    if (goal == nullptr || !goal->lower) {
        rate.note = "no load was carried";
        cell.measures.push_back(rate);
        return;
    }
    rate.value = goal->lower->offered_pps;
    rate.interval = bounds_of(*goal, seen, medium);
    const std::string limit = limit_of(*goal, seen, medium);
    rate.note = limit == kTester ? "at least: the tester was the limit" : "";
    cell.measures.push_back(rate);
    cell.measures.push_back(scaled(rate, name + "_gbit_s", label + ", with preamble and gap",
                                   wire_gbit_s(1, seen.frames), "Gbit/s"));
    if (const double line = medium.line_pps(seen.frames); line > 0) {
        cell.measures.push_back(
            scaled(rate, name + "_line_share", label + ", share of line rate", 100 / line, "%"));
    }
}

Measure number_of(const std::string& name, const std::string& label, double value,
                  const std::string& unit) {
    return {.name = name, .label = label, .value = value, .unit = unit};
}

Measure not_measured(const std::string& name, const std::string& label, const std::string& unit,
                     const std::string& why) {
    return {.name = name, .label = label, .value = nullptr, .unit = unit, .note = why};
}

std::vector<double> each_us(const search::LatencyPoint& point,
                            double search::LatencyValues::*value) {
    std::vector<double> all;
    for (const search::LatencyValues& one : point.each) {
        all.push_back(one.*value / 1e3);
    }
    return all;
}

std::vector<double> each_of(const std::vector<SwitchSeen::Round>& rounds,
                            double SwitchSeen::Round::*value) {
    std::vector<double> all;
    for (const SwitchSeen::Round& round : rounds) {
        all.push_back(round.*value);
    }
    return all;
}

}  // namespace

std::string frames_text(const std::vector<FrameShare>& frames) {
    return frames.size() == 1 ? fmt::format("{} bytes", frames.front().bytes) : "IMIX";
}

const GoalResult* goal_named(const ThroughputSeen& seen, const std::string& name) {
    const auto found = std::ranges::find_if(
        seen.rates.goals, [&](const GoalResult& goal) { return goal.goal.name == name; });
    return found == seen.rates.goals.end() ? nullptr : &*found;
}

const char* limit_of(const GoalResult& goal, const ThroughputSeen& seen, const Medium& medium) {
    if (!goal.upper) {
        const double line = medium.line_pps(seen.frames);
        return line > 0 && seen.max_load_pps >= line * 0.999 ? kLine : kTester;
    }
    if (goal.limit == search::Limit::kTester || goal.doubtful()) {
        return kTester;
    }
    return goal.limit == search::Limit::kDevice ? kDevice : kNobody;
}

double Medium::line_pps(const std::vector<FrameShare>& frames) const {
    return line_mbps <= 0
               ? 0
               : line_mbps * 1e6 / (8 * (measure::mean_bytes(frames) + search::kOverheadBytes));
}

double wire_gbit_s(double pps, const std::vector<FrameShare>& frames) {
    return pps * 8 * (measure::mean_bytes(frames) + search::kOverheadBytes) / 1e9;
}

double rate_of(const ThroughputSeen& seen, const std::string& goal) {
    const GoalResult* const found = goal_named(seen, goal);
    return found != nullptr && found->lower ? found->lower->offered_pps : 0;
}

Cell conclude(const std::string& id, const ThroughputSeen& seen, const Medium& medium) {
    Cell cell{.id = id, .toggles = {{"frames", frames_text(seen.frames)}}};
    add_rate(cell, seen, medium, "ndr", "without loss (NDR)");
    add_rate(cell, seen, medium, "pdr", "at 0.5 % loss (PDR)");
    if (const double line = medium.line_pps(seen.frames); line > 0) {
        cell.measures.push_back(number_of("line_pps", "line rate", line, "frames/s"));
    }
    const GoalResult* const ndr = goal_named(seen, "ndr");
    const bool found = ndr != nullptr && ndr->lower.has_value();
    const std::string limit = found ? limit_of(*ndr, seen, medium) : kNobody;
    cell.measures.push_back(words_of(verdict::kLimitedBy, "limited by", limit));
    cell.measures.push_back(
        count_of("bad_checksums", "frames with a wrong checksum", seen.bad_checksums));
    cell.measures.push_back(count_of("trials", "trials", seen.trials));
    cell.verdict = CellVerdict::kPass;
    if (seen.bad_checksums != 0) {
        cell.verdict = CellVerdict::kFail;
        cell.cause = "wrong-checksum";
        cell.reason = fmt::format("{} frames came back with a wrong checksum", seen.bad_checksums);
    } else if (!found) {
        cell.verdict = CellVerdict::kInconclusive;
        cell.reason = seen.tester_limit.empty()
                          ? "no load was carried without loss, the least one either"
                          : "the tester was the limit at each load: " + seen.tester_limit;
    }
    return cell;
}

Cell conclude(const std::string& id, const LatencySeen& seen) {
    const search::LatencyPoint& point = seen.point;
    Cell cell{.id = id, .toggles = {{"load", point.point.label}, {"of", seen.of}}};
    using Values = search::LatencyValues;
    constexpr std::array<std::tuple<const char*, const char*, double Values::*>, 6> kFigures = {{
        {"min_us", "least latency", &Values::min},
        {"p50_us", "half of the frames within", &Values::p50},
        {"p90_us", "90 % within", &Values::p90},
        {"p99_us", "99 % within", &Values::p99},
        {"p999_us", "99.9 % within", &Values::p999},
        {"max_us", "longest latency", &Values::max},
    }};
    for (const auto& [name, label, value] : kFigures) {
        cell.measures.push_back(verdict::mean_of(name, label, each_us(point, value), "us"));
    }
    cell.measures.push_back(number_of("load_pps", "offered load", point.offered_pps, "frames/s"));
    cell.measures.push_back(count_of("frames", "frames that were timed", point.frames));
    cell.measures.push_back(number_of("loss_share", "lost", 100 * point.loss_ratio, "%"));
    for (const auto& [name, label, value] :
         {std::tuple{"own_floor_us", "the tester's own part, at least", seen.bias.floor_ns},
          std::tuple{"own_burst_us", "the tester's own part, of a whole burst (median)",
                     seen.bias.burst_ns},
          std::tuple{"own_poll_us", "between two looks at the tester's receive queue",
                     seen.bias.poll_ns}}) {
        cell.measures.push_back(number_of(name, label, static_cast<double>(value) / 1e3, "us"));
    }
    cell.measures.push_back(
        words_of(verdict::kLimitedBy, "limited by", point.doubtful ? kTester : kDevice));
    cell.verdict = point.frames == 0 ? CellVerdict::kInconclusive : CellVerdict::kPass;
    if (point.frames == 0) {
        cell.reason = "no frame came back that could be timed";
    } else if (point.doubtful) {
        cell.reason = "the tester was disturbed: the latencies are its own and the device's";
    }
    return cell;
}

Cell conclude(const std::string& id, const LossSeen& seen, const Medium& medium) {
    Cell cell{.id = id, .toggles = {{"frames", frames_text(seen.frames)}}};
    const auto& points = seen.curve.points;
    if (points.empty()) {
        cell.verdict = CellVerdict::kInconclusive;
        cell.reason = "no trial was made";
        return cell;
    }
    const search::LossPoint& top = points.front();
    Measure at_top =
        verdict::share("loss_at_most_load", "lost at the greatest load", top.lost, top.sent);
    at_top.note += fmt::format("; {:.0f} frames/s were offered", top.offered_pps);
    cell.measures.push_back(std::move(at_top));
    const auto clean = std::ranges::find(points, std::uint64_t{0}, &search::LossPoint::lost);
    if (clean != points.end()) {
        cell.measures.push_back(number_of("lossless_pps", "greatest load without loss",
                                          clean->offered_pps, "frames/s"));
    } else {
        cell.measures.push_back(not_measured("lossless_pps", "greatest load without loss",
                                             "frames/s", "each load lost frames"));
    }
    const bool limited = std::ranges::any_of(points, &search::LossPoint::tester_limited);
    const double line = medium.line_pps(seen.frames);
    const bool at_line = !limited && line > 0 && top.load_pps >= 0.999 * line;
    cell.measures.push_back(
        words_of(verdict::kLimitedBy, "greatest load limited by", at_line ? kLine : kTester));
    cell.measures.push_back(count_of("points", "loads", points.size()));
    cell.verdict = CellVerdict::kPass;
    if (!seen.curve.monotone) {
        cell.reason = "a lower load lost a greater share than a higher one";
    }
    return cell;
}

Cell conclude(const std::string& id, const search::BurstResult& seen) {
    Cell cell{.id = id, .toggles = {{"frames", "64 bytes"}}};
    if (seen.tests.empty()) {
        cell.verdict = CellVerdict::kInconclusive;
        cell.reason = seen.tester_limit.empty() ? "no burst was measured"
                                                : "the tester was the limit: " + seen.tester_limit;
        return cell;
    }
    std::vector<double> frames;
    for (const search::BurstTest& test : seen.tests) {
        frames.push_back(static_cast<double>(test.frames));
    }
    cell.measures.push_back(
        verdict::mean_of("burst_frames", "longest burst without loss", frames, "frames"));
    cell.measures.push_back(
        number_of("burst_pps", "rate at which bursts left", seen.burst_pps, "frames/s"));
    cell.measures.push_back(number_of("buffer_us", "buffer time, corrected (RFC 9004, 6.4)",
                                      1e6 * seen.corrected_buffer_seconds, "us"));
    const bool tester = seen.saturated || seen.doubtful || !seen.tester_limit.empty();
    cell.measures.push_back(
        words_of(verdict::kLimitedBy, "limited by", tester ? kTester : kDevice));
    cell.verdict = CellVerdict::kPass;
    if (seen.saturated) {
        cell.reason = "the longest burst that was tried came back whole: the device holds more";
    } else if (tester) {
        cell.reason = "the tester was the limit or disturbed: the device holds at least so many";
    }
    return cell;
}

Cell conclude(const std::string& id, const CostSeen& seen) {
    Cell cell{.id = id, .toggles = {{"frames", frames_text(seen.frames)}}};
    const auto forwarded = static_cast<double>(seen.forwarded);
    cell.verdict = seen.forwarded == 0 ? CellVerdict::kInconclusive : CellVerdict::kPass;
    if (seen.forwarded == 0) {
        cell.reason = "no frame was forwarded";
        return cell;
    }
    const std::string shared =
        "the tester runs on the DUT's CPUs: what they spent is not its alone";
    const auto each = [&](const char* name, const char* label, const char* unit,
                          std::optional<double> spent, const std::string& lacks) {
        const std::string why = seen.is_shared ? shared : lacks;
        cell.measures.push_back(seen.is_shared || !spent
                                    ? not_measured(name, label, unit, why)
                                    : number_of(name, label, *spent / forwarded, unit));
    };
    cell.measures.push_back(
        number_of("forwarded_pps", "forwarded", forwarded / seen.seconds, "frames/s"));
    const bool counted = seen.before.cycles && seen.after.cycles;
    each("cycles_per_frame", "CPU cycles of the DUT a frame", "cycles",
         counted ? std::optional(*seen.after.cycles - *seen.before.cycles) : std::nullopt,
         seen.after.no_cycles);
    each("cpu_ns_per_frame", "CPU time of the DUT a frame", "ns",
         1e9 * (seen.after.busy_seconds - seen.before.busy_seconds), "");
    if (seen.before.interrupts && seen.after.interrupts) {
        const std::uint64_t interrupts = *seen.after.interrupts - *seen.before.interrupts;
        cell.measures.push_back(count_of("interrupts", "interrupts of the device", interrupts));
        cell.measures.push_back(
            interrupts == 0 ? not_measured("frames_per_interrupt", "frames an interrupt", "frames",
                                           "there was no interrupt")
                            : number_of("frames_per_interrupt", "frames an interrupt",
                                        forwarded / static_cast<double>(interrupts), "frames"));
    } else {
        for (const char* name : {"interrupts", "frames_per_interrupt"}) {
            cell.measures.push_back(not_measured(name,
                                                 name == std::string("interrupts")
                                                     ? "interrupts of the device"
                                                     : "frames an interrupt",
                                                 "", "the device has no interrupt of its own"));
        }
    }
    const std::uint64_t softirqs = seen.after.receive_softirqs - seen.before.receive_softirqs;
    Measure served = softirqs == 0 ? not_measured("frames_per_softirq", "frames a NET_RX softirq",
                                                  "frames", "there was no softirq")
                                   : number_of("frames_per_softirq", "frames a NET_RX softirq",
                                               forwarded / static_cast<double>(softirqs), "frames");
    if (seen.is_shared && softirqs != 0) {
        served.note = "softirqs of the tester's own devices among them";
    }
    cell.measures.push_back(std::move(served));
    cell.measures.push_back(count_of("lost", "frames lost meanwhile", seen.lost));
    return cell;
}

Cell conclude(const std::string& id, const SwitchSeen& seen) {
    Cell cell{.id = id, .toggles = {{"switched", seen.what}}};
    if (!seen.lacks.empty() || seen.rounds.empty()) {
        cell.verdict = CellVerdict::kSkip;
        cell.reason = seen.lacks.empty() ? "it was not measured" : seen.lacks;
        return cell;
    }
    using Round = SwitchSeen::Round;
    cell.measures.push_back(verdict::mean_of("off_pps", "forwarded with it off",
                                             each_of(seen.rounds, &Round::off_pps), "frames/s"));
    cell.measures.push_back(verdict::mean_of("on_pps", "forwarded with it on",
                                             each_of(seen.rounds, &Round::on_pps), "frames/s"));
    std::vector<double> gains;
    std::vector<double> off_cycles;
    std::vector<double> on_cycles;
    std::uint64_t off_bad = 0;
    std::uint64_t on_bad = 0;
    for (const Round& round : seen.rounds) {
        if (round.off_pps > 0) {
            gains.push_back(100 * (round.on_pps / round.off_pps - 1));
        }
        if (round.off_cycles && round.on_cycles) {
            off_cycles.push_back(*round.off_cycles);
            on_cycles.push_back(*round.on_cycles);
        }
        off_bad += round.off_bad;
        on_bad += round.on_bad;
    }
    cell.measures.push_back(
        verdict::mean_of("gain", "more forwarded with it on, round by round", gains, "%"));
    if (!off_cycles.empty()) {
        cell.measures.push_back(
            verdict::mean_of("off_cycles", "CPU cycles a frame with it off", off_cycles, "cycles"));
        cell.measures.push_back(
            verdict::mean_of("on_cycles", "CPU cycles a frame with it on", on_cycles, "cycles"));
    }
    cell.measures.push_back(count_of("off_bad", "wrong checksums with it off", off_bad));
    cell.measures.push_back(count_of("on_bad", "wrong checksums with it on", on_bad));
    cell.verdict = CellVerdict::kPass;
    if (off_bad + on_bad != 0) {
        cell.verdict = CellVerdict::kFail;
        cell.cause = "wrong-checksum";
        cell.reason =
            fmt::format("frames came back with a wrong checksum: {} with it on, {} with it off",
                        on_bad, off_bad);
    } else if (!seen.tester_limit.empty()) {
        cell.reason = "the tester was the limit: a difference may be hidden behind it";
    }
    return cell;
}

Cell conclude(const std::string& id, const ScaleSeen& seen) {
    Cell cell{.id = id, .toggles = {{"CPUs that receive", std::to_string(seen.cpus)}}};
    if (!seen.lacks.empty() || seen.forwarded_pps.empty()) {
        cell.verdict = CellVerdict::kSkip;
        cell.reason = seen.lacks.empty() ? "it was not measured" : seen.lacks;
        return cell;
    }
    cell.measures.push_back(
        verdict::mean_of("forwarded_pps", "forwarded", seen.forwarded_pps, "frames/s"));
    cell.measures.push_back(
        words_of(verdict::kLimitedBy, "limited by", seen.tester_limit.empty() ? kDevice : kTester));
    cell.verdict = CellVerdict::kPass;
    cell.reason = seen.tester_limit.empty() ? "" : "the tester was the limit";
    return cell;
}

}  // namespace pathproof::scenario::performance
