#include <fmt/format.h>

#include "dataplane/base/plural.h"
#include "harness/compare/text.h"
#include "harness/report/html.h"
#include "harness/report/text.h"

namespace pathproof::compare {
namespace {

using report::escape_markup;
using report::markup_with_code;

const char* tone(Change change) {
    switch (change) {
        case Change::kNewFailure:
        case Change::kChangedCause:
        case Change::kUnstable: return "bad";
        case Change::kFailureGone: return "good";
        case Change::kFailsLess:
        case Change::kNotComparable: return "warn";
        case Change::kAppeared:
        case Change::kDisappeared: break;
    }
    return "mute";
}

std::string changes_html(const Comparison& comparison) {
    std::string html = "<ul class=\"celllist\">";
    for (const Changed& each : comparison.changed) {
        html += fmt::format(
            R"(<li class="{}"><div class="verdict"><span class="badge">{}</span></div><div class="what">)"
            R"(<h5>{}</h5><p class="id">{} → {}</p><p>{}</p>{}</div></li>)",
            tone(each.change), name(each.change), escape_markup(each.id),
            escape_markup(each.before), escape_markup(each.now), markup_with_code(each.reason),
            each.known.empty() ? "" : "<p><b>Known:</b> " + markup_with_code(each.known) + "</p>");
    }
    return html + "</ul>";
}

std::string difference_html(const Difference& each) {
    return fmt::format("<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>",
                       escape_markup(each.where), escape_markup(each.what),
                       escape_markup(each.before), escape_markup(each.now));
}

std::string figure_html(const Figure& each) {
    return fmt::format("<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>",
                       escape_markup(each.cell), escape_markup(each.label),
                       escape_markup(each.before), escape_markup(each.now),
                       each.shift ? escape_markup(shift_text(each)) : "intervals do not touch");
}

// Renders a section of the page; empty if there are no rows.
template <typename Row>
std::string section_html(const std::string& title, const std::vector<std::string>& heads,
                         const std::vector<Row>& rows, std::string (*row_html)(const Row&)) {
    return rows.empty()
               ? ""
               : fmt::format(R"(<section class="block"><h3>{}</h3>{}</section>)", title,
                             report::table_html(title, heads, report::each_html(rows, row_html)));
}

const char* headline_tone(const Comparison& comparison) {
    if (comparison.worse()) {
        return "bad";
    }
    return exit_code(comparison) != 0 ? "warn" : "good";
}

std::string run_html(const Compared& now) {
    const Comparison& comparison = now.comparison;
    return fmt::format(
        R"(<section class="scenario"><header><p class="kicker">now <code>{}</code></p><h2>{}</h2>)"
        R"(<p class="headline {}">{}; {} as before, of which {} fail by the same cause</p></header>)"
        "{}{}{}<p class=\"lead\">{} of the figures that both runs have lie within noise; {} differ "
        "and have no interval to judge them by.</p></section>",
        escape_markup(now.report->file),
        report::badge_html(report::badge_of(now.report->run.verdict)), headline_tone(comparison),
        verdict_text(comparison), plural(comparison.same_cells, "cell"), comparison.failing_in_both,
        changes_html(comparison),
        section_html("What is not the same", {"of", "what", "before", "now"},
                     comparison.differences, difference_html),
        section_html("Figures that changed", {"cell", "figure", "before", "now", "by"},
                     comparison.figures, figure_html),
        comparison.within_noise, comparison.without_interval);
}

}  // namespace

std::string page(const Report& before, const std::vector<Compared>& all) {
    return report::framed_page("compared",
                               fmt::format("<p>before <b>{}</b> {}</p>", escape_markup(before.file),
                                           escape_markup(before.run.started_at)) +
                                   report::each_html(all, run_html));
}

}  // namespace pathproof::compare
