// Changes that `compare` finds and accuses, on real trials: pairs of runs of one DUT, and of it with a change
// (record-trials), of which hundreds of pairs are made by resampling blocks.
#include <fmt/format.h>

#include <boost/test/unit_test.hpp>
#include <fstream>
#include <map>
#include <random>
#include <sstream>

#include "harness/compare/compare.h"

using namespace pathproof;
using namespace pathproof::compare;

namespace {

using Trials = std::vector<double>;

// One pair: two runs of the DUT as it is, and one with the change.
struct Recorded {
    Trials a, again, changed;
};
using Figures = std::map<std::string, std::vector<Recorded>>;

Trials& trials_of(Recorded& pair, const std::string& run) {
    if (run == "a") {
        return pair.a;
    }
    return run == "again" ? pair.again : pair.changed;
}

Figures recorded() {
    Figures figures;
    std::ifstream file(TRIALS_CSV);
    std::string line;
    std::getline(file, line);
    while (std::getline(file, line)) {
        std::istringstream fields(line);
        std::string figure, pair, run, trial, value;
        std::getline(fields, figure, ',');
        std::getline(fields, pair, ',');
        std::getline(fields, run, ',');
        std::getline(fields, trial, ',');
        std::getline(fields, value);
        auto& pairs = figures[figure];
        pairs.resize(std::max(pairs.size(), std::stoul(pair) + 1));
        trials_of(pairs[std::stoul(pair)], run).push_back(std::stod(value));
    }
    return figures;
}

// Draws as many trials as the run has, in blocks of neighbours from anywhere in it (circular block
// bootstrap: D. N. Politis, J. P. Romano, 1992), so that conditions that last for a while stay
// together.
Trials resampled(const Trials& run, std::mt19937_64& random) {
    constexpr std::size_t kBlock = 2;
    Trials made;
    while (made.size() < run.size()) {
        const std::size_t from = random() % run.size();
        for (std::size_t at = 0; at < kBlock && made.size() < run.size(); ++at) {
            made.push_back(run[(from + at) % run.size()]);
        }
    }
    return made;
}

verdict::RunResult run_of(const Trials& trials) {
    verdict::Cell cell{.id = "c", .verdict = verdict::CellVerdict::kPass};
    cell.measures = {
        {.name = "f", .label = "f", .value = trials.front(), .unit = "u", .trials = trials}};
    verdict::ScenarioResult scenario{.id = "s"};
    scenario.cells = {cell};
    return {.scenarios = {scenario}};
}

// The noise floor that a laboratory has: of five runs of the DUT as it is, none of which is of the pair that is judged.
Noise noise_without(const std::vector<Recorded>& pairs, std::size_t judged,
                    std::mt19937_64& random) {
    std::vector<verdict::RunResult> runs;
    while (runs.size() < 5) {
        const std::size_t other = random() % pairs.size();
        if (other != judged) {
            runs.push_back(run_of(random() % 2 == 0 ? pairs[other].a : pairs[other].again));
        }
    }
    std::vector<const verdict::RunResult*> all;
    for (const verdict::RunResult& run : runs) {
        all.push_back(&run);
    }
    return noise_of(all);
}

struct Power {
    double accused = 0;     // share of pairs of one DUT that were called different
    double found = 0;       // share of pairs with the change that were
    double change = 0;      // median share by which the change moves the figure
    double detectable = 0;  // median of the smallest share that would have been found
};

Power power_of(const std::vector<Recorded>& pairs, std::mt19937_64& random) {
    constexpr int kPairs = 200;
    Power power;
    Trials changes;
    Trials smallest;
    for (int round = 0; round < kPairs; ++round) {
        const std::size_t at = random() % pairs.size();
        const Noise noise = noise_without(pairs, at, random);
        const auto before = run_of(resampled(pairs[at].a, random));
        const auto same =
            compare::compare(before, run_of(resampled(pairs[at].again, random)), noise);
        const auto other =
            compare::compare(before, run_of(resampled(pairs[at].changed, random)), noise);
        power.accused += same.figures.empty() ? 0 : 1.0 / kPairs;
        power.found += other.figures.empty() ? 0 : 1.0 / kPairs;
        const auto shift_of = [](const Comparison& all) {
            return all.figures.empty() ? *all.unchanged[0].shift : *all.figures[0].shift;
        };
        const double level = before.scenarios[0].cells[0].measures[0].value.number();
        changes.push_back(shift_of(other).difference / level);
        smallest.push_back(shift_of(same).detectable.value_or(0) / level);
    }
    power.change = verdict::median_of(changes).value;
    power.detectable = verdict::median_of(smallest).value;
    return power;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(power)

// At least 95 % of the changes are found and at most 5 % of the equal pairs accused; where the noise hides the change, the difference that
// would have been found is larger than it, and is printed.
BOOST_AUTO_TEST_CASE(real_changes_are_found_and_equal_runs_are_not_accused) {
    const Figures figures = recorded();
    BOOST_REQUIRE(figures.size() == 3u);
    std::mt19937_64 random(42);
    for (const auto& [name, pairs] : figures) {
        BOOST_TEST(pairs.size() >= 20u);
        const Power power = power_of(pairs, random);
        BOOST_TEST_MESSAGE(
            fmt::format("{}: {} real pairs; change {:.2f} %; found {:.1f} %, equal pairs accused "
                        "{:.1f} %; detectable {:.2f} %",
                        name, pairs.size(), 100 * power.change, 100 * power.found,
                        100 * power.accused, 100 * power.detectable));
        BOOST_TEST(power.accused <= 0.05, name);
        if (std::abs(power.change) >= power.detectable) {
            BOOST_TEST(power.found >= 0.95, name);
        } else {
            BOOST_TEST(name != "received_per_second", name << ": the noise hides the change");
        }
    }
}

BOOST_AUTO_TEST_SUITE_END()
