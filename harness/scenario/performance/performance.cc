// Set:  the lab's NAT box, as it is; then each offload of the DUT's devices off and on, and packet steering.
// Sent: UDP in 1000 flows from one tester port to the other, one way, by MLRsearch and RFC 2544.
// Seen: every frame, byte for byte; the DUT's CPU time, cycles and interrupts.
#include "harness/scenario/performance/performance.h"

#include <algorithm>
#include <cmath>
#include <thread>

#include "dataplane/search/frame_sizes.h"
#include "harness/scenario/concluded.h"
#include "harness/scenario/performance/cells.h"
#include "harness/scenario/performance/path_bench.h"
#include "harness/scenario/performance/soak.h"

namespace pathproof::scenario {
namespace performance {
namespace {

using search::Nanoseconds;
using verdict::Cell;
using verdict::CellVerdict;

class Run {
  public:
    Run(Context& context, PathBench& bench)
        : context_(context),
          bench_(bench),
          pace_(Pace::of(context.options, bench.medium().is_software)) {
        seen_.medium = bench.medium();
    }

    Result<verdict::ScenarioResult> all();

  private:
    bool is_asked(const std::string& id) const {
        return asked_for(context_.options, id) &&
               (id != kSoakOption || context_.options.has(kSoakOption));
    }
    // Measures a cell that is asked for: what could not be set up for it is a SKIP, what went wrong an ERROR.
    template <typename Measure>
    void cell(const std::string& id, const Measure& measure);

    Result<Cell> prove_path();
    Result<Cell> throughput(const std::string& id, const Frames& frames);
    Result<Cell> latency(const std::string& id, int share);
    Result<Cell> loss_curve();
    Result<Cell> back_to_back();
    Result<Cell> cost(const std::string& id, std::uint16_t size);
    Result<Cell> scaling(const std::string& id, unsigned cpus);
    Result<Cell> offload(const std::string& id, const Switch& which);

    // Frames a second that are sent at most: the line's, or what the tester sends by itself.
    Result<double> max_load(const Frames& frames);
    Result<const ThroughputSeen*> rates_of_shortest();
    Result<ThroughputSeen> find_rates(const Frames& frames);
    Result<search::TrialOutput> overload(const agent::CpuUse* before,
                                         std::optional<double>& cycles);
    search::Budget budget(double usual_seconds) const {
        constexpr double kSpare = 6;
        return {.time = Nanoseconds(static_cast<std::int64_t>((kSpare * usual_seconds + 5) * 1e9)),
                .repeats = 1};
    }
    std::string why_not(const Frames& frames) const;

    Context& context_;
    PathBench& bench_;
    const Pace pace_;
    Seen seen_;
    std::optional<ThroughputSeen> shortest_;  // of frames of 64 bytes
    verdict::ScenarioResult result_;
};

template <typename Measure>
void Run::cell(const std::string& id, const Measure& measure) {
    if (!is_asked(id) || !context_.journal.is_open()) {
        return;
    }
    context_.progress.step(id);
    Result<Cell> made = measure();
    if (!made) {
        made = Cell{.id = id,
                    .verdict = made.error().code == ErrorCode::kBadInput ? CellVerdict::kSkip
                                                                         : CellVerdict::kError,
                    .reason = made.error().message};
    }
    context_.measured.add(*made);
    (made->id.starts_with("control.") ? result_.controls : result_.cells)
        .push_back(std::move(*made));
}

std::string Run::why_not(const Frames& frames) const {
    for (const measure::FrameShare& share : frames) {
        if (std::string why = bench_.too_long(share.bytes); !why.empty()) {
            return why;
        }
    }
    return "";
}

// Plain frames of every size that is used later arrive byte for byte, at a load that anything carries.
Result<Cell> Run::prove_path() {
    constexpr double kFewPps = 1000;
    constexpr std::uint64_t kFrames = 200;
    constexpr unsigned kTries = 3;
    Cell cell{.id = "control.path", .role = Cell::Role::kControl, .verdict = CellVerdict::kPass};
    std::vector<Frames> all{{{64, 1}}};
    for (const std::uint16_t size : kSizes) {
        if (size != 64 && is_asked(fmt::format("throughput.{}", size)) &&
            why_not({{size, 1}}).empty()) {
            all.push_back({{size, 1}});
        }
    }
    if (is_asked(std::string("throughput.") + kImix)) {
        all.push_back(kImixFrames);
    }
    std::uint64_t arrived = 0;
    for (const Frames& frames : all) {
        TRY(bench_.start(frames));
        std::string lost;
        for (unsigned tried = 0; tried < kTries; ++tried) {
            const auto trial =
                TRY(bench_.measurer().measure({.load_pps = kFewPps,
                                               .duration = std::chrono::milliseconds(200),
                                               .frames = kFrames}));
            lost = trial.lost == 0 && trial.sent == kFrames
                       ? ""
                       : fmt::format(
                             "{} of {} frames of {:.0f} bytes did not arrive as they were sent",
                             trial.lost, trial.sent, measure::mean_bytes(frames));
            if (lost.empty()) {
                arrived += trial.sent;
                break;
            }
        }
        if (!lost.empty()) {
            cell.verdict = CellVerdict::kInconclusive;
            cell.reason =
                lost + fmt::format(", at {:.0f} frames/s: nothing is said of the device", kFewPps);
            break;
        }
    }
    cell.measures.push_back(
        {.name = "arrived", .label = "frames that arrived byte for byte", .value = arrived});
    return cell;
}

Result<double> Run::max_load(const Frames& frames) {
    if (const double line = seen_.medium.line_pps(frames); line > 0) {
        return line;
    }
    const auto probe = TRY(bench_.measurer().measure({.duration = pace_.trial}));
    if (probe.offered_pps <= 0) {
        return fail(ErrorCode::kFailed, "the tester's port took no frames");
    }
    return probe.offered_pps;
}

Result<ThroughputSeen> Run::find_rates(const Frames& frames) {
    TRY(bench_.start(frames));
    ThroughputSeen seen{.frames = frames, .max_load_pps = TRY(max_load(frames))};
    const search::MlrPlan plan = rates_plan(pace_, seen.max_load_pps);
    search::Trials trials(bench_.measurer(), budget(search::seconds(search::usual_time(plan))));
    seen.rates = TRY(search::mlr_search(plan, trials));
    for (const search::TrialOutput& trial : trials.log()) {
        seen.bad_checksums += trial.bad_checksums;
        seen.tester_limit = trial.tester_limit.empty() ? seen.tester_limit : trial.tester_limit;
    }
    seen.trials = trials.log().size();
    return seen;
}

Result<Cell> Run::throughput(const std::string& id, const Frames& frames) {
    if (const std::string why = why_not(frames); !why.empty()) {
        return Cell{.id = id, .verdict = CellVerdict::kSkip, .reason = why};
    }
    auto seen = TRY(find_rates(frames));
    if (frames == Frames{{64, 1}}) {
        shortest_ = seen;
    }
    Cell cell = conclude(id, seen, seen_.medium);
    seen_.throughput.emplace_back(id, std::move(seen));
    return cell;
}

// The rates of the shortest frames, which latency, bursts and costs are measured at shares of.
Result<const ThroughputSeen*> Run::rates_of_shortest() {
    const Frames frames{{64, 1}};
    if (!shortest_) {
        shortest_ = TRY(find_rates(frames));
    }
    TRY(bench_.start(frames));
    return &*shortest_;
}

Result<Cell> Run::latency(const std::string& id, int share) {
    const ThroughputSeen* const rates = TRY(rates_of_shortest());
    const double pdr = rate_of(*rates, "pdr");
    if (pdr <= 0) {
        return Cell{.id = id,
                    .verdict = CellVerdict::kInconclusive,
                    .reason = "there is no PDR to take a share of"};
    }
    const search::LatencyPlan plan{
        .points = {{.label = fmt::format("{} % of PDR", share), .load_pps = pdr * share / 100}},
        .trial_duration = 2 * pace_.trial,
        .repeats = pace_.repeats};
    search::Trials trials(bench_.measurer(),
                          budget(search::seconds(plan.trial_duration) * plan.repeats));
    const auto measured = TRY(search::measure_latency(plan, trials));
    const auto end = TRY(bench_.stop());
    if (measured.points.empty()) {
        return Cell{.id = id, .verdict = CellVerdict::kInconclusive, .reason = "no trial was made"};
    }
    seen_.latency.push_back({measured.points.front(), end.bias, "PDR of 64-byte frames"});
    return conclude(id, seen_.latency.back());
}

Result<Cell> Run::loss_curve() {
    const ThroughputSeen* const rates = TRY(rates_of_shortest());
    const search::LossCurvePlan plan{.max_load_pps = rates->max_load_pps,
                                     .trial_duration = pace_.trial};
    search::Trials trials(bench_.measurer(), budget(search::seconds(longest_time(plan))));
    seen_.loss = LossSeen{TRY(search::measure_loss_curve(plan, trials)), {{64, 1}}};
    return conclude("loss-curve", *seen_.loss, seen_.medium);
}

Result<Cell> Run::back_to_back() {
    constexpr double kLongestSeconds = 2;  // RFC 2544, 26.4, at the medium's rate
    constexpr double kSoftwareSeconds = 0.1;
    const ThroughputSeen* const rates = TRY(rates_of_shortest());
    const double longest =
        rates->max_load_pps * (seen_.medium.is_software ? kSoftwareSeconds : kLongestSeconds);
    const search::BurstPlan plan{
        .measured_throughput = rate_of(*rates, "ndr"),
        .longest = std::max<std::uint64_t>(2, static_cast<std::uint64_t>(longest)),
        .resolution = std::max<std::uint64_t>(1, static_cast<std::uint64_t>(longest / 1000)),
        .tests = pace_.repeats};
    const double sending = 2 * static_cast<double>(plan.longest) / rates->max_load_pps;
    constexpr double kWaiting = 2;
    search::Trials trials(bench_.measurer(), budget((sending + kWaiting) * plan.tests));
    const auto found = TRY(search::find_longest_burst(
        plan, trials, [](Nanoseconds idle) { std::this_thread::sleep_for(idle); }));
    return conclude("back-to-back", found);
}

Result<Cell> Run::cost(const std::string& id, std::uint16_t size) {
    const Frames frames{{size, 1}};
    if (const std::string why = why_not(frames); !why.empty()) {
        return Cell{.id = id, .verdict = CellVerdict::kSkip, .reason = why};
    }
    // Half of what is carried of the shortest frames is carried of longer ones, unless the line is full.
    const ThroughputSeen* const rates = TRY(rates_of_shortest());
    const double line = seen_.medium.line_pps(frames);
    const double ndr = line > 0 ? std::min(rate_of(*rates, "ndr"), line) : rate_of(*rates, "ndr");
    if (ndr <= 0) {
        return Cell{.id = id,
                    .verdict = CellVerdict::kInconclusive,
                    .reason = "no load is carried without loss"};
    }
    TRY(bench_.start(frames));
    CostSeen seen{.frames = frames, .is_shared = bench_.is_shared()};
    seen.before = TRY(bench_.dut().cpu_use(bench_.in_device()));
    const auto trial =
        TRY(bench_.measurer().measure({.load_pps = ndr / 2, .duration = 5 * pace_.trial}));
    seen.after = TRY(bench_.dut().cpu_use(bench_.in_device()));
    seen.seconds = search::seconds(trial.input.duration);
    seen.lost = trial.lost;
    seen.forwarded = trial.sent - std::min(trial.sent, trial.lost);
    return conclude(id, seen);
}

// A trial at full speed; of a DUT with CPUs of its own the cycles that a frame took.
Result<search::TrialOutput> Run::overload(const agent::CpuUse* before,
                                          std::optional<double>& cycles) {
    auto trial = TRY(bench_.measurer().measure({.duration = pace_.trial}));
    const std::uint64_t forwarded = trial.sent - std::min(trial.sent, trial.lost);
    if (before != nullptr && before->cycles && !bench_.is_shared() && forwarded != 0) {
        const auto after = TRY(bench_.dut().cpu_use(bench_.in_device()));
        if (after.cycles) {
            cycles = (*after.cycles - *before->cycles) / static_cast<double>(forwarded);
        }
    }
    return trial;
}

double forwarded_pps(const search::TrialOutput& trial) {
    const double arrived = static_cast<double>(trial.sent - std::min(trial.sent, trial.lost));
    return arrived / search::seconds(trial.input.duration);
}

Result<Cell> Run::scaling(const std::string& id, unsigned cpus) {
    ScaleSeen seen{.cpus = cpus};
    if (cpus > bench_.dut_cpus()) {
        seen.lacks = fmt::format("the DUT has {} CPUs", bench_.dut_cpus());
        return conclude(id, seen);
    }
    TRY(bench_.start({{64, 1}}));
    TRY(bench_.set({setting::steering(setting::HostRole::kDut, bench_.in_device(),
                                      fmt::format("{:x}", (1u << cpus) - 1))}));
    for (unsigned round = 0; round < kRounds; ++round) {
        std::optional<double> none;
        const auto trial = TRY(overload(nullptr, none));
        seen.forwarded_pps.push_back(forwarded_pps(trial));
        seen.tester_limit = trial.tester_limit.empty() ? seen.tester_limit : trial.tester_limit;
    }
    TRY(bench_.set({}));
    return conclude(id, seen);
}

Result<Cell> Run::offload(const std::string& id, const Switch& which) {
    const std::string& device = which.is_outgoing ? bench_.out_device() : bench_.in_device();
    SwitchSeen seen{.what = fmt::format("{} of {}", which.feature, device),
                    .command = fmt::format("ethtool -K {} {} on", device, which.feature)};
    const auto features = TRY(bench_.dut().features(device));
    const auto found =
        std::ranges::find(features, std::string(which.feature), &agent::Feature::name);
    if (found == features.end() || found->never_changed || !found->available) {
        seen.lacks = found == features.end()
                         ? fmt::format("this kernel has no {}", which.feature)
                         : fmt::format("{} cannot be switched on {}: it is {}", which.feature,
                                       device, found->active ? "on [fixed]" : "off [fixed]");
        return conclude(id, seen);
    }
    TRY(bench_.start({{64, 1}}));
    for (unsigned round = 0; round < kRounds; ++round) {
        SwitchSeen::Round one;
        // In an order that turns, so that what changes with time is in both alike.
        for (const bool on : {round % 2 != 0, round % 2 == 0}) {
            TRY(bench_.set({setting::feature(setting::HostRole::kDut, device, which.feature, on)}));
            const auto before = TRY(bench_.dut().cpu_use(device));
            const auto trial = TRY(overload(&before, on ? one.on_cycles : one.off_cycles));
            (on ? one.on_pps : one.off_pps) = forwarded_pps(trial);
            (on ? one.on_bad : one.off_bad) = trial.bad_checksums;
            seen.tester_limit = trial.tester_limit.empty() ? seen.tester_limit : trial.tester_limit;
        }
        seen.rounds.push_back(one);
    }
    TRY(bench_.set({}));
    return conclude(id, seen);
}

Result<verdict::ScenarioResult> Run::all() {
    cell("control.path", [&] { return prove_path(); });
    const bool proven =
        result_.controls.empty() || result_.controls.front().verdict == CellVerdict::kPass;
    if (!proven) {
        result_.verdict = verdict::ScenarioVerdict::kInconclusive;
        result_.headline = result_.controls.front().reason;
        return std::move(result_);
    }
    for (const std::uint16_t size : kSizes) {
        const std::string id = fmt::format("throughput.{}", size);
        cell(id, [&] { return throughput(id, {{size, 1}}); });
    }
    const std::string imix = std::string("throughput.") + kImix;
    cell(imix, [&] { return throughput(imix, kImixFrames); });
    for (const int share : kShares) {
        const std::string id = fmt::format("latency.{}", share);
        cell(id, [&] { return latency(id, share); });
    }
    cell("loss-curve", [&] { return loss_curve(); });
    cell("back-to-back", [&] { return back_to_back(); });
    for (const std::uint16_t size : {std::uint16_t{64}, std::uint16_t{1518}}) {
        const std::string id = fmt::format("cost.{}", size);
        cell(id, [&] { return cost(id, size); });
    }
    for (const unsigned cpus : kCpus) {
        const std::string id = fmt::format("scaling.{}", cpus);
        cell(id, [&] { return scaling(id, cpus); });
    }
    for (const Switch& each : kSwitches) {
        const std::string id = std::string("offload.") + each.feature;
        cell(id, [&] { return offload(id, each); });
    }
    cell(kSoakOption, [&]() -> Result<Cell> {
        const ThroughputSeen* const rates = TRY(rates_of_shortest());
        return run_soak(context_, bench_, 0.9 * rate_of(*rates, "ndr"), result_);
    });
    result_.verdict = verdict::ScenarioVerdict::kMeasured;
    const auto is_measured = [](const Cell& each) {
        return each.verdict == CellVerdict::kPass || verdict::fails(each.verdict);
    };
    if (std::ranges::none_of(result_.cells, is_measured)) {
        result_.verdict = verdict::ScenarioVerdict::kInconclusive;
    }
    result_.headline = headline(seen_);
    result_.explanation = explanation(seen_);
    std::ranges::move(charts(seen_), std::back_inserter(result_.charts));
    return std::move(result_);
}

Result<verdict::ScenarioResult> run(Context& context) {
    std::size_t asked = count_asked(context.options, cell_ids());
    asked -= !context.options.has(kSoakOption) && asked_for(context.options, kSoakOption) ? 1 : 0;
    context.progress.begin(context.scenario->id, asked);
    auto bench = TRY(PathBench::open(context));
    return Run(context, *bench).all();
}

}  // namespace
}  // namespace performance

Scenario performance_scenario() {
    return {"performance",
            "What the path carries, how late, and at what cost",
            "How many frames pass the device without loss, how long do they take, and what do they "
            "cost its host?",
            lab::Role::kNatBox,
            performance::run,
            performance::cell_ids,
            Scenario::When::kAsked,
            {performance::kTrialMs, performance::kTrials, performance::kSoak},
            nullptr,
            verdict::Area::kPerformance,
            performance::figures};
}

}  // namespace pathproof::scenario
