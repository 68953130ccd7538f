#include "harness/history/trend.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "harness/verdict/prices.h"

namespace pathproof::history {
namespace {

constexpr double kTrendLevel = 0.05;  // of all figures together

double median_in(const std::vector<double>& values, std::size_t from, std::size_t end) {
    return verdict::median_of({values.begin() + static_cast<std::ptrdiff_t>(from),
                               values.begin() + static_cast<std::ptrdiff_t>(end)})
        .value;
}

// K of Pettitt's test, and the number of values before the change: max |2 * (sum of ranks) - t (n + 1)|, ties as midranks.
struct Pettitt {
    double p = 1;
    std::size_t at = 0;
};

Pettitt pettitt(const std::vector<double>& values, std::size_t from, std::size_t end) {
    const std::vector<double> part(values.begin() + static_cast<std::ptrdiff_t>(from),
                                   values.begin() + static_cast<std::ptrdiff_t>(end));
    std::vector<double> sorted = part;
    std::sort(sorted.begin(), sorted.end());
    const auto n = static_cast<double>(part.size());
    double sum = 0;  // twice the ranks
    double largest = 0;
    Pettitt found;
    for (std::size_t at = 0; at + 1 < part.size(); ++at) {
        const auto [low, high] = std::equal_range(sorted.begin(), sorted.end(), part[at]);
        sum += static_cast<double>((low - sorted.begin()) + 1 + (high - sorted.begin()));
        const double u = std::abs(sum - static_cast<double>(at + 1) * (n + 1));
        if (u > largest) {
            largest = u;
            found.at = from + at + 1;
        }
    }
    found.p = std::min(1.0, 2 * std::exp(-6 * largest * largest / (n * n * n + n * n)));
    return found;
}

void search_changes(const std::vector<double>& values, std::size_t from, std::size_t end,
                    double level, std::vector<ChangePoint>& found) {
    constexpr std::size_t kFewest = 6;
    if (end - from < kFewest) {
        return;
    }
    const Pettitt change = pettitt(values, from, end);
    if (change.p > level) {
        return;
    }
    search_changes(values, from, change.at, level, found);
    found.push_back({.at = change.at, .p = change.p});
    search_changes(values, change.at, end, level, found);
}

bool is_failure(const std::string& verdict) {
    return verdict == "FAIL" || verdict == "UNSTABLE";
}

void count_flips(const std::vector<bool>& unstable, CellTrend& trend) {
    for (std::size_t at = 1; at < trend.runs.size(); ++at) {
        const RunRow& was = *trend.runs[at - 1];
        const RunRow& is = *trend.runs[at];
        if (was.environment != is.environment || was.version != is.version) {
            continue;
        }
        ++trend.pairs;
        trend.flips += trend.failed[at] != trend.failed[at - 1] || unstable[at] ? 1 : 0;
    }
}

void find_first_bad(CellTrend& trend) {
    for (std::size_t at = trend.runs.size(); at-- > 0;) {
        if (!trend.failed[at]) {
            trend.last_good = trend.first_bad != nullptr ? trend.runs[at] : nullptr;
            return;
        }
        trend.first_bad = trend.runs[at];
    }
}

// Order of the runs, and which there are.
using RunsByKey = std::unordered_map<std::int64_t, const RunRow*>;

// The values of a cell or figure, by line and from the oldest to the newest.
template <typename Value>
std::map<std::string, std::vector<std::pair<const RunRow*, Value>>> by_line(
    const std::vector<std::pair<std::int64_t, Value>>& values, const RunsByKey& runs) {
    std::map<std::string, std::vector<std::pair<const RunRow*, Value>>> lines;
    for (const auto& [key, value] : values) {
        if (const auto run = runs.find(key); run != runs.end()) {
            lines[line_of(*run->second)].emplace_back(run->second, value);
        }
    }
    for (auto& [line, all] : lines) {
        std::sort(all.begin(), all.end(), [](const auto& one, const auto& other) {
            return std::tie(one.first->started_at, one.first->key) <
                   std::tie(other.first->started_at, other.first->key);
        });
    }
    return lines;
}

}  // namespace

std::vector<ChangePoint> change_points(const std::vector<double>& values, double level) {
    std::vector<ChangePoint> found;
    search_changes(values, 0, values.size(), level, found);
    for (std::size_t at = 0; at < found.size(); ++at) {
        const std::size_t from = at == 0 ? 0 : found[at - 1].at;
        const std::size_t end = at + 1 == found.size() ? values.size() : found[at + 1].at;
        found[at].before = median_in(values, from, found[at].at);
        found[at].after = median_in(values, found[at].at, end);
    }
    return found;
}

std::string line_of(const RunRow& run) {
    return run.lab + ", " + run.evidence_class + (run.device.empty() ? "" : ", " + run.device);
}

Result<Trends> trends_of(Store& store, const std::vector<RunRow>& runs, const Filter& filter,
                         const std::vector<std::string>& patterns) {
    Trends trends{.figures = {}, .cells = {}, .runs = runs.size()};
    RunsByKey by_key;
    for (const RunRow& run : runs) {
        by_key.emplace(run.key, &run);
    }
    const auto figures = TRY(store.figure_series(patterns, filter));
    for (const auto& [id, values] : figures) {
        for (const auto& [line, all] : by_line(values, by_key)) {
            FigureTrend& trend = trends.figures.emplace_back();
            trend.id = id;
            trend.line = line;
            trend.unit = all.back().second.unit;
            for (const auto& [run, figure] : all) {
                if (figure.unit == trend.unit) {
                    trend.runs.push_back(run);
                    trend.values.push_back(figure.value);
                }
            }
        }
    }
    const double level =
        kTrendLevel / static_cast<double>(std::max<std::size_t>(trends.figures.size(), 1));
    for (FigureTrend& trend : trends.figures) {
        trend.changes = change_points(trend.values, level);
    }
    const auto cells = TRY(store.cell_series(patterns, filter));
    for (const auto& [id, verdicts] : cells) {
        for (const auto& [line, all] : by_line(verdicts, by_key)) {
            CellTrend trend{.id = id, .line = line};
            std::vector<bool> unstable;
            for (const auto& [run, cell] : all) {
                if (cell.verdict == "PASS" || is_failure(cell.verdict)) {
                    trend.runs.push_back(run);
                    trend.failed.push_back(is_failure(cell.verdict));
                    trend.causes.push_back(cell.cause);
                    unstable.push_back(cell.verdict == "UNSTABLE");
                }
            }
            count_flips(unstable, trend);
            find_first_bad(trend);
            if (!trend.runs.empty()) {
                trends.cells.push_back(std::move(trend));
            }
        }
    }
    return trends;
}

}  // namespace pathproof::history
