// dns-race --load, snat-race --load
//
// Set:  the NAT box with kube-proxy's rules; the settings of each way of racing.
// Sent: query pairs like those of the race's cells, at the highest load that comes back whole, which is searched
//       for first; then at the links' rate, or at twice the highest where the links have none. Or at a load that
//       was asked for.
// Seen: what became of every query; conntrack's events, those that were lost found again in its table; its
//       counters; what the kernel dropped, from which queue; the rings' and the CPUs' counters.

#include "harness/scenario/race/race_load.h"

#include <cmath>

#include "dataplane/base/number.h"

namespace pathproof::scenario {
namespace {

// The table has room for so much of a load of 90,000 pairs a second (nf_conntrack_max 262,144).
constexpr double kSecondsOfLoadCell = 2;
// A cell lasts longer than a trial of the search: what it does not carry for so long is tried at less.
constexpr double kLessLoad = 0.9;
constexpr unsigned kMostReductions = 5;
constexpr double kMostAskedLoad = 1e6;
constexpr std::int64_t kQueuedAtLoadNs = 50'000'000;

// Pairs a second that the unit stands for; 0: it stands for none.
double unit_factor(std::string_view unit) {
    if (unit.empty()) {
        return 1;
    }
    if (unit == "k") {
        return 1e3;
    }
    return unit == "M" ? 1e6 : 0;
}

}  // namespace

Result<AskedLoad> parse_load(const std::string& text) {
    if (text == "max") {
        return AskedLoad{};
    }
    std::string_view unit = text;
    const auto number = take_number<double>(unit);
    const double factor = unit_factor(unit);
    if (number && std::isfinite(*number) && *number > 0) {
        if (unit == "%" && *number <= 100) {
            return AskedLoad{AskedLoad::Kind::kShare, *number / 100};
        }
        if (factor != 0 && *number * factor >= 1 && *number * factor <= kMostAskedLoad) {
            return AskedLoad{AskedLoad::Kind::kRate, *number * factor};
        }
    }
    return fail(ErrorCode::kBadInput,
                "a load of '{}' is none of: max, pairs a second from 1 to 1M (50000, 50k), a share "
                "of the links' rate up to 100%",
                text);
}

OptionRow load_option() {
    return {.name = kLoadOption,
            .help =
                "in place of the cells: the races at the highest load that the DUT carries "
                "whole, which is searched for first, and beyond it (max); at so many pairs a "
                "second (50000, 50k); or at a share of the links' rate (80%)",
            .most = {},
            .own_cells = true,
            .check_text = [](const std::string& text) -> Status {
                TRY(parse_load(text));
                return {};
            },
            .type = "max|RATE|PERCENT"};
}

bool carried_whole(const RaceCell& what, const RaceValues& seen) {
    const join::PairFindings& found = seen.found;
    const std::uint64_t by_race =
        found.count(join::Fate::kDroppedAtInsertion) + found.count(join::Fate::kUntranslatedAnswer);
    return seen.load && seen.load->offered() && seen.objections.empty() &&
           found.harmed() == by_race &&
           seen.answer_p50_ns < std::chrono::nanoseconds(what.delay).count() + kQueuedAtLoadNs;
}

std::optional<double> LoadRunner::load_of(const LoadWay& way) {
    return way.cells.empty() || !way.cells.front().seen.load
               ? std::nullopt
               : std::optional(way.cells.front().seen.load->asked);
}

Result<MeasuredCell> LoadRunner::cell(const Job& job, const std::string& suffix, double load) {
    RaceCell what = job.what;
    what.id += suffix;
    what.setting += fmt::format(", {:.0f} pairs/s", load);
    const std::uint64_t room = std::min(job.most_pairs, TRY(bench_.room(job.flows)));
    pairs::PairPlan plan = job.plan;
    plan.pairs_per_second = load;
    plan.pairs = std::min(
        room,
        context_.options.number("pairs", static_cast<std::uint64_t>(load * kSecondsOfLoadCell)));
    plan.pairs = std::max<std::uint64_t>(plan.pairs, 1);
    return bench_.measure(what, plan, Look::kAtLoad);
}

// 0: none, and the way says why.
Result<double> LoadRunner::first_load(const Job& job, LoadWay& way) {
    if (job.load) {
        return std::min(*job.load, job.most_load);
    }
    const double line = TRY(bench_.line_rate(job.plan));
    switch (asked_.kind) {
        case AskedLoad::Kind::kRate: return std::min(asked_.value, job.most_load);
        case AskedLoad::Kind::kShare:
            if (line == 0) {
                return fail(
                    ErrorCode::kBadInput,
                    "--load {:g}%: no link of the way has a speed that its port tells; give "
                    "pairs a second, or max",
                    100 * asked_.value);
            }
            return std::min(asked_.value * line, job.most_load);
        case AskedLoad::Kind::kMost: break;
    }
    const double greatest = std::min(line == 0 ? kMostAskedLoad : line, job.most_load);
    const std::uint64_t room = std::min(job.most_pairs, TRY(bench_.room(job.flows)));
    way.search = TRY(bench_.find_highest(job.plan, greatest, room));
    const auto& passed = way.search->result.passed;
    if (!passed) {
        way.hindrance = fmt::format(
            "no load is carried whole{}",
            way.search->tester_limit.empty()
                ? ""
                : fmt::format("; the tester was short of CPU time: {}", way.search->tester_limit));
    }
    return passed ? passed->load_pps : 0.0;
}

Result<LoadWay> LoadRunner::run(const Job& job) {
    context_.progress.step(job.what.id);
    LoadWay way{.what = job.what};
    double load = TRY(first_load(job, way));
    if (load == 0) {
        return way;
    }
    const bool found = way.search.has_value();
    const char* const suffix =
        found || asked_.kind == AskedLoad::Kind::kMost ? ".highest" : ".asked";
    for (;; load *= kLessLoad, ++way.reduced) {
        auto measured = TRY(cell(job, suffix, load));
        // A load that was asked for is measured as it is.
        const bool may_be_less = asked_.kind == AskedLoad::Kind::kMost;
        if (!may_be_less || way.reduced == kMostReductions ||
            carried_whole(measured.what, measured.seen)) {
            way.cells.push_back(std::move(measured));
            break;
        }
    }
    if (!job.beyond || !found) {
        return way;
    }
    const double line = TRY(bench_.line_rate(job.plan));
    const double beyond = std::min(line > 1.05 * load ? line : 2 * load, kMostAskedLoad);
    if (way.search->result.max_load_passes && line != 0) {
        way.beyond_skipped = "the links' rate is carried whole";
    } else if (way.search->result.limit != search::Limit::kDevice) {
        way.beyond_skipped =
            fmt::format("the tester was the limit{}",
                        way.search->tester_limit.empty() ? "" : ": " + way.search->tester_limit);
    } else {
        auto measured = TRY(cell(job, ".beyond", beyond));
        way.cells.push_back(std::move(measured));
    }
    return way;
}

namespace {

Result<AskedLoad> asked_load(const Context& context) {
    return doing(parse_load(context.options.text(kLoadOption)), "--load");
}

void show_load(Context& context, const std::vector<LoadWay>& ways) {
    for (const LoadWay& way : ways) {
        for (const MeasuredCell& measured : way.cells) {
            verdict::Cell cell = conclude(measured.what, measured.seen);
            cell.evidence = measured.evidence;
            context.measured.add(cell);
        }
    }
}

}  // namespace

Result<verdict::ScenarioResult> run_dns_race_at_load(Context& context) {
    RaceLoad load{.asked = TRY(asked_load(context))};
    context.progress.begin("dns-race", map_cells().size() + 3);
    auto bench = TRY(NatBench::build(context, NatBench::Carrier::kFast));
    TRY(bench->describe());
    LoadRunner runner(context, *bench, load.asked);
    load.ways = TRY(load_same_tuple(context, *bench, runner));
    show_load(context, load.ways);
    const std::optional<double> same =
        load.ways.empty() ? std::nullopt : LoadRunner::load_of(load.ways.front());
    auto late = TRY(load_late_answer(context, *bench, runner, same));
    show_load(context, late);
    std::ranges::move(late, std::back_inserter(load.ways));
    return conclude(load);
}

Result<verdict::ScenarioResult> run_snat_race_at_load(Context& context) {
    RaceLoad load{.asked = TRY(asked_load(context))};
    context.progress.begin("snat-race", snat_collision_cells().size());
    auto bench = TRY(NatBench::build(context, NatBench::Carrier::kFast));
    TRY(bench->describe());
    LoadRunner runner(context, *bench, load.asked);
    load.ways = TRY(load_snat_collision(context, *bench, runner));
    show_load(context, load.ways);
    return conclude(load);
}

}  // namespace pathproof::scenario
