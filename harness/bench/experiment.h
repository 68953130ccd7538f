// Results of a benchmark, as plain values: lanes with their figures, and findings drawn from them.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "harness/bench/rounds.h"
#include "harness/verdict/result.h"

namespace pathproof::bench {

inline constexpr double kMebibyte = 1024.0 * 1024.0;

// A figure's column in the tables: its label, unit and number of decimals.
struct Column {
    std::string figure;  // as in Figures
    std::string label;
    std::string unit;  // "s", "MiB", "flows/s"; empty for counts
    int decimals = 0;
};

// One line under the table: what the lanes say together.
struct Finding {
    std::string id;
    std::string text;             // "conntrack -L / ours, wall time"
    std::optional<double> value;  // nothing: not measured
    std::optional<double> low;    // 95 % interval
    std::optional<double> high;
    std::string unit;
    int decimals = 2;
    std::string asked;  // what was wanted of it: "at least 1.5"; empty: it is only told
    std::string note;   // why it was not measured, or what it means
};

// Figures that were computed from those of the lanes; the title says so.
struct Table {
    std::string id;
    std::string title;
    std::vector<std::string> heads;
    std::vector<std::vector<std::string>> rows;
};

struct Experiment {
    std::string id;
    std::string title;
    std::vector<std::pair<std::string, std::string>> conditions;  // what was set, for people
    std::vector<Column> columns;
    std::vector<LaneResult> lanes;
    std::vector<Finding> findings;
    std::vector<Table> tables;
    // Facts that this machine cannot show, and those that the figures leave out.
    std::vector<std::string> notes;
};

// Returns whether a lane of the experiment failed in any round.
bool has_failures(const Experiment& experiment);

struct BenchResult {
    std::string name;     // "inspect", "dataplane", "all"
    std::string command;  // repeats it
    std::string version;
    std::string started_at;                                  // ISO 8601, UTC
    std::vector<std::pair<std::string, std::string>> tools;  // name -> version
    std::vector<verdict::FactGroup> environment;
    std::vector<Experiment> experiments;
};

// The ratio of one figure's medians in two lanes.
struct Comparison {
    std::string id;
    std::string text;
    std::string above;  // lane id
    std::string below;  // lane id
    std::string figure;
    std::string asked;
};
Finding compare(const std::vector<LaneResult>& lanes, const Comparison& comparison);

// The median of one figure of a lane as a finding.
struct Quotation {
    std::string id;
    std::string text;
    std::string lane;
    Column column;
    std::string asked;
};
Finding quote(const std::vector<LaneResult>& lanes, const Quotation& quotation);

// All readings too, rejected ones with their reason.
void to_json(nlohmann::json& out, const BenchResult& result);
std::string to_text(const BenchResult& result);

}  // namespace pathproof::bench
