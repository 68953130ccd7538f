#include "harness/bench/experiment.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace pathproof::bench {
namespace {

using nlohmann::json;

const LaneResult* find_lane(const std::vector<LaneResult>& lanes, const std::string& id) {
    const auto found = std::find_if(lanes.begin(), lanes.end(),
                                    [&](const LaneResult& lane) { return lane.id == id; });
    return found == lanes.end() ? nullptr : &*found;
}

std::string failure_text(const FailedRun& failure) {
    return failure.round == 0 ? "the warm-up: " + failure.why
                              : fmt::format("round {}: {}", failure.round, failure.why);
}

std::string why_nothing(const LaneResult& lane) {
    if (!lane.absent.empty()) {
        return lane.absent;
    }
    const std::string failed =
        lane.failures.empty() ? ""
                              : fmt::format("failed {} times, last in {}", lane.failures.size(),
                                            failure_text(lane.failures.back()));
    if (lane.readings.empty()) {
        return "not measured: " + (failed.empty() ? "no round was run" : failed);
    }
    return fmt::format("not measured: all {} rounds were rejected (last: {}){}",
                       lane.readings.size(), lane.readings.back().objection,
                       failed.empty() ? "" : "; " + failed);
}

bool has_no_figures(const LaneResult& lane) {
    return !lane.absent.empty() || lane.readings.size() == lane.rejected();
}

std::string number(double value, int decimals) {
    return fmt::format("{:.{}f}", value, decimals);
}

std::string with_unit(double value, int decimals, const std::string& unit) {
    return number(value, decimals) + (unit.empty() ? "" : " " + unit);
}

std::string cell(const LaneResult& lane, const Column& column) {
    const auto spread = spread_of(lane.values(column.figure));
    if (!spread) {
        return "-";
    }
    if (spread->count == 1 || spread->low == spread->high) {
        return with_unit(spread->median, column.decimals, column.unit);
    }
    return fmt::format("{} ({}..{})", with_unit(spread->median, column.decimals, column.unit),
                       number(spread->low, column.decimals), number(spread->high, column.decimals));
}

std::string rounds_text(const LaneResult& lane) {
    const std::size_t used = lane.readings.size() - lane.rejected();
    if (lane.from_contended) {
        return fmt::format("{} contended", used);
    }
    std::string others = lane.rejected() == 0 ? "" : fmt::format("+{} rejected", lane.rejected());
    if (!lane.failures.empty()) {
        others += fmt::format("{}{} failed", others.empty() ? "" : ", ", lane.failures.size());
    }
    return fmt::format("{}{}", used, others.empty() ? "" : " (" + others + ")");
}

using Row = std::vector<std::string>;

// Columns as wide as their widest cell, two spaces between them.
std::string aligned(const std::vector<Row>& rows) {
    std::vector<std::size_t> widths;
    for (const Row& row : rows) {
        widths.resize(std::max(widths.size(), row.size()));
        for (std::size_t i = 0; i < row.size(); ++i) {
            widths[i] = std::max(widths[i], row[i].size());
        }
    }
    std::string text;
    for (const Row& row : rows) {
        std::string line = " ";
        for (std::size_t i = 0; i < row.size(); ++i) {
            line += fmt::format(" {:<{}} ", row[i], widths[i]);
        }
        text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
    }
    return text;
}

// Returns remarks that a lane's row of the table has no room for; one line each, or nothing.
std::string lane_remarks(const LaneResult& lane) {
    if (has_no_figures(lane)) {
        return fmt::format("  {}: {}\n", lane.title, why_nothing(lane));
    }
    std::string lines;
    for (const FailedRun& failure : lane.failures) {
        lines += fmt::format("  {}: failed in {}\n", lane.title, failure_text(failure));
    }
    return lines;
}

std::string lanes_text(const Experiment& experiment) {
    std::vector<Row> rows{{"lane", "rounds"}};
    for (const Column& column : experiment.columns) {
        rows.front().push_back(column.label);
    }
    std::string remarks;
    for (const LaneResult& lane : experiment.lanes) {
        remarks += lane_remarks(lane);
        if (has_no_figures(lane)) {
            continue;
        }
        Row row{lane.title, rounds_text(lane)};
        for (const Column& column : experiment.columns) {
            row.push_back(cell(lane, column));
        }
        rows.push_back(std::move(row));
    }
    return aligned(rows) + remarks;
}

std::string finding_text(const Finding& finding) {
    std::string line = "  " + finding.text + ": ";
    if (!finding.value) {
        return line + finding.note + "\n";
    }
    line += with_unit(*finding.value, finding.decimals, finding.unit);
    if (finding.low && finding.high) {
        line += fmt::format(" [{}, {}]", number(*finding.low, finding.decimals),
                            number(*finding.high, finding.decimals));
    }
    if (!finding.asked.empty()) {
        line += "  (asked for: " + finding.asked + ")";
    }
    if (!finding.note.empty()) {
        line += "  " + finding.note;
    }
    return line + "\n";
}

std::string experiment_text(const Experiment& experiment) {
    std::string text = fmt::format("\n{}: {}\n", experiment.id, experiment.title);
    for (const auto& [what, value] : experiment.conditions) {
        text += fmt::format("  {}: {}\n", what, value);
    }
    text += lanes_text(experiment);
    for (const Finding& finding : experiment.findings) {
        text += finding_text(finding);
    }
    for (const Table& table : experiment.tables) {
        std::vector<Row> rows{table.heads};
        rows.insert(rows.end(), table.rows.begin(), table.rows.end());
        text += fmt::format("  {}:\n", table.title) + aligned(rows);
    }
    for (const std::string& note : experiment.notes) {
        text += "  " + note + "\n";
    }
    return text;
}

std::string fact_of(const BenchResult& result, const std::string& group, const std::string& name) {
    for (const verdict::FactGroup& facts : result.environment) {
        for (const verdict::Fact& fact : facts.facts) {
            if (facts.title == group && fact.name == name) {
                return fact.value;
            }
        }
    }
    return "unknown";
}

json optional_json(const std::optional<double>& value) {
    return value ? json(*value) : json();
}

json reading_json(const Reading& reading) {
    return {{"figures", reading.figures},
            {"steal_share", reading.contention.steal_share},
            {"foreign_share", reading.contention.foreign_share},
            {"waiting_share", optional_json(reading.contention.waiting_share)},
            {"rejected", reading.objection.empty() ? json() : json(reading.objection)}};
}

json lane_json(const LaneResult& lane, const std::vector<Column>& columns) {
    json medians = json::object();
    for (const Column& column : columns) {
        const auto spread = spread_of(lane.values(column.figure));
        medians[column.figure] = spread ? json{{"median", spread->median},
                                               {"low", spread->low},
                                               {"high", spread->high},
                                               {"rounds", spread->count},
                                               {"unit", column.unit}}
                                        : json();
    }
    json readings = json::array();
    for (const Reading& reading : lane.readings) {
        readings.push_back(reading_json(reading));
    }
    json failures = json::array();
    for (const FailedRun& failure : lane.failures) {
        failures.push_back({{"round", failure.round}, {"why", failure.why}});
    }
    return {{"id", lane.id},
            {"title", lane.title},
            {"note", lane.note},
            {"absent", lane.absent.empty() ? json() : json(lane.absent)},
            {"rejected_rounds", lane.rejected()},
            {"failures", failures},
            {"from_contended_rounds", lane.from_contended},
            {"figures", medians},
            {"readings", readings}};
}

json finding_json(const Finding& finding) {
    return {{"id", finding.id},
            {"text", finding.text},
            {"value", optional_json(finding.value)},
            {"low", optional_json(finding.low)},
            {"high", optional_json(finding.high)},
            {"unit", finding.unit},
            {"asked", finding.asked},
            {"note", finding.note}};
}

json experiment_json(const Experiment& experiment) {
    json tables = json::array();
    for (const Table& table : experiment.tables) {
        tables.push_back({{"id", table.id},
                          {"title", table.title},
                          {"heads", table.heads},
                          {"rows", table.rows}});
    }
    json conditions = json::object();
    for (const auto& [what, value] : experiment.conditions) {
        conditions[what] = value;
    }
    json lanes = json::array();
    for (const LaneResult& lane : experiment.lanes) {
        lanes.push_back(lane_json(lane, experiment.columns));
    }
    json findings = json::array();
    for (const Finding& finding : experiment.findings) {
        findings.push_back(finding_json(finding));
    }
    return {{"id", experiment.id},      {"title", experiment.title}, {"conditions", conditions},
            {"lanes", lanes},           {"findings", findings},      {"tables", tables},
            {"notes", experiment.notes}};
}

json environment_json(const std::vector<verdict::FactGroup>& groups) {
    json out = json::object();
    for (const verdict::FactGroup& group : groups) {
        for (const verdict::Fact& fact : group.facts) {
            const bool read = fact.status == verdict::Fact::Status::kRead;
            out[group.title][fact.name] = read ? json(fact.value) : json();
        }
    }
    return out;
}

}  // namespace

bool has_failures(const Experiment& experiment) {
    return std::any_of(experiment.lanes.begin(), experiment.lanes.end(),
                       [](const LaneResult& lane) { return !lane.failures.empty(); });
}

Finding compare(const std::vector<LaneResult>& lanes, const Comparison& comparison) {
    Finding finding{.id = comparison.id,
                    .text = comparison.text,
                    .value = {},
                    .unit = "x",
                    .asked = comparison.asked,
                    .note = {}};
    const LaneResult* above = find_lane(lanes, comparison.above);
    const LaneResult* below = find_lane(lanes, comparison.below);
    if (above == nullptr || below == nullptr) {
        finding.note = "not measured: no such lane";
        return finding;
    }
    const auto ratio = ratio_of(above->values(comparison.figure), below->values(comparison.figure));
    if (!ratio) {
        const bool above_lacks = above->values(comparison.figure).empty();
        finding.note = why_nothing(above_lacks ? *above : *below);
        return finding;
    }
    finding.value = ratio->value;
    finding.low = ratio->low;
    finding.high = ratio->high;
    if (above->from_contended || below->from_contended) {
        finding.note = "from contended rounds";
    }
    return finding;
}

Finding quote(const std::vector<LaneResult>& lanes, const Quotation& quotation) {
    Finding finding{.id = quotation.id,
                    .text = quotation.text,
                    .value = {},
                    .unit = quotation.column.unit,
                    .decimals = quotation.column.decimals,
                    .asked = quotation.asked,
                    .note = {}};
    const LaneResult* lane = find_lane(lanes, quotation.lane);
    const auto spread =
        lane == nullptr ? std::nullopt : spread_of(lane->values(quotation.column.figure));
    if (!spread) {
        finding.note = lane == nullptr ? "not measured: no such lane" : why_nothing(*lane);
        return finding;
    }
    finding.value = spread->median;
    return finding;
}

void to_json(json& out, const BenchResult& result) {
    json tools = json::object();
    for (const auto& [name, version] : result.tools) {
        tools[name] = version;
    }
    json experiments = json::array();
    for (const Experiment& experiment : result.experiments) {
        experiments.push_back(experiment_json(experiment));
    }
    out = {{"bench", result.name},
           {"command", result.command},
           {"version", result.version},
           {"started_at", result.started_at},
           {"tools", tools},
           {"environment", environment_json(result.environment)},
           {"experiments", experiments}};
}

std::string to_text(const BenchResult& result) {
    std::string text =
        fmt::format("pathproof {}, Linux {}, {}\n", result.version,
                    fact_of(result, "Kernel", "release"), fact_of(result, "CPU", "model"));
    for (const auto& [name, version] : result.tools) {
        text += fmt::format("{}: {}\n", name, version);
    }
    text +=
        "Medians of the rounds that nothing disturbed (smallest..largest), of all rounds in lanes "
        "marked 'contended'; ratios with their 95 % bootstrap interval.\n";
    for (const Experiment& experiment : result.experiments) {
        text += experiment_text(experiment);
    }
    return text + fmt::format("\nrepeat   {}\n", result.command);
}

}  // namespace pathproof::bench
