// Cells on the page: the grid, the list, and the pair before and after the cure.
#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "dataplane/base/plural.h"
#include "harness/report/html_parts.h"
#include "harness/report/matrix.h"
#include "harness/report/text.h"

namespace pathproof::report {
namespace {

using namespace verdict;

// Measures that are shown as marks: those that some cell answers with true or false.
std::vector<std::string> probes_of(const std::vector<Cell>& cells) {
    std::vector<std::string> probes;
    for (const Cell& cell : cells) {
        for (const Measure& measure : cell.measures) {
            const bool known = std::ranges::find(probes, measure.name) != probes.end();
            if (measure.value.is_boolean() && !known) {
                probes.push_back(measure.name);
            }
        }
    }
    return probes;
}

const Measure* find_measure(const Cell& cell, const std::string& measure_name) {
    const auto found = std::ranges::find(cell.measures, measure_name, &Measure::name);
    return found == cell.measures.end() ? nullptr : &*found;
}

std::string mark_html(const Measure& measure) {
    if (!measure.value.is_boolean()) {
        return R"(<span class="mark none" aria-label="not measured">–</span>)";
    }
    return measure.value.outcome()
               ? R"(<span class="mark ok" aria-label="got through">✓</span>)"
               : R"(<span class="mark no" aria-label="did not get through">✕</span>)";
}

std::string marks_html(const Cell& cell, const std::vector<std::string>& probes) {
    std::string items;
    for (const std::string& probe : probes) {
        const Measure* measure = find_measure(cell, probe);
        if (measure == nullptr) {
            continue;
        }
        const bool failed = measure->value.is_boolean() && !measure->value.outcome();
        items += fmt::format(R"(<li class="{}" title="{}">{} {}</li>)", failed ? "failed" : "",
                             escape_markup(measure->note), mark_html(*measure),
                             escape_markup(measure->label));
    }
    return items.empty() ? "" : "<ul class=\"marks\">" + items + "</ul>";
}

// Words that a browser does not break: it would part "--random-fully" after its hyphens.
std::string whole_words(const std::string& text) {
    std::string html;
    std::istringstream words(text);
    for (std::string word; words >> word;) {
        html += fmt::format(R"({}<span class="word">{}</span>)", html.empty() ? "" : " ",
                            escape_markup(word));
    }
    return html;
}

std::string head_html(const std::string& axis, const std::string& value, const char* scope,
                      const char* span, std::size_t covers) {
    return fmt::format(
        R"(<th scope="{}" {}="{}"><span class="axis">{}</span> <span class="value">{}</span></th>)",
        covers > 1 ? fmt::format("{}group", scope) : scope, span, covers, escape_markup(axis),
        whole_words(value));
}

// How many neighbours from `from` on agree in all axes up to and including `level`: they share one
// head.
std::size_t run_length(const std::vector<Matrix::Values>& all, std::size_t from,
                       std::size_t level) {
    const auto agrees = [&](std::size_t at) {
        return std::equal(all[at].begin(), all[at].begin() + static_cast<std::ptrdiff_t>(level) + 1,
                          all[from].begin());
    };
    std::size_t end = from;
    while (end < all.size() && agrees(end)) {
        ++end;
    }
    return end - from;
}

bool starts_run(const std::vector<Matrix::Values>& all, std::size_t at, std::size_t level) {
    return at == 0 || run_length(all, at - 1, level) == 1;
}

std::string column_heads(const Matrix& matrix) {
    std::string heads;
    for (std::size_t level = 0; level < matrix.column_axes.size(); ++level) {
        heads += "<tr>";
        if (level == 0) {
            heads += fmt::format(R"(<td class="corner" colspan="{}" rowspan="{}"></td>)",
                                 matrix.row_axes.size(), matrix.column_axes.size());
        }
        for (std::size_t at = 0; at < matrix.columns.size();) {
            const std::size_t covers = run_length(matrix.columns, at, level);
            heads += head_html(matrix.column_axes[level], matrix.columns[at][level], "col",
                               "colspan", covers);
            at += covers;
        }
        heads += "</tr>";
    }
    return heads;
}

// The id of an element is that of its cell, and that of the cause that of the finding: links to
// them hold from run to run.
std::string cause_html(const std::string& scenario, const Cell& cell) {
    return cell.cause.empty()
               ? ""
               : fmt::format(R"( <span class="causeword" id="{}">{}</span>)",
                             escape_markup(finding_id(scenario, cell)), escape_markup(cell.cause));
}

// How often it failed, and which of its runs is shown; and whether a baseline expected that.
std::string standing_html(const Cell& cell) {
    const auto word = [](const std::string& text) {
        return fmt::format(R"( <span class="causeword">{}</span>)", text);
    };
    const bool said = fails(cell.verdict);
    return (cell.runs ? word(fmt::format("failed {} of {}, shown: repetition {}", cell.runs->failed,
                                         cell.runs->n, cell.runs->kept))
                      : "") +
           (said && !cell.known.empty() ? word("known")
            : said && cell.fresh        ? word("new")
                                        : "");
}

std::string grid_cell(const std::string& scenario, const Cell& cell,
                      const std::vector<std::string>& probes) {
    const Badge badge = badge_of(cell.verdict);
    const std::string html =
        fmt::format(R"(<td class="cell {}" id="{}"><div class="where">{}</div>{}{})", badge.tone,
                    escape_markup(cell_id(scenario, cell)), markup_with_code(toggles_text(cell)),
                    badge_html(badge), cause_html(scenario, cell) + standing_html(cell));
    return html + marks_html(cell, probes) + "</td>";
}

std::string grid_html(const std::string& scenario, const Matrix& matrix,
                      const std::vector<std::string>& probes) {
    std::string html = "<table class=\"grid\"><thead>" + column_heads(matrix) + "</thead><tbody>";
    for (std::size_t row = 0; row < matrix.rows.size(); ++row) {
        html += "<tr>";
        for (std::size_t level = 0; level < matrix.row_axes.size(); ++level) {
            if (starts_run(matrix.rows, row, level)) {
                html += head_html(matrix.row_axes[level], matrix.rows[row][level], "row", "rowspan",
                                  run_length(matrix.rows, row, level));
            }
        }
        for (std::size_t column = 0; column < matrix.columns.size(); ++column) {
            const auto found = matrix.cells.find({row, column});
            html += found == matrix.cells.end() ? R"(<td class="cell mute">not in the plan</td>)"
                                                : grid_cell(scenario, *found->second, probes);
        }
        html += "</tr>";
    }
    return html + "</tbody></table>";
}

std::string tally(const Matrix& matrix) {
    std::string text;
    for (CellVerdict verdict :
         {CellVerdict::kFail, CellVerdict::kUnstable, CellVerdict::kError,
          CellVerdict::kInconclusive, CellVerdict::kSkip, CellVerdict::kPass}) {
        const auto count = std::ranges::count_if(
            matrix.cells, [&](const auto& entry) { return entry.second->verdict == verdict; });
        if (count > 0) {
            text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, name(verdict));
        }
    }
    return text;
}

std::string known_html(const Cell& cell) {
    return cell.known.empty() ? "" : "<p><b>Known:</b> " + markup_with_code(cell.known) + "</p>";
}

// Sentences of the grid's cells that say more than PASS; one sentence that several cells share
// stands once.
std::string grid_reasons(const Matrix& matrix) {
    std::vector<std::pair<std::string, std::vector<const Cell*>>> groups;
    for (const auto& [place, cell] : matrix.cells) {
        if (cell->verdict == CellVerdict::kPass) {
            continue;
        }
        const std::string key = name(cell->verdict) + cell->reason + cell->known;
        auto group = std::ranges::find_if(
            groups, [&](const auto& candidate) { return candidate.first == key; });
        if (group == groups.end()) {
            group = groups.insert(groups.end(), {key, {}});
        }
        group->second.push_back(cell);
    }
    std::string items;
    for (const auto& [key, cells] : groups) {
        items += fmt::format("<li>{} ", badge_html(badge_of(cells.front()->verdict)));
        for (const Cell* cell : cells) {
            items += fmt::format(R"(<span class="point">{}</span> )",
                                 markup_with_code(toggles_text(*cell)));
        }
        items += fmt::format("<p>{}</p>{}", markup_with_code(cells.front()->reason),
                             known_html(*cells.front()));
        for (const Cell* cell : cells) {
            items += evidence_html(cell->evidence);
        }
        items += "</li>";
    }
    return items.empty() ? "" : "<ul class=\"reasons\">" + items + "</ul>";
}

// All figures of the grid's cells, one row a cell: what the marks leave out.
std::string figures_html(const Matrix& matrix) {
    std::vector<std::string> columns;  // names of measures
    std::vector<std::string> heads = {"cell", "verdict"};
    for (const auto& [place, cell] : matrix.cells) {
        for (const Measure& measure : cell->measures) {
            if (std::ranges::find(columns, measure.name) == columns.end()) {
                columns.push_back(measure.name);
                heads.push_back(escape_markup(measure.label));
            }
        }
    }
    std::string rows;
    for (const auto& [place, cell] : matrix.cells) {
        rows += fmt::format(R"(<tr><th scope="row">{}</th><td>{}{}</td>)", escape_markup(cell->id),
                            badge_html(badge_of(cell->verdict)), standing_html(*cell));
        for (const std::string& column : columns) {
            const Measure* measure = find_measure(*cell, column);
            rows += "<td>" + (measure == nullptr ? "" : measure_html(*measure)) + "</td>";
        }
        rows += "</tr>";
    }
    return fmt::format(
        R"(<details class="figures"><summary>Every figure of these {}</summary>{}</details>)",
        plural(matrix.cells.size(), "cell"), table_html("Figures of every cell", heads, rows));
}

std::string constants_text(const Matrix& matrix) {
    std::string text;
    for (const auto& [axis, value] : matrix.constants) {
        text += fmt::format("{}{} {}", text.empty() ? " In all of them: " : ", ", axis, value);
    }
    return text.empty() ? "" : text + ".";
}

// Same toggles, and exactly one of them with another value.
bool one_toggle_apart(const Cell& a, const Cell& b) {
    if (a.toggles.size() != b.toggles.size()) {
        return false;
    }
    std::size_t different = 0;
    for (std::size_t at = 0; at < a.toggles.size(); ++at) {
        if (a.toggles[at].first != b.toggles[at].first) {
            return false;
        }
        different += a.toggles[at].second != b.toggles[at].second ? 1 : 0;
    }
    return different == 1;
}

std::pair<const Cell*, const Cell*> before_and_after(const ScenarioResult& scenario) {
    if (!scenario.before_cell.empty() && !scenario.after_cell.empty()) {
        return {find_cell(scenario, scenario.before_cell),
                find_cell(scenario, scenario.after_cell)};
    }
    for (const Cell& before : scenario.cells) {
        if (!fails(before.verdict)) {
            continue;
        }
        for (const Cell& after : scenario.cells) {
            if (after.verdict == CellVerdict::kPass && one_toggle_apart(before, after)) {
                return {&before, &after};
            }
        }
    }
    return {nullptr, nullptr};
}

// The toggles of a cell, those that the other cell has otherwise set in bold.
std::string compared_toggles(const Cell& cell, const Cell& other) {
    std::string html;
    for (const auto& toggle : cell.toggles) {
        const bool same = std::ranges::find(other.toggles, toggle) != other.toggles.end();
        const std::string text = markup_with_code(toggle.first + ": " + toggle.second);
        html += same ? "<span>" + text + "</span>" : "<strong>" + text + "</strong>";
    }
    return html.empty() ? escape_markup(cell.id) : html;
}

// Zeros say that something did not happen: they are there, but folded away.
std::string measures_html(const std::vector<Measure>& measures) {
    std::string shown;
    std::string zeros;
    for (const Measure& measure : measures) {
        (measure.value.is_zero() ? zeros : shown) +=
            fmt::format("<div><dt>{}</dt><dd>{}</dd></div>", escape_markup(measure.label),
                        measure_html(measure));
    }
    std::string html = "<div class=\"figures\">";
    if (!shown.empty()) {
        html += "<dl class=\"measures\">" + shown + "</dl>";
    }
    if (!zeros.empty()) {
        html += "<details><summary>Counted zero</summary><dl class=\"measures\">" + zeros +
                "</dl></details>";
    }
    return html + "</div>";
}

// Of a cell whose verdict does not speak of the system, what it speaks of.
const char* role_text(const Cell& cell) {
    switch (cell.role) {
        case Cell::Role::kCure: return " (cure)";
        case Cell::Role::kDemonstration:
            return " (demonstration: PASS means that it shows what it must)";
        case Cell::Role::kMatrix:
        case Cell::Role::kControl: return "";
    }
    return "";
}

}  // namespace

std::string cell_list_html(const std::string& scenario, const std::vector<const Cell*>& cells) {
    std::string html = "<ul class=\"celllist\">";
    for (const Cell* cell : cells) {
        const Badge badge = badge_of(cell->verdict);
        html += fmt::format(R"(<li id="{}" class="{}"><div class="verdict">{}{}{})",
                            escape_markup(cell_id(scenario, *cell)), badge.tone, badge_html(badge),
                            cause_html(scenario, *cell), standing_html(*cell));
        html += fmt::format(R"(</div><div class="what"><h5>{}</h5><p class="id">{}{}</p>)",
                            markup_with_code(toggles_text(*cell)),
                            cell->toggles.empty() ? "" : escape_markup(cell->id), role_text(*cell));
        html += fmt::format("<p>{}</p>{}{}</div>", markup_with_code(cell->reason),
                            known_html(*cell), evidence_html(cell->evidence));
        std::vector<Measure> measures = cell->measures;
        if (cell->runs) {
            measures.insert(measures.begin(), share_of(*cell->runs));
        }
        html += measures_html(measures) + "</li>";
    }
    return html + "</ul>";
}

std::string cells_html(const ScenarioResult& scenario) {
    if (scenario.cells.empty()) {
        return "<p class=\"empty\">No cell was run.</p>";
    }
    const Matrix matrix = lay_out(scenario.cells);
    std::string html;
    if (!matrix.empty()) {
        const auto probes = probes_of(scenario.cells);
        html += fmt::format(
            R"(<section class="block" id="{}/"><h3>The matrix</h3><p class="lead">Each field is one )"
            R"(combination of settings: {}.{}</p>{})",
            escape_markup(scenario.id), tally(matrix), escape_markup(constants_text(matrix)),
            grid_html(scenario.id, matrix, probes));
        if (!probes.empty()) {
            html += R"(<p class="legend"><span class="mark ok">✓</span> the probe got through )"
                    R"(<span class="mark no">✕</span> it did not )"
                    R"(<span class="mark none">–</span> not measured</p>)";
        }
        html += grid_reasons(matrix) + figures_html(matrix) + "</section>";
    }
    if (!matrix.rest.empty()) {
        html += fmt::format(R"(<section class="block"><h3>{}</h3>{}</section>)",
                            matrix.empty() ? "What was run" : "Further cells",
                            cell_list_html(scenario.id, matrix.rest));
    }
    return html;
}

std::string cell_target(const ScenarioResult& scenario, const std::string& cell) {
    const auto found = std::ranges::find(scenario.cells, cell, &Cell::id);
    return found == scenario.cells.end() ? "" : escape_markup(cell_id(scenario.id, *found));
}

std::string before_after_html(const ScenarioResult& scenario) {
    const auto [before, after] = before_and_after(scenario);
    if (before == nullptr || after == nullptr) {
        return "";
    }
    std::string html = fmt::format(
        R"(<section class="block"><h3>Before and after</h3><table class="compare"><thead><tr>)"
        R"(<td></td><th scope="col">{} <span class="settings">{}</span></th>)"
        R"(<th scope="col">{} <span class="settings">{}</span></th></tr></thead><tbody>)",
        badge_html(badge_of(before->verdict)), compared_toggles(*before, *after),
        badge_html(badge_of(after->verdict)), compared_toggles(*after, *before));
    for (const Measure& measure : before->measures) {
        const Measure* cured = find_measure(*after, measure.name);
        if (measure.value.is_zero() && cured != nullptr && cured->value.is_zero()) {
            continue;
        }
        html += fmt::format(R"(<tr><th scope="row">{}</th><td>{}</td><td>{}</td></tr>)",
                            escape_markup(measure.label), measure_html(measure),
                            cured == nullptr ? "not measured" : measure_html(*cured));
    }
    return html +
           "</tbody></table><p class=\"legend\">What was counted zero in both is left "
           "out.</p></section>";
}

}  // namespace pathproof::report
