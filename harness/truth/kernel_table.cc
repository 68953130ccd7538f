#include "harness/truth/kernel_table.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "dataplane/base/contains.h"
#include "dataplane/base/join_each.h"
#include "harness/profile/compare.h"
#include "harness/truth/errata.h"
#include "harness/truth/feature_use.h"

namespace pathproof::truth {
namespace {

using verdict::Observation;
using verdict::Observed;
using verdict::TruthRow;

const SettingOutcome* outcome_of(const TruthRun& run, Setting::Kind kind,
                                 const std::string& feature = "") {
    const auto found = std::ranges::find_if(run.outcomes, [&](const SettingOutcome& outcome) {
        return outcome.setting.kind == kind && outcome.setting.feature == feature;
    });
    return found == run.outcomes.end() ? nullptr : &*found;
}

Condition condition_of(const TruthRun& run, std::size_t row) {
    return columns_by_request().of(run.set->matrix.rows[row]).condition;
}

bool uses(const TruthRun& run, std::size_t row, const std::string& feature) {
    return contains(features_used(run.set->matrix.rows[row], run.as_found), feature);
}

std::string by_design_note(const TruthRun& run, const std::string& feature) {
    if (!run.profile) {
        return "a virtual device hands work over unfinished";
    }
    const profile::OffloadExpectation* claim = profile::claim_on(
        run.profile->offloads, feature.empty() ? "tx-checksum-ip-generic" : feature);
    const bool says = claim != nullptr && !claim->why.empty();
    return fmt::format("profile {}: {}; behind a healthy NIC every frame is right", run.profile->id,
                       says ? claim->why : run.profile->title + " hands work over unfinished");
}

Observation observation(const TruthRun& run, const SettingOutcome& outcome, const Column& column,
                        const std::string& feature) {
    const Judged judged = judge_named(run, outcome, [&](std::size_t row) {
        return condition_of(run, row) == column.condition &&
               (feature.empty() || uses(run, row, feature));
    });
    Observation seen{.observed = judged.observed(),
                     .frames = judged.frames,
                     .wrong = judged.wrong(),
                     .names = judged.defect_names(),
                     .cell = cell_id(outcome.setting)};
    switch (seen.observed) {
        case Observed::kNotTested:
            seen.cell.clear();
            seen.note = feature.empty() ? "no frame of this run is of this kind"
                                        : "no frame of this kind makes use of it";
            break;
        case Observed::kRefused: seen.note = judged.refusals.begin()->first; break;
        case Observed::kByDesign:
            for (const auto& [name, frames] : judged.unfinished_names) {
                seen.names.push_back(name);
            }
            seen.note = by_design_note(run, feature);
            break;
        case Observed::kNoClaim:
        case Observed::kWrong: seen.cell = cell_id(outcome.setting, column); break;
        case Observed::kRight: break;
    }
    if (const std::uint64_t once = judged.seen_once(); once != 0 && seen.note.empty()) {
        seen.note = judged.once_text();
    }
    return seen;
}

TruthRow row_of(const TruthRun& run, const SettingOutcome& outcome, const std::string& feature) {
    TruthRow row{.direction = "Tx"};
    std::vector<Defect> defects;
    std::vector<std::string> wrong;
    for (const Column& column : columns_by_request()) {
        row.observed.push_back(observation(run, outcome, column, feature));
        const Observation& seen = row.observed.back();
        if (seen.observed != Observed::kWrong) {
            continue;
        }
        wrong.push_back(fmt::format("{} of {} frames wrong under {} ({})", seen.wrong, seen.frames,
                                    column.name, fmt::join(seen.names, ", ")));
        const Judged judged = judge_condition(run, outcome, column.condition);
        defects.insert(defects.end(), judged.defects.begin(), judged.defects.end());
    }
    row.finding = fmt::format("{}", fmt::join(wrong, "; "));
    row.errata = known_errata(run, std::move(defects));
    return row;
}

void add_sentence(std::string& text, const std::string& sentence) {
    text += (text.empty() || sentence.empty() ? "" : "; ") + sentence;
}

// Reports the first disagreement between driver and profile about the feature; empty: they agree.
std::string disagreement(const TruthRun& run, const std::string& feature) {
    if (!run.profile) {
        return "";
    }
    for (const profile::Finding& finding :
         profile::compare(*run.profile, run.as_found, {.kernel = run.kernel, .dpdk = ""})) {
        if (finding.feature == feature && !profile::agrees({finding})) {
            return fmt::format("{}: profile {} expects {}, the driver has {}",
                               profile::name(finding.kind), run.profile->id, finding.expected,
                               finding.found);
        }
    }
    return "";
}

std::string trial_note(const SettingTaken& taken, const std::string& feature) {
    std::string text;
    for (const agent::FeatureTrial& trial : taken.trials) {
        const bool odd = trial.outcome == agent::TrialOutcome::kRefused ||
                         trial.outcome == agent::TrialOutcome::kIgnored;
        if (trial.name == feature && odd) {
            add_sentence(text, fmt::format("turning it {} was {}{}{}", trial.wanted ? "on" : "off",
                                           agent::name(trial.outcome),
                                           trial.reason.empty() ? "" : ": ", trial.reason));
        }
    }
    for (const agent::FeatureChange& change : taken.forgotten) {
        if (change.name == feature) {
            add_sentence(text, fmt::format("the device turned it {} by itself",
                                           change.after ? "on" : "off"));
        }
    }
    return text;
}

void add_feature_rows(const TruthRun& run, const std::string& name, verdict::TruthTable& table) {
    const agent::Feature* feature = feature_named(run.as_found, name);
    const SettingOutcome* as_found = outcome_of(run, Setting::Kind::kAsFound);
    if (feature == nullptr || as_found == nullptr) {
        return;
    }
    TruthRow row = row_of(run, *as_found, name);
    row.offload = name;
    row.expected = expectation_of(run, name);
    row.advertised = advertised(run.as_found, name);
    if (!feature->active && feature->never_changed) {
        // The kernel did it in its place.
        row.observed.assign(columns_by_request().size(), {.note = "not offered"});
    }
    add_sentence(row.finding, disagreement(run, name));
    table.rows.push_back(std::move(row));
    for (const Setting::Kind kind : {Setting::Kind::kOneOff, Setting::Kind::kOneOn}) {
        const SettingOutcome* outcome = outcome_of(run, kind, name);
        if (outcome == nullptr) {
            continue;
        }
        const bool on = kind == Setting::Kind::kOneOn;
        TruthRow set = row_of(run, *outcome, name);
        set.offload = name + (on ? ", alone on" : ", alone off");
        set.expected = expectation_of(run, name);
        set.advertised = fmt::format("set {}, is {}", on ? "on" : "off",
                                     is_on(outcome->taken.features, name) ? "on" : "off");
        // Alone on, many features cannot be: what they build on is off.
        add_sentence(set.finding, on ? "" : trial_note(outcome->taken, name));
        table.rows.push_back(std::move(set));
    }
}

void add_untestable_rows(const TruthRun& run, verdict::TruthTable& table) {
    for (const Untestable& each : untestable_features()) {
        const agent::Feature* feature = feature_named(run.as_found, each.feature);
        if (feature == nullptr || (!feature->active && feature->never_changed)) {
            continue;
        }
        TruthRow row{.offload = each.feature,
                     .direction = "Tx",
                     .expected = expectation_of(run, each.feature),
                     .advertised = advertised(run.as_found, each.feature)};
        row.observed.assign(columns_by_request().size(), {.note = each.reason});
        row.finding = disagreement(run, each.feature);
        table.rows.push_back(std::move(row));
    }
}

std::string excluded_text(const TruthRun& run) {
    const Columns& columns = columns_by_request();
    std::map<std::size_t, std::uint64_t> frames;  // by column
    for (const SettingOutcome& outcome : run.outcomes) {
        for (const auto& [number, row] : outcome.rows) {
            frames[columns.index_of(run.set->matrix.rows[number])] += row.wire.intended;
        }
    }
    const std::string text = join_each(frames, [&](const auto& each) {
        const auto& [column, count] = each;
        return fmt::format("{} {:.2g}", columns[column].name,
                           count == 0 ? 1.0 : 3.0 / static_cast<double>(count));
    });
    return fmt::format(
        "Rates of wrong frames that a clean column excludes at 95 % (3/n over all settings): {}. "
        "{} rows cover all {} feasible {} of {} dimensions{}{}.",
        text, run.set->matrix.rows.size(), run.set->matrix.feasible_tuples,
        run.set->matrix.strength == matrix::Strength::kPairs ? "pairs" : "triples",
        matrix::kDimensions,
        run.left_out.empty() ? "" : ". Not sent: ", fmt::join(run.left_out, "; "));
}

}  // namespace

std::string expectation_of(const TruthRun& run, const std::string& feature) {
    return run.profile ? profile::expected(run.profile->offloads, feature) : "";
}

std::string advertised(const std::vector<agent::Feature>& features, const std::string& name) {
    const agent::Feature* feature = feature_named(features, name);
    if (feature == nullptr) {
        return "not there";
    }
    return std::string(feature->active ? "on" : "off") + (feature->never_changed ? " [fixed]" : "");
}

std::string cell_id(const Setting& setting) {
    return "tx." + setting.id();
}

std::string cell_id(const Setting& setting, const Column& column) {
    return cell_id(setting) + "." + column.word;
}

Judged judge_condition(const TruthRun& run, const SettingOutcome& outcome,
                       std::optional<Condition> condition) {
    return judge_named(run, outcome, [&](std::size_t row) {
        return !condition || condition_of(run, row) == *condition;
    });
}

Judged judge_named(const TruthRun& run, const SettingOutcome& outcome,
                   const std::function<bool(std::size_t)>& wanted) {
    Judged judged = judge_rows(outcome, *run.set, run.wire, wanted);
    for (std::vector<Defect>* defects : {&judged.defects, &judged.once}) {
        for (Defect& defect : *defects) {
            const auto relation = run.relations.find(defect.place);
            const bool nameless = defect.title == judge::name(judge::ChecksumName::kUnknown);
            if (nameless && relation != run.relations.end()) {
                defect.name = relation->second.name;
            }
        }
    }
    return judged;
}

std::vector<verdict::KnownErratum> known_errata(const TruthRun& run, std::vector<Defect> defects) {
    explain_by_errata(defects, run.errata,
                      {.driver = run.driver, .kernel = run.kernel, .dpdk = ""});
    return errata_of(defects);
}

verdict::TruthTable truth_table(const TruthRun& run) {
    verdict::TruthTable table{.title = "Transmit offloads", .device = run.device};
    for (const Column& column : columns_by_request()) {
        table.conditions.emplace_back(column.name);
    }
    for (const auto& [kind, title] : {std::pair{Setting::Kind::kAsFound, "all as found"},
                                      {Setting::Kind::kAllOff, "all of these off"},
                                      {Setting::Kind::kAllOn, "all of these on"}}) {
        if (const SettingOutcome* outcome = outcome_of(run, kind)) {
            TruthRow row = row_of(run, *outcome, "");
            row.offload = title;
            row.advertised = "-";
            table.rows.push_back(std::move(row));
        }
    }
    for (const std::string& feature : run.varied) {
        add_feature_rows(run, feature, table);
    }
    add_untestable_rows(run, table);
    table.excluded = excluded_text(run);
    return table;
}

}  // namespace pathproof::truth
