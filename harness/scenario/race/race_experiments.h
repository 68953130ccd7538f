// The experiments of dns-race (same 5-tuple, late answer) and snat-race. Measuring and concluding
// are apart: an experiment runs cells on a nat-box bench and hands over what was measured in each;
// race_conclude.cc makes verdicts and sentences of these plain values.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "harness/join/pairs.h"
#include "harness/lab/snat.h"
#include "harness/scenario/concluded.h"
#include "harness/verdict/result.h"

namespace pathproof::scenario {

enum class Race { kSameTuple, kSnatCollision, kLateAnswer };
inline constexpr Race kRaces[] = {Race::kSameTuple, Race::kSnatCollision, Race::kLateAnswer};

// The DUT's drivers hand each packet up by itself, not in a list with others.
setting::Setting lists_of_one();

// A cell of a race's experiment: its way, setting and role.
struct RaceCell {
    std::string id;
    std::string label;  // in charts
    Race race = Race::kSameTuple;
    CellRole role = CellRole::kMatrix;
    std::string way;      // toggle
    std::string setting;  // toggle
    // Repeats the race's first cell after the cure was taken away.
    bool again = false;
    bool at_once = false;  // both halves leave at one instant, by two lcores
    lab::Snat snat = lab::Snat::kNone;
    std::chrono::milliseconds delay{0};  // of the server's answers
};

// A cell that was run at a load (race_load.h).
struct LoadValues {
    double asked = 0;      // pairs a second
    double sent = 0;       // that left, pairs a second
    double line_rate = 0;  // pairs a second that fill a link of the path; 0: no link has a speed
    unsigned cpus = 0;     // of the DUT's host
    double busy = 0;       // CPUs' worth of work there meanwhile
    double softirq = 0;    // of it, in software interrupts: the forwarding
    bool shares_cpus = false;    // the tester runs on the same CPUs
    std::uint64_t overruns = 0;  // of the listener to conntrack's events
    std::uint64_t undelivered =
        0;  // frames that a port of the tester on the DUT's machine took too late
    std::vector<std::string> disturbances;  // of the tester's lcores

    // Allows a hundredth less; beyond that the tester did not keep up.
    bool offered() const { return sent >= 0.99 * asked; }
};

// Values that were measured in a cell.
struct RaceValues {
    std::vector<std::string> objections;  // why it is no result; empty when it is one
    // Obstacles to the stimulus: somebody changed the steering, no ports were found.
    std::vector<std::string> hindrances;
    join::PairFindings found;
    std::uint64_t clash_resolve = 0;  // conntrack's counters, as growth over the run
    std::uint64_t insert_failed = 0;
    std::uint64_t drop = 0;
    std::uint64_t early_drop = 0;
    netfilter::TableSize table;  // after the run
    std::string untraced;        // why drop reasons are not known; empty when they are
    // Reason why the packets themselves did not report their drops; empty: they did.
    std::string not_followed;
    std::vector<std::string> outages;  // devices that had no link for a time
    std::int64_t answer_p50_ns = 0;    // from a query to its right answer
    std::int64_t skew_p50_ns = 0;      // between the two queries of a pair
    std::uint64_t late_departures = 0;
    std::uint64_t tester_lost = 0;
    unsigned attempts = 1;
    double offered = 0;              // pairs a second
    std::optional<LoadValues> load;  // nothing: not at a load
};

// Its timeline is of the first pair whose clash made a hidden entry, packet by packet and entry by entry.
using MeasuredCell = Measurement<RaceCell, RaceValues>;

// Verdict, cause, reason and measures of one cell.
verdict::Cell conclude(const RaceCell& what, const RaceValues& seen);
// Returns whether the cell shows its race: queries harmed by it, or clashes.
bool shows_race(const RaceCell& what, const RaceValues& seen);
// The whole scenario but for its title and duration. Cells that were not run are missing.
verdict::ScenarioResult conclude(const std::vector<MeasuredCell>& cells);

class NatBench;
struct Context;

// Two packets of one 5-tuple, by two CPUs, by a VXLAN carrier with two outer ports, by list receive
// on one CPU. Each measures those of its cells that were asked for.
Result<std::vector<MeasuredCell>> run_same_tuple(Context& context, NatBench& bench);
// The exposure map of each way in which the first races (race_map.h).
struct RaceMap;
Result<RaceMap> map_same_tuple(Context& context, NatBench& bench);
// Two clients, one source port, one server behind MASQUERADE.
Result<std::vector<MeasuredCell>> run_snat_collision(Context& context, NatBench& bench);
// Same-tuple pairs whose server answers later than a resolved clash lives.
Result<std::vector<MeasuredCell>> run_late_answer(Context& context, NatBench& bench);

// The cells of each, in the order in which they run.
std::vector<RaceCell> same_tuple_cells();
std::vector<RaceCell> snat_collision_cells();
std::vector<RaceCell> late_answer_cells();
std::vector<RaceCell> map_cells();

struct Scenario;
Scenario dns_race_scenario();
Scenario snat_race_scenario();

}  // namespace pathproof::scenario
