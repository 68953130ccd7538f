#include "harness/acceptance/requirements.h"

#include <fmt/ranges.h>
#include <fnmatch.h>

#include <algorithm>
#include <set>

#include "dataplane/base/plural.h"
#include "dataplane/base/suggestion.h"
#include "harness/profile/toml_reader.h"

namespace pathproof::acceptance {
namespace {

using verdict::Cell;
using verdict::CellVerdict;

constexpr const char* kRequirementsSchema = "pathproof-requirements/1";

bool fits(const std::string& pattern, const std::string& cell) {
    return fnmatch(pattern.c_str(), cell.c_str(), 0) == 0;
}

std::string scenario_of(const std::string& pattern) {
    return pattern.substr(0, pattern.find('/'));
}
std::string cell_of(const std::string& pattern) {
    return pattern.substr(pattern.find('/') + 1);
}

Requirement read_requirement(profile::TomlReader& reader, const toml::table& table,
                             const std::string& file) {
    reader.allow_only(table, {"clause", "text", "cells"});
    Requirement one{.clause = reader.required_text(table, "clause"),
                    .text = reader.optional_text(table, "text"),
                    .where = fmt::format("{}:{}", file, table.source().begin.line)};
    one.cells = reader.texts(table, "cells", [&](const toml::node& node, const std::string& text) {
        const std::size_t slash = text.find('/');
        if (slash == std::string::npos || slash == 0 || slash + 1 == text.size()) {
            reader.complain(node.source(), "'{}' is not SCENARIO/CELL, as offload-truth/tx.*",
                            text);
        }
    });
    if (one.cells.empty()) {
        reader.complain(table.source(), "clause {} names no cells", one.clause);
    }
    return one;
}

// The cells that speak for one clause, and what they make of it.
struct Judged {
    std::vector<std::string> passed, failed, unmeasured, missing;
};

Judged look_up(const Requirement& requirement,
               const std::vector<verdict::ScenarioResult>& scenarios) {
    Judged judged;
    for (const std::string& pattern : requirement.cells) {
        bool passed = false;
        bool failed = false;
        std::string why;
        for (const verdict::ScenarioResult& scenario : scenarios) {
            if (scenario.id != scenario_of(pattern)) {
                continue;
            }
            for (const Cell& cell : all_cells(scenario)) {
                if (!fits(cell_of(pattern), cell.id)) {
                    continue;
                }
                const std::string id = verdict::cell_id(scenario.id, cell);
                if (verdict::fails(cell.verdict)) {
                    failed = true;
                    judged.failed.push_back(id);
                } else if (cell.verdict == CellVerdict::kPass) {
                    passed = true;
                    judged.passed.push_back(id);
                } else {
                    why = cell.reason;
                    judged.unmeasured.push_back(id);
                }
            }
        }
        if (!passed && !failed) {
            judged.missing.push_back(why.empty() ? pattern : fmt::format("{} ({})", pattern, why));
        }
    }
    return judged;
}

}  // namespace

Result<Requirements> parse_requirements(const std::string& text, const std::string& file) {
    return profile::parse_toml<Requirements>(
        text, file, [&](profile::TomlReader& reader, const toml::table& root) {
            reader.allow_only(root, {"schema", "plan", "requirement"});
            Requirements all{.source = file};
            if (const std::string schema = reader.required_text(root, "schema");
                !schema.empty() && schema != kRequirementsSchema) {
                reader.complain(root.get("schema")->source(), "schema '{}' is not {}", schema,
                                kRequirementsSchema);
            }
            all.plan = reader.required_text(root, "plan");
            std::set<std::string> clauses;
            reader.each_table(root, "requirement", [&](const toml::table& table) {
                all.requirements.push_back(read_requirement(reader, table, file));
                if (!clauses.insert(all.requirements.back().clause).second) {
                    reader.complain(table.source(), "clause {} is there already",
                                    all.requirements.back().clause);
                }
            });
            if (all.requirements.empty()) {
                reader.complain(root.source(), "there is no [[requirement]]");
            }
            return all;
        });
}

Result<Requirements> read_requirements(const std::string& file) {
    const auto text = TRY(profile::read_text(file, "file of requirements"));
    return parse_requirements(text, file);
}

Status check(const Requirements& requirements, const std::vector<KnownScenario>& known,
             const Limits* limits) {
    std::vector<std::string> ids;
    std::ranges::transform(known, std::back_inserter(ids), &KnownScenario::id);
    for (const Requirement& requirement : requirements.requirements) {
        for (const std::string& pattern : requirement.cells) {
            const std::string id = scenario_of(pattern);
            if (id == kLimits && limits != nullptr) {
                continue;
            }
            const auto scenario = std::ranges::find(known, id, &KnownScenario::id);
            if (scenario == known.end()) {
                return fail(ErrorCode::kBadInput, "{}: clause {}: {}", requirement.where,
                            requirement.clause,
                            id == kLimits
                                ? "it names limits, and this run has none: add --limits FILE"
                                : fmt::format("there is no scenario '{}'{}", id, choices(id, ids)));
            }
            const auto& cells = scenario->cells;
            if (!cells.empty() && std::ranges::none_of(cells, [&](const std::string& cell) {
                    return fits(cell_of(pattern), cell);
                })) {
                return fail(ErrorCode::kBadInput,
                            "{}: clause {}: no cell of {} matches '{}'; there are: {}",
                            requirement.where, requirement.clause, id, cell_of(pattern),
                            fmt::join(cells, ", "));
            }
        }
    }
    return {};
}

verdict::ScenarioResult judge(const Requirements& requirements,
                              const std::vector<verdict::ScenarioResult>& scenarios) {
    verdict::ScenarioResult result{.id = kRequirements,
                                   .title = requirements.plan,
                                   .question = fmt::format("Which clauses of {} are met ({})?",
                                                           requirements.plan, requirements.source),
                                   .area = verdict::Area::kAcceptance,
                                   .verdict = verdict::ScenarioVerdict::kMeasured};
    verdict::Proof matrix{.title = "Clauses of " + requirements.plan,
                          .columns = {"clause", "requirement", "state", "cells that passed",
                                      "cells that fail", "not tested"}};
    std::size_t met = 0;
    std::size_t not_met = 0;
    for (const Requirement& requirement : requirements.requirements) {
        const Judged judged = look_up(requirement, scenarios);
        Cell cell{.id = as_word(requirement.clause), .toggles = {{"clause", requirement.clause}}};
        if (!requirement.text.empty()) {
            cell.toggles.emplace_back("requirement", requirement.text);
        }
        const char* state = "met";
        cell.verdict = CellVerdict::kPass;
        if (!judged.failed.empty()) {
            state = "not met";
            cell.verdict = CellVerdict::kFail;
            cell.cause = "requirement-not-met";
            cell.reason = fmt::format("not met: {} fail", fmt::join(judged.failed, ", "));
            ++not_met;
        } else if (!judged.missing.empty()) {
            state = "not tested";
            cell.verdict = CellVerdict::kSkip;
            cell.reason = fmt::format("not tested: {}", fmt::join(judged.missing, ", "));
        } else {
            ++met;
        }
        for (const auto& [name, label, cells] :
             {std::tuple{"passed", "cells that passed", &judged.passed},
              std::tuple{"failed", "cells that fail", &judged.failed},
              std::tuple{"unmeasured", "cells not measured", &judged.unmeasured}}) {
            cell.measures.push_back(
                {.name = name, .label = label, .value = std::uint64_t{cells->size()}});
        }
        matrix.rows.push_back({requirement.clause, requirement.text, state,
                               fmt::format("{}", fmt::join(judged.passed, ", ")),
                               fmt::format("{}", fmt::join(judged.failed, ", ")),
                               fmt::format("{}", fmt::join(judged.missing, ", "))});
        result.cells.push_back(std::move(cell));
    }
    result.headline = fmt::format("{} of {} met, {} not met, {} not tested", met,
                                  plural(requirements.requirements.size(), "clause"), not_met,
                                  requirements.requirements.size() - met - not_met);
    matrix.conclusion = result.headline;
    result.proofs.push_back(std::move(matrix));
    return result;
}

}  // namespace pathproof::acceptance
