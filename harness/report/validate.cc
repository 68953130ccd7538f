// The only place that knows the schema validator.
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validation_results.hpp>
#include <valijson/validator.hpp>

#include "harness/process/json_text.h"
#include "harness/report/embedded.h"
#include "harness/report/json.h"
#include "harness/verdict/prices.h"

namespace pathproof::report {
namespace {

using namespace verdict;
using valijson::adapters::NlohmannJsonAdapter;

// The deepest error is the one that names what is wrong; those above it say only that a child is.
std::string deepest(const valijson::ValidationResults& results) {
    const auto chosen = std::ranges::max_element(
        results, {}, [](const auto& error) { return error.context.size(); });
    return chosen == results.end()
               ? "it is not what the schema allows"
               : fmt::format("{}: {}", fmt::join(chosen->context, ""), chosen->description);
}

Status check_number(const std::string& where, double value) {
    if (!std::isfinite(value)) {
        return fail(ErrorCode::kFailed, "report: {} is not a finite number", where);
    }
    return {};
}

Status check_interval(const std::string& where, double value,
                      const std::optional<Interval>& interval) {
    if (const Status finite = check_number(where, value); !finite || !interval) {
        return finite;
    }
    for (double end : {interval->low, interval->high}) {
        TRY(check_number(fmt::format("the interval of {}", where), end));
    }
    const double slack = 1e-9 * std::max(1.0, std::abs(value));
    if (value < interval->low - slack || value > interval->high + slack) {
        return fail(
            ErrorCode::kFailed,
            "report: {} is {}, outside its own interval [{}, {}]; intervals are in the unit of "
            "the value",
            where, value, interval->low, interval->high);
    }
    return {};
}

Status check_cell(const std::string& scenario, const Cell& cell) {
    const std::string where = fmt::format("cell {} of {}", cell.id, scenario);
    std::set<std::string> seen;
    for (const auto& [axis, value] : cell.toggles) {
        if (!seen.insert(axis).second) {
            return fail(ErrorCode::kFailed, "report: {} has toggle '{}' twice", where, axis);
        }
    }
    if (cell.verdict == CellVerdict::kUnstable && !cell.runs) {
        return fail(ErrorCode::kFailed, "report: {} is UNSTABLE, but was run once", where);
    }
    if (cell.verdict == CellVerdict::kUnstable &&
        (cell.runs->failed == 0 || cell.runs->failed >= cell.runs->n)) {
        return fail(ErrorCode::kFailed,
                    "report: {} is UNSTABLE, but failed in {} of {} repetitions", where,
                    cell.runs->failed, cell.runs->n);
    }
    seen.clear();
    for (const Measure& measure : cell.measures) {
        if (!seen.insert(measure.name).second) {
            return fail(ErrorCode::kFailed, "report: {} has measure '{}' twice", where,
                        measure.name);
        }
        if (!measure.value.is_number()) {
            continue;
        }
        const std::string what = fmt::format("measure '{}' of {}", measure.name, where);
        TRY(check_interval(what, measure.value.number(), measure.interval));
        for (const double trial : measure.trials) {
            TRY(check_number("a trial of " + what, trial));
        }
    }
    return {};
}

Status check_cells(const ScenarioResult& scenario) {
    std::set<std::string> ids;
    for (const Cell& cell : all_cells(scenario)) {
        if (!ids.insert(cell.id).second) {
            return fail(ErrorCode::kFailed, "report: {} has two cells or controls named '{}'",
                        scenario.id, cell.id);
        }
        TRY(check_cell(scenario.id, cell));
    }
    for (const std::string& id : {scenario.before_cell, scenario.after_cell}) {
        if (!id.empty() && !ids.contains(id)) {
            return fail(ErrorCode::kFailed, "report: {} compares cell '{}', which it does not have",
                        scenario.id, id);
        }
    }
    return {};
}

Status check_charts(const ScenarioResult& scenario) {
    for (const Chart& chart : scenario.charts) {
        for (const Bar& bar : chart.bars) {
            const std::string where = fmt::format("bar '{}' of chart '{}'", bar.label, chart.title);
            TRY(check_interval(where, bar.value, bar.interval));
        }
        for (const Curve& curve : chart.curves) {
            for (const Curve::Point& point : curve.points) {
                TRY(check_interval(
                    fmt::format("curve '{}' of chart '{}'", curve.label, chart.title), point.y,
                    point.interval));
            }
        }
    }
    return {};
}

Status check_proofs(const ScenarioResult& scenario) {
    for (const Proof& proof : scenario.proofs) {
        for (const auto& row : proof.rows) {
            if (row.size() != proof.columns.size()) {
                return fail(ErrorCode::kFailed,
                            "report: proof '{}' has a row of {} fields for {} columns", proof.title,
                            row.size(), proof.columns.size());
            }
        }
    }
    return {};
}

// `part`: one of the schema's definitions; empty: the whole document.
Status validate_as(const nlohmann::json& document, const std::string& part) {
    try {
        nlohmann::json schema_document = process::json_or_null(kSchemaText);
        if (!part.empty()) {
            schema_document = {{"$ref", "#/definitions/" + part},
                               {"definitions", schema_document["definitions"]}};
        }
        valijson::Schema schema;
        valijson::SchemaParser(valijson::SchemaParser::kDraft7)
            .populateSchema(NlohmannJsonAdapter(schema_document), schema);
        valijson::Validator validator(valijson::Validator::kStrongTypes);
        valijson::ValidationResults results;
        if (!validator.validate(schema, NlohmannJsonAdapter(document), &results)) {
            return fail(ErrorCode::kBadInput, "report: {}", deepest(results));
        }
        return {};
    } catch (const std::exception& wrong) {
        return fail(ErrorCode::kBadInput, "report: {}", wrong.what());
    }
}

}  // namespace

Status validate(const std::string& text) {
    const auto document = process::parse_json(text);
    return document ? validate_as(*document, "") : fail(document.error(), "report");
}

Status validate_price_table(const nlohmann::ordered_json& table) {
    return validate_as(table, "price_table");
}

Status check_prices(const PriceTable& table) {
    std::set<std::string> ids;
    for (const PriceCell& cell : table.cells) {
        if (!ids.insert(cell.cure + "/" + cell.probe).second) {
            return fail(ErrorCode::kFailed, "report: the prices have {}/{} twice", cell.cure,
                        cell.probe);
        }
    }
    for (const Cost& cost : table.costs) {
        const std::string id = fmt::format("{}/{}/{}", cost.cure, cost.load, cost.figure);
        if (!ids.insert(id).second) {
            return fail(ErrorCode::kFailed, "report: the prices have {} twice", id);
        }
        for (const Measure* measure : {&cost.without, &cost.with, &cost.more}) {
            if (measure->value.is_number()) {
                TRY(check_interval(fmt::format("'{}' of the price {}", measure->name, id),
                                   measure->value.number(), measure->interval));
            }
        }
    }
    return {};
}

Status check_consistency(const RunResult& run) {
    std::set<std::string> ids;
    TRY(run.prices ? check_prices(*run.prices) : Status());
    for (const ScenarioResult& scenario : run.scenarios) {
        if (!ids.insert(scenario.id).second) {
            return fail(ErrorCode::kFailed, "report: two scenarios are named '{}'", scenario.id);
        }
        for (auto check : {check_cells, check_charts, check_proofs}) {
            TRY(check(scenario));
        }
    }
    return {};
}

}  // namespace pathproof::report
