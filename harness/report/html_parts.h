// The pieces that report.html is put together from. Each gives well-formed markup (XML rules, so
// that a strict parser can check it) in which every text of the result is escaped.
#pragma once

#include <string>
#include <vector>

#include "harness/verdict/result.h"

namespace pathproof::report {

// How a verdict looks: a CSS class, a symbol that does not need colour, and its word.
struct Badge {
    const char* tone;  // "good", "bad", "warn", "mute"
    const char* symbol;
    const char* word;
};

// The verdict that a run is headed by: its own, or that of the one scenario of a complete `repro`.
Badge headline_of(const verdict::RunResult& run);
Badge badge_of(verdict::CellVerdict verdict);
Badge badge_of(verdict::ScenarioVerdict verdict);
Badge badge_of(verdict::RunVerdict verdict);
std::string badge_html(const Badge& badge);

// What `html` makes of each of them, one behind the other.
template <typename List, typename Html>
std::string each_html(const List& list, const Html& html) {
    std::string all;
    for (const auto& one : list) {
        all += html(one);
    }
    return all;
}

// A table of these heads (markup) and rows (tr elements), which a reader may scroll sideways.
std::string table_html(const std::string& label, const std::vector<std::string>& heads,
                       const std::string& rows);

// A measure as a table field or list item: value, interval and note, a probe as a mark.
std::string measure_html(const verdict::Measure& measure);

// The cells: as a grid with toggles on two axes where they form one, the others as a list. Element
// ids are those of cells and findings (verdict::cell_id, finding_id).
std::string cells_html(const verdict::ScenarioResult& scenario);
std::string cell_list_html(const std::string& scenario,
                           const std::vector<const verdict::Cell*>& cells);
// The element id of a cell; empty for one that the scenario has not.
std::string cell_target(const verdict::ScenarioResult& scenario, const std::string& cell);

// A failing cell beside the same one cured; empty when the result has no such pair.
std::string before_after_html(const verdict::ScenarioResult& scenario);

// Bars or curves, with whiskers, as inline SVG.
std::string chart_html(const verdict::Chart& chart);

// Profile, driver and wire side by side, with links to the cells.
std::string truth_tables_html(const verdict::ScenarioResult& scenario);
std::string calibration_html(const verdict::Calibration& calibration);

std::string proof_html(const verdict::Proof& proof);
std::string evidence_html(const std::vector<verdict::EvidenceFile>& files);
std::string environment_html(const std::vector<verdict::FactGroup>& groups);

// One section of the page, whose element id is the scenario's.
std::string scenario_html(const verdict::ScenarioResult& scenario);

}  // namespace pathproof::report
