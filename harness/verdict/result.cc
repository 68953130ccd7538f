#include "harness/verdict/result.h"

#include <fmt/format.h>

#include <algorithm>

#include "harness/verdict/interval.h"

namespace pathproof::verdict {

std::string Value::text() const {
    return std::visit(
        []<typename Held>(const Held& held) -> std::string {
            if constexpr (std::same_as<Held, std::monostate>) {
                return "null";
            } else {
                return fmt::format("{}", held);
            }
        },
        held_);
}

const char* name(CellVerdict verdict) {
    switch (verdict) {
        case CellVerdict::kPass: return "PASS";
        case CellVerdict::kFail: return "FAIL";
        case CellVerdict::kError: return "ERROR";
        case CellVerdict::kSkip: return "SKIP";
        case CellVerdict::kInconclusive: return "INCONCLUSIVE";
        case CellVerdict::kUnstable: return "UNSTABLE";
    }
    return "ERROR";
}

const char* name(ScenarioVerdict verdict) {
    switch (verdict) {
        case ScenarioVerdict::kReproduced: return "REPRODUCED";
        case ScenarioVerdict::kExposed: return "EXPOSED";
        case ScenarioVerdict::kNotReproduced: return "NOT REPRODUCED";
        case ScenarioVerdict::kDefectFound: return "DEFECT FOUND";
        case ScenarioVerdict::kNoDefectFound: return "NO DEFECT FOUND";
        case ScenarioVerdict::kMeasured: return "MEASURED";
        case ScenarioVerdict::kInconclusive: return "INCONCLUSIVE";
        case ScenarioVerdict::kNotRun: return "NOT RUN";
    }
    return "INCONCLUSIVE";
}

const char* name(RunVerdict verdict) {
    switch (verdict) {
        case RunVerdict::kQualified: return "QUALIFIED";
        case RunVerdict::kConditionallyQualified: return "CONDITIONALLY QUALIFIED";
        case RunVerdict::kNotQualified: return "NOT QUALIFIED";
        case RunVerdict::kIncomplete: return "INCOMPLETE";
    }
    return "INCOMPLETE";
}

const char* name(Area area) {
    switch (area) {
        case Area::kDevice: return "device and driver";
        case Area::kKernelPath: return "kernel path";
        case Area::kResolvers: return "resolvers";
        case Area::kCni: return "CNI";
        case Area::kPerformance: return "performance";
        case Area::kAcceptance: return "acceptance";
    }
    return "kernel path";
}

bool fails(CellVerdict verdict) {
    return verdict == CellVerdict::kFail || verdict == CellVerdict::kUnstable;
}

bool is_failure(ScenarioVerdict verdict) {
    return verdict == ScenarioVerdict::kReproduced || verdict == ScenarioVerdict::kDefectFound;
}

bool is_truth(ScenarioVerdict verdict) {
    return verdict == ScenarioVerdict::kDefectFound || verdict == ScenarioVerdict::kNoDefectFound;
}

int exit_code(RunVerdict verdict) {
    switch (verdict) {
        case RunVerdict::kQualified:
        case RunVerdict::kConditionallyQualified: return 0;
        case RunVerdict::kNotQualified: return 1;
        case RunVerdict::kIncomplete: return 3;
    }
    return 3;
}

const char* name(Cell::Role role) {
    switch (role) {
        case Cell::Role::kMatrix: return "matrix";
        case Cell::Role::kControl: return "control";
        case Cell::Role::kCure: return "cure";
        case Cell::Role::kDemonstration: return "demonstration";
    }
    return "matrix";
}

Cell::Role role_among_controls(const Cell& cell) {
    return cell.role == Cell::Role::kMatrix ? Cell::Role::kControl : cell.role;
}

const char* name(Observed observed) {
    switch (observed) {
        case Observed::kRight: return "right";
        case Observed::kWrong: return "wrong";
        case Observed::kByDesign: return "by design";
        case Observed::kRefused: return "refused";
        case Observed::kNoClaim: return "no claim";
        case Observed::kNotTested: return "not tested";
    }
    return "not tested";
}

const char* name(CalibrationRow::Score score) {
    switch (score) {
        case CalibrationRow::Score::kYes: return "yes";
        case CalibrationRow::Score::kNo: return "no";
        case CalibrationRow::Score::kNotApplicable: return "n/a";
    }
    return "n/a";
}

Measure share_of(const Runs& runs) {
    return share("failed_repetitions", "repetitions that failed", runs.failed, runs.n);
}

const Cell* find_cell(const ScenarioResult& scenario, const std::string& id) {
    const auto cells = all_cells(scenario);
    const auto found = std::ranges::find(cells, id, &Cell::id);
    return found == cells.end() ? nullptr : &found->get();
}

std::string cell_id(const std::string& scenario, const Cell& cell) {
    return scenario + "/" + cell.id;
}

std::string finding_id(const std::string& scenario, const Cell& cell) {
    constexpr const char* kLetters =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._+-";
    std::string cause = cell.cause;
    for (std::size_t at; (at = cause.find_first_not_of(kLetters)) != std::string::npos;) {
        cause[at] = '-';
    }
    return cell_id(scenario, cell) + (cause.empty() ? "" : "/" + cause);
}

}  // namespace pathproof::verdict
