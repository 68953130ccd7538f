// The offload truth table and the calibration of the instrument on the page.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "dataplane/base/plural.h"
#include "harness/report/html_parts.h"
#include "harness/report/text.h"

namespace pathproof::report {
namespace {

using namespace verdict;
using Score = CalibrationRow::Score;

struct Look {
    const char* tone;
    const char* symbol;
};

Look look_of(Observed observed) {
    switch (observed) {
        case Observed::kRight: return {"good", "✓"};
        case Observed::kWrong: return {"bad", "✕"};
        case Observed::kByDesign: return {"warn", "◐"};
        case Observed::kRefused: return {"mute", "⊘"};
        case Observed::kNoClaim: return {"mute", "○"};
        case Observed::kNotTested: return {"mute", "–"};
    }
    return {"mute", "–"};
}

std::string linked(const std::string& html, const std::string& target) {
    return target.empty() ? html : fmt::format(R"(<a href="#{}">{}</a>)", target, html);
}

std::string observation_html(const Observation& seen, const std::string& target) {
    const Look look = look_of(seen.observed);
    std::string words = name(seen.observed);
    if (!seen.names.empty()) {
        words = seen.names.front();
        words += seen.names.size() > 1 ? fmt::format(" +{}", seen.names.size() - 1) : "";
    }
    const std::string counts =
        seen.wrong > 0 ? fmt::format("{} of {}", format_number(static_cast<double>(seen.wrong)),
                                     format_number(static_cast<double>(seen.frames)))
                       : "";
    const std::string hint = fmt::format("{} judged{}{}", plural(seen.frames, "frame"),
                                         seen.note.empty() ? "" : ": ", seen.note);
    return fmt::format(
        R"(<td class="seen {}" title="{}"><span aria-hidden="true">{}</span> {}<small>{}</small></td>)",
        look.tone, escape_markup(hint), look.symbol, linked(escape_markup(words), target), counts);
}

std::string erratum_html(const KnownErratum& erratum) {
    return fmt::format(
        R"(<p class="erratum"><b>{}</b> {} <small>{}</small> Workaround: {} <small>{}</small></p>)",
        escape_markup(erratum.id), markup_with_code(erratum.title),
        escape_markup(erratum.certainty), markup_with_code(erratum.workaround),
        markup_with_code(erratum.source));
}

std::string findings_html(const TruthTable& table) {
    std::string html;
    for (const TruthRow& row : table.rows) {
        if (!row.finding.empty() || !row.errata.empty()) {
            html += fmt::format("<li><code>{}</code> {}{}</li>", escape_markup(row.offload),
                                markup_with_code(row.finding), each_html(row.errata, erratum_html));
        }
    }
    return html.empty() ? "" : R"(<ul class="findings">)" + html + "</ul>";
}

// As many columns as the table has conditions, also for a row that has fewer.
std::string observations_html(const TruthTable& table, const TruthRow& row,
                              const ScenarioResult& scenario) {
    std::string html;
    for (std::size_t at = 0; at < table.conditions.size(); ++at) {
        const Observation seen = at < row.observed.size() ? row.observed[at] : Observation();
        html += observation_html(seen, cell_target(scenario, seen.cell));
    }
    return html;
}

std::string truth_table_html(const TruthTable& table, const ScenarioResult& scenario) {
    std::vector<std::string> heads = {"offload", "profile", "driver"};
    std::ranges::transform(table.conditions, std::back_inserter(heads), markup_with_code);
    std::string rows;
    for (const TruthRow& row : table.rows) {
        rows += fmt::format(
            R"(<tr><th scope="row">{} <small>{}</small></th><td>{}</td><td>{}</td>{}</tr>)",
            escape_markup(row.offload), escape_markup(row.direction),
            row.expected.empty() ? R"(<span class="missing">not said</span>)"
                                 : escape_markup(row.expected),
            escape_markup(row.advertised), observations_html(table, row, scenario));
    }
    return fmt::format(
        R"(<section class="block truth"><h3>{}</h3><p class="lead">{}. What the profile expects, what the driver )"
        R"(says, what the wire showed.</p>{})"
        R"(<p class="legend"><span class="mark ok">✓</span> right <span class="mark no">✕</span> wrong, )"
        R"(with its name ◐ left unfinished by design ⊘ refused ○ no claim made – not tested</p>)"
        R"({}<p class="foot">{}</p></section>)",
        markup_with_code(table.title), markup_with_code(table.device),
        table_html(table.title, heads, rows), findings_html(table),
        markup_with_code(table.excluded));
}

std::string score_html(Score score) {
    const char* tone = score == Score::kYes ? "ok" : score == Score::kNo ? "no" : "none";
    const char* symbol = score == Score::kYes ? "✓" : score == Score::kNo ? "✕" : "–";
    return fmt::format(R"(<td><span class="mark {}">{}</span> {}</td>)", tone, symbol, name(score));
}

std::string calibration_row_html(const CalibrationRow& row) {
    return fmt::format(
        R"(<tr><th scope="row">{}</th><td>{}</td>{}{}{}<td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>)",
        escape_markup(row.id), escape_markup(row.fault), score_html(row.detected),
        score_html(row.named), score_html(row.located), escape_markup(row.given_name),
        format_number(static_cast<double>(row.changed)),
        format_number(static_cast<double>(row.caught)), markup_with_code(row.note));
}

std::string group_html(const char* title, const std::vector<CalibrationRow>& rows) {
    if (rows.empty()) {
        return "";
    }
    return fmt::format(R"(<details><summary>{} ({})</summary>{}</details>)", title, rows.size(),
                       table_html(title,
                                  {"id", "planted", "detected", "named", "located", "name given",
                                   "frames changed", "frames caught", "note"},
                                  each_html(rows, calibration_row_html)));
}

std::string confusion_html(const std::vector<Calibration::Confusion>& confusion) {
    if (confusion.empty()) {
        return "";
    }
    const auto row_of = [](const Calibration::Confusion& entry) {
        return fmt::format("<tr><td>{}</td><td>{}</td><td>{}</td></tr>",
                           escape_markup(entry.planted), escape_markup(entry.given),
                           format_number(static_cast<double>(entry.count)));
    };
    return R"(<details><summary>Confusion matrix: planted mechanism and name given</summary>)" +
           table_html("Confusion matrix", {"planted", "named", "times"},
                      each_html(confusion, row_of)) +
           "</details>";
}

}  // namespace

std::string truth_tables_html(const ScenarioResult& scenario) {
    return each_html(scenario.truth_tables,
                     [&](const TruthTable& table) { return truth_table_html(table, scenario); });
}

std::string calibration_html(const Calibration& calibration) {
    std::string html = fmt::format(
        R"(<section class="block calibration"><h3>Calibration of the instrument</h3><p class="lead">{} Each planted )"
        R"(defect ran alone through the same matrix and the same judge (seed {}).</p><dl class="measures">)",
        markup_with_code(calibration.instrument), calibration.seed);
    const auto line = [&](const char* what, const std::string& value) {
        html += fmt::format(R"(<div><dt>{}</dt><dd><span class="figure">{}</span></dd></div>)",
                            what, escape_markup(value));
    };
    line("planted defects detected", score_text(calibration.faults, &CalibrationRow::detected));
    line("named with exactly their name", score_text(calibration.faults, &CalibrationRow::named));
    line("located in exactly the cells they can show in",
         score_text(calibration.faults, &CalibrationRow::located));
    line("false alarms in healthy frames",
         fmt::format("{} in {}", format_number(static_cast<double>(calibration.false_alarms)),
                     format_number(static_cast<double>(calibration.healthy_frames))));
    line("defects without a name that came out UNKNOWN",
         score_text(calibration.open_world, &CalibrationRow::named));
    line("pairs of a Tx and an Rx defect: both named, masked and said so, missed",
         fmt::format("{}, {}, {} of {}", calibration.pairs_both_named, calibration.pairs_masked,
                     calibration.pairs_missed, calibration.pairs));
    line("broken judges that the healthy run unmasked",
         score_text(calibration.judge_mutants, &CalibrationRow::detected));
    html += "</dl>" + group_html("Planted defects", calibration.faults) +
            group_html("Defects that no name is known for", calibration.open_world) +
            group_html("The judge itself broken", calibration.judge_mutants) +
            confusion_html(calibration.confusion);
    return html + "</section>";
}

}  // namespace pathproof::report
