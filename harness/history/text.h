// A history for people and for scripts.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "harness/compare/compare.h"
#include "harness/history/trend.h"

namespace pathproof::history {

// A line a run, newest first; `all`: the runs that the history has.
std::string list_text(const std::vector<RunRow>& runs, std::int64_t all);
std::string show_text(const RunRow& run, const std::vector<CellRow>& cells,
                      const std::vector<FigureRow>& figures);

// A cell that fails now, with what is not the same in the environments of its last good and its first bad run.
struct Regression {
    const CellTrend* cell;
    std::vector<compare::Difference> differences;
};
// `every`: all figures and cells, not only those of which there is something to say.
std::string trend_text(const Trends& trends, const std::vector<Regression>& regressions,
                       bool every);

nlohmann::ordered_json to_json(const RunRow& run);
nlohmann::ordered_json to_json(const RunRow& run, const std::vector<CellRow>& cells,
                               const std::vector<FigureRow>& figures);
nlohmann::ordered_json to_json(const Trends& trends, const std::vector<Regression>& regressions);

// Comma-separated values (RFC 4180): a line for each cell and each figure of a run, behind csv_head().
std::string csv_head();
std::string csv_lines(const RunRow& run, const std::vector<CellRow>& cells,
                      const std::vector<FigureRow>& figures);

}  // namespace pathproof::history
