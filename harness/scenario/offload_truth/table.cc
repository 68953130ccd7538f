#include "harness/scenario/offload_truth/table.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "dataplane/base/contains.h"
#include "dataplane/base/join_each.h"
#include "dataplane/judge/explain.h"
#include "harness/profile/compare.h"
#include "harness/scenario/measures.h"
#include "harness/truth/defects.h"

namespace pathproof::scenario {
namespace {

using verdict::Cell;
using verdict::CellVerdict;
using verdict::Observation;
using verdict::Observed;
using verdict::TruthRow;

constexpr std::size_t kMostSpecimens = 64;

const SettingOutcome* outcome_of(const TruthRun& run, Setting::Kind kind,
                                 const std::string& feature = "") {
    const auto found = std::ranges::find_if(run.outcomes, [&](const SettingOutcome& outcome) {
        return outcome.setting.kind == kind && outcome.setting.feature == feature;
    });
    return found == run.outcomes.end() ? nullptr : &*found;
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

std::string once_text(std::uint64_t once, const Judged& judged) {
    std::set<std::string> names;
    for (const Defect& defect : judged.once) {
        names.insert(title_of(defect.finding));
    }
    return fmt::format("seen once, not confirmed: {} of {} frames ({})", once, judged.frames,
                       fmt::join(names, ", "));
}

Observation observation(const TruthRun& run, const SettingOutcome& outcome, Condition condition,
                        const std::string& feature) {
    const Judged judged = judge_rows(outcome, run.wire, [&](std::size_t row) {
        return condition_of(run.set->matrix.rows[row]) == condition &&
               (feature.empty() || uses(run, row, feature));
    });
    Observation seen{.observed = judged.observed(),
                     .frames = judged.frames,
                     .wrong = judged.wrong(),
                     .names = judged.defect_names(),
                     .cell = cell_id(outcome.setting, std::nullopt)};
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
        case Observed::kWrong: seen.cell = cell_id(outcome.setting, condition); break;
        case Observed::kRight: break;
    }
    if (const std::uint64_t once = judged.seen_once(); once != 0 && seen.note.empty()) {
        seen.note = once_text(once, judged);
    }
    return seen;
}

TruthRow row_of(const TruthRun& run, const SettingOutcome& outcome, const std::string& feature) {
    TruthRow row{.direction = "Tx"};
    std::vector<Defect> defects;
    std::vector<std::string> wrong;
    for (std::size_t i = 0; i < kConditions; ++i) {
        const auto condition = static_cast<Condition>(i);
        row.observed.push_back(observation(run, outcome, condition, feature));
        const Observation& seen = row.observed.back();
        if (seen.observed != Observed::kWrong) {
            continue;
        }
        wrong.push_back(fmt::format("{} of {} frames wrong under {} ({})", seen.wrong, seen.frames,
                                    name(condition), fmt::join(seen.names, ", ")));
        const Judged judged = judge_condition(run, outcome, condition);
        defects.insert(defects.end(), judged.defects.begin(), judged.defects.end());
    }
    row.finding = fmt::format("{}", fmt::join(wrong, "; "));
    row.errata = known_errata(run, defects);
    return row;
}

void add_sentence(std::string& text, const std::string& sentence) {
    text += (text.empty() || sentence.empty() ? "" : "; ") + sentence;
}

// Where driver and profile disagree.
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
        row.observed.assign(kConditions, {.note = "not offered"});
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
        row.observed.assign(kConditions, {.note = each.reason});
        row.finding = disagreement(run, each.feature);
        table.rows.push_back(std::move(row));
    }
}

std::string excluded_text(const TruthRun& run) {
    std::map<Condition, std::uint64_t> frames;
    for (const SettingOutcome& outcome : run.outcomes) {
        for (const auto& [number, row] : outcome.rows) {
            frames[condition_of(run.set->matrix.rows[number])] += row.wire.intended;
        }
    }
    const std::string text = join_each(frames, [](const auto& each) {
        const auto& [condition, count] = each;
        return fmt::format("{} {:.2g}", name(condition),
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

CellVerdict verdict_of(const TesterTally& tally, const Judged& judged) {
    if (tally.lost != 0 || (tally.received == 0 && judged.frames != 0)) {
        return CellVerdict::kError;
    }
    if (judged.observed() == Observed::kWrong) {
        return CellVerdict::kFail;
    }
    if (judged.seen_once() != 0) {
        return CellVerdict::kInconclusive;
    }
    return judged.observed() == Observed::kRefused || judged.observed() == Observed::kNotTested
               ? CellVerdict::kSkip
               : CellVerdict::kPass;
}

std::string reason_of(const TesterTally& tally, const Judged& judged) {
    if (tally.lost != 0) {
        return fmt::format("the tester's own port lost or cut {} frames", tally.lost);
    }
    if (tally.received == 0 && judged.frames != 0) {
        return "nothing came at the tester's port: is it the far end of this device's cable?";
    }
    switch (judged.observed()) {
        case Observed::kWrong:
            return fmt::format("{} of {} frames are wrong: {}", judged.wrong(), judged.frames,
                               fmt::join(judged.defect_names(), ", "));
        case Observed::kRefused:
            return "every frame was refused: " + judged.refusals.begin()->first;
        case Observed::kNotTested: return "no frame of this run is of this kind";
        case Observed::kByDesign:
        case Observed::kNoClaim:
        case Observed::kRight: break;
    }
    const std::uint64_t once = judged.seen_once();
    return once == 0 ? "" : once_text(once, judged);
}

std::string side_effects(const SettingTaken& taken) {
    std::set<std::string> texts;
    for (const agent::FeatureTrial& trial : taken.trials) {
        for (const agent::FeatureChange& change : trial.along) {
            texts.insert(
                fmt::format("{} {} with {}", change.name, change.after ? "on" : "off", trial.name));
        }
        if (trial.outcome == agent::TrialOutcome::kRefused ||
            trial.outcome == agent::TrialOutcome::kIgnored) {
            texts.insert(fmt::format("{} {}: {}", trial.name, trial.wanted ? "on" : "off",
                                     agent::name(trial.outcome)));
        }
    }
    for (const agent::FeatureChange& change : taken.forgotten) {
        texts.insert(fmt::format("{} went {} by itself", change.name, change.after ? "on" : "off"));
    }
    return fmt::format("{}", fmt::join(texts, ", "));
}

Cell cell_of(const TruthRun& run, const SettingOutcome& outcome,
             std::optional<Condition> condition) {
    const Judged judged = judge_condition(run, outcome, condition);
    Cell cell{.id = cell_id(outcome.setting, condition)};
    cell.toggles = {{"offloads", outcome.setting.title()},
                    {"frames", condition ? name(*condition) : "all kinds"}};
    cell.verdict = verdict_of(outcome.tally, judged);
    cell.reason = reason_of(outcome.tally, judged);
    cell.cause = judged.defects.empty() ? "" : judged.defect_names().front();
    cell.measures = {
        count_of("frames_intended", "frames that a perfect sender puts on the wire", judged.frames),
        count_of("frames_right", "frames exactly as intended", judged.right),
        count_of("frames_wrong", "frames wrong or missing", judged.wrong()),
        count_of("frames_unfinished", "frames handed over unfinished, by design",
                 judged.unfinished),
        count_of("probes_refused", "probes that the kernel refused", judged.refused)};
    if (!judged.unfinished_names.empty()) {
        const std::string names = join_each(judged.unfinished_names, [](const auto& each) {
            return fmt::format("{} {}", each.first, each.second);
        });
        cell.measures.push_back(
            words_of("unfinished_names", "what they look like as they are", names));
    }
    if (!judged.defects.empty()) {
        const matrix::Specimen& specimen = judged.defects.front().finding.specimen;
        const bool came = !specimen.wire.empty();
        cell.measures.push_back(words_of(
            "specimen", came ? "one such frame" : "one such frame, that never came",
            fmt::format("{:02x}", fmt::join(came ? specimen.wire : specimen.intended, ""))));
    }
    if (const std::string effects = side_effects(outcome.taken); !effects.empty() && !condition) {
        cell.measures.push_back(words_of("side_effects", "what the device made of it", effects));
    }
    if (outcome.tally.strays != 0 && !condition) {
        cell.measures.push_back(
            count_of("stray_frames", "frames that are none of ours", outcome.tally.strays));
    }
    return cell;
}

// The specimens of a failing cell, and what is wrong with each in words.
void add_evidence(const TruthRun& run, const Judged& judged, TruthBench& bench, Cell& cell) {
    std::vector<matrix::FrameBytes> frames;
    std::string text;
    for (const Defect& defect : judged.defects) {
        const matrix::TxFinding& finding = defect.finding;
        const matrix::Row& row = run.set->matrix.rows[defect.row];
        if (frames.size() == kMostSpecimens) {
            break;
        }
        text += fmt::format("{} {} in {} frames of the row: {}\nwire 0x{:x}, right 0x{:x}\n",
                            finding.place, title_of(finding), finding.frames, matrix::describe(row),
                            finding.wire_value, finding.right_value);
        if (finding.specimen.wire.empty()) {
            text += "nothing came of it\n\n";
            continue;
        }
        frames.push_back(finding.specimen.wire);
        judge::Evidence evidence{.tunnels = matrix::tunnels_of(row)};
        evidence.handed_over = finding.specimen.handed;
        text += fmt::format("frame {} of the pcapng:\n{}\n", frames.size(),
                            judge::explain(finding.specimen.wire, evidence));
    }
    bench.keep(frames, text, cell);
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

std::string cell_id(const Setting& setting, std::optional<Condition> condition) {
    return "tx." + setting.id() + (condition ? std::string(".") + word(*condition) : "");
}

Judged judge_condition(const TruthRun& run, const SettingOutcome& outcome,
                       std::optional<Condition> condition) {
    return judge_rows(outcome, run.wire, [&](std::size_t row) {
        return !condition || condition_of(run.set->matrix.rows[row]) == *condition;
    });
}

std::vector<verdict::KnownErratum> known_errata(const TruthRun& run,
                                                const std::vector<Defect>& defects) {
    std::vector<verdict::KnownErratum> known;
    std::set<std::string> looked_up;
    for (const Defect& defect : defects) {
        const std::string title = title_of(defect.finding);
        if (!looked_up.insert(defect.finding.place + title).second) {
            continue;
        }
        const bool plain = run.set->matrix.rows[defect.row].encap == matrix::Encap::kNone;
        profile::Sighting sighting{
            .signature = {profile::Direction::kTransmit, defect.finding.place, title},
            .driver = run.driver,
            .kernel = run.kernel};
        if (plain) {
            sighting.conditions.emplace_back("encapsulation=none");
        }
        for (const profile::ErratumMatch& match : profile::match_errata(run.errata, sighting)) {
            if (known.size() == truth::kMostErrata) {
                return known;
            }
            if (!contains(known, match.id, &verdict::KnownErratum::id)) {
                known.push_back(truth::known_erratum(match));
            }
        }
    }
    return known;
}

verdict::TruthTable truth_table(const TruthRun& run) {
    verdict::TruthTable table{.title = "Transmit offloads", .device = run.device};
    for (std::size_t i = 0; i < kConditions; ++i) {
        table.conditions.emplace_back(name(static_cast<Condition>(i)));
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

std::vector<Cell> truth_cells(const TruthRun& run, TruthBench& bench) {
    std::vector<Cell> cells;
    for (const SettingOutcome& outcome : run.outcomes) {
        cells.push_back(cell_of(run, outcome, std::nullopt));
        for (std::size_t i = 0; i < kConditions; ++i) {
            const auto condition = static_cast<Condition>(i);
            const Judged judged = judge_condition(run, outcome, condition);
            if (judged.observed() != Observed::kWrong) {
                continue;
            }
            Cell cell = cell_of(run, outcome, condition);
            add_evidence(run, judged, bench, cell);
            cells.push_back(std::move(cell));
        }
    }
    return cells;
}

}  // namespace pathproof::scenario
