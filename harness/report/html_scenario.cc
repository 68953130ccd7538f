// One scenario on the page, and the small parts that sections share.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <span>

#include "dataplane/base/plural.h"
#include "harness/report/html_parts.h"
#include "harness/report/text.h"

namespace pathproof::report {
namespace {

using namespace verdict;

constexpr std::size_t kRowsShown = 12;  // of a proof; the others unfold

// A path below the folder of the report: a link to it cannot leave that folder or name a scheme.
bool linkable(const std::string& path) {
    constexpr const char* kLetters =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-";
    return !path.empty() && path.front() != '/' && path.find("..") == std::string::npos &&
           path.find_first_not_of(kLetters) == std::string::npos;
}

std::string row_html(const std::vector<std::string>& fields) {
    return "<tr>" +
           each_html(fields,
                     [](const auto& field) { return "<td>" + markup_with_code(field) + "</td>"; }) +
           "</tr>";
}

std::string paragraph_html(const std::string& text) {
    return "<p>" + markup_with_code(text) + "</p>";
}

std::string card(const char* kind, const std::string& title, const std::string& text,
                 const std::string& foot) {
    return fmt::format(R"(<div class="card {}"><h3>{}</h3>{}{}</div>)", kind, title,
                       each_html(lines_of(text), paragraph_html), foot);
}

std::string cause_and_cure(const ScenarioResult& scenario) {
    if (scenario.cause.empty() && scenario.cure.empty()) {
        return "";
    }
    std::string html = "<div class=\"cards\">";
    html += card("cause", "Cause", scenario.cause.empty() ? "Not named." : scenario.cause, "");
    const char* shown =
        scenario.cure_shown
            ? R"(<p class="shown good"><b>✓ Shown in this run:</b> it was applied and the failure was gone.</p>)"
            : R"(<p class="shown warn"><b>! Not shown in this run.</b></p>)";
    html += card("cure", "Cure", scenario.cure.empty() ? "None was found." : scenario.cure, shown);
    return html + "</div>";
}

std::string controls_html(const ScenarioResult& scenario) {
    if (scenario.controls.empty()) {
        return R"(<section class="block"><h3>Controls</h3><p class="empty">No control was run.</p></section>)";
    }
    std::vector<const Cell*> controls;
    for (const Cell& control : scenario.controls) {
        controls.push_back(&control);
    }
    return R"(<section class="block"><h3>Controls</h3><p class="lead">The same measurement where the failure )"
           R"(must not show. PASS: it did not.</p>)" +
           cell_list_html(scenario.id, controls) + "</section>";
}

std::string explanation_html(const ScenarioResult& scenario) {
    if (scenario.explanation.empty()) {
        return "";
    }
    return R"(<section class="block prose"><h3>How it comes about</h3>)" +
           each_html(scenario.explanation, paragraph_html) + "</section>";
}

std::string repetitions_html(const ScenarioResult& scenario) {
    std::string items;
    for (const Repetition& one : scenario.repetitions) {
        items +=
            fmt::format("<li>{} seed <code>{}</code>: {}</li>", badge_html(badge_of(one.verdict)),
                        one.seed, markup_with_code(one.headline));
    }
    return items.empty()
               ? ""
               : fmt::format(R"(<section class="block"><h3>Repetitions</h3><p class="lead">)"
                             R"(Cause, cure, tables and charts are of repetition {}. Each )"
                             R"(can be repeated alone, with its seed.</p>)"
                             R"(<ol class="reasons">{}</ol></section>)",
                             scenario.kept, items);
}

std::string foot_html(const ScenarioResult& scenario) {
    const std::string lost =
        scenario.unexplained == 0
            ? "No loss or wrong answer stayed without a cause."
            : fmt::format("{} lost or wrong answers could not be joined to a cause.",
                          scenario.unexplained);
    return fmt::format(R"(<p class="foot {}">{} The scenario took {} s.</p>{})",
                       scenario.unexplained == 0 ? "" : "warn", lost,
                       format_number(scenario.seconds), evidence_html(scenario.evidence));
}

std::string head_html(const ScenarioResult& scenario) {
    const Badge badge = badge_of(scenario.verdict);
    return fmt::format(
        R"(<header><p class="kicker">Scenario <code>{}</code></p>)"
        R"(<h2>{} {}</h2><p class="question">{}</p><p class="headline {}">{}</p>{}</header>)",
        escape_markup(scenario.id), escape_markup(scenario.title), badge_html(badge),
        markup_with_code(scenario.question), badge.tone, markup_with_code(scenario.headline),
        scenario.part.empty()
            ? ""
            : fmt::format(R"(<p class="lead">Only the cells that match <code>{}</code> were )"
                          R"(run.</p>)",
                          escape_markup(scenario.part)));
}

std::string charts_html(const ScenarioResult& scenario) {
    const std::string charts = each_html(scenario.charts, chart_html);
    return charts.empty() ? ""
                          : R"(<section class="block"><h3>In figures</h3>)" + charts + "</section>";
}

// In their order; one that has nothing to say is empty. A new section is a row here.
constexpr std::string (*kScenarioSections[])(const ScenarioResult& scenario) = {
    head_html,
    repetitions_html,
    cause_and_cure,
    before_after_html,
    truth_tables_html,
    cells_html,
    [](const ScenarioResult& scenario) {
        return scenario.calibration ? calibration_html(*scenario.calibration) : std::string();
    },
    charts_html,
    [](const ScenarioResult& scenario) { return each_html(scenario.proofs, proof_html); },
    explanation_html,
    controls_html,
    foot_html,
};

}  // namespace

Badge badge_of(CellVerdict verdict) {
    switch (verdict) {
        case CellVerdict::kPass: return {"good", "✓", name(verdict)};
        case CellVerdict::kFail: return {"bad", "✕", name(verdict)};
        case CellVerdict::kError: return {"warn", "!", name(verdict)};
        case CellVerdict::kSkip: return {"mute", "–", name(verdict)};
        case CellVerdict::kInconclusive: return {"warn", "?", name(verdict)};
        case CellVerdict::kUnstable: return {"bad", "≈", name(verdict)};
    }
    return {"warn", "!", name(verdict)};
}

Badge badge_of(ScenarioVerdict verdict) {
    switch (verdict) {
        case ScenarioVerdict::kReproduced:
        case ScenarioVerdict::kDefectFound: return {"bad", "✕", name(verdict)};
        case ScenarioVerdict::kNotReproduced:
        case ScenarioVerdict::kNoDefectFound: return {"good", "✓", name(verdict)};
        case ScenarioVerdict::kExposed: return {"warn", "!", name(verdict)};
        case ScenarioVerdict::kInconclusive:
        case ScenarioVerdict::kNotRun: return {"warn", "?", name(verdict)};
    }
    return {"warn", "?", name(verdict)};
}

Badge badge_of(RunVerdict verdict) {
    switch (verdict) {
        case RunVerdict::kQualified: return {"good", "✓", name(verdict)};
        case RunVerdict::kConditionallyQualified: return {"warn", "!", name(verdict)};
        case RunVerdict::kNotQualified: return {"bad", "✕", name(verdict)};
        case RunVerdict::kIncomplete: return {"mute", "?", name(verdict)};
    }
    return {"mute", "?", name(verdict)};
}

std::string badge_html(const Badge& badge) {
    return fmt::format(R"(<span class="badge {}"><span aria-hidden="true">{}</span> {}</span>)",
                       badge.tone, badge.symbol, badge.word);
}

std::string measure_html(const Measure& measure) {
    std::string html;
    if (measure.value.is_boolean()) {
        html = measure.value.outcome() ? R"(<span class="mark ok">✓</span> yes)"
                                       : R"(<span class="mark no">✕</span> no)";
    } else {
        html = fmt::format(R"(<span class="{}">{}</span>)",
                           measure.value.is_null() ? "missing" : "figure",
                           escape_markup(format_value(measure)));
    }
    if (measure.interval && measure.value.is_number()) {
        html += fmt::format(R"( <small>95 % interval: {}</small>)",
                            format_interval(*measure.interval, measure.value.number()));
    }
    if (!measure.note.empty()) {
        html += fmt::format(R"( <small class="note">{}</small>)", markup_with_code(measure.note));
    }
    return html;
}

std::string evidence_html(const std::vector<EvidenceFile>& files) {
    if (files.empty()) {
        return "";
    }
    std::string html = "<ul class=\"evidence\">";
    for (const EvidenceFile& file : files) {
        const std::string path = escape_markup(file.path);
        html += linkable(file.path) ? fmt::format(R"(<li><a href="{}">{}</a> {}</li>)", path, path,
                                                  markup_with_code(file.description))
                                    : fmt::format("<li><code>{}</code> {}</li>", path,
                                                  markup_with_code(file.description));
    }
    return html + "</ul>";
}

std::string table_html(const std::string& label, const std::vector<std::string>& heads,
                       const std::string& rows) {
    const auto head_of = [](const std::string& head) {
        return fmt::format(R"(<th scope="col">{}</th>)", head);
    };
    return fmt::format(
        R"(<div class="scroll" tabindex="0" role="region" aria-label="{}">)"
        R"(<table class="data"><thead><tr>{}</tr></thead><tbody>{}</tbody></table></div>)",
        escape_markup(label), each_html(heads, head_of), rows);
}

std::string proof_html(const Proof& proof) {
    std::vector<std::string> heads;
    std::ranges::transform(proof.columns, std::back_inserter(heads), markup_with_code);
    const auto rows = std::span(proof.rows);
    const auto shown = rows.first(std::min(kRowsShown, rows.size()));
    const auto others = rows.subspan(shown.size());
    std::string html =
        fmt::format(R"(<section class="block proof"><h3>{}</h3>{})", markup_with_code(proof.title),
                    table_html(proof.title, heads, each_html(shown, row_html)));
    if (!others.empty()) {
        html += fmt::format("<details><summary>The other {}</summary>{}</details>",
                            plural(others.size(), "row"),
                            table_html(proof.title, heads, each_html(others, row_html)));
    }
    if (!proof.conclusion.empty()) {
        html += fmt::format(R"(<p class="conclusion">{}</p>)", markup_with_code(proof.conclusion));
    }
    return html + "</section>";
}

std::string environment_html(const std::vector<FactGroup>& groups) {
    std::string html;
    for (const FactGroup& group : groups) {
        html +=
            fmt::format(R"(<section class="facts"><h3>{}</h3><dl>)", escape_markup(group.title));
        for (const Fact& fact : group.facts) {
            const std::string value =
                fact.status == Fact::Status::kRead ? escape_markup(fact.value)
                : fact.status == Fact::Status::kAbsent
                    ? R"(<span class="missing">not present</span>)"
                    : R"(<span class="missing denied">permission denied</span>)";
            html += fmt::format(R"(<div><dt>{}</dt><dd>{} <small>{}</small></dd></div>)",
                                escape_markup(fact.name), value, escape_markup(fact.source));
        }
        html += "</dl></section>";
    }
    return html;
}

std::string scenario_html(const ScenarioResult& scenario) {
    return fmt::format(
        R"(<section class="scenario" id="{}">{}</section>)", escape_markup(scenario.id),
        each_html(kScenarioSections, [&](const auto section) { return section(scenario); }));
}

}  // namespace pathproof::report
