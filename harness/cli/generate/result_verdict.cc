// The verdict of a run of `pathproof generate`.
#include <algorithm>

#include "dataplane/base/contains.h"
#include "harness/cli/generate/result.h"

namespace pathproof::cli {

std::uint64_t GenerateResult::certain_harm() const {
    if (judged) {
        return judged->certain_harm();
    }
    if (!tracked) {
        return 0;
    }
    const load::ClassTotals all = load::all_classes(report.intake);
    const judge::ReceiveTally& received = report.intake.received;
    // Damaged are those among the unreadable ones of which the number could be told.
    const std::uint64_t unreadable =
        wrong_on_purpose ? received.malformed
                         : std::max(received.bad_checksum + received.malformed, all.damaged);
    const bool frames = expects == load::IntakePlan::Expects::kFrames;
    return unreadable + all.wrong + report.intake.wrong_quotes() + (frames ? all.duplicates : 0);
}

bool GenerateResult::all_right() const {
    if (judged) {
        return judged->conclusion.arrival == follow::Arrival::kAllArrived;
    }
    if (!tracked || certain_harm() != 0) {
        return !tracked;
    }
    const load::ClassTotals all = load::all_classes(report.intake);
    return expects == load::IntakePlan::Expects::kAnswers || report.missing() + all.late == 0;
}

bool GenerateResult::only_disturbed() const {
    return std::ranges::all_of(report.objections, [&](const std::string& objection) {
        return objection == report.missed_rate || objection == report.own_drops ||
               contains(report.disturbances, objection);
    });
}

int GenerateResult::exit_code() const {
    if (!report.partial && certain_harm() != 0 && only_disturbed()) {
        return 1;
    }
    const bool untold = judged && judged->conclusion.arrival == follow::Arrival::kCannotTell;
    if (!conclusive() || untold) {
        return 3;
    }
    return all_right() ? 0 : 1;
}

}  // namespace pathproof::cli
