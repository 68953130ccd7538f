#include "harness/compare/baseline.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <fnmatch.h>

#include <algorithm>
#include <sstream>

#include "harness/profile/toml_reader.h"
#include "harness/report/text.h"

namespace pathproof::compare {
namespace {

using namespace verdict;

bool fits(const std::string& pattern, const std::string& text) {
    return pattern.empty() || fnmatch(pattern.c_str(), text.c_str(), 0) == 0;
}

// The first two names of an id, or all of it.
std::string without_cause(const std::string& id) {
    const std::size_t cell = id.find('/');
    return cell == std::string::npos ? id : id.substr(0, id.find('/', cell + 1));
}

bool names_a_cause(const Known& known) {
    return without_cause(known.id) != known.id;
}

bool fits_cell(const Known& known, const std::string& scenario, const Cell& cell) {
    return fits(without_cause(known.id), cell_id(scenario, cell));
}

// One run of a cell that fails at times says nothing else of it, whatever it says.
bool is_one_of_unstable(const Known& known, const Cell& cell) {
    return known.verdict == "unstable" && (!cell.runs || cell.runs->n < 2);
}

bool fits_verdict(const Known& known, const Cell& cell) {
    if (known.verdict.empty()) {
        return fails(cell.verdict);
    }
    if (known.verdict == "fail" || is_one_of_unstable(known, cell)) {
        return cell.verdict == CellVerdict::kFail;
    }
    return cell.verdict == CellVerdict::kUnstable;
}

bool expects(const Known& known, const std::string& scenario, const Cell& cell) {
    return fits_verdict(known, cell) && fits_cell(known, scenario, cell) &&
           (!names_a_cause(known) || fits(known.id, finding_id(scenario, cell)));
}

bool any_fact(const RunResult& run, const std::string& pattern,
              std::initializer_list<std::string_view> names) {
    if (pattern.empty()) {
        return true;
    }
    for (const FactGroup& group : run.environment) {
        for (const Fact& fact : group.facts) {
            const bool named = std::ranges::find(names, fact.name) != names.end();
            if (named && fact.status == Fact::Status::kRead && fits(pattern, fact.value)) {
                return true;
            }
        }
    }
    return false;
}

bool applies(const Known& known, const RunResult& run) {
    return any_fact(run, known.kernel, {"release"}) && any_fact(run, known.driver, {"driver"}) &&
           any_fact(run, known.nic, {"bus", "firmware"});
}

bool is_over(const Known& known, const std::string& today) {
    return !known.until.empty() && known.until < today;  // ISO 8601 sorts as text
}

std::string words(const Known& known) {
    std::string text =
        known.link.empty() ? known.reason : fmt::format("{} ({})", known.reason, known.link);
    if (!known.approver.empty()) {
        text += fmt::format("; accepted by {}{}", known.approver,
                            known.until.empty() ? "" : " until " + known.until);
    }
    return text;
}

std::string in_line(const Baseline& baseline, const Known& known, const std::string& said) {
    return fmt::format("{} ({}:{}): {}", known.id, baseline.file, known.line, said);
}

// Calls `take` with the scenario's id and the cell, for all of a run.
template <typename Run, typename Take>
void each_cell(Run& run, const Take& take) {
    for (auto& scenario : run.scenarios) {
        for (const auto& cell : all_cells(scenario)) {
            take(scenario.id, cell.get());
        }
    }
}

const Known* expecting(const Baseline& baseline, const std::string& today, const RunResult& run,
                       const std::string& scenario, const Cell& cell) {
    const auto found = std::ranges::find_if(baseline.known, [&](const Known& known) {
        return !is_over(known, today) && applies(known, run) && expects(known, scenario, cell);
    });
    return found == baseline.known.end() ? nullptr : &*found;
}

// Reports an entry that applies to the run if it fits no cell of it, or if its failure is gone.
void account(const Baseline& baseline, const Known& known, const RunResult& run,
             Expectation& result) {
    bool fitted = false;
    bool fails = false;
    bool open = false;
    each_cell(run, [&](const std::string& scenario, const Cell& cell) {
        if (fits_cell(known, scenario, cell)) {
            fitted = true;
            fails |= expects(known, scenario, cell);
            open |= is_one_of_unstable(known, cell) ||
                    (cell.verdict != CellVerdict::kPass && !verdict::fails(cell.verdict));
        }
    });
    if (!fitted) {
        result.unmatched.push_back(in_line(baseline, known, "no cell of this run fits it"));
    } else if (!fails && !open) {
        result.gone.push_back(in_line(
            baseline, known,
            known.verdict == "unstable" ? "is not unstable any more" : "does not fail any more"));
    }
}

std::string toml_text(const std::string& text) {
    std::ostringstream out;
    out << toml::value<std::string>(text);
    return out.str();
}

Known read_known(profile::TomlReader& reader, const toml::table& table) {
    reader.allow_only(
        table, {"id", "reason", "link", "approver", "verdict", "until", "kernel", "driver", "nic"});
    Known known{.id = reader.required_text(table, "id"),
                .reason = reader.required_text(table, "reason"),
                .link = reader.optional_text(table, "link"),
                .approver = reader.optional_text(table, "approver"),
                .verdict = reader.optional_text(table, "verdict"),
                .until = table.contains("until") ? reader.date(table, "until") : "",
                .kernel = reader.optional_text(table, "kernel"),
                .driver = reader.optional_text(table, "driver"),
                .nic = reader.optional_text(table, "nic"),
                .line = static_cast<int>(table.source().begin.line)};
    if (!known.verdict.empty() && known.verdict != "fail" && known.verdict != "unstable") {
        reader.complain(table.source(),
                        "verdict '{}' is none that can be expected; there are: fail, unstable",
                        known.verdict);
    }
    if (known.id.find('/') == std::string::npos) {
        reader.complain(table.source(),
                        "id '{}' names no cell; an id is scenario/cell or scenario/cell/cause, "
                        "with * for any part of it",
                        known.id);
    }
    return known;
}

}  // namespace

Result<Baseline> read_baseline(const std::string& file) {
    const auto text = TRY(profile::read_text(file, "baseline"));
    return profile::parse_toml<Baseline>(
        text, file, [&](profile::TomlReader& reader, const toml::table& root) {
            Baseline baseline{.file = file, .known = {}};
            reader.allow_only(root, {"known"});
            reader.each_table(root, "known", [&](const toml::table& table) {
                baseline.known.push_back(read_known(reader, table));
            });
            return baseline;
        });
}

std::vector<std::string> lint(const Baseline& baseline, const std::string& today,
                              const std::vector<std::string>& scenarios) {
    std::vector<std::string> wrong;
    for (const Known& known : baseline.known) {
        if (is_over(known, today)) {
            wrong.push_back(in_line(baseline, known, "was expected until " + known.until));
        }
        const std::string scenario = known.id.substr(0, known.id.find('/'));
        if (std::ranges::none_of(scenarios,
                                 [&](const std::string& each) { return fits(scenario, each); })) {
            wrong.push_back(in_line(baseline, known,
                                    fmt::format("no scenario fits '{}'; there are: {}", scenario,
                                                fmt::join(scenarios, ", "))));
        }
        const auto twin = std::ranges::find_if(baseline.known, [&](const Known& other) {
            return other.id == known.id && other.verdict == known.verdict &&
                   other.kernel == known.kernel && other.driver == known.driver &&
                   other.nic == known.nic;
        });
        if (&*twin != &known) {
            wrong.push_back(
                in_line(baseline, known, fmt::format("the same as in line {}", twin->line)));
        }
    }
    return wrong;
}

int Expectation::exit_code(RunVerdict verdict) const {
    if (verdict == RunVerdict::kIncomplete) {
        return 3;
    }
    return !fresh.empty() || !expired.empty() ? 1 : 0;
}

Expectation apply(const Baseline& baseline, const std::string& today, RunResult& run) {
    Expectation result;
    each_cell(run, [&](const std::string& scenario, Cell& cell) {
        if (!verdict::fails(cell.verdict)) {
            return;
        }
        const Known* known = expecting(baseline, today, run, scenario, cell);
        const std::string id = finding_id(scenario, cell);
        if (known == nullptr) {
            cell.fresh = true;
            result.fresh.push_back(fmt::format("{}: {}", id, cell.reason));
            return;
        }
        cell.known = words(*known);
        cell.waiver = Waiver{.reason = known->reason,
                             .link = known->link,
                             .approver = known->approver,
                             .until = known->until};
        result.known.push_back(fmt::format("{}: {}", id, cell.known));
    });
    for (const Known& known : baseline.known) {
        if (is_over(known, today)) {
            result.expired.push_back(in_line(baseline, known, "was expected until " + known.until));
        } else if (applies(known, run)) {
            account(baseline, known, run, result);
        }
    }
    return result;
}

void apply(const Baseline& baseline, const std::string& today, const RunResult& now,
           Comparison& comparison) {
    each_cell(now, [&](const std::string& scenario, const Cell& cell) {
        const Known* known = verdict::fails(cell.verdict)
                                 ? expecting(baseline, today, now, scenario, cell)
                                 : nullptr;
        const auto changed =
            std::ranges::find(comparison.changed, cell_id(scenario, cell), &Changed::id);
        if (known != nullptr && changed != comparison.changed.end()) {
            changed->known = words(*known);
        }
    });
    // A scenario as a whole is no news if each of its failures is known.
    for (Changed& whole : comparison.changed) {
        const auto scenario = std::ranges::find(now.scenarios, whole.id, &ScenarioResult::id);
        if (!is_worse(whole.change) || scenario == now.scenarios.end()) {
            continue;
        }
        const auto is_news = [&](const Cell& cell) {
            return verdict::fails(cell.verdict) &&
                   expecting(baseline, today, now, whole.id, cell) == nullptr;
        };
        if (std::ranges::none_of(all_cells(*scenario), is_news)) {
            whole.known = "each of its failures is known";
        }
    }
}

std::string text(const Expectation& expectation) {
    std::string text;
    const auto list = [&](const char* title, const std::vector<std::string>& sentences) {
        for (const std::string& sentence : sentences) {
            text += report::wrap(fmt::format("{}: {}", title, sentence), 100, 4) + "\n";
        }
    };
    list("known", expectation.known);
    list("not expected", expectation.fresh);
    list("no longer failing", expectation.gone);
    list("past its date", expectation.expired);
    list("fits nothing", expectation.unmatched);
    return text + fmt::format(
                      "baseline: {} known, {} not expected, {} no longer failing, {} past "
                      "their date, {} fit nothing\n",
                      expectation.known.size(), expectation.fresh.size(), expectation.gone.size(),
                      expectation.expired.size(), expectation.unmatched.size());
}

std::string baseline_of(const RunResult& run) {
    std::string text = fmt::format(
        "# Failures that are expected, of the run of {} with pathproof {}. Each needs a reason, "
        "and\n"
        "# a date until which it may stand: until = 2027-01-31. See also: link, approver, kernel, "
        "driver, nic.\n",
        run.started_at, run.version);
    each_cell(run, [&](const std::string& scenario, const Cell& cell) {
        if (verdict::fails(cell.verdict)) {
            text += fmt::format(
                "\n[[known]]\nid = {}\nreason = {}\n{}", toml_text(finding_id(scenario, cell)),
                toml_text(cell.reason),
                cell.verdict == CellVerdict::kUnstable ? "verdict = \"unstable\"\n" : "");
        }
    });
    return text;
}

}  // namespace pathproof::compare
