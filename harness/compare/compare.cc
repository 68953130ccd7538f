#include "harness/compare/compare.h"

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <sstream>
#include <string_view>

#include "dataplane/base/pattern.h"
#include "harness/report/text.h"

namespace pathproof::compare {
namespace {

using namespace verdict;

using Standing = std::optional<CellVerdict>;  // nothing: it is not there

bool failed(Standing standing) {
    return standing && verdict::fails(*standing);
}

bool has_verdict(Standing standing) {
    return standing == CellVerdict::kPass || failed(standing);
}

// The cells and controls of a scenario by id.
using Cells = std::map<std::string, const Cell*>;

Cells cells_of(const ScenarioResult& scenario) {
    Cells cells;
    for (const Cell& cell : all_cells(scenario)) {
        cells.emplace(cell.id, &cell);
    }
    return cells;
}

const Cell* find(const Cells& cells, const std::string& id) {
    const auto found = cells.find(id);
    return found == cells.end() ? nullptr : found->second;
}

// How a cell stood in one of the runs.
struct Stood {
    Standing standing = std::nullopt;
    std::string words;
    std::string cause = {};
    bool once = true;  // of which a cell that fails at times tells nothing
};

std::string in_words(const Cell& cell) {
    const bool named = fails(cell.verdict) && !cell.cause.empty();
    return std::string(name(cell.verdict)) + (named ? " " + cell.cause : "") +
           (cell.runs && fails(cell.verdict)
                ? fmt::format(" ({} of {})", cell.runs->failed, cell.runs->n)
                : "");
}

Stood stood(const Cells& cells, const std::string& id, bool fails_in_the_other) {
    if (const Cell* cell = find(cells, id); cell != nullptr) {
        return {cell->verdict, in_words(*cell), cell->cause, !cell->runs || cell->runs->n < 2};
    }
    const Cell* whole =
        fails_in_the_other
            ? whole_of(id, [&](const std::string& other) { return find(cells, other); })
            : nullptr;
    if (whole == nullptr) {
        return {std::nullopt, "not run"};
    }
    return has_verdict(whole->verdict)
               ? Stood{CellVerdict::kPass, "PASS", "", !whole->runs || whole->runs->n < 2}
               : Stood{whole->verdict, in_words(*whole)};
}

// Nothing to say of a cell that stands as it stood.
std::optional<Change> change_of(const Stood& was, const Stood& is) {
    if (was.standing == CellVerdict::kUnstable && has_verdict(is.standing) && is.once) {
        return Change::kNotComparable;
    }
    const bool failed_before = failed(was.standing);
    if (failed(is.standing)) {
        return failed_before && was.cause != is.cause ? std::optional(Change::kChangedCause)
               : was.standing == is.standing          ? std::nullopt
               : is.standing == CellVerdict::kFail    ? std::optional(Change::kNewFailure)
               : failed_before                        ? std::optional(Change::kFailsLess)
                                                      : std::optional(Change::kUnstable);
    }
    if (is.standing == CellVerdict::kPass) {
        return failed_before                        ? std::optional(Change::kFailureGone)
               : was.standing != CellVerdict::kPass ? std::optional(Change::kAppeared)
                                                    : std::nullopt;
    }
    if (!has_verdict(was.standing)) {
        return std::nullopt;
    }
    return !is.standing || is.standing == CellVerdict::kSkip ? Change::kDisappeared
                                                             : Change::kNotComparable;
}

std::string in_words(const Measure& measure) {
    return fmt::format("{} [{}]", report::format_value(measure),
                       report::format_interval(*measure.interval, measure.value.number()));
}

void compare_figure(const std::string& id, const Measure& old, const Measure& measure,
                    Comparison& result) {
    if (!old.value.is_number() || !measure.value.is_number() || old.unit != measure.unit) {
        return;
    }
    if (!old.interval || !measure.interval) {
        result.without_interval += old.value != measure.value ? 1 : 0;
    } else if (old.interval->high < measure.interval->low ||
               measure.interval->high < old.interval->low) {
        result.figures.push_back({id, measure.label, in_words(old), in_words(measure)});
    } else {
        ++result.within_noise;
    }
}

void compare_figures(const std::string& id, const Cell& before, const Cell& now,
                     Comparison& result) {
    for (const Measure& measure : now.measures) {
        const auto old = std::ranges::find(before.measures, measure.name, &Measure::name);
        if (old != before.measures.end()) {
            compare_figure(id, *old, measure, result);
        }
    }
    if (before.runs && now.runs) {
        compare_figure(id, share_of(*before.runs), share_of(*now.runs), result);
    }
}

void compare_cell(const std::string& scenario, const std::string& id, const Cells& before,
                  const Cells& now, Comparison& result) {
    const Cell* old = find(before, id);
    const Cell* present = find(now, id);
    const auto failing = [](const Cell* cell) {
        return cell != nullptr && verdict::fails(cell->verdict);
    };
    const Stood was = stood(before, id, failing(present));
    const Stood is = stood(now, id, failing(old));
    // A scenario that only one run has is told of as a whole, but for what fails.
    if ((before.empty() || now.empty()) && !failing(present)) {
        return;
    }
    const std::string full_id = scenario + "/" + id;
    if (const auto change = change_of(was, is)) {
        const Cell* speaks = present != nullptr && !present->reason.empty() ? present : old;
        result.changed.push_back({.change = *change,
                                  .id = full_id,
                                  .before = was.words,
                                  .now = is.words,
                                  .reason = speaks != nullptr ? speaks->reason : ""});
    } else {
        ++result.same_cells;
        result.failing_in_both += failing(present) ? 1 : 0;
    }
    if (old != nullptr && present != nullptr) {
        compare_figures(full_id, *old, *present, result);
    }
}

// Of a scenario as a whole. Nothing if it came to what it had come to.
std::optional<Change> change_of(const ScenarioResult* before, const ScenarioResult* now) {
    if (before == nullptr || now == nullptr) {
        return now != nullptr ? Change::kAppeared : Change::kDisappeared;
    }
    if (before->verdict == now->verdict) {
        return std::nullopt;
    }
    if (now->verdict == ScenarioVerdict::kInconclusive) {
        return Change::kNotComparable;
    }
    if (now->verdict == ScenarioVerdict::kNotRun) {
        return Change::kDisappeared;
    }
    return is_failure(now->verdict)      ? Change::kNewFailure
           : is_failure(before->verdict) ? Change::kFailureGone
                                         : Change::kAppeared;
}

// A cell that was not asked for is not missed.
bool was_asked_for(const ScenarioResult& scenario, const std::string& cell) {
    std::istringstream patterns(scenario.part);
    bool fits = scenario.part.empty();
    for (std::string pattern; !fits && std::getline(patterns, pattern, ',');) {
        fits = fnmatch(pattern.c_str(), cell.c_str(), 0) == 0;
    }
    return fits;
}

void compare_scenario(const ScenarioResult* before, const ScenarioResult* now, Comparison& result) {
    const std::string& id = (now != nullptr ? now : before)->id;
    // What a scenario came to is of all cells that were asked for: of others, of another thing.
    const bool same_part = before == nullptr || now == nullptr || before->part == now->part;
    if (const auto change = same_part ? change_of(before, now) : std::nullopt) {
        result.changed.push_back({.change = *change,
                                  .id = id,
                                  .before = before != nullptr ? name(before->verdict) : "not run",
                                  .now = now != nullptr ? name(now->verdict) : "not run",
                                  .reason = now != nullptr ? now->headline : ""});
    }
    const Cells was = before != nullptr ? cells_of(*before) : Cells();
    const Cells is = now != nullptr ? cells_of(*now) : Cells();
    Cells all = was;
    all.insert(is.begin(), is.end());
    for (const auto& [cell, either] : all) {
        if (now == nullptr || is.contains(cell) || was_asked_for(*now, cell)) {
            compare_cell(id, cell, was, is, result);
        }
    }
}

const ScenarioResult* scenario_of(const RunResult& run, const std::string& id) {
    const auto found = std::ranges::find(run.scenarios, id, &ScenarioResult::id);
    return found == run.scenarios.end() ? nullptr : &*found;
}

// Names that a run makes up are not what differs.
std::string without_run_ids(const std::string& text) {
    static const Pattern made_up("pp-[0-9a-f]{4}-");
    return made_up.replace(text, "pp-RUN-");
}

std::string in_words(const Fact& fact) {
    switch (fact.status) {
        case Fact::Status::kRead: return without_run_ids(fact.value);
        case Fact::Status::kDenied: return "permission denied";
        case Fact::Status::kAbsent: break;
    }
    return "not there";
}

// Facts that differ between any two runs on one machine.
bool is_volatile(const Fact& fact) {
    constexpr std::array<std::string_view, 4> kVolatile = {"available", "free", "load",
                                                           "nf_conntrack_count"};
    return std::ranges::any_of(kVolatile, [&](std::string_view word) {
        return fact.name.find(word) != std::string::npos;
    });
}

// What a device, the kernel, ... is made of: its facts by their names.
using Facts = std::map<std::string, std::string>;
using Subjects = std::map<std::string, Facts>;

Subjects subjects_of(const RunResult& run) {
    Subjects subjects;
    for (const FactGroup& group : run.environment) {
        // "Profile veth against eth0: nothing missing": what it came to is a fact of it.
        const std::string title = without_run_ids(group.title);
        const std::size_t colon = title.find(": ");
        Facts& facts = subjects[title.substr(0, colon)];
        if (colon != std::string::npos) {
            facts["in short"] = title.substr(colon + 2);
        }
        for (const Fact& fact : group.facts) {
            if (!is_volatile(fact)) {
                facts[fact.name] = in_words(fact);
            }
        }
    }
    const auto of_run = [&](const std::string& what, const std::string& value) {
        subjects["Run"][what] = value;
    };
    of_run("command", run.repeat_command.substr(0, run.repeat_command.find(" --seed ")));
    of_run("lab", run.lab);
    of_run("profile", run.profile);
    of_run("pathproof", run.version);
    of_run("seed", std::to_string(run.seed));
    return subjects;
}

void compare_facts(const std::string& where, const Facts& was, const Facts& is,
                   std::vector<Difference>& found) {
    const auto value = [](const Facts& facts, const std::string& name) {
        const auto at = facts.find(name);
        return at == facts.end() ? std::string("not recorded") : at->second;
    };
    Facts all = was;
    all.insert(is.begin(), is.end());
    for (const auto& [name, either] : all) {
        if (const std::string old = value(was, name), present = value(is, name); old != present) {
            found.push_back({where, name, old, present});
        }
    }
}

// What is likeliest to change how packets are carried comes first.
std::size_t rank(const Difference& difference) {
    constexpr std::array<std::array<std::string_view, 2>, 6> kRanks = {{{"Kernel", ""},
                                                                        {"", "firmware"},
                                                                        {"", "driver"},
                                                                        {"device", ""},
                                                                        {"sysctl", ""},
                                                                        {"Software", ""}}};
    for (std::size_t at = 0; at < kRanks.size(); ++at) {
        if (difference.where.find(kRanks[at][0]) != std::string::npos &&
            difference.what.find(kRanks[at][1]) != std::string::npos) {
            return at;
        }
    }
    return difference.what == "seed" ? kRanks.size() + 1 : kRanks.size();
}

}  // namespace

const char* name(Change change) {
    switch (change) {
        case Change::kNewFailure: return "new failure";
        case Change::kChangedCause: return "changed cause";
        case Change::kUnstable: return "became unstable";
        case Change::kFailureGone: return "failure gone";
        case Change::kFailsLess: return "fails less often";
        case Change::kAppeared: return "appeared";
        case Change::kDisappeared: return "disappeared";
        case Change::kNotComparable: break;
    }
    return "not comparable";
}

bool is_worse(Change change) {
    return change == Change::kNewFailure || change == Change::kChangedCause ||
           change == Change::kUnstable;
}

std::size_t Comparison::count(Change change) const {
    return static_cast<std::size_t>(std::ranges::count(changed, change, &Changed::change));
}

bool Comparison::worse() const {
    return std::ranges::any_of(
        changed, [](const Changed& each) { return each.known.empty() && is_worse(each.change); });
}

std::string not_comparable(const RunResult& before, const RunResult& now) {
    // Two devices, or one that was renamed, can be compared.
    const bool devices = before.lab.starts_with("device ") && now.lab.starts_with("device ");
    if (before.lab != now.lab && !devices) {
        return fmt::format("one is of lab {}, the other of lab {}", before.lab, now.lab);
    }
    if (before.evidence_class != now.evidence_class) {
        return fmt::format("one is {} evidence, the other {}", before.evidence_class,
                           now.evidence_class);
    }
    const bool common = std::ranges::any_of(now.scenarios, [&](const ScenarioResult& scenario) {
        return scenario_of(before, scenario.id) != nullptr;
    });
    return common ? "" : "they have no scenario in common";
}

std::vector<Difference> differences(const RunResult& before, const RunResult& now) {
    const Subjects was = subjects_of(before);
    const Subjects is = subjects_of(now);
    std::vector<Difference> found;
    Subjects all = was;
    all.insert(is.begin(), is.end());
    for (const auto& [where, either] : all) {
        const auto old = was.find(where);
        const auto present = is.find(where);
        if (old != was.end() && present != is.end()) {
            compare_facts(where, old->second, present->second, found);
        } else {
            // The device of a scenario that only one run has, say: one line, not one a feature.
            const auto count = [](const Subjects& subjects, auto at) {
                return at == subjects.end() ? std::string("none")
                                            : std::to_string(at->second.size());
            };
            found.push_back({where, "facts recorded", count(was, old), count(is, present)});
        }
    }
    for (const ScenarioResult& scenario : now.scenarios) {
        const ScenarioResult* old = scenario_of(before, scenario.id);
        if (old != nullptr && old->part != scenario.part) {
            const auto part = [](const std::string& cells) {
                return cells.empty() ? "all" : cells;
            };
            found.push_back(
                {"Run", "cells asked for of " + scenario.id, part(old->part), part(scenario.part)});
        }
    }
    std::ranges::stable_sort(found, {}, rank);
    return found;
}

Comparison compare(const RunResult& before, const RunResult& now) {
    Comparison result;
    for (const ScenarioResult& scenario : now.scenarios) {
        compare_scenario(scenario_of(before, scenario.id), &scenario, result);
    }
    for (const ScenarioResult& scenario : before.scenarios) {
        if (scenario_of(now, scenario.id) == nullptr) {
            compare_scenario(&scenario, nullptr, result);
        }
    }
    std::ranges::stable_sort(result.changed, {}, &Changed::change);
    result.differences = differences(before, now);
    return result;
}

int exit_code(const Comparison& comparison) {
    return comparison.worse() ? 1 : comparison.count(Change::kNotComparable) != 0 ? 3 : 0;
}

}  // namespace pathproof::compare
