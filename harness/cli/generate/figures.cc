#include "harness/cli/generate/figures.h"

namespace pathproof::cli {

std::vector<ClassFigures> class_figures(const load::TrialReport& report) {
    std::vector<ClassFigures> found;
    for (std::size_t n = 0; n < frame::kTrafficClasses; ++n) {
        const load::ClassTotals& came = report.intake.classes[n];
        if (report.sent_by_class[n] > 0 || came.unique > 0 || came.wrong > 0) {
            found.push_back({static_cast<frame::TrafficClass>(n), report.sent_by_class[n], &came});
        }
    }
    return found;
}

load::ClassTotals all_classes(const load::TrialReport& report) {
    load::ClassTotals all;
    for (const load::ClassTotals& one : report.intake.classes) {
        all.unique += one.unique;
        all.duplicates += one.duplicates;
        all.reordered += one.reordered;
        all.late += one.late;
        all.wrong += one.wrong;
        all.latency.merge(one.latency);
    }
    return all;
}

}  // namespace pathproof::cli
