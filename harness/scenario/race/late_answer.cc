// A resolved clash lives in a hidden conntrack entry for one second, whatever happens. A server
// that answers later answers into nothing: its packet reaches the client un-translated, from the
// backend's own address, and the client's socket throws it away.

#include "harness/scenario/race/nat_bench.h"
#include "harness/scenario/race/race_load.h"

namespace pathproof::scenario {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t kLatePairs = 500;
constexpr std::uint64_t kMostLatePairs = 5000;
constexpr std::uint64_t kFewLatePairs = 200;
constexpr double kPairsPerSecond = 2500;
// The responder keeps memory for 400,000 answers that wait (pairs/pair_run.cc).
constexpr double kMostLateLoad = 100'000;

// A socket for each query.
void socket_for_each(pairs::PairPlan& plan) {
    plan.source_ports = 20'000;
    plan.members[1].source_port_offset = 20'000;
}

// Id of the cell that measures the same under load.
std::string late_load_id(const RaceCell& cell) {
    if (cell.role == CellRole::kCure) {
        return "cure.load." + cell.id.substr(cell.id.find('.') + 1);
    }
    return cell.again ? "load.late-answer.after-cure" : "load.late-answer";
}

}  // namespace

std::vector<RaceCell> late_answer_cells() {
    const auto cell = [](const char* id, const char* label, std::chrono::milliseconds delay) {
        return RaceCell{.id = id,
                        .label = label,
                        .race = Race::kLateAnswer,
                        .way = "same 5-tuple, two CPUs",
                        .setting = fmt::format("server answers after {} ms", delay.count()),
                        .at_once = true,
                        .delay = delay};
    };
    std::vector<RaceCell> cells = {
        cell("late-answer.200ms", "answer after 0.2 s", 200ms),
        cell("late-answer.900ms", "answer after 0.9 s", 900ms),
        cell("late-answer.1500ms", "answer after 1.5 s", 1500ms),
        cell("cure.single-request-reopen", "cure: own sockets, 1.5 s", 1500ms),
        cell("late-answer.after-cure", "after the cure, 1.5 s", 1500ms),
    };
    cells[3].way = "a socket for each query";
    cells[3].at_once = false;  // two flows: a backend for each is no race
    return with_roles(std::move(cells));
}

Result<std::vector<MeasuredCell>> run_late_answer(Context& context, NatBench& bench) {
    const std::uint64_t pairs =
        std::min(context.options.number("pairs", kLatePairs), kMostLatePairs);
    TRY(bench.set({}));
    std::vector<MeasuredCell> cells;
    for (const RaceCell& cell : late_answer_cells()) {
        if (!asked_for(context.options, cell.id)) {
            continue;
        }
        context.progress.step(cell.id);
        pairs::PairPlan plan =
            bench.same_tuple_plan(cell.again ? std::min(pairs, kFewLatePairs) : pairs);
        plan.pairs_per_second = kPairsPerSecond;
        if (cell.role == CellRole::kCure) {
            socket_for_each(plan);
        }
        auto measured = TRY(bench.measure(cell, plan));
        add_cell(context, cells, std::move(measured));
    }
    return cells;
}

// Runs only the cells whose answers come after 1.5 s: all queries of such a cell wait for their
// answers at one time.
Result<std::vector<LoadWay>> load_late_answer(Context& /*context*/, NatBench& bench,
                                              LoadRunner& runner, std::optional<double> load) {
    TRY(bench.set({}));
    std::vector<LoadWay> ways;
    for (RaceCell& cell : late_answer_cells()) {
        if (cell.delay != 1500ms) {
            continue;
        }
        cell.id = late_load_id(cell);
        LoadRunner::Job job{.what = cell,
                            .plan = bench.same_tuple_plan(1),
                            .flows = 4,  // an answer that comes back alone begins a flow of its own
                            .load = load,
                            .most_load = kMostLateLoad};
        if (cell.role == CellRole::kCure) {
            socket_for_each(job.plan);
        }
        auto way = TRY(runner.run(job));
        ways.push_back(std::move(way));
        load = load ? load : LoadRunner::load_of(ways.back());
    }
    return ways;
}

}  // namespace pathproof::scenario
