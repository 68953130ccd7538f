// Two pods use the same source port towards the same server behind MASQUERADE: conntrack first
// tries to keep the port for both, and the packet whose entry is inserted second is dropped.

#include "harness/scenario/race/nat_bench.h"
#include "harness/scenario/race/race_load.h"
#include "harness/setting/cures.h"

namespace pathproof::scenario {
namespace {

using Snat = lab::Snat;

// 2 flows a pair: well under the 64,512 ports that the cure draws from, so that exhaustion is
// not taken for a race.
constexpr std::uint64_t kCollidingPairs = 3000;
constexpr std::uint64_t kMostCollidingPairs = 12'000;
constexpr std::uint64_t kFewColliding = 1000;

// Id of the cell that measures the same under load.
const char* collision_load_id(const RaceCell& cell) {
    if (cell.role == CellRole::kControl) {
        return "control.load.no-nat";
    }
    if (cell.role == CellRole::kCure) {
        return "cure.load.random-fully";
    }
    return cell.again ? "load.snat-collision.after-cure" : "load.snat-collision";
}

}  // namespace

std::vector<RaceCell> snat_collision_cells() {
    const auto cell = [](const char* id, std::string label, Snat snat, std::string setting) {
        return RaceCell{.id = id,
                        .label = std::move(label),
                        .race = Race::kSnatCollision,
                        .way = "two clients, one source port",
                        .setting = std::move(setting),
                        .snat = snat};
    };
    const std::string kept = to_string(Snat::kMasquerade);
    return with_roles<RaceCell>({
        cell("snat-collision", kept, Snat::kMasquerade, kept),
        cell("control.snat-collision.no-nat", "control: no SNAT", Snat::kNone, "no SNAT"),
        cell("cure.random-fully", "cure: " + setting::cure("random-fully").brief,
             Snat::kMasqueradeRandomFully, to_string(Snat::kMasqueradeRandomFully)),
        cell("snat-collision.after-cure", "after the cure", Snat::kMasquerade, kept + " again"),
    });
}

Result<std::vector<MeasuredCell>> run_snat_collision(Context& context, NatBench& bench) {
    const std::uint64_t pairs =
        std::min(context.options.number("pairs", kCollidingPairs), kMostCollidingPairs);
    const setting::Setting one_backend = TRY(bench.lab().service(1));
    std::vector<MeasuredCell> cells;
    for (const RaceCell& cell : snat_collision_cells()) {
        if (!asked_for(context.options, cell.id)) {
            continue;
        }
        context.progress.step(cell.id);
        TRY(bench.set({one_backend, bench.lab().snat(cell.snat)}));
        auto measured = TRY(bench.measure(
            cell, bench.two_clients_plan(cell.again ? std::min(pairs, kFewColliding) : pairs)));
        add_cell(context, cells, std::move(measured));
    }
    return cells;
}

// The collision's own highest load, and the others at the same.
Result<std::vector<LoadWay>> load_snat_collision(Context& /*context*/, NatBench& bench,
                                                 LoadRunner& runner) {
    const setting::Setting one_backend = TRY(bench.lab().service(1));
    std::vector<LoadWay> ways;
    for (RaceCell& cell : snat_collision_cells()) {
        TRY(bench.set({one_backend, bench.lab().snat(cell.snat)}));
        cell.id = collision_load_id(cell);
        LoadRunner::Job job{.what = cell,
                            .plan = bench.two_clients_plan(1),
                            .flows = 2,
                            .most_pairs = kMostCollidingPairs,
                            .beyond = ways.empty()};
        job.load = ways.empty() ? std::nullopt : LoadRunner::load_of(ways.front());
        auto way = TRY(runner.run(job));
        ways.push_back(std::move(way));
    }
    return ways;
}

}  // namespace pathproof::scenario
