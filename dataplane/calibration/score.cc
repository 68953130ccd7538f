#include "dataplane/calibration/score.h"

#include <fmt/ranges.h>

#include "dataplane/base/by_frequency.h"
#include "dataplane/base/counts.h"

namespace pathproof::calibration {
namespace {

using softnic::Fault;

struct Ran {
    std::vector<RowResult> results;
    std::vector<Effect> effects;
};

Ran run_all(const Fault& fault, const Material& material, std::uint64_t seed,
            const matrix::FreeFields& free_fields) {
    Ran ran;
    if (fault.direction == softnic::FaultDirection::kRx) {
        for (const ReceiveRow& row : material.receive) {
            softnic::SoftNic nic(row.nic, {fault}, seed);
            ran.results.push_back(run_row(row, nic));
            ran.effects.push_back(effect_on_row(fault, row));
        }
    } else {
        for (const SendRow& row : material.send) {
            softnic::SoftNic nic(row.nic, {fault}, seed);
            ran.results.push_back(run_row(row, nic, free_fields));
            ran.effects.push_back(effect_on_row(fault, row));
        }
    }
    settle_drops(ran.results);
    return ran;
}

// Rows of the direction that the fault acts in, by number.
struct Rows {
    const Material& material;
    bool received = false;

    std::string describe(std::size_t number) const {
        return matrix::describe(received ? material.receive[number].row
                                         : material.send[number].row);
    }
    const SendRow* sent(std::size_t number) const {
        return received ? nullptr : &material.send[number];
    }
};

void count_name(FaultScore& score, const Fault& fault, const RowResult& result, const Rows& rows,
                std::size_t number) {
    ++score.names[titles_of(result.verdicts)];
    switch (naming_of(fault, result.verdicts, rows.sent(number))) {
        case Naming::kExact: ++score.exact; return;
        case Naming::kOpen: ++score.open; return;
        case Naming::kAlias: ++score.alias; return;
        case Naming::kUnnamed:
            if (right_titles(fault).empty()) {
                return;
            }
            break;
        case Naming::kWrong: break;
    }
    score.wrongly_named.push_back(
        fmt::format("{} in row '{}'", titles_of(result.verdicts), rows.describe(number)));
}

void conclude(FaultScore& score, const Fault& fault) {
    const bool nameless = right_titles(fault).empty();
    score.given = fmt::format("{}", fmt::join(by_frequency(score.names), "; "));
    score.detected = yes_if(score.failed > 0);
    score.located = yes_if(score.failed > 0 && score.missed.empty() && score.extra.empty());
    const bool named = score.exact > 0 && score.wrongly_named.empty();
    score.named = nameless && score.wrongly_named.empty() ? Score::kNotApplicable : yes_if(named);
    if (score.effect.wrong < kLeastKills) {
        score.detected = Score::kNo;
        score.note = fmt::format("hole in the matrix: {} frames show it, {} are needed",
                                 score.effect.wrong, kLeastKills);
        return;
    }
    const auto add = [&](std::uint64_t number, const char* what) {
        if (number > 0) {
            score.note += fmt::format("{}{} {}", score.note.empty() ? "" : "; ", number, what);
        }
    };
    add(score.effect.equivalent, "frames equivalent");
    add(score.effect.harmless, "frames changed and in order all the same");
    add(score.open, "rows in which other names fit as well, or too few payloads differ");
    add(score.alias, "rows in which another fault gives the same bytes");
    add(nameless ? score.failed : 0, "rows UNKNOWN: the algebra has no name for it");
}

}  // namespace

FaultScore score_fault(const softnic::FaultModel& model, const Material& material,
                       std::uint64_t seed, const matrix::FreeFields& free_fields) {
    const Fault fault = softnic::fault_of(model);
    const Ran ran = run_all(fault, material, seed, free_fields);
    const Rows rows{material, fault.direction == softnic::FaultDirection::kRx};
    FaultScore score;
    score.id = model.id;
    score.text = model.text;
    score.rows = ran.results.size();
    for (std::size_t number = 0; number < ran.results.size(); ++number) {
        const RowResult& result = ran.results[number];
        const bool must_fail = ran.effects[number].shows();
        add_counts(score.effect, ran.effects[number]);
        score.caught += result.caught;
        score.must_fail += must_fail ? 1 : 0;
        score.failed += result.clean() ? 0 : 1;
        if (must_fail && result.clean()) {
            score.missed.push_back(rows.describe(number));
        }
        if (!must_fail && !result.clean()) {
            score.extra.push_back(rows.describe(number));
        }
        if (!result.clean()) {
            count_name(score, fault, result, rows, number);
        }
    }
    conclude(score, fault);
    return score;
}

}  // namespace pathproof::calibration
