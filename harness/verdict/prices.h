// The price of a cure: what it does to failures that it is not for, and what it costs. Plain values,
// and what is concluded of them: nothing is said that was not measured.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "harness/verdict/result.h"

namespace pathproof::verdict {

// Key of a price table: its figures do not apply to another kernel, or to other programs.
struct PriceKey {
    std::string kernel;                                           // release
    std::string version;                                          // of pathproof
    std::vector<std::pair<std::string, std::string>> tools = {};  // name and version
    bool operator==(const PriceKey&) const = default;
};

// A cure, a probe or a load.
struct PriceRow {
    std::string id;
    std::string text;
};

enum class Effect { kCures, kDoesNotTouch, kBreaks, kNotMeasured, kDoesNotApply };

// A cure under which one probe was run.
struct PriceCell {
    std::string cure, probe;
    Effect effect = Effect::kNotMeasured;
    std::string without, with;  // what came of the probe; empty: it was not run
    std::string reason;         // of kNotMeasured and kDoesNotApply
};

enum class CostVerdict { kCosts, kSaves, kWithinNoise, kNotMeasured };

// One figure of a load with a cure and without it: medians of rounds that alternate, and the median of
// the rounds' differences, each with its 95 % interval.
struct Cost {
    std::string cure, load, figure;
    CostVerdict verdict = CostVerdict::kNotMeasured;
    Measure without, with, more;  // a null value was not measured; `more.note` says why
};

struct PriceTable {
    PriceKey key;
    std::string measured_at;  // ISO 8601, UTC
    double seconds = 0;
    std::vector<PriceRow> cures, probes, loads;
    std::vector<PriceCell> cells;
    std::vector<Cost> costs;
};

// "cures", "does not touch", "breaks", "not measured", "does not apply"
const char* name(Effect effect);
// "costs", "saves", "within noise", "not measured"
const char* name(CostVerdict verdict);

// Outcome of a probe.
struct ProbeOutcome {
    CellVerdict verdict = CellVerdict::kError;
    std::string reason;
    // The probe fails in a way that it does not look for; a cure under which it does so breaks it.
    bool otherwise = false;
};

// `without`: of all runs without the cure, before it and after it.
PriceCell conclude_effect(const std::string& cure, const std::string& probe,
                          const std::vector<ProbeOutcome>& without, const ProbeOutcome& with);

// A column of the costs.
struct CostFigure {
    std::string name, label, unit;
    bool more_is_better = false;
};

// The values of rounds, in pairs. `lacks`: why there are none; empty: they were measured.
Cost conclude_cost(const std::string& cure, const std::string& load, const CostFigure& figure,
                   const std::vector<double>& without, const std::vector<double>& with,
                   const std::string& lacks = "");

// The middle value, and the two between which the true median lies with 95 % or more (of the binomial
// distribution of 1/2). Fewer than 6 values have no such interval.
struct Median {
    double value = 0;
    std::optional<Interval> interval;
};
Median median_of(std::vector<double> values);

// Lists a cure's side effects, a clause each: first what it breaks, then what it costs. Empty: none
// was seen.
std::vector<std::string> side_effects(const PriceTable& table, const std::string& cure);
// Numbers of a cure's probes with and without a result, and of its cost figures with one.
struct PriceCount {
    std::size_t probes = 0;
    std::size_t without_result = 0;
    std::size_t figures = 0;
};
PriceCount count_measured(const PriceTable& table, const std::string& cure);

}  // namespace pathproof::verdict
