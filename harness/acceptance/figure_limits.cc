#include "harness/acceptance/figure_limits.h"

#include <fmt/ranges.h>
#include <fnmatch.h>

#include <algorithm>

#include "dataplane/base/join_each.h"
#include "dataplane/base/plural.h"
#include "dataplane/base/suggestion.h"
#include "harness/acceptance/units.h"
#include "harness/profile/toml_reader.h"

namespace pathproof::acceptance {
namespace {

using profile::AcceptanceLimit;
using profile::Decision;
using verdict::Cell;
using verdict::CellVerdict;
using verdict::Interval;
using verdict::Measure;

constexpr const char* kLimitsSchema = "pathproof-limits/1";

bool matches(const std::string& pattern, const std::string& cell) {
    return fnmatch(pattern.c_str(), cell.c_str(), 0) == 0;
}

Status check_figure(const AcceptanceLimit& limit, const KnownScenario& scenario) {
    const auto figure =
        std::ranges::find(scenario.figures, limit.figure, &KnownScenario::Figure::name);
    if (scenario.figures.empty()) {
        return {};
    }
    if (figure == scenario.figures.end()) {
        std::vector<std::string> names;
        std::ranges::transform(scenario.figures, std::back_inserter(names),
                               &KnownScenario::Figure::name);
        return fail(ErrorCode::kBadInput, "{}: clause {}: {} has no figure '{}'{}", limit.where,
                    limit.clause, limit.scenario, limit.figure, choices(limit.figure, names));
    }
    if (!factor(figure->unit, limit.unit)) {
        return fail(ErrorCode::kBadInput,
                    "{}: clause {}: {} is told in {}, which is no amount of {}", limit.where,
                    limit.clause, limit.figure,
                    figure->unit.empty() ? "counts, without a unit" : figure->unit,
                    limit.unit.empty() ? "counts: give its unit" : limit.unit);
    }
    return {};
}

bool is_inside(const AcceptanceLimit& limit, double value) {
    if (limit.exactly) {
        return value == *limit.exactly;
    }
    return (!limit.at_least || value >= *limit.at_least) &&
           (!limit.at_most || value <= *limit.at_most);
}

// A count is known exactly: it is its own interval.
std::optional<Interval> interval_of(const Measure& measure) {
    const auto& held = measure.value.kinds();
    if (measure.interval) {
        return measure.interval;
    }
    return std::holds_alternative<std::uint64_t>(held) || std::holds_alternative<std::int64_t>(held)
               ? std::optional(Interval{measure.value.number(), measure.value.number()})
               : std::nullopt;
}

bool is_limited_by_tester(const Cell& cell) {
    return std::ranges::any_of(cell.measures, [](const Measure& measure) {
        return measure.name == verdict::kLimitedBy && measure.value.text() == "tester";
    });
}

// The figure in the unit of the limit.
Measure in_unit(Measure measure, double by) {
    if (by != 1) {
        measure.value = measure.value.number() * by;
        if (measure.interval) {
            measure.interval = Interval{measure.interval->low * by, measure.interval->high * by};
        }
    }
    return measure;
}

std::string told(const Measure& figure, const Interval& interval) {
    return interval.low == interval.high ? fmt::format("{:g}", figure.value.number())
                                         : fmt::format("{:g} ({:g} to {:g})", figure.value.number(),
                                                       interval.low, interval.high);
}

// Puts a verdict into the cell of a figure that was measured, in the unit of the limit.
void decide(const AcceptanceLimit& limit, const Measure& figure, bool by_tester, Cell& cell) {
    const auto interval = interval_of(figure);
    if (!interval) {
        cell.verdict = CellVerdict::kInconclusive;
        cell.reason = fmt::format("{} has no interval, and nothing is held against a limit without",
                                  limit.figure);
        return;
    }
    const bool value_inside = is_inside(limit, figure.value.number());
    const bool all_inside =
        is_inside(limit, interval->low) && is_inside(limit, interval->high) && value_inside;
    const bool met = limit.decision == Decision::kValue ? value_inside : all_inside;
    if (met) {
        cell.verdict = CellVerdict::kPass;
        return;
    }
    if (by_tester) {
        cell.verdict = CellVerdict::kInconclusive;
        cell.reason = fmt::format("{}, and the tester was the limit: nothing is said of the device",
                                  told(figure, *interval));
        return;
    }
    cell.verdict = CellVerdict::kFail;
    cell.cause = "limit-not-met";
    cell.reason = fmt::format("{} is not {}{}", told(figure, *interval), condition_text(limit),
                              value_inside ? ": the value is, its interval is not" : "");
}

Cell head_of(const AcceptanceLimit& limit, const std::string& cell) {
    return {
        .id = as_word(fmt::format("{}.{}.{}.{}", limit.clause, limit.scenario, cell, limit.figure)),
        .toggles = {
            {"clause", limit.clause},
            {"figure", fmt::format("{}/{}/{}", limit.scenario, cell, limit.figure)},
            {"limit", condition_text(limit)},
            {"decision", limit.decision == Decision::kValue ? "the value alone"
                                                            : "the whole 95 % interval inside"}}};
}

Cell judge_cell(const AcceptanceLimit& limit, const Cell& seen) {
    Cell cell = head_of(limit, seen.id);
    const auto figure = std::ranges::find(seen.measures, limit.figure, &Measure::name);
    cell.verdict = CellVerdict::kInconclusive;
    if (seen.verdict == CellVerdict::kSkip) {
        cell.verdict = CellVerdict::kSkip;
        cell.reason = "not tested: " + seen.reason;
        return cell;
    }
    if (figure == seen.measures.end() || !figure->value.is_number()) {
        const bool unmeasured = figure != seen.measures.end() || !fails(seen.verdict);
        cell.reason =
            fmt::format("not tested: {} has no {}{}", seen.id, limit.figure,
                        unmeasured && !seen.reason.empty() ? " (" + seen.reason + ")" : "");
        return cell;
    }
    const auto by = factor(figure->unit, limit.unit);
    if (!by) {
        cell.reason = fmt::format("not tested: {} is told in '{}', the limit in '{}'", limit.figure,
                                  figure->unit, limit.unit);
        return cell;
    }
    Measure converted = in_unit(*figure, *by);
    converted.unit = limit.unit;
    decide(limit, converted, is_limited_by_tester(seen), cell);
    converted.note = limit.text;
    cell.measures.push_back(std::move(converted));
    return cell;
}

}  // namespace

std::string as_word(std::string text) {
    for (char& c : text) {
        const bool fits = std::isalnum(static_cast<unsigned char>(c)) != 0 ||
                          std::string_view("._+-").find(c) != std::string_view::npos;
        c = fits ? c : '-';
    }
    return text;
}

Result<Limits> parse_limits(const std::string& text, const std::string& file) {
    return profile::parse_toml<Limits>(
        text, file, [&](profile::TomlReader& reader, const toml::table& root) {
            reader.allow_only(root, {"schema", "title", "limit"});
            Limits limits{.source = file};
            if (const std::string schema = reader.required_text(root, "schema");
                !schema.empty() && schema != kLimitsSchema) {
                reader.complain(root.get("schema")->source(), "schema '{}' is not {}", schema,
                                kLimitsSchema);
            }
            limits.title = reader.optional_text(root, "title");
            limits.limits = reader.acceptance(root, "limit");
            if (limits.limits.empty()) {
                reader.complain(root.source(), "there is no [[limit]]");
            }
            return limits;
        });
}

Result<Limits> read_limits(const std::string& file) {
    const auto text = TRY(profile::read_text(file, "file of limits"));
    return parse_limits(text, file);
}

Status check(const Limits& limits, const std::vector<KnownScenario>& known) {
    for (const AcceptanceLimit& limit : limits.limits) {
        const auto scenario = std::ranges::find(known, limit.scenario, &KnownScenario::id);
        if (scenario == known.end()) {
            std::vector<std::string> ids;
            std::ranges::transform(known, std::back_inserter(ids), &KnownScenario::id);
            return fail(ErrorCode::kBadInput, "{}: clause {}: there is no scenario '{}'{}",
                        limit.where, limit.clause, limit.scenario, choices(limit.scenario, ids));
        }
        const auto& cells = scenario->cells;
        if (!cells.empty() && std::ranges::none_of(cells, [&](const std::string& cell) {
                return matches(limit.cells, cell);
            })) {
            return fail(ErrorCode::kBadInput,
                        "{}: clause {}: no cell of {} matches '{}'; there are: {}", limit.where,
                        limit.clause, limit.scenario, limit.cells, fmt::join(cells, ", "));
        }
        TRY(check_figure(limit, *scenario));
    }
    return {};
}

verdict::ScenarioResult judge(const Limits& limits,
                              const std::vector<verdict::ScenarioResult>& scenarios) {
    verdict::ScenarioResult result{
        .id = kLimits,
        .title = limits.title.empty() ? "Acceptance limits" : limits.title,
        .question = fmt::format("Is every figure within its limit ({})?", limits.source),
        .area = verdict::Area::kAcceptance,
        .verdict = verdict::ScenarioVerdict::kMeasured};
    for (const AcceptanceLimit& limit : limits.limits) {
        const auto scenario =
            std::ranges::find(scenarios, limit.scenario, &verdict::ScenarioResult::id);
        std::size_t found = 0;
        if (scenario != scenarios.end()) {
            for (const Cell& seen : all_cells(*scenario)) {
                if (matches(limit.cells, seen.id)) {
                    result.cells.push_back(judge_cell(limit, seen));
                    ++found;
                }
            }
        }
        if (found == 0) {
            Cell cell = head_of(limit, limit.cells);
            cell.verdict = CellVerdict::kInconclusive;
            cell.reason =
                fmt::format("not tested: this run has no {}/{}", limit.scenario, limit.cells);
            result.cells.push_back(std::move(cell));
        }
    }
    const auto count = [&](auto is) {
        return static_cast<std::size_t>(std::ranges::count_if(
            result.cells, [&](const Cell& cell) { return is(cell.verdict); }));
    };
    const std::size_t met = count([](CellVerdict each) { return each == CellVerdict::kPass; });
    const std::size_t failed = count([](CellVerdict each) { return verdict::fails(each); });
    result.headline = fmt::format("{} of {} met, {} not met, {} not tested", met,
                                  plural(result.cells.size(), "limit"), failed,
                                  result.cells.size() - met - failed);
    std::vector<std::string> broken;
    for (const Cell& cell : result.cells) {
        if (verdict::fails(cell.verdict)) {
            broken.push_back(
                fmt::format("clause {}: {}", cell.toggles.front().second, cell.reason));
        }
    }
    if (!broken.empty()) {
        result.headline += fmt::format(" ({})", fmt::join(broken, "; "));
    }
    result.explanation.push_back(
        "Decision rules (ILAC-G8:09/2019): 'the value alone' is simple acceptance, with no guard "
        "band; "
        "'the whole 95 % interval inside' meets a limit only where both ends of the interval do. A "
        "count "
        "is exact. Where the tester was the limit, a figure says what the device does at least.");
    return result;
}

}  // namespace pathproof::acceptance
