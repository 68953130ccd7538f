// dns-race --first
//
// Set:  the NAT box with kube-proxy's rules and two backends.
// Sent: a few pairs of A and AAAA of one socket, by two CPUs at once; again until one raced.
// Seen: the first pair that raced: its packets, both of its entries in conntrack, where each query came
//       to; beside it the same pairs by one CPU.

#include "harness/scenario/race/first_race.h"

#include <unistd.h>

#include <ctime>
#include <fstream>
#include <numeric>
#include <sstream>

#include "harness/scenario/measures.h"
#include "harness/scenario/race/nat_bench.h"

namespace pathproof::scenario {
namespace {

using std::chrono::milliseconds;

constexpr std::uint64_t kPairsAtOnce = 16;
// If one pair in fifty races, this many batches show a race in 95 of 100 runs.
constexpr unsigned kMostBatches = 10;

RaceCell race_cell() {
    return {.id = "first.two-cpus",
            .label = "two ports, two CPUs",
            .way = "two ports on two CPUs",
            .setting = "at once",
            .at_once = true};
}

RaceCell control_cell() {
    return {.id = "control.first.one-cpu",
            .label = "control: one port, one CPU",
            .role = CellRole::kControl,
            .way = "one port on one CPU",
            .setting = "one burst, no list receive (net.core.gro_normal_batch=1)"};
}

// Since this process was started, as the kernel has it, to its tick of 10 ms (proc(5), field 22).
milliseconds age_of_process() {
    std::ifstream file("/proc/self/stat");
    std::string stat{std::istreambuf_iterator<char>(file), {}};
    std::istringstream fields(stat.substr(std::min(stat.rfind(')'), stat.size() - 1) + 1));
    std::string field;
    for (int number = 3; number <= 22; ++number) {
        fields >> field;
    }
    timespec now{};
    clock_gettime(CLOCK_BOOTTIME, &now);
    const auto started = std::strtoll(field.c_str(), nullptr, 10) * 1000 / sysconf(_SC_CLK_TCK);
    return milliseconds(now.tv_sec * 1000 + now.tv_nsec / 1'000'000 - started);
}

milliseconds total(const std::vector<std::pair<std::string, milliseconds>>& phases) {
    return std::accumulate(
        phases.begin(), phases.end(), milliseconds(0),
        [](milliseconds so_far, const auto& phase) { return so_far + phase.second; });
}

std::string in_seconds(milliseconds time) {
    return fmt::format("{:.2f} s", static_cast<double>(time.count()) / 1e3);
}

}  // namespace

Result<verdict::ScenarioResult> run_first_race(Context& context) {
    FirstRace race{.cells = {}, .phases = {{"program and journal", age_of_process()}}};
    context.progress.begin("dns-race", 2);
    auto bench = TRY(NatBench::build(context));
    race.phases.insert(race.phases.end(), bench->phases().begin(), bench->phases().end());
    const auto sending = std::chrono::steady_clock::now();
    std::optional<MeasuredCell> found;
    for (unsigned batch = 0; batch < kMostBatches; ++batch) {
        found = TRY(
            bench->measure(race_cell(), bench->same_tuple_plan(kPairsAtOnce), Look::kRaceAlone));
        if (found->timeline || !found->seen.objections.empty() || found->seen.found.harmed() != 0) {
            break;
        }
    }
    race.phases.emplace_back("pairs and proof", std::chrono::duration_cast<milliseconds>(
                                                    std::chrono::steady_clock::now() - sending));
    context.progress.step(found->timeline
                              ? fmt::format("race proven after {}", in_seconds(total(race.phases)))
                              : found->what.id);
    add_cell(context, race.cells, std::move(*found));
    const RaceCell control = control_cell();
    context.progress.step(control.id);
    TRY(bench->set({lists_of_one()}));
    auto beside =
        TRY(bench->measure(control, bench->one_port_plan(kPairsAtOnce), Look::kRaceAlone));
    add_cell(context, race.cells, std::move(beside));
    return conclude(race);
}

verdict::ScenarioResult conclude(const FirstRace& race) {
    verdict::ScenarioResult result = conclude(race.cells);
    result.question = "How soon does a pair that leaves one socket together race inside conntrack?";
    result.planned = {race_cell().id, control_cell().id};
    const auto& told = race.cells.front().timeline;
    if (!told || result.verdict == verdict::ScenarioVerdict::kInconclusive) {
        return result;
    }
    std::string phases;
    verdict::Cell& cell = result.cells.front();
    for (const auto& [name, time] : race.phases) {
        phases += fmt::format("{}{} {}", phases.empty() ? "" : ", ", name, in_seconds(time));
        cell.measures.push_back(milliseconds_of("phase_" + std::to_string(cell.measures.size()),
                                                name, static_cast<double>(time.count())));
    }
    cell.measures.push_back(milliseconds_of("first_race", "from the program's start to the proof",
                                            static_cast<double>(total(race.phases).count())));
    result.headline = fmt::format("First race proven {} after the program's start ({}). {}",
                                  in_seconds(total(race.phases)), phases, result.headline);
    result.cause += fmt::format("\n{}:", told->title);
    for (const auto& row : told->rows) {
        result.cause += fmt::format("\n{}", fmt::join(row, "  "));
    }
    result.proofs.push_back(*told);
    result.explanation.push_back(
        "What this does not ask is whether the race harms: for that an answer must come later than "
        "the hidden entry lives, which takes a second by itself. The cells of late answers do, "
        "without `--first`.");
    return result;
}

}  // namespace pathproof::scenario
