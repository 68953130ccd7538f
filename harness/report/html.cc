#include "harness/report/html.h"

#include <fmt/format.h>

#include <algorithm>

#include "harness/report/coverage.h"
#include "harness/report/embedded.h"
#include "harness/report/html_parts.h"
#include "harness/report/json.h"
#include "harness/report/prices.h"
#include "harness/report/text.h"

namespace pathproof::report {

std::string page_head(const std::string& title) {
    return fmt::format(
        "<!DOCTYPE html>\n"
        R"(<html xmlns="http://www.w3.org/1999/xhtml" lang="en"><head><meta charset="utf-8"/>)"
        R"(<meta http-equiv="Content-Security-Policy" content="default-src 'none'; )"
        R"(style-src 'unsafe-inline'; img-src data:"/>)"
        R"(<meta name="viewport" content="width=device-width, initial-scale=1"/>)"
        R"(<meta name="color-scheme" content="light dark"/><link rel="icon" href="data:,"/>)"
        R"(<title>{} · pathproof</title><style>{}</style></head>)",
        escape_markup(title), kPageStyle);
}

namespace {

using namespace verdict;

// A row an area, where the run speaks of more than one.
std::string areas_html(const RunResult& run) {
    const auto areas = judge_areas(run.scenarios);
    if (areas.size() < 2) {
        return "";
    }
    std::string rows;
    for (const AreaVerdict& area : areas) {
        rows += fmt::format(R"(<tr><th scope="row">{}</th><td>{}</td><td>{}</td></tr>)",
                            name(area.area), badge_html(badge_of(area.verdict)),
                            markup_with_code(area.sentence));
    }
    return R"(<table class="areas"><caption>Verdicts by subject</caption><tbody>)" + rows +
           "</tbody></table>";
}

// The page's title: the verdict, and what was tested.
std::string title_of(const RunResult& run) {
    std::string device;
    for (const FactGroup& group : run.environment) {
        if (device.empty() && group.title.starts_with("DUT device")) {
            device = " of " + group.title;
        }
    }
    return fmt::format("{}{}, lab {}", headline_of(run).word, device, run.lab);
}

std::string verdict_html(const RunResult& run) {
    const Badge badge = headline_of(run);
    std::string html = fmt::format(
        R"(<section class="verdictbox {}" aria-label="Verdict"><div class="sign" aria-hidden="true">{}</div>)"
        R"(<div><h1>{}</h1><p class="subject">{}</p><p class="meaning">{}</p><ul>)",
        badge.tone, badge.symbol, badge.word, subject_of(run.evidence_class), meaning(run));
    for (const std::string& reason : run.reasons) {
        html += "<li>" + markup_with_code(reason) + "</li>";
    }
    return html + "</ul>" + areas_html(run) + "</div></section>";
}

using Rows = std::vector<std::pair<std::string, std::string>>;

// "driver veth 1.0, firmware 7.2, PCI 8086:1592": what is known of them.
std::string device_text(const FactGroup& group) {
    std::string text;
    for (const Fact& fact : group.facts) {
        const bool identifies = fact.name == "driver" || fact.name == "driver version" ||
                                fact.name == "firmware" || fact.name == "bus" ||
                                fact.name == "PCI ids" || fact.name == "PCIe link";
        if (identifies && fact.status == Fact::Status::kRead) {
            text += fmt::format("{}{} {}", text.empty() ? "" : ", ", fact.name, fact.value);
        }
    }
    return text;
}

Rows certificate_rows(const RunResult& run) {
    Rows rows = {{"Report", run.id},
                 {"Laboratory", run.parties.laboratory},
                 {"Place", run.parties.place},
                 {"Customer", run.parties.customer},
                 {"Operator", run.parties.operator_name},
                 {"Begun", run.started_at}};
    for (const FactGroup& group : run.environment) {
        if (group.title.starts_with("DUT device ")) {
            rows.emplace_back(group.title, device_text(group));
        }
    }
    rows.emplace_back("Kernel", fact_of(run, "Kernel", "release"));
    rows.emplace_back("CPU", fact_of(run, "CPU", "model"));
    rows.emplace_back("Lab", run.lab + ": " + run.evidence_class + " evidence");
    const std::string dpdk = fact_of(run, "Software", "DPDK");
    rows.emplace_back("Tested with",
                      "pathproof " + run.version + (dpdk.empty() ? "" : ", " + dpdk));
    rows.emplace_back("Seed", std::to_string(run.seed));
    return rows;
}

// The section that an auditor looks for first: what was tested, with what and by whom.
std::string certificate_html(const RunResult& run) {
    std::string list;
    for (const auto& [name, value] : certificate_rows(run)) {
        if (!value.empty()) {
            list += fmt::format("<div><dt>{}</dt><dd>{}</dd></div>", escape_markup(name),
                                escape_markup(value));
        }
    }
    return R"(<section class="page" id="certificate"><h2>What was tested</h2><dl class="meta">)" +
           list +
           R"(</dl><p class="lead">This report relates only to the items tested. Cells and figures are )"
           R"(results of measurement; causes and cures are conclusions from them.</p></section>)";
}

std::string class_html(const RunResult& run) {
    return fmt::format(R"(<p class="evidenceclass"><b>Evidence class: {}.</b> {}</p>)",
                       escape_markup(run.evidence_class), markup_with_code(run.evidence_note));
}

std::string what_speaks_against(const RunResult& run) {
    bool failed = false;
    bool unnamed = false;
    bool harmed = false;
    for (const ScenarioResult& scenario : run.scenarios) {
        failed |= is_failure(scenario.verdict);
        harmed |= scenario.verdict == ScenarioVerdict::kReproduced;
        unnamed |= is_failure(scenario.verdict) && scenario.cause.empty();
    }
    if (!failed) {
        return "Something failed that this run did not look for: the cells below show it.";
    }
    // A defect may be one that no packet met: what a plug-in's CHECK says, a feature's name.
    const std::string what = harmed ? "Packets are carried wrongly" : "A defect was found";
    return what + (unnamed ? ", and this run could not name the cause of all of it."
                           : ". The cause is named below; no cure was shown in this run.");
}

// What the words on the tiles mean: only those that occur.
std::string lead_of(const RunResult& run) {
    const auto truths = std::ranges::count_if(
        run.scenarios, [](const ScenarioResult& scenario) { return is_truth(scenario.verdict); });
    std::string lead;
    if (truths < static_cast<std::ptrdiff_t>(run.scenarios.size())) {
        lead =
            "A scenario sets up a known failure on purpose and looks whether this system shows it. "
            "REPRODUCED means that it does.";
        const bool exposed = std::ranges::any_of(run.scenarios, [](const ScenarioResult& scenario) {
            return scenario.verdict == ScenarioVerdict::kExposed;
        });
        lead += exposed ? " EXPOSED means that it happens here and harmed nobody." : "";
    }
    if (truths != 0) {
        lead += lead.empty() ? "" : " ";
        lead +=
            "A truth table looks for whatever is wrong. DEFECT FOUND means that some frame was, or "
            "that something false was said of one.";
    }
    return lead;
}

std::string overview_html(const RunResult& run) {
    std::string html = R"(<section class="overview" aria-label="Scenarios"><p class="lead">)" +
                       lead_of(run) + R"(</p><div class="tiles">)";
    for (const ScenarioResult& scenario : run.scenarios) {
        const Badge badge = badge_of(scenario.verdict);
        html += fmt::format(
            R"(<a class="tile {}" href="#{}">{}<b>{}</b><span>{}</span><small>{}</small></a>)",
            badge.tone, escape_markup(scenario.id), badge_html(badge),
            escape_markup(scenario.title), markup_with_code(scenario.headline),
            coverage_text(coverage_of(scenario)));
    }
    return html + "</div></section>";
}

std::string masthead_html(const RunResult& run) {
    std::string when = run.started_at;
    std::ranges::replace(when, 'T', ' ');
    if (!when.empty() && when.back() == 'Z') {
        when.replace(when.size() - 1, 1, " UTC");
    }
    return fmt::format(R"(<header class="masthead"><span class="wordmark">pathproof</span>)"
                       R"(<span>lab <b>{}</b></span>{}<span>{}</span><span>{} s</span></header>)",
                       escape_markup(run.lab),
                       run.profile.empty() ? ""
                                           : fmt::format("<span>profile <b>{}</b></span>",
                                                         escape_markup(run.profile)),
                       escape_markup(when), format_number(std::round(run.seconds * 10) / 10));
}

std::string repeat_html(const RunResult& run) {
    return fmt::format(
        R"(<section class="page" id="repeat"><h2>How to repeat this run</h2><pre>{}</pre>)"
        R"(<dl class="meta"><div><dt>as typed</dt><dd><code>{}</code></dd></div>)"
        R"(<div><dt>seed</dt><dd><code>{}</code></dd></div>)"
        R"(<div><dt>pathproof</dt><dd>{}</dd></div><div><dt>started</dt><dd>{}</dd></div></dl>)"
        R"(<p class="lead">The whole result is in )"
        R"(<a href="report.json">report.json</a> beside this page, and in this page itself.</p></section>)",
        escape_markup(run.repeat_command), escape_markup(run.command), run.seed,
        escape_markup(run.version), escape_markup(run.started_at));
}

std::string environment_section_html(const RunResult& run) {
    return R"(<section class="page" id="environment"><h2>Environment</h2><p class="lead">What this run ran on. )"
           R"(Each value stands with its source; a value that could not be read says so.</p><div class="groups">)" +
           environment_html(run.environment) + "</div></section>";
}

// In their order on the page; one that has nothing to say is empty. A new section is a row here.
constexpr std::string (*kPageSections[])(const RunResult& run) = {
    verdict_html,
    class_html,
    certificate_html,
    overview_html,
    coverage_html,
    [](const RunResult& run) { return each_html(run.scenarios, scenario_html); },
    [](const RunResult& run) { return run.prices ? prices_html(*run.prices) : std::string(); },
    repeat_html,
    environment_section_html,
};

}  // namespace

std::string meaning(const RunResult& run) {
    const bool known = std::ranges::all_of(
        run.scenarios, [](const ScenarioResult& scenario) { return !is_truth(scenario.verdict); });
    switch (run.verdict) {
        case RunVerdict::kQualified: return "Nothing that this run looked for went wrong.";
        case RunVerdict::kConditionallyQualified:
            return fmt::format(
                "{} on this system. For each of them this run named the cause and showed a cure "
                "that works.",
                known ? "Known failures exist" : "Failures exist");
        case RunVerdict::kNotQualified: return what_speaks_against(run);
        case RunVerdict::kIncomplete:
            return "No basis for a verdict: something was not measured, not conclusive or not "
                   "explained.";
    }
    return "";
}

Badge headline_of(const RunResult& run) {
    const bool is_repro = run.options.command == "repro" && !run.scenarios.empty();
    return is_repro && run.verdict != RunVerdict::kIncomplete
               ? badge_of(run.scenarios.front().verdict)
               : badge_of(run.verdict);
}

const char* subject_of(const std::string& evidence_class) {
    return evidence_class == "physical"  ? "of this hardware, driver and kernel"
           : evidence_class == "virtual" ? "of the software path, on virtual devices"
                                         : "of a simulated path";
}

std::string html_page(const RunResult& run) {
    std::string html = page_head(title_of(run)) + "<body>" + masthead_html(run) + "<main>";
    for (const auto section : kPageSections) {
        html += section(run);
    }
    return html + "</main><script type=\"application/json\" id=\"report\">\n" +
           json_in_markup(json_text(run)) + "</script></body></html>\n";
}

}  // namespace pathproof::report
