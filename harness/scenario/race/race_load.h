// --load of dns-race and snat-race: the highest load that the DUT carries whole, or one that was asked for; and
// what becomes of the races there: pairs a second, how many raced, how many were harmed, by what, with the losses
// of an overload told from the race's. Plain values: NatBench measures, race_load_conclude.cc makes sentences.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/scenario/race/nat_bench.h"
#include "harness/scenario/race/race_experiments.h"
#include "harness/scenario/scenario.h"

namespace pathproof::scenario {

// A load as the user types it: "max", pairs a second ("50000", "50k", "1.5M"), or a share of the
// links' rate ("80%").
struct AskedLoad {
    enum class Kind : std::uint8_t { kMost, kRate, kShare } kind = Kind::kMost;
    double value = 0;  // pairs a second; a share, 0 to 1
};
// kBadInput: names the text and what may be typed.
Result<AskedLoad> parse_load(const std::string& text);

OptionRow load_option();

// A way of racing at a load.
struct LoadWay {
    RaceCell what;                     // of the way; its cells have ids behind its own
    std::optional<LoadSearch> search;  // nothing: the load was given
    std::string hindrance;             // why nothing was measured at any load; empty: something was
    std::vector<MeasuredCell> cells;   // the first at the load, the next beyond it
    unsigned reduced = 0;  // so often less than was found, or asked for, did for a whole cell
    std::string
        beyond_skipped;  // why no more than the highest was sent; empty: it was, or was not to be
};

struct RaceLoad {
    AskedLoad asked;
    std::vector<LoadWay> ways;
};

// Finds the load of a way and measures its cells.
class LoadRunner {
  public:
    LoadRunner(Context& context, NatBench& bench, const AskedLoad& asked)
        : context_(context), bench_(bench), asked_(asked) {}

    struct Job {
        RaceCell what;
        pairs::PairPlan plan;
        unsigned flows = 1;                         // that a pair makes in conntrack's table
        std::uint64_t most_pairs = 1'000'000;       // of a cell
        std::optional<double> load = std::nullopt;  // another way's; nothing: its own is found
        double most_load = 1e6;                     // pairs a second
        bool beyond = false;                        // more than is carried is sent too
    };
    Result<LoadWay> run(const Job& job);
    // The load of a way's first cell, for others at the same; nothing: it has none.
    static std::optional<double> load_of(const LoadWay& way);

  private:
    Result<double> first_load(const Job& job, LoadWay& way);
    Result<MeasuredCell> cell(const Job& job, const std::string& suffix, double load);

    Context& context_;
    NatBench& bench_;
    const AskedLoad asked_;
};

// Returns whether all of a cell's load was offered and only the race lost or delayed any of it.
bool carried_whole(const RaceCell& what, const RaceValues& seen);

Result<std::vector<LoadWay>> load_same_tuple(Context& context, NatBench& bench, LoadRunner& runner);
Result<std::vector<LoadWay>> load_late_answer(Context& context, NatBench& bench, LoadRunner& runner,
                                              std::optional<double> load);
Result<std::vector<LoadWay>> load_snat_collision(Context& context, NatBench& bench,
                                                 LoadRunner& runner);

Result<verdict::ScenarioResult> run_dns_race_at_load(Context& context);
Result<verdict::ScenarioResult> run_snat_race_at_load(Context& context);
// Figures of one cell at a load, beside those of every race's cell.
void add_load_measures(const RaceCell& what, const RaceValues& seen, verdict::Cell& cell);
// All but id, title, question and duration.
verdict::ScenarioResult conclude(const RaceLoad& load);

}  // namespace pathproof::scenario
