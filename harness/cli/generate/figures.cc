#include "harness/cli/generate/figures.h"

#include <algorithm>
#include <functional>

namespace pathproof::cli {

std::vector<ClassFigures> class_figures(const load::TrialReport& report) {
    std::vector<ClassFigures> found;
    for (std::size_t n = 0; n < frame::kTrafficClasses; ++n) {
        const load::ClassTotals& came = report.intake.classes[n];
        if (report.sent_by_class[n] > 0 || came.arrived() > 0) {
            found.push_back({static_cast<frame::TrafficClass>(n), report.sent_by_class[n], &came});
        }
    }
    return found;
}

judge::SequenceTotals all_streams(const load::TrialReport& report) {
    judge::SequenceTotals all;
    for (const judge::SequenceTotals& stream : report.intake.streams) {
        all = judge::sum(all, stream);
    }
    return all;
}

std::vector<load::WrongField> wrong_fields(const load::TrialReport& report) {
    std::vector<load::WrongField> fields = report.intake.wrong_fields;
    std::erase_if(fields, [](const load::WrongField& one) { return one.frames == 0; });
    std::ranges::stable_sort(fields, std::ranges::greater(), &load::WrongField::frames);
    return fields;
}

}  // namespace pathproof::cli
