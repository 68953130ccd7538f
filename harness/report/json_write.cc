#include "harness/report/json.h"

namespace pathproof::report {
namespace {

using nlohmann::ordered_json;
using namespace verdict;

ordered_json object() {
    return ordered_json::object();
}

template <typename Items, typename Convert>
ordered_json list(const Items& items, Convert convert) {
    ordered_json all = ordered_json::array();
    for (const auto& item : items) {
        all.push_back(convert(item));
    }
    return all;
}

ordered_json of_interval(const std::optional<Interval>& interval) {
    if (!interval) {
        return nullptr;
    }
    return {{"low", interval->low}, {"high", interval->high}};
}

ordered_json of_evidence(const EvidenceFile& file) {
    return {{"path", file.path}, {"description", file.description}};
}

ordered_json of_value(const Value& value) {
    return std::visit(
        []<typename Held>(const Held& held) -> ordered_json {
            if constexpr (std::same_as<Held, std::monostate>) {
                return nullptr;
            } else {
                return held;
            }
        },
        value.kinds());
}

ordered_json of_measure(const Measure& measure) {
    return {{"value", of_value(measure.value)},
            {"unit", measure.unit},
            {"interval", of_interval(measure.interval)},
            {"label", measure.label},
            {"note", measure.note}};
}

ordered_json cell_in_role(const Cell& cell, Cell::Role role) {
    ordered_json toggles = object();
    for (const auto& [axis, value] : cell.toggles) {
        toggles[axis] = value;
    }
    ordered_json measures = object();
    for (const Measure& measure : cell.measures) {
        measures[measure.name] = of_measure(measure);
    }
    ordered_json all = {{"id", cell.id},         {"toggles", std::move(toggles)},
                        {"role", name(role)},    {"verdict", name(cell.verdict)},
                        {"reason", cell.reason}, {"cause", cell.cause}};
    if (!cell.known.empty()) {
        all["known"] = cell.known;
    }
    if (cell.fresh) {
        all["new"] = true;
    }
    if (cell.runs) {
        const Measure share = share_of(*cell.runs);
        all["runs"] = {{"n", cell.runs->n},
                       {"failed", cell.runs->failed},
                       {"interval", of_interval(share.interval)},
                       {"kept", cell.runs->kept}};
    }
    all["measures"] = std::move(measures);
    all["evidence"] = list(cell.evidence, of_evidence);
    return all;
}

ordered_json of_cell(const Cell& cell) {
    return cell_in_role(cell, cell.role);
}

ordered_json of_control(const Cell& cell) {
    return cell_in_role(cell, role_among_controls(cell));
}

ordered_json of_proof(const Proof& proof) {
    return {{"title", proof.title},
            {"columns", proof.columns},
            {"rows", proof.rows},
            {"conclusion", proof.conclusion}};
}

const char* kind_name(Bar::Kind kind) {
    switch (kind) {
        case Bar::Kind::kGood: return "good";
        case Bar::Kind::kBad: return "bad";
        case Bar::Kind::kNeutral: return "neutral";
    }
    return "neutral";
}

ordered_json of_bar(const Bar& bar) {
    return {{"label", bar.label},
            {"value", bar.value},
            {"interval", of_interval(bar.interval)},
            {"kind", kind_name(bar.kind)}};
}

ordered_json of_curve(const Curve& curve) {
    const auto of_point = [](const Curve::Point& point) -> ordered_json {
        return {{"x", point.x}, {"y", point.y}, {"interval", of_interval(point.interval)}};
    };
    return {{"label", curve.label}, {"points", list(curve.points, of_point)}};
}

ordered_json of_mark(const AxisMark& mark) {
    return {{"label", mark.label}, {"low", mark.low}, {"middle", mark.middle}, {"high", mark.high}};
}

ordered_json of_chart(const Chart& chart) {
    ordered_json out{{"title", chart.title},
                     {"unit", chart.unit},
                     {"maximum", chart.maximum},
                     {"bars", list(chart.bars, of_bar)}};
    if (!chart.curves.empty()) {
        out["x_label"] = chart.x_label;
        out["curves"] = list(chart.curves, of_curve);
        out["marks"] = list(chart.marks, of_mark);
    }
    return out;
}

ordered_json of_observation(const Observation& observation) {
    return {{"observed", name(observation.observed)},
            {"frames", observation.frames},
            {"wrong", observation.wrong},
            {"names", observation.names},
            {"cell", observation.cell},
            {"note", observation.note}};
}

ordered_json of_erratum(const KnownErratum& erratum) {
    return {{"id", erratum.id},
            {"title", erratum.title},
            {"workaround", erratum.workaround},
            {"source", erratum.source},
            {"certainty", erratum.certainty}};
}

ordered_json of_truth_row(const TruthRow& row) {
    return {{"offload", row.offload},
            {"direction", row.direction},
            {"expected", row.expected},
            {"advertised", row.advertised},
            {"observed", list(row.observed, of_observation)},
            {"finding", row.finding},
            {"errata", list(row.errata, of_erratum)}};
}

ordered_json of_truth_table(const TruthTable& table) {
    return {{"title", table.title},
            {"device", table.device},
            {"conditions", table.conditions},
            {"rows", list(table.rows, of_truth_row)},
            {"excluded", table.excluded}};
}

ordered_json of_calibration_row(const CalibrationRow& row) {
    return {{"id", row.id},
            {"fault", row.fault},
            {"detected", name(row.detected)},
            {"named", name(row.named)},
            {"located", name(row.located)},
            {"given_name", row.given_name},
            {"changed", row.changed},
            {"caught", row.caught},
            {"note", row.note}};
}

ordered_json of_confusion(const Calibration::Confusion& confusion) {
    return {{"planted", confusion.planted}, {"given", confusion.given}, {"count", confusion.count}};
}

ordered_json of_calibration(const std::optional<Calibration>& calibration) {
    return calibration ? to_json(*calibration) : ordered_json(nullptr);
}

ordered_json of_repetition(const Repetition& repetition) {
    return {{"seed", repetition.seed},
            {"verdict", name(repetition.verdict)},
            {"headline", repetition.headline}};
}

ordered_json of_scenario(const ScenarioResult& scenario) {
    ordered_json all = {{"id", scenario.id},
                        {"title", scenario.title},
                        {"question", scenario.question},
                        {"verdict", name(scenario.verdict)},
                        {"part", scenario.part},
                        {"headline", scenario.headline},
                        {"cause", scenario.cause},
                        {"cure", scenario.cure},
                        {"cure_shown", scenario.cure_shown},
                        {"before_cell", scenario.before_cell},
                        {"after_cell", scenario.after_cell},
                        {"explanation", scenario.explanation},
                        {"cells", list(scenario.cells, of_cell)},
                        {"controls", list(scenario.controls, of_control)},
                        {"proofs", list(scenario.proofs, of_proof)},
                        {"charts", list(scenario.charts, of_chart)},
                        {"truth_tables", list(scenario.truth_tables, of_truth_table)},
                        {"calibration", of_calibration(scenario.calibration)},
                        {"unexplained", scenario.unexplained},
                        {"evidence", list(scenario.evidence, of_evidence)},
                        {"seconds", scenario.seconds}};
    if (!scenario.planned.empty()) {
        all["planned"] = scenario.planned;
    }
    if (!scenario.repetitions.empty()) {
        all["repetitions"] = list(scenario.repetitions, of_repetition);
        all["kept"] = scenario.kept;
    }
    return all;
}

ordered_json of_options(const RunOptions& options) {
    ordered_json of_scenarios = ordered_json::object();
    for (const auto& [name, value] : options.of_scenarios) {
        of_scenarios[name] = value ? ordered_json(*value) : ordered_json(true);
    }
    return {{"command", options.command},
            {"lab", options.lab},
            {"profile", options.profile},
            {"scenarios", options.scenarios},
            {"cells", options.cells},
            {"of_scenarios", of_scenarios},
            {"repeat", options.repeat},
            {"no_hugepages", options.no_hugepages},
            {"prices", options.prices},
            {"device", options.device},
            {"netns", options.netns},
            {"tester", options.tester},
            {"tester_netns", options.tester_netns},
            {"quick", options.quick}};
}

ordered_json of_price_row(const PriceRow& row) {
    return {{"id", row.id}, {"text", row.text}};
}

ordered_json of_price_cell(const PriceCell& cell) {
    return {{"id", cell.cure + "/" + cell.probe},
            {"cure", cell.cure},
            {"probe", cell.probe},
            {"effect", name(cell.effect)},
            {"without", cell.without},
            {"with", cell.with},
            {"reason", cell.reason}};
}

ordered_json of_cost(const Cost& cost) {
    return {{"id", cost.cure + "/" + cost.load + "/" + cost.figure},
            {"cure", cost.cure},
            {"load", cost.load},
            {"figure", cost.figure},
            {"verdict", name(cost.verdict)},
            {"without", of_measure(cost.without)},
            {"with", of_measure(cost.with)},
            {"more", of_measure(cost.more)}};
}

ordered_json of_fact(const Fact& fact) {
    const bool read = fact.status == Fact::Status::kRead;
    const char* status = read ? "read" : fact.status == Fact::Status::kAbsent ? "absent" : "denied";
    return {{"name", fact.name},
            {"value", read ? ordered_json(fact.value) : ordered_json(nullptr)},
            {"status", status},
            {"source", fact.source}};
}

ordered_json of_group(const FactGroup& group) {
    return {{"title", group.title}, {"facts", list(group.facts, of_fact)}};
}

}  // namespace

ordered_json to_json(const Calibration& calibration) {
    return {{"instrument", calibration.instrument},
            {"seed", calibration.seed},
            {"faults", list(calibration.faults, of_calibration_row)},
            {"open_world", list(calibration.open_world, of_calibration_row)},
            {"judge_mutants", list(calibration.judge_mutants, of_calibration_row)},
            {"healthy_frames", calibration.healthy_frames},
            {"false_alarms", calibration.false_alarms},
            {"pairs", calibration.pairs},
            {"pairs_both_named", calibration.pairs_both_named},
            {"pairs_masked", calibration.pairs_masked},
            {"pairs_missed", calibration.pairs_missed},
            {"confusion", list(calibration.confusion, of_confusion)}};
}

ordered_json to_json(const PriceTable& table) {
    ordered_json tools = object();
    for (const auto& [tool, version] : table.key.tools) {
        tools[tool] = version;
    }
    return {{"kernel", table.key.kernel},
            {"version", table.key.version},
            {"tools", std::move(tools)},
            {"measured_at", table.measured_at},
            {"seconds", table.seconds},
            {"cures", list(table.cures, of_price_row)},
            {"probes", list(table.probes, of_price_row)},
            {"loads", list(table.loads, of_price_row)},
            {"cells", list(table.cells, of_price_cell)},
            {"costs", list(table.costs, of_cost)}};
}

ordered_json to_json(const RunResult& run) {
    ordered_json all = {{"schema", "pathproof-report/1"},
                        {"verdict", name(run.verdict)},
                        {"reasons", run.reasons},
                        {"evidence_class", run.evidence_class},
                        {"evidence_note", run.evidence_note},
                        {"command", run.command},
                        {"repeat_command", run.repeat_command},
                        {"seed", run.seed},
                        {"lab", run.lab},
                        {"profile", run.profile},
                        {"version", run.version},
                        {"started_at", run.started_at},
                        {"seconds", run.seconds},
                        {"environment", list(run.environment, of_group)},
                        {"scenarios", list(run.scenarios, of_scenario)}};
    if (!run.options.command.empty()) {
        all["options"] = of_options(run.options);
    }
    if (run.prices) {
        all["prices"] = to_json(*run.prices);
    }
    return all;
}

std::string json_text(const RunResult& run) {
    return to_json(run).dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace pathproof::report
