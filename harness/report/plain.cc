// The page without scripts: everything that the report says, in plain markup, nothing drawn and nothing folded.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>

#include "harness/report/certificate.h"
#include "harness/report/coverage.h"
#include "harness/report/html.h"
#include "harness/report/prices.h"
#include "harness/report/text.h"

namespace pathproof::report {
namespace {

using namespace verdict;

std::string paragraph_html(const std::string& text) {
    return text.empty() ? "" : "<p>" + markup_with_code(text) + "</p>";
}

std::string paragraphs_html(const std::string& text) {
    return each_html(lines_of(text), paragraph_html);
}

std::string list_html(const std::string& items) {
    return items.empty() ? "" : "<ul>" + items + "</ul>";
}

std::string item_html(const std::string& text) {
    return "<li>" + markup_with_code(text) + "</li>";
}

std::string row_html(const std::vector<std::string>& fields) {
    return "<tr>" +
           each_html(fields,
                     [](const auto& field) { return "<td>" + markup_with_code(field) + "</td>"; }) +
           "</tr>";
}

std::string section_html(const std::string& title, const std::string& content) {
    return content.empty() ? "" : fmt::format("<section><h2>{}</h2>{}</section>", title, content);
}

std::string verdict_html(const RunResult& run) {
    const Badge badge = headline_of(run);
    return fmt::format("<h1>{} {}</h1>", badge.word, subject_of(run.evidence_class)) +
           paragraph_html(meaning(run)) + list_html(each_html(run.reasons, item_html)) +
           fmt::format("<p><b>Evidence class: {}.</b> {}</p>", escape_markup(run.evidence_class),
                       markup_with_code(run.evidence_note));
}

std::string areas_html(const RunResult& run) {
    const auto row_of = [](const AreaVerdict& area) {
        return fmt::format(R"(<tr><th scope="row">{}</th><td>{}</td><td>{}</td></tr>)",
                           name(area.area), badge_html(badge_of(area.verdict)),
                           markup_with_code(area.sentence));
    };
    const auto areas = judge_areas(run.scenarios);
    return areas.empty()
               ? ""
               : section_html("Verdicts by subject",
                              table_html("Verdicts by subject", {"subject", "verdict", "because"},
                                         each_html(areas, row_of)));
}

std::string definition_html(const std::string& name, const std::string& value) {
    return value.empty() ? ""
                         : fmt::format("<div><dt>{}</dt><dd>{}</dd></div>", escape_markup(name),
                                       escape_markup(value));
}

std::string certificate_html(const RunResult& run) {
    const auto row_html = [](const auto& row) { return definition_html(row.first, row.second); };
    return section_html(
        "What was tested",
        R"(<dl class="meta">)" + each_html(certificate_rows(run), row_html) +
            "</dl><p>This report relates only to the items tested. Cells and figures are results "
            "of measurement; causes, cures and prices are conclusions from them.</p>");
}

std::string labelled_figure(const Measure& measure) {
    return fmt::format(
        "{}: {}{}{}", measure.label, format_value(measure),
        measure.interval && measure.value.is_number()
            ? fmt::format(" ({})", format_interval(*measure.interval, measure.value.number()))
            : "",
        measure.note.empty() ? "" : ", " + measure.note);
}

std::string files_html(const std::vector<EvidenceFile>& files) {
    return list_html(each_html(files, [](const EvidenceFile& file) {
        return fmt::format("<li><code>{}</code> {}</li>", escape_markup(file.path),
                           markup_with_code(file.description));
    }));
}

// The runs of a cell that failed, and whether a baseline expected that.
std::string standing_text(const Cell& cell) {
    std::string text;
    if (cell.runs) {
        text += fmt::format(", failed {} of {}, shown: repetition {}", cell.runs->failed,
                            cell.runs->n, cell.runs->kept);
    }
    if (fails(cell.verdict) && !cell.known.empty()) {
        text += ", known: " + cell.known;
    }
    if (fails(cell.verdict) && cell.fresh) {
        text += ", new";
    }
    return text;
}

std::string cells_html(const ScenarioResult& scenario) {
    std::string rows;
    for (const Cell& cell : all_cells(scenario)) {
        const std::string role =
            cell.role == Cell::Role::kMatrix ? "" : fmt::format("{}: ", name(cell.role));
        std::string figures;
        for (const Measure& measure : cell.measures) {
            figures += (figures.empty() ? "" : "; ") + labelled_figure(measure);
        }
        rows += fmt::format(
            R"(<tr><td>{}{}</td><th scope="row">{}{}</th><td>{}{}</td><td>{}</td></tr>)",
            badge_html(badge_of(cell.verdict)), markup_with_code(standing_text(cell)),
            markup_with_code(role), markup_with_code(toggles_text(cell)),
            markup_with_code(cell.reason), files_html(cell.evidence), markup_with_code(figures));
    }
    return rows.empty()
               ? "<p>No cell was run.</p>"
               : table_html("Cells of " + scenario.id, {"state", "cell", "why", "figures"}, rows);
}

std::string proof_html(const Proof& proof) {
    std::vector<std::string> heads;
    std::ranges::transform(proof.columns, std::back_inserter(heads), markup_with_code);
    return "<h4>" + markup_with_code(proof.title) + "</h4>" +
           table_html(proof.title, heads, each_html(proof.rows, row_html)) +
           paragraph_html(proof.conclusion);
}

std::string bars_html(const Chart& chart) {
    const auto row_of = [&](const Bar& bar) {
        return row_html(
            {bar.label, fmt::format("{} {}", format_number(bar.value), chart.unit),
             bar.interval ? format_interval(*bar.interval, bar.value) : "not measured"});
    };
    return table_html(chart.title, {"of", "value", "95 % interval"}, each_html(chart.bars, row_of));
}

std::string curves_html(const Chart& chart) {
    std::string rows;
    for (const Curve& curve : chart.curves) {
        for (const Curve::Point& point : curve.points) {
            rows += row_html(
                {curve.label, format_number(point.x),
                 fmt::format("{} {}", format_number(point.y), chart.unit),
                 point.interval ? format_interval(*point.interval, point.y) : "not measured"});
        }
    }
    return table_html(chart.title,
                      {"curve", markup_with_code(chart.x_label), "value", "95 % interval"}, rows);
}

std::string chart_html(const Chart& chart) {
    return "<h4>" + markup_with_code(chart.title) + "</h4>" +
           (chart.curves.empty() ? bars_html(chart) : curves_html(chart));
}

std::string observation_text(const Observation& seen) {
    std::string text = name(seen.observed);
    if (!seen.names.empty()) {
        text += fmt::format(": {}", fmt::join(seen.names, ", "));
    }
    if (seen.wrong != 0) {
        text += fmt::format(", {} of {}", seen.wrong, seen.frames);
    }
    return text;
}

std::string truth_table_html(const TruthTable& table) {
    std::vector<std::string> heads = {"offload", "profile", "driver"};
    std::ranges::transform(table.conditions, std::back_inserter(heads), markup_with_code);
    std::string rows;
    std::string findings;
    for (const TruthRow& row : table.rows) {
        std::vector<std::string> fields = {row.offload + " " + row.direction,
                                           row.expected.empty() ? "not said" : row.expected,
                                           row.advertised};
        std::ranges::transform(row.observed, std::back_inserter(fields), observation_text);
        rows += row_html(fields);
        findings += row.finding.empty() ? "" : item_html(row.offload + ": " + row.finding);
        for (const KnownErratum& erratum : row.errata) {
            findings +=
                item_html(fmt::format("{}: {} ({}). Workaround: {} ({})", erratum.id, erratum.title,
                                      erratum.certainty, erratum.workaround, erratum.source));
        }
    }
    return "<h4>" + markup_with_code(table.title + ": " + table.device) + "</h4>" +
           table_html(table.title, heads, rows) + list_html(findings) +
           paragraph_html(table.excluded);
}

std::string calibration_html(const Calibration& calibration) {
    return "<h4>Calibration of the instrument</h4>" + paragraph_html(calibration.instrument) +
           paragraph_html(fmt::format(
               "Planted defects detected: {}; named: {}; located: {}. False alarms in healthy "
               "frames: {} in {}. Broken judges that the healthy run unmasked: {}.",
               score_text(calibration.faults, &CalibrationRow::detected),
               score_text(calibration.faults, &CalibrationRow::named),
               score_text(calibration.faults, &CalibrationRow::located), calibration.false_alarms,
               calibration.healthy_frames,
               score_text(calibration.judge_mutants, &CalibrationRow::detected)));
}

std::string repetition_html(const Repetition& one) {
    return fmt::format("<li>{} seed <code>{}</code>: {}</li>", badge_html(badge_of(one.verdict)),
                       one.seed, markup_with_code(one.headline));
}

std::string conclusions_html(const ScenarioResult& scenario) {
    if (scenario.cause.empty() && scenario.cure.empty()) {
        return "";
    }
    return "<h4>Cause</h4>" +
           paragraphs_html(scenario.cause.empty() ? "Not named." : scenario.cause) +
           "<h4>Cure</h4>" +
           paragraphs_html(scenario.cure.empty() ? "None was found." : scenario.cure) +
           paragraph_html(scenario.cure_shown
                              ? "Shown in this run: it was applied and the failure was gone."
                              : "Not shown in this run.");
}

std::string coverage_html(const ScenarioResult& scenario) {
    const Coverage coverage = coverage_of(scenario);
    const auto skipped_html = [](const Part& part) {
        return part.reason.empty() ? ""
                                   : item_html(fmt::format("{} {}: {}", part.cells.size(),
                                                           name(part.became), part.reason));
    };
    return paragraph_html(coverage_text(coverage)) +
           list_html(each_html(coverage.parts, skipped_html));
}

std::string unexplained_text(const ScenarioResult& scenario) {
    return scenario.unexplained == 0
               ? "No loss or wrong answer stayed without a cause."
               : fmt::format("{} lost or wrong answers could not be joined to a cause.",
                             scenario.unexplained);
}

std::string scenario_html(const ScenarioResult& scenario) {
    return fmt::format("<section><h3>{} <code>{}</code> {}</h3>", markup_with_code(scenario.title),
                       escape_markup(scenario.id), badge_html(badge_of(scenario.verdict))) +
           paragraph_html(scenario.question) + "<p><b>" + markup_with_code(scenario.headline) +
           "</b></p>" + coverage_html(scenario) +
           list_html(each_html(scenario.repetitions, repetition_html)) +
           conclusions_html(scenario) + each_html(scenario.charts, chart_html) +
           each_html(scenario.truth_tables, truth_table_html) + "<h4>Cells</h4>" +
           cells_html(scenario) +
           (scenario.calibration ? calibration_html(*scenario.calibration) : "") +
           each_html(scenario.proofs, proof_html) +
           each_html(scenario.explanation, paragraph_html) +
           paragraph_html(unexplained_text(scenario)) + files_html(scenario.evidence) +
           "</section>";
}

std::string facts_html(const FactGroup& group) {
    return "<h3>" + escape_markup(group.title) + R"(</h3><dl class="facts">)" +
           each_html(group.facts,
                     [](const Fact& fact) {
                         switch (fact.status) {
                             case Fact::Status::kAbsent:
                                 return definition_html(fact.name, "not present");
                             case Fact::Status::kDenied:
                                 return definition_html(fact.name, "permission denied");
                             case Fact::Status::kRead: break;
                         }
                         return definition_html(fact.name, fact.value);
                     }) +
           "</dl>";
}

std::string scenarios_html(const RunResult& run) {
    return section_html("Scenarios", each_html(run.scenarios, scenario_html));
}

std::string prices_html(const RunResult& run) {
    return run.prices ? "<pre>" + escape_markup(prices_text(*run.prices)) + "</pre>" : "";
}

std::string environment_html(const RunResult& run) {
    return section_html("Environment", each_html(run.environment, facts_html));
}

std::string repeat_html(const RunResult& run) {
    return section_html("How to repeat this run",
                        "<pre>" + escape_markup(run.repeat_command) + "</pre>" +
                            paragraph_html("As typed: `" + run.command + "`."));
}

// Sections in their order on the page; a section that has nothing to say is empty. A new section is
// a row here.
constexpr std::string (*kPlainSections[])(const RunResult& run) = {
    verdict_html, areas_html,  certificate_html, scenarios_html,
    prices_html,  repeat_html, environment_html,
};

}  // namespace

std::string plain_html(const RunResult& run) {
    return each_html(kPlainSections, [&](const auto section) { return section(run); });
}

}  // namespace pathproof::report
