#include "harness/report/json.h"

namespace pathproof::report {
namespace {

using nlohmann::ordered_json;
using namespace verdict;

// The schema has been checked before: an enumerator is always found.
template <typename Enum>
Enum from_name(const ordered_json& text, std::initializer_list<Enum> all) {
    for (Enum value : all) {
        if (text == name(value)) {
            return value;
        }
    }
    return *all.begin();
}

template <typename Item, typename Convert>
std::vector<Item> list(const ordered_json& items, Convert convert) {
    std::vector<Item> all;
    all.reserve(items.size());
    for (const ordered_json& item : items) {
        all.push_back(convert(item));
    }
    return all;
}

std::optional<Interval> to_interval(const ordered_json& from) {
    if (from.is_null()) {
        return std::nullopt;
    }
    return Interval{from.at("low"), from.at("high")};
}

EvidenceFile to_evidence(const ordered_json& from) {
    return {from.at("path"), from.at("description")};
}

// The schema allows no lists or objects here.
Value to_value(const ordered_json& from) {
    switch (from.type()) {
        case ordered_json::value_t::boolean: return from.get<bool>();
        case ordered_json::value_t::number_integer: return from.get<std::int64_t>();
        case ordered_json::value_t::number_unsigned: return from.get<std::uint64_t>();
        case ordered_json::value_t::number_float: return from.get<double>();
        case ordered_json::value_t::string: return from.get<std::string>();
        default: return {};
    }
}

Measure to_measure(const std::string& measure_name, const ordered_json& from) {
    return {.name = measure_name,
            .label = from.at("label"),
            .value = to_value(from.at("value")),
            .unit = from.at("unit"),
            .interval = to_interval(from.at("interval")),
            .note = from.at("note")};
}

Cell to_cell(const ordered_json& from) {
    Cell cell;
    cell.id = from.at("id");
    for (const auto& [axis, value] : from.at("toggles").items()) {
        cell.toggles.emplace_back(axis, value);
    }
    using enum Cell::Role;
    cell.role = from_name(from.at("role"), {kMatrix, kControl, kCure, kDemonstration});
    cell.verdict =
        from_name(from.at("verdict"),
                  {CellVerdict::kError, CellVerdict::kPass, CellVerdict::kFail, CellVerdict::kSkip,
                   CellVerdict::kInconclusive, CellVerdict::kUnstable});
    cell.reason = from.at("reason");
    cell.cause = from.at("cause");
    cell.known = from.value("known", "");
    cell.fresh = from.value("new", false);
    if (from.contains("runs")) {
        const ordered_json& runs = from.at("runs");
        cell.runs = Runs{runs.at("n"), runs.at("failed"), runs.at("kept")};
    }
    for (const auto& [measure_name, measure] : from.at("measures").items()) {
        cell.measures.push_back(to_measure(measure_name, measure));
    }
    cell.evidence = list<EvidenceFile>(from.at("evidence"), to_evidence);
    return cell;
}

Proof to_proof(const ordered_json& from) {
    return {from.at("title"), from.at("columns"), from.at("rows"), from.at("conclusion")};
}

Bar to_bar(const ordered_json& from) {
    const std::string kind = from.at("kind");
    return {.label = from.at("label"),
            .value = from.at("value"),
            .interval = to_interval(from.at("interval")),
            .kind = kind == "good"  ? Bar::Kind::kGood
                    : kind == "bad" ? Bar::Kind::kBad
                                    : Bar::Kind::kNeutral};
}

Curve to_curve(const ordered_json& from) {
    const auto to_point = [](const ordered_json& point) {
        return Curve::Point{point.at("x"), point.at("y"), to_interval(point.at("interval"))};
    };
    return {from.at("label"), list<Curve::Point>(from.at("points"), to_point)};
}

AxisMark to_mark(const ordered_json& from) {
    return {from.at("label"), from.at("low"), from.at("middle"), from.at("high")};
}

Chart to_chart(const ordered_json& from) {
    Chart chart{from.at("title"), from.at("unit"), from.at("maximum"),
                list<Bar>(from.at("bars"), to_bar)};
    if (from.contains("curves")) {
        chart.x_label = from.at("x_label");
        chart.curves = list<Curve>(from.at("curves"), to_curve);
        chart.marks = list<AxisMark>(from.at("marks"), to_mark);
    }
    return chart;
}

Observation to_observation(const ordered_json& from) {
    return {.observed = from_name(from.at("observed"),
                                  {Observed::kNotTested, Observed::kRight, Observed::kWrong,
                                   Observed::kByDesign, Observed::kRefused, Observed::kNoClaim}),
            .frames = from.at("frames"),
            .wrong = from.at("wrong"),
            .names = from.at("names"),
            .cell = from.at("cell"),
            .note = from.at("note")};
}

KnownErratum to_erratum(const ordered_json& from) {
    return {.id = from.at("id"),
            .title = from.at("title"),
            .workaround = from.at("workaround"),
            .source = from.at("source"),
            .certainty = from.at("certainty")};
}

TruthRow to_truth_row(const ordered_json& from) {
    return {.offload = from.at("offload"),
            .direction = from.at("direction"),
            .expected = from.at("expected"),
            .advertised = from.at("advertised"),
            .observed = list<Observation>(from.at("observed"), to_observation),
            .finding = from.at("finding"),
            .errata = list<KnownErratum>(from.at("errata"), to_erratum)};
}

TruthTable to_truth_table(const ordered_json& from) {
    return {.title = from.at("title"),
            .device = from.at("device"),
            .conditions = from.at("conditions"),
            .rows = list<TruthRow>(from.at("rows"), to_truth_row),
            .excluded = from.at("excluded")};
}

CalibrationRow to_calibration_row(const ordered_json& from) {
    using enum CalibrationRow::Score;
    const auto score = [&](const char* key) {
        return from_name(from.at(key), {kNo, kYes, kNotApplicable});
    };
    return {.id = from.at("id"),
            .fault = from.at("fault"),
            .detected = score("detected"),
            .named = score("named"),
            .located = score("located"),
            .given_name = from.at("given_name"),
            .changed = from.at("changed"),
            .caught = from.at("caught"),
            .note = from.at("note")};
}

Calibration::Confusion to_confusion(const ordered_json& from) {
    return {.planted = from.at("planted"), .given = from.at("given"), .count = from.at("count")};
}

Calibration to_calibration(const ordered_json& from) {
    return {.instrument = from.at("instrument"),
            .seed = from.at("seed"),
            .faults = list<CalibrationRow>(from.at("faults"), to_calibration_row),
            .open_world = list<CalibrationRow>(from.at("open_world"), to_calibration_row),
            .judge_mutants = list<CalibrationRow>(from.at("judge_mutants"), to_calibration_row),
            .healthy_frames = from.at("healthy_frames"),
            .false_alarms = from.at("false_alarms"),
            .pairs = from.at("pairs"),
            .pairs_both_named = from.at("pairs_both_named"),
            .pairs_masked = from.at("pairs_masked"),
            .pairs_missed = from.at("pairs_missed"),
            .confusion = list<Calibration::Confusion>(from.at("confusion"), to_confusion)};
}

const std::initializer_list<ScenarioVerdict> kScenarioVerdicts = {
    ScenarioVerdict::kInconclusive,  ScenarioVerdict::kReproduced,  ScenarioVerdict::kExposed,
    ScenarioVerdict::kNotReproduced, ScenarioVerdict::kDefectFound, ScenarioVerdict::kNoDefectFound,
    ScenarioVerdict::kNotRun};

Repetition to_repetition(const ordered_json& from) {
    return {from.at("seed"), from_name(from.at("verdict"), kScenarioVerdicts), from.at("headline")};
}

ScenarioResult to_scenario(const ordered_json& from) {
    ScenarioResult scenario;
    scenario.id = from.at("id");
    scenario.title = from.at("title");
    scenario.question = from.at("question");
    scenario.verdict = from_name(from.at("verdict"), kScenarioVerdicts);
    scenario.part = from.at("part");
    scenario.headline = from.at("headline");
    scenario.cause = from.at("cause");
    scenario.cure = from.at("cure");
    scenario.cure_shown = from.at("cure_shown");
    scenario.before_cell = from.at("before_cell");
    scenario.after_cell = from.at("after_cell");
    scenario.explanation = from.at("explanation");
    scenario.cells = list<Cell>(from.at("cells"), to_cell);
    scenario.controls = list<Cell>(from.at("controls"), to_cell);
    scenario.proofs = list<Proof>(from.at("proofs"), to_proof);
    scenario.charts = list<Chart>(from.at("charts"), to_chart);
    scenario.truth_tables = list<TruthTable>(from.at("truth_tables"), to_truth_table);
    if (!from.at("calibration").is_null()) {
        scenario.calibration = to_calibration(from.at("calibration"));
    }
    scenario.unexplained = from.at("unexplained");
    scenario.evidence = list<EvidenceFile>(from.at("evidence"), to_evidence);
    scenario.seconds = from.at("seconds");
    scenario.planned = from.value("planned", std::vector<std::string>());
    if (from.contains("repetitions")) {
        scenario.repetitions = list<Repetition>(from.at("repetitions"), to_repetition);
        scenario.kept = from.value("kept", std::size_t{1});
    }
    return scenario;
}

Fact to_fact(const ordered_json& from) {
    const std::string status = from.at("status");
    return {.name = from.at("name"),
            .value = from.at("value").is_null() ? "" : from.at("value").get<std::string>(),
            .status = status == "read"     ? Fact::Status::kRead
                      : status == "denied" ? Fact::Status::kDenied
                                           : Fact::Status::kAbsent,
            .source = from.at("source")};
}

FactGroup to_group(const ordered_json& from) {
    return {from.at("title"), list<Fact>(from.at("facts"), to_fact)};
}

// Reports before 2026-12 have two of them, `pairs` and `full`, beside the others.
verdict::ScenarioOptions to_scenario_options(const ordered_json& from) {
    verdict::ScenarioOptions options;
    const ordered_json given = from.value("of_scenarios", ordered_json::object());
    for (const auto& [name, value] : given.items()) {
        options[name] = value.is_boolean() ? std::nullopt : std::optional<std::uint64_t>(value);
    }
    if (const std::uint64_t pairs = from.value("pairs", std::uint64_t{0}); pairs != 0) {
        options["pairs"] = pairs;
    }
    if (from.value("full", false)) {
        options["full"] = std::nullopt;
    }
    return options;
}

RunOptions to_options(const ordered_json& from) {
    return {.command = from.at("command"),
            .lab = from.at("lab"),
            .profile = from.at("profile"),
            .scenarios = from.at("scenarios"),
            .cells = from.at("cells"),
            .of_scenarios = to_scenario_options(from),
            .repeat = from.at("repeat"),
            .no_hugepages = from.at("no_hugepages"),
            .prices = from.value("prices", false),
            .device = from.at("device"),
            .netns = from.at("netns"),
            .tester = from.at("tester"),
            .tester_netns = from.at("tester_netns"),
            .quick = from.at("quick")};
}

PriceRow to_price_row(const ordered_json& from) {
    return {from.at("id"), from.at("text")};
}

PriceCell to_price_cell(const ordered_json& from) {
    using enum Effect;
    return {.cure = from.at("cure"),
            .probe = from.at("probe"),
            .effect = from_name(from.at("effect"),
                                {kNotMeasured, kCures, kDoesNotTouch, kBreaks, kDoesNotApply}),
            .without = from.at("without"),
            .with = from.at("with"),
            .reason = from.at("reason")};
}

Cost to_cost(const ordered_json& from) {
    using enum CostVerdict;
    return {.cure = from.at("cure"),
            .load = from.at("load"),
            .figure = from.at("figure"),
            .verdict = from_name(from.at("verdict"), {kNotMeasured, kCosts, kSaves, kWithinNoise}),
            .without = to_measure("without", from.at("without")),
            .with = to_measure("with", from.at("with")),
            .more = to_measure("more", from.at("more"))};
}

PriceTable to_price_table(const ordered_json& from) {
    PriceTable table{.key = {.kernel = from.at("kernel"), .version = from.at("version")},
                     .measured_at = from.at("measured_at"),
                     .seconds = from.at("seconds"),
                     .cures = list<PriceRow>(from.at("cures"), to_price_row),
                     .probes = list<PriceRow>(from.at("probes"), to_price_row),
                     .loads = list<PriceRow>(from.at("loads"), to_price_row),
                     .cells = list<PriceCell>(from.at("cells"), to_price_cell),
                     .costs = list<Cost>(from.at("costs"), to_cost)};
    for (const auto& [tool, version] : from.at("tools").items()) {
        table.key.tools.emplace_back(tool, version);
    }
    return table;
}

RunResult to_run(const ordered_json& from) {
    RunResult run;
    run.verdict = from_name(from.at("verdict"),
                            {RunVerdict::kIncomplete, RunVerdict::kQualified,
                             RunVerdict::kQualifiedWithExceptions, RunVerdict::kNotQualified});
    run.reasons = from.at("reasons");
    run.evidence_class = from.at("evidence_class");
    run.evidence_note = from.at("evidence_note");
    run.command = from.at("command");
    run.repeat_command = from.at("repeat_command");
    if (from.contains("options")) {
        run.options = to_options(from.at("options"));
    }
    run.seed = from.at("seed");
    run.lab = from.at("lab");
    run.profile = from.at("profile");
    run.version = from.at("version");
    run.started_at = from.at("started_at");
    run.seconds = from.at("seconds");
    run.environment = list<FactGroup>(from.at("environment"), to_group);
    run.scenarios = list<ScenarioResult>(from.at("scenarios"), to_scenario);
    if (from.contains("prices")) {
        run.prices = std::make_shared<PriceTable>(to_price_table(from.at("prices")));
    }
    return run;
}

}  // namespace

Result<PriceTable> price_table(const ordered_json& from) {
    TRY(validate_price_table(from));
    try {
        PriceTable table = to_price_table(from);
        TRY(check_prices(table));
        return table;
    } catch (const nlohmann::json::exception& wrong) {
        return fail(ErrorCode::kBadInput, "prices: {}", wrong.what());
    }
}

Result<RunResult> from_json(const std::string& text) {
    TRY(validate(text));
    try {
        return to_run(ordered_json::parse(text));
    } catch (const nlohmann::json::exception& wrong) {
        return fail(ErrorCode::kBadInput, "report: {}", wrong.what());
    }
}

}  // namespace pathproof::report
